"""Operations of ``tf.raw_ops`` that a public function carries out: which one, with what.

A row has the operation with its arguments as TensorFlow has them, then the call: the function's
path below ``tf``, and its arguments. ``@axis`` is an argument that TensorFlow gives as a tensor and
the function takes as Python numbers.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

_ROWS = """
AccumulateNV2(inputs, shape) add_n(inputs)
AdjustContrastv2(images, contrast_factor) image.adjust_contrast(images, contrast_factor)
AdjustHue(images, delta) image.adjust_hue(images, delta)
AdjustSaturation(images, scale) image.adjust_saturation(images, scale)
Angle(input, Tout=float32) math.angle(input)
AsString(input, precision=-1, scientific=False, shortest=False, width=-1, fill='')
    strings.as_string(input, precision, scientific, shortest, width, fill)
Assert(condition, data, summarize=3) debugging.Assert(condition, data, summarize)
AvgPool3D(input, ksize, strides, padding, data_format='NDHWC') nn.avg_pool3d(input, ksize,
    strides, padding, data_format)
BandedTriangularSolve(matrix, rhs, lower=True, adjoint=False) linalg.banded_triangular_solve(matrix,
    rhs, lower, adjoint)
BatchMatMul(x, y, adj_x=False, adj_y=False, grad_x=False, grad_y=False) matmul(x, y,
    adjoint_a=adj_x, adjoint_b=adj_y)
BatchMatMulV3(x, y, Tout, adj_x=False, adj_y=False, grad_x=False, grad_y=False) matmul(x, y,
    adjoint_a=adj_x, adjoint_b=adj_y, output_type=Tout)
BesselI0(x) math.bessel_i0(x)
BesselI0e(x) math.bessel_i0e(x)
BesselI1(x) math.bessel_i1(x)
BesselI1e(x) math.bessel_i1e(x)
BesselJ0(x) math.special.bessel_j0(x)
BesselJ1(x) math.special.bessel_j1(x)
BesselK0(x) math.special.bessel_k0(x)
BesselK0e(x) math.special.bessel_k0e(x)
BesselK1(x) math.special.bessel_k1(x)
BesselK1e(x) math.special.bessel_k1e(x)
BesselY0(x) math.special.bessel_y0(x)
BesselY1(x) math.special.bessel_y1(x)
BiasAddV1(value, bias) nn.bias_add(value, bias)
CheckNumericsV2(tensor, message) debugging.check_numerics(tensor, message)
CombinedNonMaxSuppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold,
    score_threshold, pad_per_class=False, clip_boxes=True)
    image.combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size,
    iou_threshold, score_threshold, pad_per_class, clip_boxes)
Complex(real, imag, Tout=complex64) dtypes.complex(real, imag)
ComplexAbs(x, Tout=float32) abs(x)
ComputeAccidentalHits(true_classes, sampled_candidates, num_true, seed=0, seed2=0)
    nn.compute_accidental_hits(true_classes, sampled_candidates, num_true)
Concat(concat_dim, values) concat(values, @concat_dim)
Conj(input) math.conj(input)
ConjugateTranspose(x, perm) transpose(x, perm, True)
CropAndResize(image, boxes, box_ind, crop_size, method='bilinear', extrapolation_value=0)
    image.crop_and_resize(image, boxes, box_ind, crop_size, method, extrapolation_value)
Cross(a, b) linalg.cross(a, b)
CumulativeLogsumexp(x, axis, exclusive=False, reverse=False) math.cumulative_logsumexp(x, @axis,
    exclusive, reverse)
Dawsn(x) math.special.dawsn(x)
DecodeAndCropJpeg(contents, crop_window, channels=0, ratio=1, fancy_upscaling=True,
    try_recover_truncated=False, acceptable_fraction=1, dct_method='')
    io.decode_and_crop_jpeg(contents, crop_window, channels, ratio, fancy_upscaling,
    try_recover_truncated, acceptable_fraction, dct_method)
DecodeBase64(input) io.decode_base64(input)
DecodeBmp(contents, channels=0) io.decode_bmp(contents, channels)
DecodeCompressed(bytes, compression_type='') io.decode_compressed(bytes, compression_type)
DecodeGif(contents) io.decode_gif(contents)
DecodeImage(contents, channels=0, dtype=uint8, expand_animations=True) io.decode_image(contents,
    channels, dtype, expand_animations=expand_animations)
