"""``enable_check_numerics``: a check of every operation for NaN and infinity.

The watcher is a recorder as a tape is, so that nothing is slower while there is none. Unlike a tape
it lasts while a function is traced, where it puts a check behind every operation; being a trait of
the context, it gives functions traces of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.core.errors import InvalidArgumentError
from tfx.core.source import SourceLocation, user_frame
from tfx.framework.context import current, set_context, using
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from tfx.framework.variable import READ_VARIABLE
from tfx.graph.ir import CALL, HOST, HostCall
from tfx.graph.traits import traits
from tfx.ops.math.elementwise import is_inf, is_nan
from tfx.ops.math.reduction import reduce_any


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Raise as soon as the result of an operation holds NaN or infinity.

    It concerns the current thread, eager operations and the functions called from here on, which
    are traced again with a check behind every operation: for debugging only. To call it twice is to
    call it once.

    Args:
        stack_height_limit: Accepted for compatibility: the message names the line of the program.
        path_length_limit: Accepted for compatibility.

    Raises:
        ValueError: inside a function.

    Example:
        >>> import tfx as tf
        >>> tf.debugging.enable_check_numerics()
        >>> try:
        ...     tf.math.log(tf.constant([1.0, 0.0]))
        ... except tf.errors.InvalidArgumentError as e:
        ...     print(e.message.splitlines()[0].split(" [")[0])
        ... finally:
        ...     tf.debugging.disable_check_numerics()
        Detected Infinity or NaN in output 0 of eagerly-executing op "Log" (# of outputs: 1)
    """
    context = _outside("enable_check_numerics")
    if _WATCHER not in context.tapes:
        set_context(tapes=(*context.tapes, _WATCHER), traits=(*context.traits, _WATCHER))


def disable_check_numerics() -> None:
    """Undo ``enable_check_numerics``; harmless if nothing was enabled.

    Raises:
        ValueError: inside a function.
    """
    context = _outside("disable_check_numerics")
    set_context(
        tapes=tuple(t for t in context.tapes if t is not _WATCHER),
        traits=tuple(t for t in context.traits if t is not _WATCHER),
    )


def _outside(what: str) -> Any:
    context = current()
    if context.graph is not None:
        raise InvalidArgumentError(
            f"{what} inside of a tf.function would come too late: call it outside."
        )
    return context


class _Watcher:
    """A recorder that looks at results."""

    # Stays while a function is traced.
    lasting = True

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """An operation ran or was added to a graph."""
        if traits(op).moves or op in (CALL, HOST, READ_VARIABLE):
            return
        for i, y in enumerate(outputs):
            if y is None or not y.dtype.is_floating:
                continue
            title = f'output {i} of {{}} op "{op}" (# of outputs: {len(outputs)})'
            if isinstance(y, EagerTensor):
                _look(y, title.format("eagerly-executing"), inputs)
            elif isinstance(y, SymbolicTensor):
                _guard(y, title.format("graph"))

    def watch_variable(self, variable: Any) -> None:
        """Reading is no operation."""

    def depends(self, x: Any) -> bool:
        """Return False: nothing is recorded."""
        return False


_WATCHER = _Watcher()


def _look(y: EagerTensor, title: str, inputs: Sequence[Any]) -> None:
    array = y.view()
    if np.isfinite(array).all():
        return
    wide = array.astype(np.float64)
    counts = (("-Inf", wide == -np.inf), ("+Inf", wide == np.inf), ("NaN", np.isnan(wide)))
    lines = [f"# of {name} elements: {int(n.sum())}" for name, n in counts if n.any()]
    given = [str(x) for x in inputs if x is not None]
    lines += ["Input tensor: " + given[0]] if len(given) == 1 else ["Input tensors:", *given]
    raise _found(y, title, user_frame(), lines)


def _guard(y: SymbolicTensor, title: str) -> None:
    """Put the check into the graph."""
    source = user_frame()
    lines = [f"Tensor: {y.name}", f'Graph name: "{y.graph.name}"']

    def run(given: Sequence[EagerTensor]) -> None:
        infinite, nan = (bool(flag.view()) for flag in given)
        if infinite or nan:
            kinds = " and ".join(["Inf"] * infinite + ["NaN"] * nan)
            raise _found(y, title, source, [*lines, f"Tensor had {kinds} values"])

    with using(tapes=()):
        flags = [reduce_any(is_inf(y)), reduce_any(is_nan(y))]
        host_call(HostCall("check_numerics", run, title), flags)


def _found(
    y: Tensor, title: str, source: SourceLocation, lines: Sequence[str]
) -> InvalidArgumentError:
    facts = [f"dtype: {y.dtype.name}", f"shape: {y.shape}", *lines]
    text = "".join(f"\n  {line}" for line in facts)
    return InvalidArgumentError(
        f"Detected Infinity or NaN in {title} [{source.text()}]{text}",
        op="CheckNumerics",
        source=source,
    )
