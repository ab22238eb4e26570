"""Writing a value: whether, where and at which step, now or whenever a graph runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import numpy as np

from tfx.core import dtypes
from tfx.framework.context import current, name_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.framework.variable import Variable
from tfx.graph.ir import HostCall
from tfx.ops.common.arguments import tensor
from tfx.summary import event_pb2 as pb
from tfx.summary.messages import metadata_message, value_summary
from tfx.summary.state import InTrace, Settings, change, changed, setting, settings

_Array: TypeAlias = "np.ndarray[Any, Any]"
# Makes what is written of a value; called only if something records.
Payload: TypeAlias = "Callable[[_Array], pb.Summary]"

NOTHING, WRITTEN = (from_array(np.array(flag), owned=True) for flag in (False, True))
_NO_STEP = (
    "No step set. Please specify one either through the `step` argument or through "
    "tf.summary.experimental.set_step()"
)


def write(
    tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Tensor:
    """Write a tensor to the default writer, for a plugin that ``metadata`` names.

    Inside a function this happens whenever the function runs, with the writer, the condition and
    the default step of that moment.

    Args:
        tag: The value's name; name scopes are not added.
        tensor: Tensor, a value convertible to one, or a function that gives one.
        step: The step: an integer, integer tensor or variable; None: the default step.
        metadata: A ``SummaryMetadata`` message, or its bytes.
        name: Accepted for compatibility.

    Returns:
        A bool tensor: whether it was written.

    Raises:
        ValueError: there is no step.
        TypeError: a step that is no integer.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.write("weights", [1.0, 2.0], step=1))  # no default writer
        False
    """
    described = metadata_message(metadata)
    return record(tag, tensor, step, lambda array: value_summary(tag, array, described))


def skipped() -> bool:
    """True if nothing can be recorded, so that a summary need not even find its name."""
    now = settings()
    return current().graph is None and (now.writer is None or not setting(now.writer).records)


def record(label: str, value: Any, step: Any, payload: Payload) -> Tensor:
    """Write what ``payload`` makes of a value.

    Args:
        label: For listings of graphs.
        value: A tensor or something that becomes one; a function that gives it is called only if
            something may record.
        step: As in ``write``.
        payload: Called with the contents.
    """
    if current().graph is not None:
        return _traced(label, value, step, payload)
    now = settings()
    writer: Any = setting(now.writer)
    if not records(writer, setting(now.condition)):
        return NOTHING
    given = _as_tensor(value)
    number = _step_number(setting(now.step) if step is None else step)
    writer.add(payload(np.asarray(given)), number)
    return WRITTEN


def _as_tensor(value: Any) -> Tensor:
    return tensor(value() if callable(value) and not isinstance(value, Tensor) else value)


def records(writer: Any, condition: Any) -> bool:
    """True if something is recorded, by the settings' values."""
    if writer is None or not writer.records:
        return False
    if condition is True or condition is False:
        return bool(condition)
    return bool(condition() if callable(condition) else condition)


def _answer(writer: Any, condition: Any) -> EagerTensor:
    return WRITTEN if records(writer, condition) else NOTHING


def _step_number(step: Any) -> int:
    """A step as an integer.

    Raises:
        ValueError: there is none.
        TypeError: it is no integer.
    """
    if step is None:
        raise ValueError(_NO_STEP)
    if isinstance(step, int | np.integer) and not isinstance(step, bool):
        return int(step)
    return int(np.asarray(_step_tensor(step)))


def _step_tensor(step: Any) -> Tensor:
    if isinstance(step, Tensor | Variable):
        given = tensor(step)
        if not given.dtype.is_integer:
            raise TypeError(f"A step must be an integer; got {step!r} of dtype {given.dtype.name}.")
        return given
    return convert_to_tensor(step, dtypes.int64)


def _traced(label: str, value: Any, step: Any, payload: Payload) -> Tensor:
    """The same as a host call: what the trace knows, and inputs for what only a run knows."""
    now = settings()
    inputs = [_as_tensor(value)]
    held_step = _held_step(now, step)
    step_at = _input(held_step, inputs)
    held_condition = now.condition.value if isinstance(now.condition, InTrace) else None
    if callable(held_condition) and not isinstance(held_condition, Tensor):
        held_condition = held_condition()
    condition_at = _input(held_condition, inputs)
    held_writer = now.writer.value if isinstance(now.writer, InTrace) else None

    def run(given: Sequence[EagerTensor]) -> Sequence[EagerTensor]:
        then = settings()
        writer = setting(then.writer) if held_writer is None else held_writer
        if held_condition is None:
            condition = setting(then.condition)
        else:
            condition = held_condition if condition_at is None else given[condition_at]
        if not records(writer, condition):
            return [NOTHING]
        at = setting(then.step) if held_step is None else held_step
        number = _step_number(at if step_at is None else given[step_at])
        writer.add(payload(given[0].view()), number)
        return [WRITTEN]

    return host_call(HostCall("summary", run, label), inputs, [(dtypes.bool, ())])[0]


