"""Keras 3 on tfx: the backend that Keras imports when it is configured with ``tfx``.

Each module has the functions that Keras looks for under that name: what they compute, on which
dtypes and with which errors is Keras' contract; here it is said with tfx's public names. The
package imports Keras, so nothing else of tfx imports it but ``tfx.keras``.
"""

from __future__ import annotations

from tfx.keras_backend import core as core
from tfx.keras_backend import distribution_lib as distribution_lib
from tfx.keras_backend import image as image
from tfx.keras_backend import linalg as linalg
from tfx.keras_backend import math as math
from tfx.keras_backend import nn as nn
from tfx.keras_backend import numpy as numpy
from tfx.keras_backend import random as random
from tfx.keras_backend import tensorboard as tensorboard
from tfx.keras_backend.core import IS_THREAD_SAFE as IS_THREAD_SAFE
from tfx.keras_backend.core import SUPPORTS_COMPLEX_DTYPES as SUPPORTS_COMPLEX_DTYPES
from tfx.keras_backend.core import SUPPORTS_RAGGED_TENSORS as SUPPORTS_RAGGED_TENSORS
from tfx.keras_backend.core import SUPPORTS_SPARSE_TENSORS as SUPPORTS_SPARSE_TENSORS
from tfx.keras_backend.core import cast as cast
from tfx.keras_backend.core import compute_output_spec as compute_output_spec
from tfx.keras_backend.core import cond as cond
from tfx.keras_backend.core import convert_to_numpy as convert_to_numpy
from tfx.keras_backend.core import convert_to_tensor as convert_to_tensor
from tfx.keras_backend.core import device_scope as device_scope
from tfx.keras_backend.core import is_tensor as is_tensor
from tfx.keras_backend.core import name_scope as name_scope
from tfx.keras_backend.core import random_seed_dtype as random_seed_dtype
from tfx.keras_backend.core import scatter as scatter
from tfx.keras_backend.core import shape as shape
from tfx.keras_backend.core import stop_gradient as stop_gradient
from tfx.keras_backend.core import vectorized_map as vectorized_map
from tfx.keras_backend.rnn import bidirectional_gru as bidirectional_gru
from tfx.keras_backend.rnn import bidirectional_lstm as bidirectional_lstm
from tfx.keras_backend.rnn import cudnn_ok as cudnn_ok
from tfx.keras_backend.rnn import gru as gru
from tfx.keras_backend.rnn import lstm as lstm
from tfx.keras_backend.rnn import rnn as rnn
from tfx.keras_backend.variable import Variable as Variable
