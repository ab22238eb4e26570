"""``SessionManager``: sessions that are restored from a checkpoint, or initialized."""

from __future__ import annotations

import time
from typing import Any

from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.session.session import Session
from tfx.core.errors import DeadlineExceededError, FailedPreconditionError
from tfx.train.latest_checkpoint_file import latest_checkpoint


class SessionManager:
    """Makes sessions whose variables have values.

    Args:
        local_init_op: Runs in every new session.
        ready_op: A tensor of the names of variables without a value; None: nothing is asked.
        ready_for_local_init_op: The same before ``local_init_op`` runs.
        graph: The graph; None: the default graph.
        recovery_wait_secs: Seconds between two looks for a checkpoint, or for variables.
        local_init_run_options: ``RunOptions`` of ``local_init_op``.
        local_init_feed_dict: What to feed ``local_init_op``.

    Raises:
        ValueError: ``ready_for_local_init_op`` without ``local_init_op``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     v = tf.get_variable("v", initializer=2.0)
        ...     manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
        ...     with manager.prepare_session("", tf.global_variables_initializer()) as session:
        ...         session.run(v)
        np.float32(2.0)
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op; got "
                f"{ready_for_local_init_op!r}."
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = building() if graph is None else graph
        self._wait = recovery_wait_secs
        self._options = local_init_run_options
        self._feeds = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Any = None,
    ) -> Session:
        """A session that holds a checkpoint, or freshly initialized variables.

        Args:
            master: Must be empty.
            init_op: Initializes the variables where there is no checkpoint.
            saver: Restores the checkpoint.
            checkpoint_dir: The folder whose latest checkpoint is restored, if there is one.
            checkpoint_filename_with_path: The checkpoint to restore, in place of a folder.
            wait_for_checkpoint: Whether to wait until the folder has a checkpoint.
            max_wait_secs: How long at most.
            config: Accepted for compatibility.
            init_feed_dict: What to feed ``init_op``.
            init_fn: ``f(session)``, called after ``init_op``.

        Raises:
            ValueError: a folder and a checkpoint are both given.
            RuntimeError: variables are without a value, or there is no way to give them one.
        """
        session, restored = self._restored(
            master,
            saver,
            (checkpoint_dir, checkpoint_filename_with_path),
            max_wait_secs if wait_for_checkpoint else 0,
            config,
        )
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(session)
        made_by = f"Init op: {_name(init_op)}, init fn: {init_fn}"
        problem = self._initialize_locally(session)
        if problem:
            raise RuntimeError(
                f"Init operations did not make model ready for local_init. {problem}. {made_by}"
            )
        problem = _missing(session, self._ready_op)
        if problem:
            raise RuntimeError(
                f"Init operations did not make model ready. {problem}. {made_by}, local_init_op: "
                f"{_name(self._local_init_op)}"
            )
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """A session that holds a checkpoint if there is one; see ``prepare_session``.

        Returns:
            The session, and whether its variables have the values of a checkpoint.
        """
        session, restored = self._restored(
            master,
            saver,
            (checkpoint_dir, checkpoint_filename_with_path),
            max_wait_secs if wait_for_checkpoint else 0,
            config,
        )
        problem = self._initialize_locally(session)
        ready = restored and not problem and not _missing(session, self._ready_op)
        return session, ready

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """A new session, once its variables have values without being initialized.

        Args:
            master: Must be empty.
            config: Accepted for compatibility.
            max_wait_secs: How long to wait.

        Raises:
            DeadlineExceededError: they got none in that time.
        """
        end = time.monotonic() + max_wait_secs
        while True:
            session = Session(master, graph=self._graph, config=config)
            problem = self._initialize_locally(session) or _missing(session, self._ready_op)
            if not problem:
                return session
            session.close()
            if time.monotonic() + self._wait > end:
                raise DeadlineExceededError(
                    f"Session was not ready after waiting {max_wait_secs} secs. {problem}."
                )
            time.sleep(self._wait)

    def _restored(
        self, master: str, saver: Any, places: tuple[Any, Any], wait: float, config: Any
    ) -> tuple[Session, bool]:
        folder, path = places
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        session = Session(master, graph=self._graph, config=config)
        if saver is None or not (folder or path):
            return session, False
        end = time.monotonic() + wait
        found = path or latest_checkpoint(folder)
        while not found and time.monotonic() < end:
            time.sleep(min(self._wait, max(0.0, end - time.monotonic())))
            found = latest_checkpoint(folder)
        if found:
            saver.restore(session, found)
        return session, bool(found)

    def _initialize_locally(self, session: Session) -> str:
        """Run ``local_init_op`` where it can run; what is missing for it."""
        if self._local_init_op is None:
            return ""
        problem = _missing(session, self._ready_for_local_init_op)
        if not problem:
            session.run(self._local_init_op, feed_dict=self._feeds, options=self._options)
        return problem


def _missing(session: Session, ready_op: Any) -> str:
    """What variables have no value, in words; empty: all have one."""
    if ready_op is None:
        return ""
    try:
        found = session.run(ready_op)
    except FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            raise
        return str(e)
    if found is None or found.dtype.kind in "ib" or not found.size:
        return ""
    names = ", ".join(x.decode() if isinstance(x, bytes) else str(x) for x in found)
    return f"Variables not initialized: {names}"


def _name(operation: Any) -> str:
    return str(getattr(operation, "name", operation))
