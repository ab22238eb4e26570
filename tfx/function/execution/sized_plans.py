"""Plans of a GPU for the sizes that its calls come with: those become CUDA graphs.

A trace with open sizes computes with shapes in every run, on the host, and what has such work
cannot be captured. Steps of a training have one size, or few: after some calls with the same sizes
there is a plan for them, in which everything about shapes is constant. Whatever has no such plan
runs as before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tfx.core.dims import is_static
from tfx.core.dtypes import SEQUENCE
from tfx.core.errors import OpError
from tfx.function.execution.cuda_graph_check import can_capture
from tfx.graph.ir import Graph, Value
from tfx.graph.passes.known_sizes import with_known_sizes
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.run_hooks import plain
from tfx.runtime.session import Runner, Session
from tfx.runtime.values import RawValue

# Calls of the same sizes before there is a plan for them, which takes as long to make as the first.
_CALLS = 3
# Plans keep their buffers on the GPU.
_MOST_PLANS = 4
_MOST_COUNTED = 64
_log = logging.getLogger("tfx")

Sizes = tuple[tuple[int, ...], ...]


class SizedPlan(Protocol):
    """What runs a graph of known sizes: a ``Plan``."""

    session: Session


def has_open_sizes(graph: Graph) -> bool:
    """True if inputs of a graph, which are tensors, may have several sizes."""
    tensors = all(v.dtype < SEQUENCE for v in graph.inputs)
    return tensors and any(not is_static(v.shape) for v in graph.inputs)


class SizedRunner:
    """Runs calls of usual sizes by plans of their own; has the face of ``session.Runner``.

    Args:
        graph: What is run.
        names: The name of each input of the graph in the feeds.
        frozen: Inputs that no call gives.
        run: Runs all sizes.
        make: Makes the plan of a graph of known sizes, with these frozen inputs.
    """

    __slots__ = (
        "_calls",
        "_frozen",
        "_graph",
        "_lock",
        "_make",
        "_names",
        "_open",
        "_plans",
        "_run",
    )

    def __init__(
        self,
        graph: Graph,
        names: Sequence[str],
        frozen: dict[Value, RawValue],
        run: Runner,
        make: Callable[[Graph, dict[Value, RawValue]], SizedPlan],
    ) -> None:
        self._graph = graph
        self._names = names
        self._frozen = frozen
        self._run = run
        self._make = make
        fed = zip(graph.inputs, names, strict=True)
        self._open = [n for v, n in fed if v not in frozen and not is_static(v.shape)]
        self._calls: dict[Sizes, int] = {}
        # None: these sizes have no plan.
        self._plans: dict[Sizes, SizedPlan | None] = {}
        self._lock = fork_safe(threading.Lock())

    def __call__(
        self, feeds: dict[str, RawValue], outputs: list[str], options: Any
    ) -> Sequence[RawValue]:
        """Run once; the arguments are those of a session's call."""
        sizes = tuple([tuple(feeds[name].shape()) for name in self._open])
        plan = self._plans.get(sizes)
        if plan is None and sizes not in self._plans:
            plan = self._counted(sizes, feeds)
        if plan is None:
            return self._run(feeds, outputs, options)
        try:
            return plain(plan.session.run_raw)(feeds, outputs, options)
        except Exception as e:
            # If this fails as well, the plan is not to blame; else memory may be used up.
            results = self._run(feeds, outputs, options)
            _log.info("the plan for the sizes %s failed: %s", sizes, e)
            self._plans[sizes] = None
            return results

    def _counted(self, sizes: Sizes, feeds: dict[str, RawValue]) -> SizedPlan | None:
        """The plan for sizes that have come often enough by now."""
        with self._lock:
            if sizes in self._plans or len(self._plans) >= _MOST_PLANS:
                return self._plans.get(sizes)
            if len(self._calls) >= _MOST_COUNTED:
                self._calls.clear()
            calls = self._calls[sizes] = self._calls.get(sizes, 0) + 1
            if calls <= _CALLS:
                return None
            plan = self._plans[sizes] = self._made(feeds)
            return plan

    def _made(self, feeds: dict[str, RawValue]) -> SizedPlan | None:
        shapes = [
            v.shape if v in self._frozen else tuple(feeds[name].shape())
            for v, name in zip(self._graph.inputs, self._names, strict=True)
        ]
        try:
            sized = with_known_sizes(self._graph, shapes)
            if sized is None or not can_capture(sized, "GPU:0", unrolled=True):
                return None
            old_and_new = zip(self._graph.inputs, sized.inputs, strict=True)
            frozen = {new: self._frozen[old] for old, new in old_and_new if old in self._frozen}
            return self._make(sized, frozen)
        except (OpError, RecursionError) as e:  # such as used up memory
            _log.info("there is no plan for the sizes %s: %s", shapes, e)
            return None