DecodeJSONExample(json_examples) io.decode_json_example(json_examples)
DecodeJpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
    acceptable_fraction=1, dct_method='') io.decode_jpeg(contents, channels, ratio,
    fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
DecodePaddedRaw(input_bytes, fixed_length, out_type, little_endian=True) io.decode_raw(input_bytes,
    out_type, little_endian, fixed_length)
DecodePng(contents, channels=0, dtype=uint8) io.decode_png(contents, channels, dtype)
DecodeRaw(bytes, out_type, little_endian=True) io.decode_raw(bytes, out_type, little_endian)
DecodeWav(contents, desired_channels=-1, desired_samples=-1) audio.decode_wav(contents,
    desired_channels, desired_samples)
DeepCopy(x) identity(x)
Dilation2D(input, filter, strides, rates, padding) nn.dilation2d(input, filter, strides, padding,
    'NHWC', rates)
DrawBoundingBoxes(images, boxes) image.draw_bounding_boxes(images, boxes, None)
DrawBoundingBoxesV2(images, boxes, colors) image.draw_bounding_boxes(images, boxes, colors)
DynamicPartition(data, partitions, num_partitions) dynamic_partition(data, partitions,
    num_partitions)
DynamicStitch(indices, data) dynamic_stitch(indices, data)
EncodeBase64(input, pad=False) io.encode_base64(input, pad)
EncodeJpeg(image, format='', quality=95, progressive=False, optimize_size=False,
    chroma_downsampling=True, density_unit='in', x_density=300, y_density=300, xmp_metadata='')
    io.encode_jpeg(image, format, quality, progressive, optimize_size, chroma_downsampling,
    density_unit, x_density, y_density, xmp_metadata)
EncodePng(image, compression=-1) io.encode_png(image, compression)
EncodeWav(audio, sample_rate) audio.encode_wav(audio, sample_rate)
EuclideanNorm(input, axis, keep_dims=False) math.reduce_euclidean_norm(input, axis=@axis,
    keepdims=keep_dims)
Expint(x) math.special.expint(x)
ExtractGlimpseV2(input, size, offsets, centered=True, normalized=True, uniform_noise=True,
    noise='uniform') image.extract_glimpse(input, size, offsets, centered, normalized, noise)
ExtractImagePatches(images, ksizes, strides, rates, padding) image.extract_patches(images, ksizes,
    strides, rates, padding)
ExtractJpegShape(contents, output_type=int32) io.extract_jpeg_shape(contents, output_type)
ExtractVolumePatches(input, ksizes, strides, padding) extract_volume_patches(input, ksizes,
    strides, padding)
FFT(input) signal.fft(input)
FFT2D(input) signal.fft2d(input)
FFT3D(input) signal.fft3d(input)
FFTND(input, fft_length, axes) signal.fftnd(input, fft_length, axes)
FakeQuantWithMinMaxArgs(inputs, min=-6, max=6, num_bits=8, narrow_range=False)
    quantization.fake_quant_with_min_max_args(inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxArgsGradient(gradients, inputs, min=-6, max=6, num_bits=8, narrow_range=False)
    quantization.fake_quant_with_min_max_args_gradient(gradients, inputs, min, max, num_bits,
    narrow_range)
FakeQuantWithMinMaxVars(inputs, min, max, num_bits=8, narrow_range=False)
    quantization.fake_quant_with_min_max_vars(inputs, min, max, num_bits, narrow_range)
FakeQuantWithMinMaxVarsGradient(gradients, inputs, min, max, num_bits=8, narrow_range=False)
    quantization.fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits,
    narrow_range)
FakeQuantWithMinMaxVarsPerChannel(inputs, min, max, num_bits=8, narrow_range=False)
    quantization.fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits,
    narrow_range)
FakeQuantWithMinMaxVarsPerChannelGradient(gradients, inputs, min, max, num_bits=8,
    narrow_range=False) quantization.fake_quant_with_min_max_vars_per_channel_gradient(gradients,
    inputs, min, max, num_bits, narrow_range)
