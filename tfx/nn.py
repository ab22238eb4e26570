"""``tfx.nn``: activations, convolutions, pools, normalization, losses and embeddings."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.distribute.losses import scale_regularization_loss as scale_regularization_loss
from tfx.nn_ops.convolution_backprop import (
    depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter,
)
from tfx.nn_ops.convolution_backprop import (
    depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input,
)
from tfx.nn_ops.ctc_loss import ctc_loss as ctc_loss
from tfx.nn_ops.ctc_loss import ctc_unique_labels as ctc_unique_labels
from tfx.nn_ops.fractional_pooling import fractional_avg_pool as fractional_avg_pool
from tfx.nn_ops.fractional_pooling import fractional_max_pool as fractional_max_pool
from tfx.nn_ops.isotonic_regression import isotonic_regression as isotonic_regression
from tfx.ops.array.sort import approx_max_k as approx_max_k
from tfx.ops.array.sort import approx_min_k as approx_min_k
from tfx.ops.array.sort import in_top_k as in_top_k
from tfx.ops.array.sort import top_k as top_k
from tfx.ops.array.space_to_batch import batch_to_space as batch_to_space
from tfx.ops.array.space_to_batch import depth_to_space as depth_to_space
from tfx.ops.array.space_to_batch import space_to_batch as space_to_batch
from tfx.ops.array.space_to_batch import space_to_depth as space_to_depth
from tfx.ops.math.statistics import l2_normalize as l2_normalize
from tfx.ops.math.statistics import zero_fraction as zero_fraction
from tfx.ops.math.trigonometry import tanh as tanh
from tfx.ops.nn.activations import crelu as crelu
from tfx.ops.nn.activations import elu as elu
from tfx.ops.nn.activations import gelu as gelu
from tfx.ops.nn.activations import leaky_relu as leaky_relu
from tfx.ops.nn.activations import relu as relu
from tfx.ops.nn.activations import relu6 as relu6
from tfx.ops.nn.activations import selu as selu
from tfx.ops.nn.activations import silu as silu
from tfx.ops.nn.activations import swish as swish
from tfx.ops.nn.candidate_samplers import all_candidate_sampler as all_candidate_sampler
from tfx.ops.nn.candidate_samplers import compute_accidental_hits as compute_accidental_hits
from tfx.ops.nn.candidate_samplers import (
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
)
from tfx.ops.nn.conv_transpose import atrous_conv2d_transpose as atrous_conv2d_transpose
from tfx.ops.nn.conv_transpose import conv1d_transpose as conv1d_transpose
from tfx.ops.nn.conv_transpose import conv2d_transpose as conv2d_transpose
from tfx.ops.nn.conv_transpose import conv3d_transpose as conv3d_transpose
from tfx.ops.nn.conv_transpose import conv_transpose as conv_transpose
from tfx.ops.nn.convolution import atrous_conv2d as atrous_conv2d
from tfx.ops.nn.convolution import bias_add as bias_add
from tfx.ops.nn.convolution import conv1d as conv1d
from tfx.ops.nn.convolution import conv2d as conv2d
from tfx.ops.nn.convolution import conv3d as conv3d
from tfx.ops.nn.convolution import convolution as convolution
from tfx.ops.nn.convolution import depthwise_conv2d as depthwise_conv2d
from tfx.ops.nn.convolution import separable_conv2d as separable_conv2d
from tfx.ops.nn.dropout import dropout as dropout
from tfx.ops.nn.dropout import general_dropout as _general_dropout
from tfx.ops.nn.dropout import stateless_dropout as _stateless_dropout
from tfx.ops.nn.embedding import embedding_lookup as embedding_lookup
from tfx.ops.nn.losses import compute_average_loss as compute_average_loss
from tfx.ops.nn.losses import l2_loss as l2_loss
from tfx.ops.nn.losses import log_poisson_loss as log_poisson_loss
from tfx.ops.nn.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from tfx.ops.nn.losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from tfx.ops.nn.losses import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from tfx.ops.nn.losses import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from tfx.ops.nn.morphology import dilation2d as dilation2d
from tfx.ops.nn.morphology import erosion2d as erosion2d
from tfx.ops.nn.normalization import (
    batch_norm_with_global_normalization as batch_norm_with_global_normalization,
)
from tfx.ops.nn.normalization import batch_normalization as batch_normalization
from tfx.ops.nn.normalization import local_response_normalization as local_response_normalization
from tfx.ops.nn.normalization import lrn as lrn
from tfx.ops.nn.normalization import moments as moments
from tfx.ops.nn.normalization import normalize_moments as normalize_moments
from tfx.ops.nn.normalization import sufficient_statistics as sufficient_statistics
from tfx.ops.nn.normalization import weighted_moments as weighted_moments
from tfx.ops.nn.pooling import avg_pool as avg_pool
from tfx.ops.nn.pooling import avg_pool1d as avg_pool1d
from tfx.ops.nn.pooling import avg_pool2d as avg_pool2d
from tfx.ops.nn.pooling import avg_pool3d as avg_pool3d
from tfx.ops.nn.pooling import max_pool as max_pool
from tfx.ops.nn.pooling import max_pool1d as max_pool1d
from tfx.ops.nn.pooling import max_pool2d as max_pool2d
from tfx.ops.nn.pooling import max_pool3d as max_pool3d
from tfx.ops.nn.pooling import max_pool_with_argmax as max_pool_with_argmax
from tfx.ops.nn.pooling import pool as pool
from tfx.ops.nn.repeated_labels import collapse_repeated as collapse_repeated
from tfx.ops.nn.sampled_losses import nce_loss as nce_loss
from tfx.ops.nn.sampled_losses import sampled_softmax_loss as sampled_softmax_loss
from tfx.ops.nn.softmax import log_softmax as log_softmax
from tfx.ops.nn.softmax import sigmoid as sigmoid
from tfx.ops.nn.softmax import softmax as softmax
from tfx.ops.nn.softmax import softplus as softplus
from tfx.ops.nn.softmax import softsign as softsign
from tfx.sparse_ops.ctc_decoding import ctc_beam_search_decoder as ctc_beam_search_decoder
from tfx.sparse_ops.ctc_decoding import ctc_greedy_decoder as ctc_greedy_decoder
from tfx.sparse_ops.embedding import embedding_lookup_sparse as embedding_lookup_sparse
from tfx.sparse_ops.embedding import (
    safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
)

experimental = _namespace(
    "tfx.nn.experimental",
    general_dropout=_general_dropout,
    stateless_dropout=_stateless_dropout,
)

_complete(__name__, "experimental")
