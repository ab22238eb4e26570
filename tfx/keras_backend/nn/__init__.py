"""``backend.nn``: activations, convolutions, pools, losses, normalization and attention."""

from __future__ import annotations

from tfx.keras_backend.nn.activations import celu as celu
from tfx.keras_backend.nn.activations import elu as elu
from tfx.keras_backend.nn.activations import gelu as gelu
from tfx.keras_backend.nn.activations import glu as glu
from tfx.keras_backend.nn.activations import hard_shrink as hard_shrink
from tfx.keras_backend.nn.activations import hard_sigmoid as hard_sigmoid
from tfx.keras_backend.nn.activations import hard_silu as hard_silu
from tfx.keras_backend.nn.activations import hard_tanh as hard_tanh
from tfx.keras_backend.nn.activations import leaky_relu as leaky_relu
from tfx.keras_backend.nn.activations import log_sigmoid as log_sigmoid
from tfx.keras_backend.nn.activations import relu as relu
from tfx.keras_backend.nn.activations import relu6 as relu6
from tfx.keras_backend.nn.activations import selu as selu
from tfx.keras_backend.nn.activations import silu as silu
from tfx.keras_backend.nn.activations import soft_shrink as soft_shrink
from tfx.keras_backend.nn.activations import softplus as softplus
from tfx.keras_backend.nn.activations import softsign as softsign
from tfx.keras_backend.nn.activations import sparse_plus as sparse_plus
from tfx.keras_backend.nn.activations import sparse_sigmoid as sparse_sigmoid
from tfx.keras_backend.nn.activations import squareplus as squareplus
from tfx.keras_backend.nn.activations import tanh as tanh
from tfx.keras_backend.nn.activations import tanh_shrink as tanh_shrink
from tfx.keras_backend.nn.activations import threshold as threshold
from tfx.keras_backend.nn.attention import dot_product_attention as dot_product_attention
from tfx.keras_backend.nn.convolution import conv as conv
from tfx.keras_backend.nn.convolution import conv_transpose as conv_transpose
from tfx.keras_backend.nn.convolution import depthwise_conv as depthwise_conv
from tfx.keras_backend.nn.convolution import separable_conv as separable_conv
from tfx.keras_backend.nn.ctc import ctc_decode as ctc_decode
from tfx.keras_backend.nn.ctc import ctc_loss as ctc_loss
from tfx.keras_backend.nn.encodings import multi_hot as multi_hot
from tfx.keras_backend.nn.encodings import one_hot as one_hot
from tfx.keras_backend.nn.losses import binary_crossentropy as binary_crossentropy
from tfx.keras_backend.nn.losses import categorical_crossentropy as categorical_crossentropy
from tfx.keras_backend.nn.losses import (
    sparse_categorical_crossentropy as sparse_categorical_crossentropy,
)
from tfx.keras_backend.nn.normalization import batch_normalization as batch_normalization
from tfx.keras_backend.nn.normalization import moments as moments
from tfx.keras_backend.nn.patches import depth_to_space as depth_to_space
from tfx.keras_backend.nn.patches import fold as fold
from tfx.keras_backend.nn.patches import psnr as psnr
from tfx.keras_backend.nn.patches import space_to_depth as space_to_depth
from tfx.keras_backend.nn.patches import unfold as unfold
from tfx.keras_backend.nn.pooling import adaptive_average_pool as adaptive_average_pool
from tfx.keras_backend.nn.pooling import adaptive_max_pool as adaptive_max_pool
from tfx.keras_backend.nn.pooling import average_pool as average_pool
from tfx.keras_backend.nn.pooling import max_pool as max_pool
from tfx.keras_backend.nn.softmax import log_softmax as log_softmax
from tfx.keras_backend.nn.softmax import sigmoid as sigmoid
from tfx.keras_backend.nn.softmax import softmax as softmax
from tfx.keras_backend.nn.softmax import sparsemax as sparsemax