Fingerprint(data, method) fingerprint(data, method)
FractionalAvgPool(value, pooling_ratio, pseudo_random=False, overlapping=False,
    deterministic=False, seed=0, seed2=0) nn.fractional_avg_pool(value, pooling_ratio,
    pseudo_random, overlapping, seed)
FractionalMaxPool(value, pooling_ratio, pseudo_random=False, overlapping=False,
    deterministic=False, seed=0, seed2=0) nn.fractional_max_pool(value, pooling_ratio,
    pseudo_random, overlapping, seed)
FresnelCos(x) math.special.fresnel_cos(x)
FresnelSin(x) math.special.fresnel_sin(x)
Gather(params, indices, validate_indices=True) gather(params, indices)
GuaranteeConst(input) guarantee_const(input)
HSVToRGB(images) image.hsv_to_rgb(images)
HistogramFixedWidth(values, value_range, nbins, dtype=int32) histogram_fixed_width(values,
    value_range, nbins, dtype)
IFFT(input) signal.ifft(input)
IFFT2D(input) signal.ifft2d(input)
IFFT3D(input) signal.ifft3d(input)
IFFTND(input, fft_length, axes) signal.ifftnd(input, fft_length, axes)
IRFFT(input, fft_length, Treal=float32) signal.irfft(input, fft_length)
IRFFT2D(input, fft_length, Treal=float32) signal.irfft2d(input, fft_length)
IRFFT3D(input, fft_length, Treal=float32) signal.irfft3d(input, fft_length)
IRFFTND(input, fft_length, axes, Treal=float32) signal.irfftnd(input, fft_length, axes)
Imag(input, Tout=float32) math.imag(input)
InTopK(predictions, targets, k) math.in_top_k(targets, predictions, k)
InTopKV2(predictions, targets, k) math.in_top_k(targets, predictions, k)
ListDiff(x, y, out_idx=int32) compat.v1.setdiff1d(x, y, out_idx)
LogMatrixDeterminant(input) linalg.slogdet(input)
LowerBound(sorted_inputs, values, out_type=int32) searchsorted(sorted_inputs, values, 'left',
    out_type)
Lu(input, output_idx_type=int32) linalg.lu(input, output_idx_type)
MatchingFiles(pattern) io.matching_files(pattern)
MatrixDiag(diagonal) linalg.diag(diagonal)
MatrixDiagPart(input) linalg.diag_part(input)
MatrixDiagPartV2(input, k, padding_value) linalg.diag_part(input, k=k,
    padding_value=padding_value, align='LEFT_LEFT')
MatrixDiagPartV3(input, k, padding_value, align='RIGHT_LEFT') linalg.diag_part(input, k=k,
    padding_value=padding_value, align=align)
MatrixDiagV2(diagonal, k, num_rows, num_cols, padding_value) linalg.diag(diagonal, k=k,
    num_rows=num_rows, num_cols=num_cols, padding_value=padding_value, align='LEFT_LEFT')
MatrixDiagV3(diagonal, k, num_rows, num_cols, padding_value, align='RIGHT_LEFT')
    linalg.diag(diagonal, k=k, num_rows=num_rows, num_cols=num_cols, padding_value=padding_value,
    align=align)
MatrixExponential(input) linalg.expm(input)
MatrixLogarithm(input) linalg.logm(input)
MatrixSetDiag(input, diagonal) linalg.set_diag(input, diagonal)
MatrixSetDiagV2(input, diagonal, k) linalg.set_diag(input, diagonal, k=k, align='LEFT_LEFT')
MatrixSetDiagV3(input, diagonal, k, align='RIGHT_LEFT') linalg.set_diag(input, diagonal, k=k,
    align=align)
MatrixSolveLs(matrix, rhs, l2_regularizer, fast=True) linalg.lstsq(matrix, rhs, l2_regularizer,
    fast)
MatrixSquareRoot(input) linalg.sqrtm(input)
MaxPool3D(input, ksize, strides, padding, data_format='NDHWC') nn.max_pool3d(input, ksize,
    strides, padding, data_format)
MaxPoolV2(input, ksize, strides, padding, data_format='NHWC') nn.max_pool2d(input, @ksize,
    @strides, padding, data_format)
MaxPoolWithArgmax(input, ksize, strides, padding, Targmax=int64, include_batch_in_index=False)
    nn.max_pool_with_argmax(input, ksize, strides, padding, 'NHWC', Targmax,
    include_batch_in_index)
