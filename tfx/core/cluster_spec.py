"""``ClusterSpec``: the addresses of processes that would train together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ClusterSpec:
    """The addresses of the tasks of jobs.

    Args:
        cluster: Names of jobs, each with a list of addresses or a dict from numbers to them; or
            another ``ClusterSpec``.

    Raises:
        TypeError: something else.

    Example:
        >>> import tfx as tf
        >>> spec = tf.train.ClusterSpec({"worker": ["localhost:2222", "localhost:2223"]})
        >>> spec.num_tasks("worker"), spec.task_address("worker", 1)
        (2, 'localhost:2223')
    """

    def __init__(self, cluster: Any) -> None:
        given = cluster.as_dict() if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(given, Mapping):
            raise TypeError(
                "cluster must be a dict from names of jobs to lists of addresses, or a "
                f"ClusterSpec; got {type(cluster).__name__}."
            )
        self._jobs: dict[str, dict[int, str]] = {
            str(job): _tasks(job, tasks) for job, tasks in given.items()
        }

    def as_dict(self) -> dict[str, Any]:
        """Lists of addresses by jobs; dicts where tasks are missing."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has.

        Raises:
            ValueError: no such job.
        """
        return len(self._of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks.

        Raises:
            ValueError: no such job.
        """
        return sorted(self._of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Raises:
            ValueError: no such job or task.
        """
        tasks = self._of(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}.")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks; None where one is missing.

        Raises:
            ValueError: no such job.
        """
        tasks = self._of(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _of(self, job: str) -> dict[int, str]:
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}; there are {self.jobs}.")
        return self._jobs[job]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"ClusterSpec({dict(sorted(self.as_dict().items()))!r})"


def _tasks(job: Any, given: Any) -> dict[int, str]:
    if isinstance(given, Mapping):
        wrong = [number for number in given if not isinstance(number, int) or number < 0]
        if wrong:
            raise TypeError(f"The tasks of job {job!r} are numbered from 0; got {wrong[0]!r}.")
        return dict(sorted((number, str(address)) for number, address in given.items()))
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"The tasks of job {job!r} must be a list or a dict; got {given!r}.")
    return {number: str(address) for number, address in enumerate(given)}
