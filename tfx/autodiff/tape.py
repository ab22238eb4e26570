"""``GradientTape``: records operations on watched tensors and differentiates them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Self

from tfx.autodiff.backprop import backpropagate
from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.framework.apply import apply
from tfx.framework.context import current, set_context
from tfx.framework.convert import convert_to_tensor
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.ops import creation

_log = logging.getLogger("tfx")


class UnconnectedGradients(Enum):
    """What ``gradient`` returns for a source that the target does not depend on.

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
        self._records: list[OpRecord] | None = []
        self._watched: set[int] = set()
        self._kept: list[Any] = []  # watched objects: their ids must stay theirs
        self._variables: dict[int, Variable] = {}
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

    def _push(self) -> None:
        if self._active:
            raise ValueError(
                "Tape is still recording. This can happen if you try to re-enter an "
                "already-active tape."
            )
        if self._records is None:
            self.reset()
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
                for y in outputs:
                    if y.dtype.is_floating:
                        watched.add(id(y))
                assert self._records is not None
                self._records.append(OpRecord(op, attrs, tuple(inputs), tuple(outputs)))
                return

    def watch_variable(self, variable: Variable) -> None:
        """A trainable variable is about to be read."""
        if self._watch_accessed and self._active:
            self._watch(variable)

    def depends(self, x: Any) -> bool:
        """Whether the tape would record an operation on ``x``."""
        return id(x) in self._watched

    # Public

    def watch(self, tensor: Any) -> None:
        """Record operations on a tensor, a variable or a structure of them.

        Raises:
            ValueError: something else than tensors and variables.
        """
        for x in nest.flatten(tensor):
            if not isinstance(x, Tensor | Variable):
                raise ValueError(
                    f"Passed in object {x!r} of type {type(x).__name__!r}, not tf.Tensor or "
                    "tf.Variable or ExtensionType."
                )
            if not x.dtype.is_floating:
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
        """The variables watched so far, in order."""
        return tuple(self._variables.values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing inside the ``with`` block.

        Raises:
            RuntimeError: the tape is not recording.
        """
        if not self._active:
            raise RuntimeError("Tape is not recording.")
        self._pop()
        try:
            yield
        finally:
            self._push()

    def reset(self) -> None:
        """Forget everything recorded and watched."""
        self._records = []
        self._watched = set()
        self._kept = []
        self._variables = {}

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """Derivatives of the sum of the targets with respect to the sources.

        Args:
            target: Tensor, variable or a structure of them.
            sources: Tensor, variable or a structure of them.
            output_gradients: Gradient of something else with respect to each target; None: ones.
            unconnected_gradients: What to return for a source that no target depends on.

        Returns:
            The structure of ``sources`` with a tensor (or None) for each.

        Raises:
            RuntimeError: a second call on a tape that is not persistent.
            ValueError: ``unconnected_gradients`` is unknown.
            TypeError: a target or source that is neither a tensor nor a variable.
            InvalidArgumentError: ``output_gradients`` do not fit the targets.
        """
        unconnected = _unconnected(unconnected_gradients)
        if target is None:
            raise TypeError(
                "Argument `target` should be a list or nested structure of Tensors or Variables to "
                "be differentiated, but received None."
            )
        flat_sources = nest.flatten(sources)
        for s in flat_sources:
            if not isinstance(s, Tensor | Variable):
                raise TypeError(
                    f"Cannot compute a gradient with respect to {s!r} of type "
                    f"{type(s).__name__!r}: expected a Tensor or Variable."
                )
        targets = [t for t in nest.flatten(target) if t is not None]
        seeds = (
            [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
        )
        if len(seeds) != len(targets):
            raise InvalidArgumentError(
                f"output_gradients has {len(seeds)} gradients for {len(targets)} targets; expected "
                "one for each, or None in its place."
            )
        watched = self._watched
        records = self._take_records()
        gradients = self._seed(targets, seeds)
        # What is not watched has no gradient, even if recorded operations used it.
        found = {id(s): gradients.get(id(s)) for s in flat_sources}
        known = [s for s in flat_sources if id(s) in watched]
        found.update(zip(map(id, known), backpropagate(records, gradients, known), strict=True))
        flat = [_finish(found[id(s)], s, unconnected) for s in flat_sources]
        return nest.pack_sequence_as(sources, flat)

    def _take_records(self) -> list[OpRecord]:
        if self._records is None:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians); make it with GradientTape(persistent=True), and delete it when "
                "done."
            )
        records = self._records
        if self._active:
            if self._persistent:
                _log.warning(
                    "Calling GradientTape.gradient on a persistent tape inside its context "
                    "is significantly less efficient than calling it outside the context."
                )
                return list(records)
            self._pop()
        if not self._persistent:
            self._records, self._watched, self._kept = None, set(), []
        return records

    def _seed(self, targets: list[Any], seeds: list[Any]) -> dict[int, Tensor]:
        gradients: dict[int, Tensor] = {}
        for target, seed in zip(targets, seeds, strict=True):
            if not isinstance(target, Tensor | Variable):
                raise TypeError(
                    f"Cannot differentiate {target!r} of type {type(target).__name__!r}: expected "
                    "a Tensor or Variable."
                )
            if not target.dtype.is_floating:
                _log.warning(
                    "The dtype of the target tensor must be floating (e.g. tf.float32) when "
                    "calling GradientTape.gradient, got %r",
                    target.dtype,
                )
                continue
            if seed is None:
                seed = creation.ones_like(target)
            else:
                seed = convert_to_tensor(seed, target.dtype)
                if not seed.shape.is_compatible_with(target.shape):
                    raise InvalidArgumentError(
                        f"output_gradients has a gradient of shape {seed.shape} for a target of "
                        f"shape {target.shape}; expected the target's shape."
                    )
            known = gradients.get(id(target))
            gradients[id(target)] = seed if known is None else apply("Add", (known, seed))
        return gradients


def _unconnected(value: UnconnectedGradients | str) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}; expected "
            "UnconnectedGradients.NONE or UnconnectedGradients.ZERO."
        ) from None


def _finish(gradient: Tensor | None, source: Any, unconnected: UnconnectedGradients) -> Any:
    if gradient is None and unconnected is UnconnectedGradients.ZERO:
        return creation.zeros_like(source)
    return gradient
