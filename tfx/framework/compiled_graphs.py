"""Sessions of graphs that run outside of functions: operators alone, and composites of many."""

from __future__ import annotations

from collections.abc import Sequence

from tfx.core.errors import OpError
from tfx.graph.fusion.elementwise import fused_operators, fused_plan
from tfx.graph.ir import Graph, RawShape
from tfx.graph.passes.fold_branches import has_branches
from tfx.graph.passes.pipeline import prepare, tune_for_cpu
from tfx.graph.serialization.serialize import to_model
from tfx.kernels.library import give_up, usable_library
from tfx.runtime.session import Session
from tfx.runtime.threads import thread_count


def alike(shapes: Sequence[Sequence[int] | None]) -> tuple[RawShape, ...]:
    """Names for the sizes of shapes, the same for the same; 1 stays, since it broadcasts.

    Args:
        shapes: None for an input that is left out.
    """
    names: dict[int, int | str] = {1: 1}
    for shape in shapes:
        for size in shape or ():
            names.setdefault(size, f"n{len(names)}")
    return tuple([shape if shape is None else tuple([names[s] for s in shape]) for shape in shapes])


def compiled(graph: Graph, device: str) -> Session:
    """A session in which our kernels compute what they have, where there are such.

    Args:
        graph: Not changed.
        device: Where it will run.
    """
    library = usable_library() if device.startswith("CPU") else None
    if library is not None:
        ready = prepare(graph, device=device, runs_here=True, own_kernels=True)
        together = fused_plan(tune_for_cpu(ready, thread_count()), library.instructions)
        operators = fused_operators(together)
        if operators:
            model = to_model(together).SerializeToString()
            try:
                return Session(
                    model,
                    device=device,
                    folds=not has_branches(together),
                    operators=library.registration(operators),
                )
            except OpError as e:
                give_up(e)
    return plainly_compiled(graph, device)


def plainly_compiled(graph: Graph, device: str) -> Session:
    """A session of ONNX Runtime's operators alone."""
    return Session(to_model(prepare(graph, device=device)).SerializeToString(), device=device)