Mod(x, y) truncatemod(x, y)
NextAfter(x1, x2) math.nextafter(x1, x2)
NonMaxSuppression(boxes, scores, max_output_size, iou_threshold=0.5)
    image.non_max_suppression(boxes, scores, max_output_size, iou_threshold)
NonMaxSuppressionV2(boxes, scores, max_output_size, iou_threshold)
    image.non_max_suppression(boxes, scores, max_output_size, iou_threshold)
NonMaxSuppressionV3(boxes, scores, max_output_size, iou_threshold, score_threshold)
    image.non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)
NonMaxSuppressionV4(boxes, scores, max_output_size, iou_threshold, score_threshold,
    pad_to_max_output_size=False) image.non_max_suppression_padded(boxes, scores, max_output_size,
    iou_threshold, score_threshold, pad_to_max_output_size)
ParallelConcat(values, shape) concat(values, 0)
ParallelDynamicStitch(indices, data) dynamic_stitch(indices, data)
ParseTensor(serialized, out_type) io.parse_tensor(serialized, out_type)
Qr(input, full_matrices=False) linalg.qr(input, full_matrices)
QuantizeAndDequantizeV2(input, input_min, input_max, signed_input=True, num_bits=8,
    range_given=False, round_mode='HALF_TO_EVEN', narrow_range=False, axis=-1)
    quantization.quantize_and_dequantize_v2(input, input_min, input_max, signed_input, num_bits,
    range_given, round_mode, narrow_range=narrow_range, axis=axis)
QuantizeAndDequantizeV4(input, input_min, input_max, signed_input=True, num_bits=8,
    range_given=False, round_mode='HALF_TO_EVEN', narrow_range=False, axis=-1)
    quantization.quantize_and_dequantize_v2(input, input_min, input_max, signed_input, num_bits,
    range_given, round_mode, narrow_range=narrow_range, axis=axis)
RFFT(input, fft_length, Tcomplex=complex64) signal.rfft(input, fft_length)
RFFT2D(input, fft_length, Tcomplex=complex64) signal.rfft2d(input, fft_length)
RFFT3D(input, fft_length, Tcomplex=complex64) signal.rfft3d(input, fft_length)
RFFTND(input, fft_length, axes, Tcomplex=complex64) signal.rfftnd(input, fft_length, axes)
RGBToHSV(images) image.rgb_to_hsv(images)
ReadFile(filename) io.read_file(filename)
Real(input, Tout=float32) math.real(input)
ReduceJoin(inputs, reduction_indices, keep_dims=False, separator='') strings.reduce_join(inputs,
    @reduction_indices, keep_dims, separator)
RegexFullMatch(input, pattern) strings.regex_full_match(input, pattern)
RegexReplace(input, pattern, rewrite, replace_global=True) strings.regex_replace(input, pattern,
    rewrite, replace_global)
ResizeArea(images, size, align_corners=False) compat.v1.image.resize_area(images, size,
    align_corners)
ResizeBicubic(images, size, align_corners=False, half_pixel_centers=False)
    compat.v1.image.resize_bicubic(images, size, align_corners,
    half_pixel_centers=half_pixel_centers)
ResizeBilinear(images, size, align_corners=False, half_pixel_centers=False)
    compat.v1.image.resize_bilinear(images, size, align_corners,
    half_pixel_centers=half_pixel_centers)
ResizeNearestNeighbor(images, size, align_corners=False, half_pixel_centers=False)
    compat.v1.image.resize_nearest_neighbor(images, size, align_corners,
    half_pixel_centers=half_pixel_centers)
ResourceGather(resource, indices, dtype, batch_dims=0, validate_indices=True) gather(resource,
    indices, batch_dims=batch_dims)
ResourceGatherNd(resource, indices, dtype) gather_nd(resource, indices)
ReverseSequence(input, seq_lengths, seq_dim, batch_dim=0) reverse_sequence(input, seq_lengths,
    seq_dim, batch_dim)
Roll(input, shift, axis) roll(input, @shift, @axis)
ScatterNdNonAliasingAdd(input, indices, updates, bad_indices_policy='')
    tensor_scatter_nd_add(input, indices, updates, bad_indices_policy)
