"""``tf.raw_ops``: TensorFlow's operations under their own names, with keyword arguments alone.

Those that programs and libraries call in this form, and that public functions express directly;
``tfx.raw`` has the operators of ONNX. Dtypes follow the public functions, which convert Python
values that TensorFlow's raw operations would refuse.
"""

from __future__ import annotations

import functools as _functools
import inspect as _inspect
from collections.abc import Callable as _Callable
from typing import Any as _Any

import tfx as _tf
from tfx.core.namespaces import MissingNameError as _MissingNameError
from tfx.core.signatures import show_signature
from tfx.linalg_ops import image_transform as _image_transform
from tfx.nn_ops import convolution_backprop as _backprop
from tfx.ops.array import unique as _unique
from tfx.ops.common import broadcast_shapes as _shapes
from tfx.ops.common.raw_forms import forms as _forms
from tfx.ops.math import incomplete_gamma as _gamma
from tfx.ops.nn import fused_normalization as _fused
from tfx.ops.random import index_shuffle as _index_shuffle
from tfx.raw_ops import composed as _composed
from tfx.sparse_ops import raw_forms as _sparse

_int32, _int64, _float32 = _tf.int32, _tf.int64, _tf.float32
_NO_DILATION = (1, 1, 1, 1)


def _padding(padding: str, explicit: _Any, rank: int = 4) -> _Any:
    """``padding`` as public functions take it."""
    if padding != "EXPLICIT":
        return padding
    return [list(explicit[2 * i : 2 * i + 2]) for i in range(rank)]


def _strided_slice(
    input: _Any, begin: _Any, end: _Any, strides: _Any, masks: tuple[int, int, int, int, int]
) -> _Any:
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    given: dict[str, _Any] = dict(zip(names, masks, strict=True))
    return _tf.strided_slice(input, begin, end, strides, **given)


def _split(axis: _Any, value: _Any, parts: _Any) -> _Any:
    return _tf.split(value, parts, axis=int(_tf.get_static_value(_tf.convert_to_tensor(axis))))


def _divide(x: _Any, y: _Any) -> _Any:
    """A quotient; of integers that without its fraction."""
    integer = _tf.convert_to_tensor(x).dtype.is_integer
    return _tf.truncatediv(x, y) if integer else _tf.realdiv(x, y)


def _elementwise(names: str, function: _Callable[[_Callable[..., _Any]], _Any]) -> dict[str, _Any]:
    """``Name=public.name``: forms of functions with the same arguments."""
    found = {}
    for pair in names.split():
        name, _, path = pair.partition("=")
        found[name] = function(_public(path))
    return found


def _public(path: str) -> _Callable[..., _Any]:
    """A public function that is looked up when it is called."""

    def call(*args: _Any, **kwargs: _Any) -> _Any:
        found: _Any = _tf
        for part in path.split("."):
            found = getattr(found, part)
        return found(*args, **kwargs)

    return call


def _resource(change: str) -> _Callable[..., _Any]:
    """What changes the variable of a handle."""

    def form(*, resource: _Any, value: _Any, name: _Any = None) -> None:
        getattr(resource, change)(value)

    return form


def _bucketized(x: _Any, boundaries: _Any) -> _Any:
    """How many boundaries each number is not below."""
    values = _tf.convert_to_tensor(x)
    bounds = _tf.constant(list(boundaries), _tf.float64)
    above = _tf.cast(_tf.expand_dims(values, -1), _tf.float64) >= bounds
    return _tf.reduce_sum(_tf.cast(above, _int32), -1)


def _whole_numbers(draw: _Callable[..., _Any], shape: _Any, low: _Any, high: _Any) -> _Any:
    """Whole numbers of the dtype of their bounds."""
    least = _tf.convert_to_tensor(low)
    return draw(shape, minval=least, maxval=high, dtype=least.dtype)


