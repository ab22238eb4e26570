"""``TextGenerator``: a network that continues a text, with its cache of keys and values as state.

Any network will do that takes tokens with the keys and values of those before them, and returns
logits with the keys and values of all: what exporters of language models write. There are two ways
of using it: ``prefill`` and ``decode`` keep the cache in variables between calls, ``generate``
decodes in one graph. The one decision: the cache grows by what the network itself returns, so
nothing is assumed of how it counts positions. ``generate`` carries it through a loop and leaves the
variables alone, so calls of it can run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfx.control_flow.cond import cond
from tfx.control_flow.tensor_array import TensorArray
from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.context import init_scope
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.tracing.function import Function
from tfx.ops.array.concat import concat
from tfx.ops.array.creation import fill, ones_like, zeros
from tfx.ops.array.reshape import reshape
from tfx.ops.array.shape import shape
from tfx.ops.array.sort import top_k as largest
from tfx.ops.array.transpose import transpose
from tfx.ops.array.where import where
from tfx.ops.math.argmax import argmax
from tfx.ops.math.arithmetic import maximum, minimum
from tfx.ops.math.cast import cast
from tfx.ops.math.cumulative import cumsum
from tfx.ops.math.reduction import reduce_all, reduce_any, reduce_sum
from tfx.ops.random.random import stateless_categorical

# (tokens, mask, positions, cache) -> (logits, cache)
Forward: TypeAlias = (
    "Callable[[Tensor, Tensor, Tensor, list[Tensor]], tuple[Tensor, Sequence[Tensor]]]"
)

_INT64, _INT32, _FLOAT32 = dtypes.int64, dtypes.int32, dtypes.float32
_PROMPT = (
    TensorSpec(["batch", "prompt"], _INT64, name="input_ids"),
    TensorSpec(["batch", "prompt"], _INT64, name="attention_mask"),
)
_SETTINGS = (
    TensorSpec([], _INT32, name="max_new_tokens"),
    TensorSpec([], _FLOAT32, name="temperature"),
    TensorSpec([], _INT32, name="top_k"),
    TensorSpec([], _INT64, name="seed"),
)


class CacheSlot(NamedTuple):
    """One tensor of a cache.

    Attributes:
        name: What its variable is called, such as ``layers.0.key``.
        shape: Its sizes: None for the batch and for the axis that grows by each token. There are
            two of those, in this order.
        dtype: Its dtype.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: dtypes.DType = _FLOAT32