SegmentMaxV2(data, segment_ids, num_segments) math.unsorted_segment_max(data, segment_ids,
    num_segments)
SegmentMin(data, segment_ids) math.segment_min(data, segment_ids)
SegmentMinV2(data, segment_ids, num_segments) math.unsorted_segment_min(data, segment_ids,
    num_segments)
SegmentProd(data, segment_ids) math.segment_prod(data, segment_ids)
SegmentProdV2(data, segment_ids, num_segments) math.unsorted_segment_prod(data, segment_ids,
    num_segments)
SegmentSumV2(data, segment_ids, num_segments) math.unsorted_segment_sum(data, segment_ids,
    num_segments)
Select(condition, x, y) compat.v1.where(condition, x, y)
SerializeTensor(tensor) io.serialize_tensor(tensor)
Snapshot(input) identity(input)
SobolSample(dim, num_results, skip, dtype=float32) math.sobol_sample(dim, num_results, skip,
    dtype)
SparseMatMul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False)
    matmul(a, b, transpose_a, transpose_b)
SparseSegmentMean(data, indices, segment_ids, sparse_gradient=False) sparse.segment_mean(data,
    indices, segment_ids)
SparseSegmentMeanWithNumSegments(data, indices, segment_ids, num_segments, sparse_gradient=False)
    sparse.segment_mean(data, indices, segment_ids, num_segments)
SparseSegmentSqrtN(data, indices, segment_ids, sparse_gradient=False) sparse.segment_sqrt_n(data,
    indices, segment_ids)
SparseSegmentSqrtNWithNumSegments(data, indices, segment_ids, num_segments, sparse_gradient=False)
    sparse.segment_sqrt_n(data, indices, segment_ids, num_segments)
SparseSegmentSum(data, indices, segment_ids, sparse_gradient=False) sparse.segment_sum(data,
    indices, segment_ids)
SparseSegmentSumWithNumSegments(data, indices, segment_ids, num_segments, sparse_gradient=False)
    sparse.segment_sum(data, indices, segment_ids, num_segments)
SparseToDense(sparse_indices, output_shape, sparse_values, default_value, validate_indices=True)
    compat.v1.sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value,
    validate_indices)
Spence(x) math.special.spence(x)
StatelessMultinomial(logits, num_samples, seed, output_dtype=int64)
    random.stateless_categorical(logits, num_samples, seed, output_dtype)
StatelessParameterizedTruncatedNormal(shape, seed, means, stddevs, minvals, maxvals)
    random.stateless_parameterized_truncated_normal(shape, seed, means, stddevs, minvals, maxvals)
StatelessRandomBinomial(shape, seed, counts, probs, dtype=int64) random.stateless_binomial(shape,
    seed, counts, probs, dtype)
StatelessRandomPoisson(shape, seed, lam, dtype) random.stateless_poisson(shape, seed, lam, dtype)
StatelessRandomUniformFullInt(shape, seed, dtype=uint64) random.stateless_uniform(shape, seed,
    None, None, dtype)
StatelessTruncatedNormal(shape, seed, dtype=float32) random.stateless_truncated_normal(shape,
    seed, dtype=dtype)
StaticRegexFullMatch(input, pattern) strings.regex_full_match(input, pattern)
StaticRegexReplace(input, pattern, rewrite, replace_global=True) strings.regex_replace(input,
    pattern, rewrite, replace_global)
StringFormat(inputs, template='%s', placeholder='%s', summarize=3) strings.format(template,
    inputs, placeholder, summarize)
StringJoin(inputs, separator='') strings.join(inputs, separator)
StringLength(input, unit='BYTE') strings.length(input, unit)
StringLower(input, encoding='') strings.lower(input, encoding)
StringStrip(input) strings.strip(input)
StringToHashBucket(string_tensor, num_buckets) strings.to_hash_bucket(string_tensor, num_buckets)
StringToHashBucketFast(input, num_buckets) strings.to_hash_bucket_fast(input, num_buckets)
StringToHashBucketStrong(input, num_buckets, key) strings.to_hash_bucket_strong(input,
    num_buckets, key)
StringToNumber(string_tensor, out_type=float32) strings.to_number(string_tensor, out_type)
StringUpper(input, encoding='') strings.upper(input, encoding)
Substr(input, pos, len, unit='BYTE') strings.substr(input, pos, len, unit)
TensorScatterAdd(tensor, indices, updates, bad_indices_policy='') tensor_scatter_nd_add(tensor,
    indices, updates, bad_indices_policy)
