"""Which public operations take ragged tensors, and what carries them out then.

Owns the table, by public names. It must not know how an operation finds out that it was given one:
that is the facade's business.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tfx.core import dtypes
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.common.arguments import cast_to
from tfx.ragged_ops import (
    along_rows,
    arrangement,
    mapping,
    masks,
    measures,
    of_ragged_shapes,
    products,
    reduction,
    segments,
    selection,
    strings,
)
from tfx.ragged_ops.dynamic_ragged_shape import DynamicRaggedShape
from tfx.ragged_ops.elementwise import by_elements, elementwise
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.sparse_ops.handlers import bincount as sparse_bincount

Handler = Callable[..., Any]

# Operations on single elements: the first argument is the one that may be ragged.
_UNARY = """
    abs acos acosh asin asinh atan atanh bitcast cast clip_by_value cos cosh exp floor
    guarantee_const identity negative ones_like round saturate_cast sigmoid sign sin sinh sqrt
    square stop_gradient tan tanh zeros_like as_string math.ceil math.conj math.angle math.imag
    math.real math.digamma math.erf math.erfc math.erfcinv math.erfinv math.expm1 math.is_finite
    math.is_inf math.is_nan math.lgamma math.log math.log1p math.log_sigmoid math.logical_not
    math.ndtri math.reciprocal math.reciprocal_no_nan math.rint math.rsqrt math.softplus
    math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e math.special.spence
    math.special.dawsn math.special.expint math.special.fresnel_cos math.special.fresnel_sin
    math.special.bessel_j0 math.special.bessel_j1 math.special.bessel_k0 math.special.bessel_k0e
    math.special.bessel_k1 math.special.bessel_k1e math.special.bessel_y0 math.special.bessel_y1
    nn.dropout nn.elu nn.gelu nn.leaky_relu nn.relu nn.relu6 nn.selu nn.silu nn.softsign
    bitwise.invert debugging.check_numerics strings.lower strings.upper strings.strip
    strings.length strings.to_number strings.substr strings.regex_replace strings.regex_full_match
    strings.to_hash_bucket_fast strings.to_hash_bucket_strong strings.unicode_transcode
    strings.unicode_script
    image.convert_image_dtype
"""
# Those on pairs of elements: the first two.
_BINARY = """
    add atan2 complex divide equal greater greater_equal less less_equal logical_and logical_or
    logical_xor maximum minimum multiply not_equal pow realdiv subtract truediv truncatediv
    truncatemod
    math.floordiv math.floormod math.divide_no_nan math.multiply_no_nan math.squared_difference
    math.xdivy math.xlog1py math.xlogy math.igamma math.igammac math.nextafter math.polygamma
    math.zeta
    bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift
    bitwise.right_shift
    nn.sigmoid_cross_entropy_with_logits
"""
_ASSERTIONS = """
    assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near
    assert_none_equal
