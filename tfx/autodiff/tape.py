"""``GradientTape``: records operations on watched tensors and differentiates them."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Self

from tfx.autodiff.backprop import backpropagate_slices
from tfx.autodiff.differentiated import flat_sources_of, like_sources, parts_of
from tfx.autodiff.missing_gradients import why_none
from tfx.autodiff.record_placeholders import SparingRecord, StandIn, Unread, meant, stand_in
from tfx.autodiff.straight_through import dependent
from tfx.core.errors import InvalidArgumentError
from tfx.core.lazy_namespaces import fetch
from tfx.core.source import user_frame
from tfx.framework.builder import ox
from tfx.framework.context import current, set_context
from tfx.framework.convert import convert_to_tensor
from tfx.framework.rules import OpRecord, is_differentiable
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.ops.array import creation

# Jacobians are one backward pass, vectorized by the layers above, whose functions are fetched by
# name as the facade fetches them: programs without a jacobian do not import them.
_JACOBIANS = "tfx.vectorize.jacobian"

_log = logging.getLogger("tfx")


class UnconnectedGradients(Enum):
    """The results of ``gradient`` for a source that the target does not depend on.

    Attributes:
        NONE: None.
        ZERO: Zeros of the source's shape.
    """

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Record operations for automatic differentiation.

    Trainable variables are watched when they are read, other tensors with ``watch``.

    Args:
        persistent: Allow several calls of ``gradient``; keeps what was recorded until the tape is
            deleted.
        watch_accessed_variables: Watch trainable variables that are read.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant(3.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.gradient(y, x).numpy()
        np.float32(6.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        # None before the first recording, and when a tape that is not persistent is used up.
        self._records: list[OpRecord] | None = None
        self._watched: set[int] = set()
        self._kept: list[Any] = []  # watched objects: their ids must stay theirs
        self._variables: dict[int, Variable] = {}
        # By the ``id`` of tensors that are alive, what some records have in place of them.
        self._stand_ins: dict[int, StandIn] = {}
        self._gone: Callable[[Any], None] | None = None
        self._spares = False  # whether there are such records
        # Numbers of records that hold what they need only for a second derivative.
        self._later: list[tuple[int, Unread]] = []
        self._active = False

    def __enter__(self) -> Self:
        self._push()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._active:
            self._pop()
        else:  # popped by ``gradient``, perhaps inside a block whose end brought it back
            self._leave()
        if self._later:
            self._release()

    def _push(self) -> None:
        if self._active:
            raise ValueError(
                "Tape is still recording. This can happen if you try to re-enter an "
                "already-active tape."
            )
        if self._records is None:
            self._clear()
        self._active = True
        set_context(tapes=(*current().tapes, self))

    def _pop(self) -> None:
        if not self._active:
            raise ValueError("Tape is not recording.")
        self._active = False
        self._leave()

    def _leave(self) -> None:
        set_context(tapes=tuple(t for t in current().tapes if t is not self))

    # Called by the framework

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """An operation happened: keep it if it depends on something watched."""
        if not self._active:  # another task still has the tape in its context
            return
        watched = self._watched
        for x in inputs:
            if id(x) in watched:
                ends = not is_differentiable(op)
                for y in outputs:
                    if y.dtype.has_gradients:
                        watched.add(id(y))
                    else:
                        ends = True
                if ends:
                    watched.update(map(id, dependent(op, inputs, outputs, watched)))
                assert self._records is not None
                made = OpRecord(op, attrs, tuple(inputs), tuple(outputs))
                # An error, or an explanation, will name the line; nodes of graphs know theirs.
                if ends and type(outputs[0]) is EagerTensor:
                    made.source = user_frame()
                self._records.append(made)
                return

    def record_call(
        self,
        op: str,
        attrs: dict[str, Any],
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
        unread: Unread,
        *,
        once: bool,
    ) -> None:
        """A call happened whose gradient does not read all arguments and results.

        Args:
            op: Operator.
            attrs: Its attributes.
            inputs: Arguments.
            outputs: Results.
            unread: What the gradient does not read.
            once: Whether no tape inside of this one sees the call: a gradient that this one could
                record and differentiate again is one of its own.
        """
        records = self._records
        if records is None:
            return
        number = len(records)
        self.record(op, attrs, inputs, outputs)
        if len(records) == number:
            return
        if once and not self._persistent:
            self._spare(number, unread)
        else:
            self._later.append((number, unread))

    def _spare(self, number: int, unread: Unread) -> None:
        """Let go of what the gradient of a recorded call does not read."""
        assert self._records is not None
        known = self._records[number]
        inputs: list[Any] = list(known.inputs)
        outputs: list[Any] = list(known.outputs)
        for numbers, tensors in ((unread.inputs, inputs), (unread.outputs, outputs)):
            for i in numbers:
                if type(tensors[i]) is EagerTensor:
                    tensors[i] = self._stand_in(tensors[i])
        made = SparingRecord(known.op, known.attrs, tuple(inputs), tuple(outputs))
        made.source = known.source
        self._records[number] = made
        self._spares = True

    def _release(self) -> None:
        """Release at the end of a block the tensors that only second derivatives would have read.

        A gradient that is differentiated again was recorded, and took what the call had saved.
        """
        later, self._later = self._later, []
        records = self._records or ()
        used = {id(meant(x)) for record in records for x in record.inputs}
        for number, unread in later:
            if not any(id(y) in used for y in records[number].outputs[unread.saved :]):
                self._spare(number, unread)

    def _stand_in(self, tensor: EagerTensor) -> StandIn:
        """Return the tensor's stand-in, which is the same one in all records."""
        known = self._stand_ins.get(id(tensor))
        if known is None:
            if self._gone is None:
                self._gone = _forgetting(self)
            known = self._stand_ins[id(tensor)] = stand_in(tensor, self._gone)
        return known

    def _forget(self, gone: StandIn) -> None:
        """A tensor is gone: its ``id`` is free for another object, and means nothing here."""
        if self._stand_ins.get(gone.key) is gone:
            del self._stand_ins[gone.key]
            if gone.key in self._watched:
                self._watched.add(id(gone))
                self._watched.discard(gone.key)

    def watch_variable(self, variable: Variable) -> None:
        """A trainable variable is about to be read."""
        if self._watch_accessed and self._active:
            self._watch(variable)

    def depends(self, x: Any) -> bool:
        """True if the tape would record an operation on ``x``."""
        return id(x) in self._watched

    def tensors(self) -> Iterator[Any]:
        """Yield the tensors that the tape knows: watched ones, and those of its records."""
        yield from self._kept
        for record in self._records or ():
            yield from record.inputs
            yield from record.outputs

    # Public

    def watch(self, tensor: Any) -> None:
        """Record operations on a tensor, a variable or a structure of them.

        Raises:
            ValueError: something else than tensors and variables.
            RuntimeError: the tape has not begun to record, or is used up.
        """
        flat = parts_of(tensor)
        for x in flat:
            if not isinstance(x, Tensor | Variable):
                raise ValueError(
                    f"Passed in object {x} of type {type(x).__name__!r}, not tf.Tensor or "
                    "tf.Variable or ExtensionType."
                )
        if self._records is None:
            raise RuntimeError(
                "A tape watches from its first `with` block on until its gradients are taken (a "
                "persistent one until it is deleted); call tape.watch(x) inside the block."
            )
        for x in flat:
            if not x.dtype.has_gradients:
                _log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    x.dtype,
                )
                continue
            self._watch(x)

    def _watch(self, x: Any) -> None:
        if id(x) not in self._watched:
            self._watched.add(id(x))
            self._kept.append(x)
            if isinstance(x, Variable):
                self._variables[id(x)] = x

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables watched so far, in the order in which they were created."""
        return tuple(sorted(self._variables.values(), key=lambda v: v._number))

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing inside the ``with`` block.

        Raises:
            RuntimeError: the tape has not begun to record, or is used up.
            ValueError: the tape does not record at the moment.
        """
        if self._records is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop()
        try:
            yield
        finally:
            self._push()

    def reset(self) -> None:
        """Forget everything recorded and watched, and go on recording.

        Raises:
            ValueError: the tape does not record at the moment.
        """
        self._pop()
        self._clear()
        self._push()

    def _clear(self) -> None:
        self._records = []
        self._watched = set()
        self._kept = []
        self._variables = {}
        self._stand_ins, self._spares, self._later = {}, False, []

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Derivatives of the sum of the targets with respect to the sources.

        The reason for a gradient of None is logged at level INFO by the logger ``tfx``.

        Args:
            target: Tensor, variable or a structure of them.
            sources: Tensor, variable or a structure of them.
            output_gradients: Gradient of something else with respect to each target; None: ones,
                a scalar: the same for each element.
            unconnected_gradients: What to return for a source that no target depends on.

        Returns:
            The structure of ``sources`` with a tensor for each; ``IndexedSlices`` for what was
            used by ``tf.gather`` alone; None where nothing depends on it.

        Raises:
            RuntimeError: a second call on a tape that is not persistent, or one that has recorded
                nothing yet.
            ValueError: ``unconnected_gradients`` is unknown.
            TypeError: a target or source that is neither a tensor nor a variable.
            InvalidArgumentError: ``output_gradients`` do not fit the targets.
            NotFoundError: an operator between them has no gradient rule; the error has its name
                and the line that it was used in.
        """
        unconnected = unconnected_kind(unconnected_gradients)
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors or Variables to "
                "be differentiated, but received None."
            )
        flat_sources = flat_sources_of(sources)
        targets = parts_of(target)
        seeds = [None] * len(targets) if output_gradients is None else parts_of(output_gradients)
        if len(seeds) != len(targets):
            raise InvalidArgumentError(
                f"output_gradients has {len(seeds)} gradients for {len(targets)} targets; expected "
                "one for each, or None in its place."
            )
        watched, everything = self._watched, set(map(id, self._kept))
        records = self._take_records()
        gradients = self._seed(targets, seeds)
        # What is not watched has no gradient, even if recorded operations used it.
        found: dict[int, Any] = {id(s): gradients.get(id(s)) for s in flat_sources}
        known = [s for s in flat_sources if id(s) in watched]
        # Where all that is watched is a source, the tape knows already what depends on sources.
        relevant = watched if everything.issubset(map(id, known)) else None
        walked = backpropagate_slices(records, gradients, known, relevant)
        found.update(zip(map(id, known), walked, strict=True))
        if _log.isEnabledFor(logging.INFO):
            for s in [s for s in flat_sources if found[id(s)] is None]:
                _log.info("%s", why_none(s, targets, records, id(s) in watched))
        flat = [_finish(found[id(s)], s, unconnected) for s in flat_sources]
        return like_sources(sources, flat)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """Derivatives of each element of the target with respect to each element of the sources.

        One backward pass for all elements of the target; see ``vectorized_map``.

        Args:
            target: A tensor or variable.
            sources: Tensor, variable or a structure of them.
            unconnected_gradients: What to return for a source that the target does not depend on.
            parallel_iterations: At most so many elements of the target in one pass, to save
                memory; None: all.
            experimental_use_pfor: False: one element of the target after another.

        Returns:
            The structure of ``sources`` with a tensor of the target's shape followed by the
            source's for each; None where the target does not depend on it.

        Raises:
            RuntimeError: a second call on a tape that is not persistent, or such a tape in eager
                mode with ``experimental_use_pfor=False``.
            ValueError: ``unconnected_gradients`` is unknown.
            TypeError: a target or source that is neither a tensor nor a variable.

        Example:
            >>> import tfx as tf
            >>> x = tf.constant([1.0, 2.0])
            >>> with tf.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.jacobian(y, x).numpy()
            array([[2., 0.],
                   [0., 4.]], dtype=float32)
        """
        unconnected_kind(unconnected_gradients)
        return fetch(_JACOBIANS, "jacobian")(
            self, target, sources, unconnected_gradients, parallel_iterations, experimental_use_pfor
        )

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """The Jacobian of each example: of ``target[i]`` with respect to ``source[i]``.

        ``target[i]`` must depend on no other example. That is a pass for each element of one
        example's target, for all examples at once, and no zeros between examples.

        Args:
            target: A tensor of shape ``[batch, ...]``, of rank 2 or more.
            source: A tensor or variable of shape ``[batch, ...]``, of rank 2 or more.
            unconnected_gradients: Accepted; a source that the target does not depend on gets zeros.
            parallel_iterations: At most so many elements of an example in one pass; None: all.
            experimental_use_pfor: False: one element after another.

        Returns:
            A tensor of the target's shape followed by the source's without the batch.

        Raises:
            RuntimeError: see ``jacobian``.
            ValueError: ranks below 2, or batches of different sizes.
            TypeError: a target or source that is neither a tensor nor a variable.

        Example:
            >>> import tfx as tf
            >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
            >>> with tf.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> tape.batch_jacobian(y, x).shape
            TensorShape([2, 2, 2])
        """
        unconnected_kind(unconnected_gradients)
        found: Tensor = fetch(_JACOBIANS, "batch_jacobian")(
            self, target, source, unconnected_gradients, parallel_iterations, experimental_use_pfor
        )
        return found

    def _take_records(self) -> list[OpRecord]:
        if self._records is None:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians), after it has recorded in a `with` block; for more make it with "
                "GradientTape(persistent=True), and delete it when done."
            )
        records = self._records
        # From here on tensors that are there still are held until the walk ends.
        whole = (
            [r.resolved() if type(r) is SparingRecord else r for r in records]
            if self._spares
            else records
        )
        if self._active:
            if self._persistent:
                _warn_of_recorded_gradients()
                return list(whole)
            self._pop()
        if not self._persistent:
            self._records, self._watched, self._kept = None, set(), []
            self._stand_ins, self._spares, self._later = {}, False, []
        return whole

    def _seed(self, targets: list[Any], seeds: list[Any]) -> dict[int, Tensor]:
        gradients: dict[int, Tensor] = {}
        for target, seed in zip(targets, seeds, strict=True):
            if not isinstance(target, Tensor | Variable):
                raise TypeError(
                    f"Cannot differentiate {target!r} of type {type(target).__name__!r}: expected "
                    "a Tensor or Variable."
                )
            if not target.dtype.has_gradients:  # TensorFlow says nothing either
                continue
            if seed is None:
                seed = creation.ones_like(target)
            else:
                seed = convert_to_tensor(seed, target.dtype)
                if seed.shape.rank == 0 and target.shape.rank != 0:  # the same for each element
                    seed = ox.Mul(creation.ones_like(target), seed)
                if not seed.shape.is_compatible_with(target.shape):
                    raise InvalidArgumentError(
                        f"output_gradients has a gradient of shape {seed.shape} for a target of "
                        f"shape {target.shape}; expected the target's shape."
                    )
            known = gradients.get(id(target))
            gradients[id(target)] = seed if known is None else ox.Add(known, seed)
        return gradients


def _forgetting(tape: GradientTape) -> Callable[[Any], None]:
    """Return a callback that tells a tape of a freed tensor, without a reference to the tape."""
    ref = weakref.ref(tape)

    def gone(known: Any) -> None:
        tape = ref()
        if tape is not None:
            tape._forget(known)

    return gone


# Lines that were already warned about.
_told: set[object] = set()


def _warn_of_recorded_gradients() -> None:
    source = user_frame()
    place = (source.file, source.line)
    if place not in _told:
        _told.add(place)
        _log.warning(
            "Calling GradientTape.gradient on a persistent tape inside its context is "
            "significantly less efficient than calling it outside the context (it causes the "
            "gradient ops to be recorded on the tape, leading to increased CPU and memory usage). "
            "Only call GradientTape.gradient inside the context if you actually want to trace the "
            "gradient in order to compute higher order derivatives. [%s]",
            source.text(),
        )


def unconnected_kind(value: UnconnectedGradients | str) -> UnconnectedGradients:
    """Convert an argument ``unconnected_gradients`` to its enum value."""
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}; expected "
            "UnconnectedGradients.NONE or UnconnectedGradients.ZERO."
        ) from None


def _finish(gradient: Any, source: Any, unconnected: UnconnectedGradients) -> Any:
    if gradient is None and unconnected is UnconnectedGradients.ZERO:
        return creation.zeros_like(source)
    return gradient