TensorScatterMax(tensor, indices, updates, bad_indices_policy='') tensor_scatter_nd_max(tensor,
    indices, updates, bad_indices_policy)
TensorScatterMin(tensor, indices, updates, bad_indices_policy='') tensor_scatter_nd_min(tensor,
    indices, updates, bad_indices_policy)
TensorScatterSub(tensor, indices, updates, bad_indices_policy='') tensor_scatter_nd_sub(tensor,
    indices, updates, bad_indices_policy)
Timestamp() timestamp()
TopK(input, k, sorted=True) math.top_k(input, k, sorted)
TridiagonalSolve(diagonals, rhs, partial_pivoting=True, perturb_singular=False)
    linalg.tridiagonal_solve(diagonals, rhs, partial_pivoting=partial_pivoting,
    perturb_singular=perturb_singular)
UnicodeScript(input) strings.unicode_script(input)
UnicodeTranscode(input, input_encoding, output_encoding, errors='replace', replacement_char=65533,
    replace_control_characters=False) strings.unicode_transcode(input, input_encoding,
    output_encoding, errors, replacement_char, replace_control_characters)
UniqueWithCounts(x, out_idx=int32) unique_with_counts(x, out_idx)
UnravelIndex(indices, dims) unravel_index(indices, dims)
UnsortedSegmentJoin(inputs, segment_ids, num_segments, separator='')
    strings.unsorted_segment_join(inputs, segment_ids, num_segments, separator)
UnsortedSegmentProd(data, segment_ids, num_segments) math.unsorted_segment_prod(data, segment_ids,
    num_segments)
UpperBound(sorted_inputs, values, out_type=int32) searchsorted(sorted_inputs, values, 'right',
    out_type)
VariableShape(input, out_type=int32) shape(input, out_type)
WriteFile(filename, contents) io.write_file(filename, contents)
"""
_PARTS = re.compile(r"(\w+)\((.*?)\) ([\w.]+)\((.*)\)")


def forms(
    public: Callable[[str], Callable[..., Any]],
    numbers: Callable[[Any], Any],
    dtypes: Any,
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The names and functions of the table.

    Args:
        public: Gives the public function of a path.
        numbers: Makes Python numbers of a tensor.
        dtypes: Where dtypes are attributes.
    """
    for row in re.split(r"\n(?! )", _ROWS.strip()):
        found = _PARTS.fullmatch(re.sub(r"\s+", " ", row))
        assert found is not None, row
        name, parameters, path, call = found.groups()
        signature = _signature(parameters, dtypes)
        yield name, _form(signature, public(path), _arguments(call), numbers)


def _signature(text: str, dtypes: Any) -> inspect.Signature:
    parameters = []
    for part in re.split(r", (?=\w+(?:=|,|$))", text) if text else ():
        name, _, given = part.partition("=")
        default = inspect.Parameter.empty if not given else _literal(given, dtypes)
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
    last = inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None)
    return inspect.Signature([*parameters, last])


def _literal(text: str, dtypes: Any) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return getattr(dtypes, text)


def _arguments(text: str) -> list[tuple[str, str]]:
    """Pairs of keyword (empty: by position) and what is given."""
    found = []
    for part in text.split(", ") if text else ():
        keyword, equals, given = part.rpartition("=")
        found.append((keyword if equals else "", given))
    return found


def _form(
    signature: inspect.Signature,
    function: Callable[..., Any],
    arguments: list[tuple[str, str]],
    numbers: Callable[[Any], Any],
) -> Callable[..., Any]:
    def value(what: str, given: dict[str, Any]) -> Any:
        if what.startswith("@"):
            return numbers(given[what[1:]])
        return given[what] if what in given else ast.literal_eval(what)

    def form(**kwargs: Any) -> Any:
        bound = signature.bind(**kwargs)
        bound.apply_defaults()
        positional = [value(what, bound.arguments) for key, what in arguments if not key]
        named = {key: value(what, bound.arguments) for key, what in arguments if key}
        return function(*positional, **named)

    made: Any = form
    made.__signature__ = signature
    return form