def _input(x: Any, inputs: list[Tensor]) -> int | None:
    """Make what only a run knows an input, and give its place."""
    if not isinstance(x, Tensor | Variable):
        return None
    inputs.append(tensor(x))
    return len(inputs) - 1


def _held_step(now: Settings, step: Any) -> Any:
    """The step that is part of a trace; None: the default step of the moment."""
    if step is not None:
        if isinstance(step, Tensor | Variable):
            return _step_tensor(step)
        return _step_number(step)
    if isinstance(now.step, InTrace):
        return now.step.value
    # A default step that the function itself changes: what it is here, not when the call began.
    if isinstance(now.step, Variable) and _touches(current().graph, now.step):
        return now.step
    return None


def _touches(graph: FuncGraph | None, variable: Variable) -> bool:
    while graph is not None:
        state = graph.states.get(id(variable))
        if state is not None and state.ref() is variable:
            return True
        graph = graph.parent
    return False


def record_if(condition: Any) -> AbstractContextManager[None]:
    """Record summaries inside a ``with`` block only if a condition holds.

    Args:
        condition: True, False, a bool tensor, or a function without arguments that gives one, which
            is called for each summary.

    Example:
        >>> import tfx as tf
        >>> with tf.summary.record_if(False):
        ...     bool(tf.summary.should_record_summaries())
        False
    """
    return changed(condition=condition)


def should_record_summaries() -> Tensor:
    """Return whether there is a default writer and the condition holds, as a bool tensor.

    Inside a function it is what holds whenever the function runs.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.should_record_summaries())
        False
    """
    now = settings()
    if current().graph is None:
        return _answer(setting(now.writer), setting(now.condition))
    held = now.writer.value if isinstance(now.writer, InTrace) else None
    condition = now.condition.value if isinstance(now.condition, InTrace) else None
    if callable(condition) and not isinstance(condition, Tensor):
        condition = condition()
    inputs: list[Tensor] = []
    at = _input(condition, inputs)

    def run(given: Sequence[EagerTensor]) -> Sequence[EagerTensor]:
        then = settings()
        writer = setting(then.writer) if held is None else held
        if condition is None:
            return [_answer(writer, setting(then.condition))]
        return [_answer(writer, condition if at is None else given[at])]

    call = HostCall("summary", run, "should_record_summaries", effect=False)
    return host_call(call, inputs, [(dtypes.bool, ())])[0]


def get_step() -> Any:
    """The default step: what was given to ``set_step`` or ``as_default``, None if nothing was.

    Example:
        >>> import tfx as tf
        >>> tf.summary.experimental.get_step() is None
        True
    """
    return setting(settings().step)


def set_step(step: Any) -> None:
    """Set the default step of summaries.

    Args:
        step: An integer, or a variable, which need not be given again when it changes. None: no
            default.

    Example:
        >>> import tfx as tf
        >>> tf.summary.experimental.set_step(3)
        >>> tf.summary.experimental.get_step()
        3
        >>> tf.summary.experimental.set_step(None)
    """
    change(step=step)


def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Tensor:
    """Write a ``Summary`` message that was made elsewhere.

    Args:
        tensor: Its bytes. In a string tensor they must be UTF-8, which messages with numbers in
            them are not.
        step: As in ``write``.
        name: Accepted for compatibility.

    Returns:
        A bool tensor: whether it was written.

    Raises:
        ValueError: there is no step.

    Example:
        >>> import tfx as tf
        >>> bool(tf.summary.experimental.write_raw_pb(b"", step=1))  # no default writer
        False
    """
    if isinstance(tensor, bytes):
        # As they are: a string tensor must be UTF-8.
        message = pb.Summary.FromString(tensor)
        return record("raw", 0, step, lambda _: message)
    return record("raw", tensor, step, lambda array: pb.Summary.FromString(array.item()))


@contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """A name scope for the operations of a summary, and the tag that follows from it.

    Args:
        name: The summary's name; empty: ``default_name``.
        default_name: See ``name``.
        values: Accepted for compatibility.

    Yields:
        The tag, with the name scopes around it, and the new name scope.

    Example:
        >>> import tfx as tf
        >>> with tf.name_scope("layer"), tf.summary.experimental.summary_scope("my loss") as names:
        ...     print(names)
        ('layer/my loss', 'layer/myloss/')
    """
    given = name or default_name
    tag = current().scope + given
    plain = "".join(c for c in given if c.isascii() and (c.isalnum() or c in "_.-/\\"))
    with name_scope(plain or default_name) as scope:
        yield tag, scope