"""
# Those with an implementation of their own, of the same parameters.
_OWN: Mapping[str, Handler] = {
    "boolean_mask": masks.boolean_mask,
    "concat": arrangement.concat,
    "dynamic_partition": selection.dynamic_partition,
    "expand_dims": arrangement.expand_dims,
    "gather": selection.gather,
    "gather_nd": selection.gather_nd,
    "map_fn": mapping.map_fn,
    "cumsum": along_rows.cumsum,
    "math.cumsum": along_rows.cumsum,
    "math.reduce_std": reduction.reduce_std,
    "math.reduce_variance": reduction.reduce_variance,
    "nn.softmax": along_rows.softmax,
    "reduce_all": reduction.reduce_all,
    "reduce_any": reduction.reduce_any,
    "reduce_logsumexp": along_rows.reduce_logsumexp,
    "reduce_max": reduction.reduce_max,
    "reduce_mean": reduction.reduce_mean,
    "reduce_min": reduction.reduce_min,
    "reduce_prod": reduction.reduce_prod,
    "reduce_sum": reduction.reduce_sum,
    "reverse": arrangement.reverse,
    "squeeze": arrangement.squeeze,
    "stack": arrangement.stack,
    "split": arrangement.split,
    "strings.join": strings.join,
    "strings.ngrams": strings.ngrams,
    "strings.reduce_join": strings.reduce_join,
    "tile": arrangement.tile,
    "where": selection.where,
}
# What takes lists in which there may be a ragged tensor.
_OF_LISTS = frozenset({"add_n", "concat", "stack", "strings.join", "strings.format", "map_fn"})


def table() -> dict[str, Callable[[Handler], Handler]]:
    """For each public name what makes the implementation for ragged tensors of the plain one."""
    made: dict[str, Callable[[Handler], Handler]] = {}
    for name in _UNARY.split():
        made[name] = lambda plain: _elementwise(plain, 1)
    for name in _BINARY.split():
        made[name] = lambda plain: _elementwise(plain, 2)
    for name, own in _OWN.items():
        made[name] = _constantly(own)
    made["add_n"] = lambda plain: (
        lambda inputs, name=None: by_elements(lambda *tensors: plain(list(tensors)), *inputs)
    )
    made["math.bincount"] = _bincount
    made["one_hot"] = _one_hot
    made["nn.embedding_lookup"] = _embedding_lookup
    made["size"] = _constantly(_size)
    made["rank"] = _constantly(_rank)
    made["shape"] = _constantly(_shape)
    made["unstack"] = _constantly(_unstack)
    made["zeros"] = made["ones"] = of_ragged_shapes.filled
    made["fill"] = of_ragged_shapes.fill
    made["reshape"] = of_ragged_shapes.reshape
    made["broadcast_to"] = of_ragged_shapes.broadcast_to
    for name in ["max", "mean", "min", "prod", "sqrt_n", "sum"]:
        made[f"math.unsorted_segment_{name}"] = segments.of_rows
    for name in _ASSERTIONS.split():
        made[f"debugging.{name}"] = _assertion
    made["strings.format"] = strings.format_
    made["strings.unicode_encode"] = strings.unicode_encode
    made["matmul"] = products.matmul
    return made


def takes_lists(name: str) -> bool:
    """True if an operation takes lists of tensors."""
    return name in _OF_LISTS


def _constantly(own: Handler) -> Callable[[Handler], Handler]:
    return lambda plain: own


def _elementwise(plain: Handler, count: int) -> Handler:
    """An operation on the elements of its first arguments."""
    signature = inspect.signature(plain)
    names = list(signature.parameters)[:count]

    def carry_out(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        other = given.pop("kwargs", {})
        operands = [given.pop(n) for n in names if n in given]
        for name, value in given.items():
            if isinstance(value, RaggedTensor):
                raise TypeError(
                    f"{plain.__name__}: argument {name!r} cannot be a RaggedTensor; got {value!r}."
                )

        def function(*tensors: Tensor) -> Any:
            return plain(**dict(zip(names, tensors, strict=False)), **given, **other)

        return elementwise(function, *operands)

    return carry_out


def _assertion(plain: Handler) -> Handler:
    """An assertion about pairs of elements."""
    signature = inspect.signature(plain)

    def carry_out(*args: Any, **kwargs: Any) -> None:
        given = dict(signature.bind(*args, **kwargs).arguments)
        x, y = given.pop("x"), given.pop("y")

        def function(a: Tensor, b: Tensor) -> Tensor:
            plain(a, b, **given)
            return a

        elementwise(function, x, y)

    return carry_out


def _bincount(plain: Handler) -> Handler:
    signature = inspect.signature(plain)

    def bincount(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        arr, weights = given.pop("arr"), given.pop("weights", None)
        if not isinstance(arr, RaggedTensor):
            raise TypeError("math.bincount: weights are ragged only if the numbers are.")
        parts = weights.flat_values if isinstance(weights, RaggedTensor) else weights
        if given.get("axis") in (None, 0):
            return plain(arr.flat_values, parts, **given)
        return sparse_bincount(arr.to_sparse(), parts, **given)

    return bincount


def _one_hot(plain: Handler) -> Handler:
    signature = inspect.signature(plain)

    def one_hot(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        indices: Any = given.pop("indices")
        axis = given.pop("axis", None)
        rank = indices.shape.rank
        if axis not in (None, -1) and (rank is None or axis != rank):
            if axis <= indices.ragged_rank:
                raise InvalidArgumentError(
                    f"axis ({axis}) must be greater than indices.ragged_rank "
                    f"({indices.ragged_rank})."
                )
            axis -= indices.ragged_rank
        else:
            axis = -1
        return indices.with_flat_values(plain(indices.flat_values, axis=axis, **given))

    return one_hot


def _embedding_lookup(plain: Handler) -> Handler:
    def embedding_lookup(params: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(ids, RaggedTensor):
            raise TypeError("nn.embedding_lookup: params cannot be a RaggedTensor, only ids can.")
        return ids.with_flat_values(plain(params, ids.flat_values, *args, **kwargs))

    return embedding_lookup


def _size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    return measures.size(input, out_type)


def _rank(input: Any, name: str | None = None) -> Tensor:
    return cast_to(int64_constant(measures.rank_of(input, "tf.rank")), dtypes.int32)


def _shape(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Any:
    return DynamicRaggedShape.from_tensor(input, out_type)


def _unstack(value: Any, num: Any = None, axis: int = 0, name: str | None = None) -> list[Any]:
    count = value.shape[0] if num is None else num
    if axis != 0 or count is None:
        raise InvalidArgumentError(
            "tf.unstack of a ragged tensor takes axis 0 alone, and a number of rows that is known."
        )
    return [value[i] for i in range(count)]
