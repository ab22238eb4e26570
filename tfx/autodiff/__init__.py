"""``tf.autodiff`` and what is behind it: the tape, the walk back, forward mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfx.core.lazy_namespaces import lazy_namespace

if TYPE_CHECKING:
    from tfx.autodiff.forward_accumulator import ForwardAccumulator as ForwardAccumulator
    from tfx.autodiff.tape import GradientTape as GradientTape

__all__ = ["ForwardAccumulator", "GradientTape"]

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.autodiff.forward_accumulator": "ForwardAccumulator",
        "tfx.autodiff.tape": "GradientTape",
    },
)