class TextGenerator(Module):
    """A language model that decodes inside of its graph, with its cache as state.

    Args:
        network: The module whose variables are the weights.
        forward: What the network computes: from ``tokens`` (``[batch, new]``), ``mask``
            (``[batch, all]``, 0: padding), ``positions`` (``[batch, new]``) and the cache before
            to logits (``[batch, any, vocabulary]``, the last ones count) and the cache behind.
        cache: The tensors of the cache.
        end_tokens: Tokens that end a text.
        pad_token: What follows the end of a text beside longer ones.
        name: Name of the module, an identifier.

    Attributes:
        network: The module.
        cache: The variables of ``prefill`` and ``decode``, by the slots' names.
        mask: Which tokens of the cache are no padding, ``[batch, cached]``.

    Raises:
        InvalidArgumentError: a slot does not have two unknown sizes.

    Example:
        A network without weights, which counts: the likeliest token is the last one plus one.

        >>> import tfx as tf
        >>> def count(tokens, mask, positions, cache):
        ...     seen = tf.concat([cache[0], tf.cast(tokens, tf.float32)[:, :, None]], 1)
        ...     return tf.one_hot(tokens + 1, 10), [seen]
        >>> counter = TextGenerator(tf.Module(), count, [CacheSlot("seen", (None, None, 1))], [7])
        >>> counter.generate([[2, 3]])["tokens"].numpy()
        array([[2, 3, 4, 5, 6, 7]])
        >>> counter.prefill([[1, 2, 3]])["logits"].numpy().argmax()
        np.int64(4)
        >>> counter.decode([8])["logits"].numpy().argmax(), counter.cache["seen"].value().shape
        (np.int64(9), TensorShape([1, 4, 1]))
    """

    def __init__(
        self,
        network: Module,
        forward: Forward,
        cache: Sequence[CacheSlot],
        end_tokens: Sequence[int] = (),
        pad_token: int = 0,
        name: str = "text_generator",
    ) -> None:
        super().__init__(name)
        for slot in cache:
            if sum(d is None for d in slot.shape) != 2:
                raise InvalidArgumentError(
                    f"the slot {slot.name!r} of the cache has the shape {slot.shape}, expected two "
                    "sizes that are None: of the batch, and of the axis that grows."
                )
        self.network = network
        self._self_forward = forward
        self._self_slots = tuple(cache)
        self._self_end = np.asarray([int(t) for t in end_tokens], np.int64)
        self._self_pad = int(pad_token)
        with init_scope():
            self.cache = {
                slot.name: Variable(
                    np.zeros([d or 0 for d in slot.shape], slot.dtype.as_numpy_dtype),
                    trainable=False,
                    shape=slot.shape,
                    name=slot.name,
                )
                for slot in cache
            }
            empty = np.zeros([0, 0], np.int64)
            self.mask = Variable(empty, trainable=False, shape=[None, None], name="mask")
        one = TensorSpec(["batch"], _INT64, name="tokens")
        self._self_prefill = Function(self._prefill, "prefill", _PROMPT, autograph=False)
        self._self_decode = Function(self._decode, "decode", (one,), autograph=False)
        self._self_generate = Function(
            self._generate, "generate", (*_PROMPT, *_SETTINGS), autograph=False
        )

    # What people call

    def prefill(self, input_ids: Any, attention_mask: Any = None) -> dict[str, Any]:
        """Begin texts: the cache is then that of these tokens.

        Args:
            input_ids: ``[batch, prompt]``; shorter texts have padding on the left.
            attention_mask: ``[batch, prompt]``, 0 for padding. None: there is none.

        Returns:
            ``logits`` of the next token, ``[batch, vocabulary]``.
        """
        result: dict[str, Any] = self._self_prefill(*_prompt(input_ids, attention_mask))
        return result

    def decode(self, tokens: Any) -> dict[str, Any]:
        """Go on by one token of each text.

        Args:
            tokens: ``[batch]``, the batch that ``prefill`` was given.

        Returns:
            ``logits`` of the next token, ``[batch, vocabulary]``.
        """
        result: dict[str, Any] = self._self_decode(np.asarray(tokens, np.int64))
        return result

    def generate(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        max_new_tokens: int = 20,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Continue texts, in one call of one graph.

        Args:
            input_ids: ``[batch, prompt]``; shorter texts have padding on the left.
            attention_mask: ``[batch, prompt]``, 0 for padding. None: there is none.
            max_new_tokens: The most tokens that are added.
            temperature: 0: the likeliest token is taken. Above: one is drawn from the softmax of
                logits divided by it.
            top_k: Draw from the likeliest tokens only, this many; 0: from all.
            seed: Of the draws: the same seed gives the same texts, in every runtime.

        Returns:
            ``tokens``, ``[batch, prompt + added]``. Behind its end a text is filled up with the
            padding token; decoding ends with the last text.
        """
        settings = (
            np.asarray(max_new_tokens, np.int32),
            np.asarray(temperature, np.float32),
            np.asarray(top_k, np.int32),
            np.asarray(seed, np.int64),
        )
        result: dict[str, Any] = self._self_generate(*_prompt(input_ids, attention_mask), *settings)
        return result

    @property
    def signatures(self) -> dict[str, Any]:
        """The signatures that ``saved_model.save`` offers: ``generate``, ``prefill``, ``decode``.

        All of their inputs are to be given: there ``attention_mask`` is a tensor of ones where
        nothing is padding.
        """
        return {
            "generate": self._self_generate,
            "prefill": self._self_prefill,
            "decode": self._self_decode,
        }

    # What is traced

    def _prefill(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Any]:
        logits, cache = self._begin(input_ids, attention_mask)
        self._keep(cache, attention_mask)
        return {"logits": logits}

    def _decode(self, tokens: Tensor) -> dict[str, Any]:
        mask = _longer(self.mask.read_value())
        cache = [self.cache[slot.name].read_value() for slot in self._self_slots]
        logits, cache = self._go_on(tokens, mask, cache)
        self._keep(cache, mask)
        return {"logits": logits}

    def _keep(self, cache: Sequence[Tensor], mask: Tensor) -> None:
        for slot, value in zip(self._self_slots, cache, strict=True):
            self.cache[slot.name].assign(value)
        self.mask.assign(mask)

    def _begin(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The network on whole prompts."""
        batch = shape(tokens)[0]
        empty = [_empty(slot, batch) for slot in self._self_slots]
        # Padding has no place; what it is given does not matter.
        positions = maximum(cumsum(mask, axis=1) - 1, np.int64(0))
        return self._last(tokens, mask, positions, empty)

    def _go_on(
        self, tokens: Tensor, mask: Tensor, cache: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """The network on one token more of each text, which the mask has already."""
        positions = reduce_sum(mask, axis=1, keepdims=True) - 1
        return self._last(tokens[:, None], mask, positions, cache)

    def _last(
        self, tokens: Tensor, mask: Tensor, positions: Tensor, cache: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        logits, behind = self._self_forward(tokens, mask, positions, cache)
        return logits[:, -1], list(behind)

    def _generate(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        max_new_tokens: Tensor,
        temperature: Tensor,
        top_k: Tensor,
        seed: Tensor,
    ) -> dict[str, Any]:
        logits, cache = self._begin(input_ids, attention_mask)
        draw = _Draw(temperature, top_k, seed)
        first = draw(logits, np.int32(0))
        found = TensorArray(_INT64, 0, dynamic_size=True, element_shape=[None])

        def more(step: Tensor, token: Tensor, ended: Tensor, *_: Any) -> Tensor:
            return (step < max_new_tokens) & ~reduce_all(ended)

        def body(
            step: Tensor, token: Tensor, ended: Tensor, mask: Tensor, texts: Any, *cache: Tensor
        ) -> tuple[Any, ...]:
            mask = _longer(mask)
            logits, behind = self._go_on(token, mask, list(cache))
            following = where(ended, np.int64(self._self_pad), draw(logits, step))
            texts = texts.write(step, following)
            return (step + 1, following, ended | self._ends(following), mask, texts, *behind)

        started = found.write(0, first)
        batch = TensorShape([None])
        state = (np.int32(1), first, self._ends(first), attention_mask, started, *cache)
        shapes = (
            TensorShape([]), batch, batch, TensorShape([None, None]), TensorShape(None),
            *(TensorShape(slot.shape) for slot in self._self_slots),
        )  # fmt: skip
        texts = while_loop(more, body, state, shapes)[4].stack()
        added = transpose(texts[: maximum(max_new_tokens, 0)], [1, 0])
        return {"tokens": concat([input_ids, added], 1)}

    def _ends(self, tokens: Tensor) -> Tensor:
        """Which texts end with these tokens."""
        return reduce_any(tokens[:, None] == self._self_end[None, :], axis=1)


class _Draw:
    """The choice of tokens by their logits."""

    def __init__(self, temperature: Tensor, top_k: Tensor, seed: Tensor) -> None:
        self._temperature, self._top_k, self._seed = temperature, top_k, seed

    def __call__(self, logits: Tensor, step: Any) -> Tensor:
        """``[batch, vocabulary]`` to ``[batch]``."""
        logits = cast(logits, _FLOAT32)
        chosen: Tensor = cond(
            self._temperature > 0,
            lambda: self._drawn(logits, step),
            lambda: argmax(logits, axis=-1, output_type=_INT64),
        )
        return chosen

    def _drawn(self, logits: Tensor, step: Any) -> Tensor:
        count = shape(logits)[1]
        kept = where(self._top_k > 0, minimum(self._top_k, count), count)
        values, places = largest(logits / self._temperature, kept)
        seed = concat([reshape(self._seed, [1]), reshape(cast(step, _INT64), [1])], 0)
        chosen = stateless_categorical(values, 1, seed)
        # The chosen one of each row, by comparison: rows are short, and no index is out of range.
        numbers = cumsum(ones_like(places), axis=1) - 1
        return reduce_sum(
            where(cast(numbers, _INT64) == chosen, cast(places, _INT64), np.int64(0)), 1
        )


def _prompt(input_ids: Any, attention_mask: Any) -> tuple[Any, Any]:
    tokens = np.asarray(input_ids, np.int64)
    if tokens.ndim != 2 or tokens.shape[1] == 0:
        raise InvalidArgumentError(
            f"input_ids has the shape {tokens.shape}, expected [batch, prompt] with one token at "
            "least."
        )
    mask = np.ones_like(tokens) if attention_mask is None else np.asarray(attention_mask, np.int64)
    if mask.shape != tokens.shape:
        raise InvalidArgumentError(
            f"attention_mask has the shape {mask.shape}, expected that of input_ids: "
            f"{tokens.shape}."
        )
    return tokens, mask


def _longer(mask: Tensor) -> Tensor:
    """The mask with one token more."""
    return concat([mask, fill([shape(mask)[0], 1], np.int64(1))], 1)


def _empty(slot: CacheSlot, batch: Tensor) -> Tensor:
    """A slot before the first token."""
    # The first unknown size is the batch's, the second the texts'.
    first = slot.shape.index(None)
    sizes = [batch if i == first else d or 0 for i, d in enumerate(slot.shape)]
    return zeros(sizes, slot.dtype)
