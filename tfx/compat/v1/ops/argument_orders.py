"""Functions that TensorFlow 1 has with another order, or older names, of the arguments.

Owns the table of them. The decision: what they do is TensorFlow 2's; a function here only says
where an argument goes, so that ``transpose(a, perm, "name")`` or ``in_top_k(predictions, targets)``
means what it meant. What is left out keeps the default of TensorFlow 2's function.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph.effects import as_operation
from tfx.compat.v1.ops.sharded_tables import joined_table
from tfx.compat.v1.variables.partitioned import PartitionedVariable
from tfx.core.namespaces import MissingNameError
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable

# name: (module, arguments in order). ``old=new`` is an older name of an argument; what begins with
# a minus sign is accepted and has no effect; ``function:`` in front is the name in the module.
_CHECK = "-data summarize message name"
_TRANSPOSED = (
    "value=input filter=filters output_shape strides padding data_format name input filters "
    "dilations"
)
_TABLE = {
    "tfx.core.gfile": {
        "Copy": "copy: oldpath=src newpath=dst overwrite",
        "DeleteRecursively": "rmtree: dirname=path",
        "Exists": "exists: filename=path",
        "Glob": "glob: filename=pattern",
        "IsDirectory": "isdir: dirname=path",
        "ListDirectory": "listdir: dirname=path",
        "MakeDirs": "makedirs: dirname=path",
        "MkDir": "mkdir: dirname=path",
        "Remove": "remove: filename=path",
        "Rename": "rename: oldname=src newname=dst overwrite",
        "Stat": "stat: filename=path",
        "Walk": "walk: top in_order=topdown",
    },
    "tfx.framework.convert": {
        "convert_to_tensor": "value dtype name preferred_dtype=dtype_hint dtype_hint",
    },
    "tfx.function.gradients.symbolic_gradients": {
        "gradients": "ys xs grad_ys name -colocate_gradients_with_ops gate_gradients "
        "aggregation_method stop_gradients unconnected_gradients",
    },
    "tfx.vectorize.hessian": {
        "hessians": "ys xs name -colocate_gradients_with_ops gate_gradients aggregation_method",
    },
    "tfx.ops.debugging.assertions": {
        **{
            f"assert_{name}": f"x y {_CHECK}"
            for name in ("equal", "none_equal", "less", "less_equal", "greater", "greater_equal")
        },
        **{
            f"assert_{name}": f"x {_CHECK}"
            for name in ("positive", "negative", "non_positive", "non_negative")
        },
        "assert_near": f"x y rtol atol {_CHECK}",
    },
    "tfx.ops.debugging.static_assertions": {
        "assert_rank": "x rank -data -summarize message name",
        "assert_rank_at_least": "x rank -data -summarize message name",
        "assert_rank_in": "x ranks -data -summarize message name",
        "assert_scalar": "tensor name message",
    },
    "tfx.ops.debugging.all_finite": {
        "verify_tensor_all_finite": "assert_all_finite: t=x msg=message name x message",
    },
    "tfx.ops.array.space_to_batch": {
        "batch_to_space": "input crops block_size=block_shape name block_shape",
        "space_to_batch": "input paddings block_size=block_shape name block_shape",
        "depth_to_space": "input block_size name data_format",
        "space_to_depth": "input block_size name data_format",
    },
    "tfx.ops.array.creation": {
        "ones_like": "tensor=input dtype name -optimize",
        "zeros_like": "tensor=input dtype name -optimize",
    },
    "tfx.ops.array.gather": {
        "gather": "params indices validate_indices name axis batch_dims",
        "gather_nd": "params indices name batch_dims bad_indices_policy",
    },
    "tfx.ops.array.transpose": {
        "transpose": "a perm name conjugate",
        "reverse_sequence": "input seq_lengths seq_axis batch_axis name seq_dim=seq_axis "
        "batch_dim=batch_axis",
    },
    "tfx.ops.array.where": {"boolean_mask": "tensor mask name axis"},
    "tfx.ops.array.shape": {"shape": "input name out_type", "size": "input name out_type"},
    "tfx.train.reader": {"NewCheckpointReader": "load_checkpoint: filepattern=ckpt_dir_or_file"},
    "tfx.nn_ops.quantization": {
        "quantize_v2": "quantize: input min_range max_range T mode name round_mode narrow_range "
        "axis ensure_minimum_range",
    },
    "tfx.linalg_ops.norms": {"norm": "tensor ord axis keepdims name keep_dims=keepdims"},
    "tfx.ops.array.pad": {"pad": "tensor paddings mode name constant_values"},
    "tfx.ops.array.partition": {
        "confusion_matrix": "labels predictions num_classes dtype name weights",
    },
    "tfx.ops.random.random": {
        "random_poisson": "poisson: lam shape dtype seed name",
        "stateless_multinomial": "stateless_categorical: logits num_samples seed "
        "output_dtype=dtype name",
    },
    "tfx.ops.array.sort": {"in_top_k": "predictions targets k name"},
    "tfx.ops.math.statistics": {
        "count_nonzero": "input_tensor=input axis keepdims dtype name reduction_indices=axis "
        "keep_dims=keepdims input",
    },
    "tfx.ops.strings.strings": {
        "reduce_join": "inputs axis keep_dims=keepdims separator name reduction_indices=axis "
        "keepdims",
        "string_to_number": "to_number: string_tensor=input out_type name input",
    },
    "tfx.lookup_ops.hash_buckets": {
        "string_to_hash_bucket": "to_hash_bucket: string_tensor=input num_buckets name input",
    },
    "tfx.ops.image.distorted_boxes": {
        "sample_distorted_bounding_box": "image_size bounding_boxes seed -seed2 "
        "min_object_covered aspect_ratio_range area_range max_attempts "
        "use_image_if_no_bounding_boxes name",
    },
    "tfx.ops.strings.python_strings": {
        "string_length": "length: input name unit",
        "substr": "input pos len name unit",
    },
    "tfx.ops.io.files": {
        "decode_raw": "input_bytes out_type little_endian name bytes=input_bytes",
    },
    "tfx.parsing.decode_csv": {
        "decode_csv": "records record_defaults field_delim use_quote_delim name na_value "
        "select_cols",
    },
    "tfx.parsing.parse_example": {
        "parse_example": "serialized features name example_names",
        "parse_single_example": "serialized features name example_names",
    },
    "tfx.parsing.parse_sequence_example": {
        "parse_single_sequence_example": "serialized context_features sequence_features "
        "example_name name",
    },
    "tfx.sparse_ops.serialized": {
        "serialize_many_sparse": "sp_input name out_type",
        "serialize_sparse": "sp_input name out_type",
    },
    "tfx.sparse_ops.elementwise": {
        "sparse_add": "add: a b threshold thresh=threshold",
    },
    "tfx.sparse_ops.arrangement": {
        "sparse_concat": "concat: axis sp_inputs name expand_nonconcat_dim=expand_nonconcat_dims "
        "concat_dim=axis expand_nonconcat_dims",
    },
    "tfx.sparse_ops.reduction": {
        f"sparse_{name}": f"{name}: sp_input axis keepdims reduction_axes=axis keep_dims=keepdims"
        for name in ("reduce_max", "reduce_sum")
    },
    "tfx.sparse_ops.rows": {
        f"sparse_{name}": f"{name}: data indices segment_ids name num_segments -sparse_gradient"
        for name in ("segment_mean", "segment_sqrt_n", "segment_sum")
    },
    "tfx.ops.image.boxes": {
        "crop_and_resize": "image boxes box_ind=box_indices crop_size method extrapolation_value "
        "name box_indices",
        "draw_bounding_boxes": "images boxes name colors",
    },
    "tfx.ops.image.geometry": {
        "extract_image_patches": "extract_patches: images ksizes=sizes strides rates padding name "
        "sizes",
    },
    "tfx.ops.nn.activations": {"crelu": "features name axis"},
    "tfx.ops.nn.convolution": {
        "conv1d": "value=input filters stride padding -use_cudnn_on_gpu data_format name input "
        "dilations",
        "conv3d": "input filter=filters strides padding data_format dilations name filters",
        "convolution": "input filter=filters padding strides dilation_rate=dilations name "
        "data_format filters dilations",
        "depthwise_conv2d": "input filter strides padding rate=dilations name data_format "
        "dilations",
        "separable_conv2d": "input depthwise_filter pointwise_filter strides padding "
        "rate=dilations name data_format dilations",
    },
    "tfx.ops.nn.conv_transpose": {
        "conv2d_transpose": _TRANSPOSED,
        "conv3d_transpose": _TRANSPOSED,
    },
    "tfx.ops.nn.embedding": {
        "embedding_lookup": "params ids -partition_strategy name -validate_indices max_norm"
    },
    "tfx.sparse_ops.embedding": {
        "embedding_lookup_sparse": "params sp_ids sp_weights -partition_strategy name combiner "
        "max_norm -allow_fast_lookup",
        "safe_embedding_lookup_sparse": "embedding_weights sparse_ids sparse_weights combiner "
        "default_id name -partition_strategy max_norm -allow_fast_lookup",
    },
    "tfx.ops.nn.losses": {
        "weighted_cross_entropy_with_logits": "labels logits pos_weight name targets=labels",
    },
    "tfx.ops.nn.normalization": {
        "sufficient_statistics": "x axes shift keep_dims=keepdims name keepdims",
        "weighted_moments": "x axes frequency_weights name keep_dims=keepdims keepdims",
    },
    "tfx.ops.nn.pooling": {
        "avg_pool2d": "value=input ksize strides padding data_format name input",
        "max_pool_with_argmax": "input ksize strides padding data_format Targmax=output_dtype name "
        "output_dtype include_batch_in_index",
        "pool": "input window_shape pooling_type padding dilation_rate=dilations strides name "
        "data_format dilations",
    },
    "tfx.ops.nn.sampled_losses": {
        "nce_loss": "weights biases labels inputs num_sampled num_classes num_true sampled_values "
        "remove_accidental_hits -partition_strategy name",
        "sampled_softmax_loss": "weights biases labels inputs num_sampled num_classes num_true "
        "sampled_values remove_accidental_hits -partition_strategy name seed",
    },
}
_PLACES = {name: (module, text) for module, rows in _TABLE.items() for name, text in rows.items()}
NAMES = tuple(_PLACES)


@functools.cache
def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise MissingNameError(__name__, name)
    module, text = _PLACES[name]
    own, _, words = text.rpartition(":")
    function = getattr(importlib.import_module(module), own or name)
    made = _reordered(name, function, words.split())
    if name.startswith("assert_"):
        made = as_operation(made)
    return made


def _reordered(older: str, function: Callable[..., Any], words: list[str]) -> Callable[..., Any]:
    order = [w.lstrip("-").partition("=")[0] for w in words]
    ignored = {w[1:] for w in words if w.startswith("-")}
    renamed = dict(w.split("=") for w in words if "=" in w)

    @functools.wraps(function)
    def _call(*args: Any, name: Any = None, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(
                f"{older}() takes at most {len(order)} arguments ({', '.join(order)}); got "
                f"{len(args)}."
            )
        given = dict(zip(order, args, strict=False))
        if name is not None:
            kwargs["name"] = name
        for key in given.keys() & kwargs.keys():
            raise TypeError(f"{older}() got multiple values for argument {key!r}.")
        given.update(kwargs)
        if "partition_strategy" in ignored:
            _join_tables(given)
        name = given.get("name")  # nodes are named after what this frame says
        return function(**_said(older, given, ignored, renamed))

    made: Any = _call
    made.__code__ = made.__code__.replace(co_name=function.__name__)
    made.__module__, made.__name__, made.__qualname__ = __name__, older, older
    made.__signature__ = inspect.Signature(list(_parameters(function, order, renamed)))
    return made  # type: ignore[no-any-return]


def _parameters(
    function: Callable[..., Any], order: Sequence[str], renamed: Mapping[str, str]
) -> Iterator[inspect.Parameter]:
    """The arguments with the function's defaults; None behind what may be left out already."""
    theirs = inspect.signature(function).parameters
    optional = False
    for name in order:
        own = theirs.get(renamed.get(name, name))
        default = None if own is None or name in renamed.values() else own.default
        if default is inspect.Parameter.empty and optional:
            default = None
        optional = optional or default is not inspect.Parameter.empty
        yield inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _join_tables(given: dict[str, Any]) -> None:
    """Put one table in the place of several; TensorFlow 2 takes them one behind the other."""
    usual = "div" if "embedding_weights" in given else "mod"
    strategy = given.get("partition_strategy") or usual
    for name in ("params", "embedding_weights", "weights", "biases"):
        tables = given.get(name)
        if isinstance(tables, PartitionedVariable):
            tables = given[name] = list(tables)
            if len(tables) == 1:
                given[name] = tables[0]
        if isinstance(tables, list | tuple) and len(tables) > 1 and _are_tables(tables):
            given[name] = joined_table(tables, strategy)


def _are_tables(items: Sequence[Any]) -> bool:
    """Whether these are pieces of a table, and not the rows of one that is a nested list."""
    return all(isinstance(x, Tensor | Variable | np.ndarray) for x in items)


def _said(
    function: str, given: Mapping[str, Any], ignored: set[str], renamed: Mapping[str, str]
) -> dict[str, Any]:
    """The arguments as TensorFlow 2's function calls them."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        new = renamed.get(name, name)
        if name in ignored or (value is None and (name != new or new in renamed.values())):
            continue
        if new in found:
            both = [n for n in given if renamed.get(n, n) == new]
            raise ValueError(f"{function}() takes one of {' and '.join(both)}; got both.")
        if name == "block_size" and new == "block_shape":
            value = [value, value]
        found[new] = value
    if found.get("name", "") is None:
        del found["name"]  # whose default is not None everywhere
    return found