_FORMS: dict[str, _Callable[..., _Any]] = {
    **dict(_forms(_public, _composed.numbers, _tf)),
    **_composed.FORMS,
    **_sparse.FORMS,
    **_elementwise(
        """
        Abs=abs Acos=acos Acosh=acosh Asin=asin Asinh=asinh Atan=atan Atanh=atanh Ceil=math.ceil
        Cos=cos Cosh=cosh Digamma=math.digamma Erf=math.erf Erfc=math.erfc Erfinv=math.erfinv
        Exp=exp Expm1=math.expm1 Floor=floor Inv=math.reciprocal Invert=bitwise.invert
        InvertPermutation=math.invert_permutation IsFinite=math.is_finite IsInf=math.is_inf
        IsNan=math.is_nan Lgamma=math.lgamma Log=math.log Log1p=math.log1p
        LogicalNot=logical_not Ndtri=math.ndtri Neg=negative OnesLike=ones_like
        Reciprocal=math.reciprocal Rint=math.rint Round=round Rsqrt=math.rsqrt Sigmoid=sigmoid
        Sign=sign Sin=sin Sinh=sinh Sqrt=sqrt Square=square Tan=tan Tanh=tanh ZerosLike=zeros_like
        """,
        lambda f: lambda *, x, name=None: f(x),
    ),
    **_elementwise(
        """
        Elu=nn.elu Relu=nn.relu Relu6=nn.relu6 Selu=nn.selu Softplus=nn.softplus
        Softsign=nn.softsign
        """,
        lambda f: lambda *, features, name=None: f(features),
    ),
    **_elementwise(
        "LogSoftmax=nn.log_softmax Softmax=nn.softmax",
        lambda f: lambda *, logits, name=None: f(logits),
    ),
    **_elementwise(
        """
        Add=add AddV2=add BitwiseAnd=bitwise.bitwise_and BitwiseOr=bitwise.bitwise_or
        BitwiseXor=bitwise.bitwise_xor DivNoNan=math.divide_no_nan
        FloorDiv=math.floordiv FloorMod=math.floormod Greater=greater GreaterEqual=greater_equal
        LeftShift=bitwise.left_shift Less=less LessEqual=less_equal LogicalAnd=logical_and
        LogicalOr=logical_or Maximum=maximum Minimum=minimum MulNoNan=math.multiply_no_nan
        Mul=multiply Pow=pow RealDiv=realdiv RightShift=bitwise.right_shift
        SquaredDifference=math.squared_difference Sub=subtract TruncateDiv=truncatediv
        TruncateMod=truncatemod Xdivy=math.xdivy Xlog1py=math.xlog1py Xlogy=math.xlogy
        """,
        lambda f: lambda *, x, y, name=None: f(x, y),
    ),
    **_elementwise(
        "Equal=equal NotEqual=not_equal",
        lambda f: lambda *, x, y, incompatible_shape_error=True, name=None: f(x, y),
    ),
    **_elementwise(
        """
        All=reduce_all Any=reduce_any Max=reduce_max Mean=reduce_mean Min=reduce_min
        Prod=reduce_prod Sum=reduce_sum
        """,
        lambda f: lambda *, input, axis, keep_dims=False, name=None: f(
            input, axis=_composed.numbers(axis), keepdims=keep_dims
        ),
    ),
    **_elementwise(
        "ArgMax=argmax ArgMin=argmin",
        lambda f: lambda *, input, dimension, output_type=_int64, name=None: f(
            input, axis=_composed.numbers(dimension), output_type=output_type
        ),
    ),
    **_elementwise(
        "Cumprod=math.cumprod Cumsum=cumsum",
        lambda f: lambda *, x, axis, exclusive=False, reverse=False, name=None: f(
            x, axis=_composed.numbers(axis), exclusive=exclusive, reverse=reverse
        ),
    ),
    **_elementwise(
        "SegmentMax=math.segment_max SegmentMean=math.segment_mean SegmentSum=math.segment_sum",
        lambda f: lambda *, data, segment_ids, name=None: f(data, segment_ids),
    ),
    **_elementwise(
        """
        UnsortedSegmentMax=math.unsorted_segment_max UnsortedSegmentMin=math.unsorted_segment_min
        UnsortedSegmentSum=math.unsorted_segment_sum
        """,
        lambda f: lambda *, data, segment_ids, num_segments, name=None: f(
            data, segment_ids, num_segments
        ),
    ),
    **_elementwise(
        "DepthToSpace=nn.depth_to_space SpaceToDepth=nn.space_to_depth",
        lambda f: lambda *, input, block_size, data_format="NHWC", name=None: f(
            input, block_size, data_format
        ),
    ),
    "ApproximateEqual": lambda *, x, y, tolerance=1e-05, name=None: (
        _tf.less(_tf.abs(_tf.subtract(x, y)), _tf.cast(tolerance, _tf.convert_to_tensor(x).dtype))
    ),
    "AssignAddVariableOp": _resource("assign_add"),
    "AssignSubVariableOp": _resource("assign_sub"),
    "AssignVariableOp": lambda *, resource, value, validate_shape=False, name=None: (
        _resource("assign")(resource=resource, value=value)
    ),
    "AvgPoolGrad": lambda *, orig_input_shape, grad, ksize, strides, padding, data_format="NHWC",
    name=None: _composed.slope(
        lambda x: _tf.nn.avg_pool2d(x, ksize, strides, padding, data_format),
        _tf.zeros(orig_input_shape, _tf.convert_to_tensor(grad).dtype), grad,
    ),
    "BatchToSpace": lambda *, input, crops, block_size, name=None: (
        _tf.batch_to_space(input, [block_size, block_size], crops)
    ),
    "Bucketize": lambda *, input, boundaries, name=None: _bucketized(input, boundaries),
    "Conv2DBackpropFilter": lambda *, input, filter_sizes, out_backprop, strides, padding,
    use_cudnn_on_gpu=True, explicit_paddings=(), data_format="NHWC", dilations=_NO_DILATION,
    name=None: _backprop.conv2d_backprop_filter(
        input, filter_sizes, out_backprop, strides, _padding(padding, explicit_paddings), True,
        data_format, dilations,
    ),
    "Conv3DBackpropFilterV2": lambda *, input, filter_sizes, out_backprop, strides, padding,
    data_format="NDHWC", dilations=(1, 1, 1, 1, 1), name=None: _backprop.conv3d_backprop_filter(
        input, filter_sizes, out_backprop, strides, padding, data_format, dilations
    ),
    "Conv3DBackpropInputV2": lambda *, input_sizes, filter, out_backprop, strides, padding,
    data_format="NDHWC", dilations=(1, 1, 1, 1, 1), name=None: _backprop.conv3d_backprop_input(
        input_sizes, filter, out_backprop, strides, padding, data_format, dilations
    ),
    "DecodeCSV": lambda *, records, record_defaults, field_delim=",", use_quote_delim=True,
    na_value="", select_cols=(), name=None: (
        _tf.io.decode_csv(
            records, record_defaults, field_delim, use_quote_delim, na_value,
            list(select_cols) or None,
        )
    ),
    "DepthwiseConv2dNativeBackpropFilter": lambda *, input, filter_sizes, out_backprop, strides,
    padding, explicit_paddings=(), data_format="NHWC", dilations=_NO_DILATION, name=None: (
        _backprop.depthwise_conv2d_backprop_filter(
            input, filter_sizes, out_backprop, strides, _padding(padding, explicit_paddings),
            data_format, dilations,
        )
    ),
    "DepthwiseConv2dNativeBackpropInput": lambda *, input_sizes, filter, out_backprop, strides,
    padding, explicit_paddings=(), data_format="NHWC", dilations=_NO_DILATION, name=None: (
        _backprop.depthwise_conv2d_backprop_input(
            input_sizes, filter, out_backprop, strides, _padding(padding, explicit_paddings),
            data_format, dilations,
        )
    ),
    "EluGrad": lambda *, gradients, outputs, name=None: (
        _tf.where(_tf.less(outputs, 0), gradients * (outputs + 1), gradients)
    ),
    "Empty": lambda *, shape, dtype, init=False, name=None: _tf.zeros(shape, dtype),
    "ImageProjectiveTransformV2": lambda *, images, transforms, output_shape, interpolation,
    fill_mode="CONSTANT", name=None: _image_transform.image_projective_transform(
        images, transforms, output_shape, 0.0, interpolation, fill_mode
    ),
    "ImageProjectiveTransformV3": lambda *, images, transforms, output_shape, fill_value,
    interpolation, fill_mode="CONSTANT", name=None: _image_transform.image_projective_transform(
        images, transforms, output_shape, fill_value, interpolation, fill_mode
    ),
    "InvGrad": lambda *, y, dy, name=None: -dy * y * y,
    "IsotonicRegression": lambda *, input, output_dtype=_float32, name=None: (
        _tf.nn.isotonic_regression(_tf.cast(input, output_dtype))
    ),
    "LeakyReluGrad": lambda *, gradients, features, alpha=0.2, name=None: (
        _tf.where(_tf.greater(features, 0), gradients, gradients * alpha)
    ),
    "MaxPoolGrad": lambda *, orig_input, orig_output, grad, ksize, strides, padding,
    explicit_paddings=(), data_format="NHWC", name=None: _composed.slope(
        lambda x: _tf.nn.max_pool2d(
            x, ksize, strides, _padding(padding, explicit_paddings), data_format
        ),
        orig_input, grad,
    ),
    "NoOp": lambda *, name=None: _tf.no_op(),
    "RandomIndexShuffle": lambda *, index, seed, max_index, rounds=4, name=None: (
        _index_shuffle.random_index_shuffle(index, seed, max_index, rounds)
    ),
    "RandomUniformInt": lambda *, shape, minval, maxval, seed=0, seed2=0, name=None: (
        _whole_numbers(
            _functools.partial(_tf.random.uniform, seed=seed or seed2 or None),
            shape, minval, maxval,
        )
    ),
    "ReadVariableOp": lambda *, resource, dtype, name=None: _tf.convert_to_tensor(resource, dtype),
    "ReciprocalGrad": lambda *, y, dy, name=None: -dy * y * y,
    "Relu6Grad": lambda *, gradients, features, name=None: _tf.where(
        _tf.logical_and(_tf.greater(features, 0), _tf.less(features, 6)),
        gradients, _tf.zeros_like(gradients),
    ),
    "RsqrtGrad": lambda *, y, dy, name=None: -0.5 * dy * y * y * y,
    "SelfAdjointEigV2": lambda *, input, compute_v=True, name=None: (
        _tf.linalg.eigh(input) if compute_v else (_tf.linalg.eigvalsh(input), _tf.zeros([0]))
    ),
    "SoftplusGrad": lambda *, gradients, features, name=None: gradients * _tf.sigmoid(features),
    "SoftsignGrad": lambda *, gradients, features, name=None: (
        gradients / _tf.square(1 + _tf.abs(features))
    ),
    "SpaceToBatch": lambda *, input, paddings, block_size, name=None: (
        _tf.space_to_batch(input, [block_size, block_size], paddings)
    ),
    "SparseReorder": lambda *, input_indices, input_values, input_shape, name=None: (
        _composed.entries(
            _tf.sparse.reorder(_tf.SparseTensor(input_indices, input_values, input_shape))
        )[:2]
    ),
    "SparseTensorDenseMatMul": lambda *, a_indices, a_values, a_shape, b, adjoint_a=False,
    adjoint_b=False, name=None: _tf.sparse.sparse_dense_matmul(
        _tf.SparseTensor(a_indices, a_values, a_shape), b, adjoint_a, adjoint_b
    ),
    "SqrtGrad": lambda *, y, dy, name=None: dy * 0.5 / y,
    "StatelessRandomUniformInt": lambda *, shape, seed, minval, maxval, name=None: (
        _whole_numbers(
            lambda size, **bounds: _tf.random.stateless_uniform(size, seed, **bounds),
            shape, minval, maxval,
        )
    ),
    "Svd": lambda *, input, compute_uv=True, full_matrices=False, name=None: (
        _tf.linalg.svd(input, full_matrices)
        if compute_uv
        else (_tf.linalg.svd(input, compute_uv=False), _tf.zeros([]), _tf.zeros([]))
    ),
    "TridiagonalMatMul": lambda *, superdiag, maindiag, subdiag, rhs, name=None: (
        _tf.linalg.tridiagonal_matmul(
            tuple(_tf.squeeze(x, -2) for x in (superdiag, maindiag, subdiag)), rhs,
            diagonals_format="sequence",
        )
    ),
    "AddN": lambda *, inputs, name=None: _tf.add_n(inputs),
    "Atan2": lambda *, y, x, name=None: _tf.atan2(y, x),
    "AvgPool": lambda *, value, ksize, strides, padding, data_format="NHWC", name=None: (
        _tf.nn.avg_pool2d(value, ksize, strides, padding, data_format)
    ),
    "BatchMatMulV2": lambda *, x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False,
    name=None: _tf.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y),
    "BatchToSpaceND": lambda *, input, block_shape, crops, name=None: (
        _tf.batch_to_space(input, block_shape, crops)
    ),
    "Betainc": lambda *, a, b, x, name=None: _tf.math.betainc(a, b, x),
    "BiasAdd": lambda *, value, bias, data_format="NHWC", name=None: (
        _tf.nn.bias_add(value, bias, data_format)
    ),
    "BiasAddGrad": lambda *, out_backprop, data_format="NHWC", name=None: (
        _fused.bias_gradient(out_backprop, data_format)
    ),
    "Bitcast": lambda *, input, type, name=None: _tf.bitcast(input, type),
    "BroadcastArgs": lambda *, s0, s1, name=None: _tf.broadcast_dynamic_shape(s0, s1),
    "BroadcastGradientArgs": lambda *, s0, s1, name=None: _shapes.broadcast_gradient_args(s0, s1),
    "BroadcastTo": lambda *, input, shape, name=None: _tf.broadcast_to(input, shape),
    "Cast": lambda *, x, DstT, Truncate=False, name=None: _tf.cast(x, DstT),  # noqa: N803
    "CheckNumerics": lambda *, tensor, message, name=None: (
        _tf.debugging.check_numerics(tensor, message)
    ),
    "Cholesky": lambda *, input, name=None: _tf.linalg.cholesky(input),
    "ClipByValue": lambda *, t, clip_value_min, clip_value_max, name=None: (
        _tf.clip_by_value(t, clip_value_min, clip_value_max)
    ),
    "ConcatV2": lambda *, values, axis, name=None: _tf.concat(values, _composed.numbers(axis)),
    "Conv2D": lambda *, input, filter, strides, padding, use_cudnn_on_gpu=True,
    explicit_paddings=(), data_format="NHWC", dilations=_NO_DILATION, name=None: (
        _tf.nn.conv2d(
            input, filter, strides, _padding(padding, explicit_paddings), data_format, dilations
        )
    ),
    "Conv2DBackpropInput": lambda *, input_sizes, filter, out_backprop, strides, padding,
    use_cudnn_on_gpu=True, explicit_paddings=(), data_format="NHWC", dilations=_NO_DILATION,
    name=None: (
        _tf.nn.conv2d_transpose(
            out_backprop, filter, input_sizes, strides, _padding(padding, explicit_paddings),
            data_format, dilations,
        )
    ),
    "Conv3D": lambda *, input, filter, strides, padding, data_format="NDHWC",
    dilations=(1, 1, 1, 1, 1), name=None: (
        _tf.nn.conv3d(input, filter, strides, padding, data_format, dilations)
    ),
    "DepthwiseConv2dNative": lambda *, input, filter, strides, padding, explicit_paddings=(),
    data_format="NHWC", dilations=_NO_DILATION, name=None: (
        _tf.nn.depthwise_conv2d(
            input, filter, strides, _padding(padding, explicit_paddings), data_format,
            dilations[1:3] if data_format == "NHWC" else dilations[2:4],
        )
    ),
    "Div": lambda *, x, y, name=None: _divide(x, y),
    "Diag": lambda *, diagonal, name=None: _tf.linalg.tensor_diag(diagonal),
    "DiagPart": lambda *, input, name=None: _tf.linalg.tensor_diag_part(input),
    "Einsum": lambda *, inputs, equation, name=None: _tf.einsum(equation, *inputs),
    "EnsureShape": lambda *, input, shape, name=None: _tf.ensure_shape(input, shape),
    "ExpandDims": lambda *, input, axis, name=None: _tf.expand_dims(input, _composed.numbers(axis)),
    "Fill": lambda *, dims, value, name=None: _tf.fill(dims, value),
    "FusedBatchNorm": lambda *, x, scale, offset, mean, variance, epsilon=0.0001,
    exponential_avg_factor=1, data_format="NHWC", is_training=True, name=None: (
        _fused.FusedBatchNorm(*_fused.batch_norm(
            x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format,
            is_training,
        ))
    ),
    "FusedBatchNormV2": lambda *, x, scale, offset, mean, variance, epsilon=0.0001,
    exponential_avg_factor=1, data_format="NHWC", is_training=True, name=None: (
        _fused.FusedBatchNormV2(*_fused.batch_norm(
            x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format,
            is_training,
        ))
    ),
    "FusedBatchNormV3": lambda *, x, scale, offset, mean, variance, epsilon=0.0001,
    exponential_avg_factor=1, data_format="NHWC", is_training=True, name=None: (
        _fused.FusedBatchNormV3(*_fused.batch_norm(
            x, scale, offset, mean, variance, epsilon, exponential_avg_factor, data_format,
            is_training,
        ), _tf.zeros([0], _float32))
    ),
    "GatherNd": lambda *, params, indices, bad_indices_policy="", name=None: (
        _tf.gather_nd(params, indices, bad_indices_policy=bad_indices_policy)
    ),
    "GatherV2": lambda *, params, indices, axis, batch_dims=0, name=None: (
        _tf.gather(params, indices, axis=_composed.numbers(axis), batch_dims=batch_dims)
    ),
    "Identity": lambda *, input, name=None: _tf.identity(input),
    "IdentityN": lambda *, input, name=None: _tf.identity_n(input),
    "Igamma": lambda *, a, x, name=None: _tf.math.igamma(a, x),
    "IgammaGradA": lambda *, a, x, name=None: _gamma.igamma_grad_a(a, x),
    "Igammac": lambda *, a, x, name=None: _tf.math.igammac(a, x),
    "L2Loss": lambda *, t, name=None: _tf.nn.l2_loss(t),
    "LRN": lambda *, input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None: (
        _tf.nn.local_response_normalization(input, depth_radius, bias, alpha, beta)
    ),
    "LeakyRelu": lambda *, features, alpha=0.2, name=None: _tf.nn.leaky_relu(features, alpha),
    "LinSpace": lambda *, start, stop, num, name=None: _tf.linspace(start, stop, num),
    "MatMul": lambda *, a, b, transpose_a=False, transpose_b=False, grad_a=False, grad_b=False,
    name=None: _tf.matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b),
    "MatrixBandPart": lambda *, input, num_lower, num_upper, name=None: (
        _tf.linalg.band_part(input, num_lower, num_upper)
    ),
    "MatrixDeterminant": lambda *, input, name=None: _tf.linalg.det(input),
    "MatrixDiagPartV2": lambda *, input, k, padding_value, name=None: _tf.linalg.diag_part(
        input, k=_composed.numbers(k), padding_value=padding_value, align="LEFT_LEFT"
    ),
    "MatrixDiagPartV3": lambda *, input, k, padding_value, align="RIGHT_LEFT", name=None: (
        _tf.linalg.diag_part(
            input, k=_composed.numbers(k), padding_value=padding_value, align=align
        )
    ),
    "MatrixInverse": lambda *, input, adjoint=False, name=None: _tf.linalg.inv(input, adjoint),
    "MatrixSolve": lambda *, matrix, rhs, adjoint=False, name=None: (
        _tf.linalg.solve(matrix, rhs, adjoint)
    ),
    "MatrixTriangularSolve": lambda *, matrix, rhs, lower=True, adjoint=False, name=None: (
        _tf.linalg.triangular_solve(matrix, rhs, lower, adjoint)
    ),
    "MaxPool": lambda *, input, ksize, strides, padding, explicit_paddings=(), data_format="NHWC",
    name=None: (
        _tf.nn.max_pool2d(
            input, ksize, strides, _padding(padding, explicit_paddings), data_format
        )
    ),
    "MirrorPad": lambda *, input, paddings, mode, name=None: _tf.pad(input, paddings, mode),
    "OneHot": lambda *, indices, depth, on_value, off_value, axis=-1, name=None: (
        _tf.one_hot(indices, depth, on_value, off_value, axis)
    ),
    "Pack": lambda *, values, axis=0, name=None: _tf.stack(values, axis),
    "Pad": lambda *, input, paddings, name=None: _tf.pad(input, paddings),
    "PadV2": lambda *, input, paddings, constant_values, name=None: (
        _tf.pad(input, paddings, constant_values=constant_values)
    ),
    "Polygamma": lambda *, a, x, name=None: _tf.math.polygamma(a, x),
    "RandomGammaGrad": lambda *, alpha, sample, name=None: (
        _gamma.random_gamma_grad(alpha, sample)
    ),
    "RandomShuffle": lambda *, value, seed=0, seed2=0, name=None: (
        _tf.random.shuffle(value, seed or seed2 or None)
    ),
    "RandomStandardNormal": lambda *, shape, dtype, seed=0, seed2=0, name=None: (
        _tf.random.normal(shape, dtype=dtype, seed=seed or seed2 or None)
    ),
    "RandomUniform": lambda *, shape, dtype, seed=0, seed2=0, name=None: (
        _tf.random.uniform(shape, dtype=dtype, seed=seed or seed2 or None)
    ),
    "Range": lambda *, start, limit, delta, name=None: _tf.range(start, limit, delta),
    "Rank": lambda *, input, name=None: _tf.rank(input),
    "ReluGrad": lambda *, gradients, features, name=None: (
        _tf.where(_tf.greater(features, 0), gradients, _tf.zeros_like(gradients))
    ),
    "Reshape": lambda *, tensor, shape, name=None: _tf.reshape(tensor, shape),
    "ReverseV2": lambda *, tensor, axis, name=None: _tf.reverse(tensor, _composed.numbers(axis)),
    "ScatterNd": lambda *, indices, updates, shape, bad_indices_policy="", name=None: (
        _tf.scatter_nd(indices, updates, shape, bad_indices_policy)
    ),
    "SelectV2": lambda *, condition, t, e, name=None: _tf.where(condition, t, e),
    "Shape": lambda *, input, out_type=_int32, name=None: _tf.shape(input, out_type),
    "ShapeN": lambda *, input, out_type=_int32, name=None: _tf.shape_n(input, out_type),
    "SigmoidGrad": lambda *, y, dy, name=None: dy * y * (1 - y),
    "Size": lambda *, input, out_type=_int32, name=None: _tf.size(input, out_type),
    "Slice": lambda *, input, begin, size, name=None: _tf.slice(input, begin, size),
    "SpaceToBatchND": lambda *, input, block_shape, paddings, name=None: (
        _tf.space_to_batch(input, block_shape, paddings)
    ),
    "SparseSoftmaxCrossEntropyWithLogits": lambda *, features, labels, name=None: (
        _fused.cross_entropy(
            _tf.nn.sparse_softmax_cross_entropy_with_logits(labels, features),
            features,
            _tf.one_hot(labels, _tf.shape(features)[-1]),
        )
    ),
    "SoftmaxCrossEntropyWithLogits": lambda *, features, labels, name=None: (
        _fused.cross_entropy(
            _tf.nn.softmax_cross_entropy_with_logits(labels, features), features, labels
        )
    ),
    "Split": lambda *, axis, value, num_split, name=None: _split(axis, value, num_split),
    "SplitV": lambda *, value, size_splits, axis, num_split, name=None: (
        _split(axis, value, _composed.numbers(size_splits))
    ),
    "Squeeze": lambda *, input, axis=(), name=None: _tf.squeeze(input, list(axis) or None),
    "StatelessRandomNormal": lambda *, shape, seed, dtype=_float32, name=None: (
        _tf.random.stateless_normal(shape, seed, dtype=dtype)
    ),
    "StatelessRandomUniform": lambda *, shape, seed, dtype=_float32, name=None: (
        _tf.random.stateless_uniform(shape, seed, dtype=dtype)
    ),
    "StopGradient": lambda *, input, name=None: _tf.stop_gradient(input),
    "StridedSlice": lambda *, input, begin, end, strides, begin_mask=0, end_mask=0,
    ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0, name=None: (
        _strided_slice(
            input, begin, end, strides,
            (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask),
        )
    ),
    "TanhGrad": lambda *, y, dy, name=None: dy * (1 - y * y),
    "TensorScatterUpdate": lambda *, tensor, indices, updates, bad_indices_policy="", name=None: (
        _tf.tensor_scatter_nd_update(tensor, indices, updates)
    ),
    "Tile": lambda *, input, multiples, name=None: _tf.tile(input, multiples),
    "TopKV2": lambda *, input, k, sorted=True, index_type=_int32, name=None: (
        _tf.math.top_k(input, k, sorted, index_type)
    ),
    "Transpose": lambda *, x, perm, name=None: _tf.transpose(x, perm),
    "TruncatedNormal": lambda *, shape, dtype, seed=0, seed2=0, name=None: (
        _tf.random.truncated_normal(shape, dtype=dtype, seed=seed or seed2 or None)
    ),
    "Unique": lambda *, x, out_idx=_int32, name=None: _tf.unique(x, out_idx),
    "UniqueV2": lambda *, x, axis, out_idx=_int32, name=None: (
        _unique.unique_along(x, _composed.numbers(axis), out_idx)
    ),
    "UniqueWithCounts": lambda *, x, out_idx=_int32, name=None: _tf.unique_with_counts(x, out_idx),
    "UniqueWithCountsV2": lambda *, x, axis, out_idx=_int32, name=None: (
        _unique.unique_with_counts_along(x, _composed.numbers(axis), out_idx)
    ),
    "Unpack": lambda *, value, num, axis=0, name=None: _tf.unstack(value, num, axis),
    "Where": lambda *, condition, name=None: _tf.where(condition),
    "Zeta": lambda *, x, q, name=None: _tf.math.zeta(x, q),
}  # fmt: skip

__all__ = sorted(_FORMS)


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> _Callable[..., _Any]:
    form = _FORMS.get(name)
    if form is None:
        raise _MissingNameError("tfx.raw_ops", name)
    made = globals()[name] = _operation(name, form)
    return made


def _operation(name: str, form: _Callable[..., _Any]) -> _Callable[..., _Any]:
    form.__name__ = form.__qualname__ = name
    signature = _inspect.signature(form)

    def operation(*args: _Any, **kwargs: _Any) -> _Any:
        if args:
            raise TypeError(
                f"{name} only takes keyword args (possible keys: {list(signature.parameters)}). "
                "Please pass these args as kwargs instead."
            )
        return form(**kwargs)

    operation.__name__ = operation.__qualname__ = name
    operation.__module__ = "tfx.raw_ops"
    operation.__doc__ = f"TensorFlow's operation {name}{signature}."
    show_signature(operation, signature)
    return operation
