"""Mathematics: ``tfx.math``, the names of TensorFlow's module of that name."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.ops.array.partition import confusion_matrix as confusion_matrix
from tfx.ops.array.ravel_index import invert_permutation as invert_permutation
from tfx.ops.array.sort import approx_max_k as approx_max_k
from tfx.ops.array.sort import approx_min_k as approx_min_k
from tfx.ops.array.sort import in_top_k as in_top_k
from tfx.ops.array.sort import top_k as top_k
from tfx.ops.array.unique import bincount as bincount
from tfx.ops.math.argmax import argmax as argmax
from tfx.ops.math.argmax import argmin as argmin
from tfx.ops.math.arithmetic import add as add
from tfx.ops.math.arithmetic import add_n as add_n
from tfx.ops.math.arithmetic import divide as divide
from tfx.ops.math.arithmetic import floordiv as floordiv
from tfx.ops.math.arithmetic import floormod as floormod
from tfx.ops.math.arithmetic import maximum as maximum
from tfx.ops.math.arithmetic import minimum as minimum
from tfx.ops.math.arithmetic import multiply as multiply
from tfx.ops.math.arithmetic import pow as pow
from tfx.ops.math.arithmetic import subtract as subtract
from tfx.ops.math.arithmetic import truediv as truediv
from tfx.ops.math.bessel import bessel_i0 as bessel_i0
from tfx.ops.math.bessel import bessel_i0e as bessel_i0e
from tfx.ops.math.bessel import bessel_i1 as bessel_i1
from tfx.ops.math.bessel import bessel_i1e as bessel_i1e
from tfx.ops.math.bessel import bessel_j0 as _bessel_j0
from tfx.ops.math.bessel import bessel_j1 as _bessel_j1
from tfx.ops.math.bessel import bessel_k0 as _bessel_k0
from tfx.ops.math.bessel import bessel_k0e as _bessel_k0e
from tfx.ops.math.bessel import bessel_k1 as _bessel_k1
from tfx.ops.math.bessel import bessel_k1e as _bessel_k1e
from tfx.ops.math.bessel import bessel_y0 as _bessel_y0
from tfx.ops.math.bessel import bessel_y1 as _bessel_y1
from tfx.ops.math.bitcast import nextafter as nextafter
from tfx.ops.math.comparison import equal as equal
from tfx.ops.math.comparison import greater as greater
from tfx.ops.math.comparison import greater_equal as greater_equal
from tfx.ops.math.comparison import less as less
from tfx.ops.math.comparison import less_equal as less_equal
from tfx.ops.math.comparison import logical_and as logical_and
from tfx.ops.math.comparison import logical_not as logical_not
from tfx.ops.math.comparison import logical_or as logical_or
from tfx.ops.math.comparison import logical_xor as logical_xor
from tfx.ops.math.comparison import not_equal as not_equal
from tfx.ops.math.complex_parts import angle as angle
from tfx.ops.math.complex_parts import conj as conj
from tfx.ops.math.complex_parts import imag as imag
from tfx.ops.math.complex_parts import real as real
from tfx.ops.math.cumulative import cumprod as cumprod
from tfx.ops.math.cumulative import cumsum as cumsum
from tfx.ops.math.cumulative import cumulative_logsumexp as cumulative_logsumexp
from tfx.ops.math.derived_arithmetic import accumulate_n as accumulate_n
from tfx.ops.math.derived_arithmetic import is_non_decreasing as is_non_decreasing
from tfx.ops.math.derived_arithmetic import is_strictly_increasing as is_strictly_increasing
from tfx.ops.math.derived_arithmetic import polyval as polyval
from tfx.ops.math.derived_arithmetic import reciprocal_no_nan as reciprocal_no_nan
from tfx.ops.math.derived_arithmetic import scalar_mul as scalar_mul
from tfx.ops.math.elementwise import abs as abs
from tfx.ops.math.elementwise import ceil as ceil
from tfx.ops.math.elementwise import exp as exp
from tfx.ops.math.elementwise import expm1 as expm1
from tfx.ops.math.elementwise import floor as floor
from tfx.ops.math.elementwise import is_finite as is_finite
from tfx.ops.math.elementwise import is_inf as is_inf
from tfx.ops.math.elementwise import is_nan as is_nan
from tfx.ops.math.elementwise import log as log
from tfx.ops.math.elementwise import log1p as log1p
from tfx.ops.math.elementwise import negative as negative
from tfx.ops.math.elementwise import reciprocal as reciprocal
from tfx.ops.math.elementwise import rint as rint
from tfx.ops.math.elementwise import round as round
from tfx.ops.math.elementwise import rsqrt as rsqrt
from tfx.ops.math.elementwise import sign as sign
from tfx.ops.math.elementwise import sqrt as sqrt
from tfx.ops.math.elementwise import square as square
from tfx.ops.math.error_functions import divide_no_nan as divide_no_nan
from tfx.ops.math.error_functions import erf as erf
from tfx.ops.math.error_functions import erfc as erfc
from tfx.ops.math.error_functions import multiply_no_nan as multiply_no_nan
from tfx.ops.math.error_functions import squared_difference as squared_difference
from tfx.ops.math.error_functions import xdivy as xdivy
from tfx.ops.math.error_functions import xlog1py as xlog1py
from tfx.ops.math.error_functions import xlogy as xlogy
from tfx.ops.math.gamma import digamma as digamma
from tfx.ops.math.gamma import lbeta as lbeta
from tfx.ops.math.gamma import lgamma as lgamma
from tfx.ops.math.incomplete_gamma import betainc as betainc
from tfx.ops.math.incomplete_gamma import igamma as igamma
from tfx.ops.math.incomplete_gamma import igammac as igammac
from tfx.ops.math.inverse_erf import erfcinv as erfcinv
from tfx.ops.math.inverse_erf import erfinv as erfinv
from tfx.ops.math.inverse_erf import ndtri as ndtri
from tfx.ops.math.reduction import reduce_all as reduce_all
from tfx.ops.math.reduction import reduce_any as reduce_any
from tfx.ops.math.reduction import reduce_euclidean_norm as reduce_euclidean_norm
from tfx.ops.math.reduction import reduce_logsumexp as reduce_logsumexp
from tfx.ops.math.reduction import reduce_max as reduce_max
from tfx.ops.math.reduction import reduce_mean as reduce_mean
from tfx.ops.math.reduction import reduce_min as reduce_min
from tfx.ops.math.reduction import reduce_prod as reduce_prod
from tfx.ops.math.reduction import reduce_sum as reduce_sum
from tfx.ops.math.segments import segment_max as segment_max
from tfx.ops.math.segments import segment_mean as segment_mean
from tfx.ops.math.segments import segment_min as segment_min
from tfx.ops.math.segments import segment_prod as segment_prod
from tfx.ops.math.segments import segment_sum as segment_sum
from tfx.ops.math.segments import unsorted_segment_max as unsorted_segment_max
from tfx.ops.math.segments import unsorted_segment_mean as unsorted_segment_mean
from tfx.ops.math.segments import unsorted_segment_min as unsorted_segment_min
from tfx.ops.math.segments import unsorted_segment_prod as unsorted_segment_prod
from tfx.ops.math.segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from tfx.ops.math.segments import unsorted_segment_sum as unsorted_segment_sum
from tfx.ops.math.special_integrals import dawsn as _dawsn
from tfx.ops.math.special_integrals import expint as _expint
from tfx.ops.math.special_integrals import fresnel_cos as _fresnel_cos
from tfx.ops.math.special_integrals import fresnel_sin as _fresnel_sin
from tfx.ops.math.special_integrals import spence as _spence
from tfx.ops.math.statistics import count_nonzero as count_nonzero
from tfx.ops.math.statistics import l2_normalize as l2_normalize
from tfx.ops.math.statistics import reduce_std as reduce_std
from tfx.ops.math.statistics import reduce_variance as reduce_variance
from tfx.ops.math.statistics import zero_fraction as zero_fraction
from tfx.ops.math.trigonometry import acos as acos
from tfx.ops.math.trigonometry import acosh as acosh
from tfx.ops.math.trigonometry import asin as asin
from tfx.ops.math.trigonometry import asinh as asinh
from tfx.ops.math.trigonometry import atan as atan
from tfx.ops.math.trigonometry import atan2 as atan2
from tfx.ops.math.trigonometry import atanh as atanh
from tfx.ops.math.trigonometry import cos as cos
from tfx.ops.math.trigonometry import cosh as cosh
from tfx.ops.math.trigonometry import sin as sin
from tfx.ops.math.trigonometry import sinh as sinh
from tfx.ops.math.trigonometry import tan as tan
from tfx.ops.math.trigonometry import tanh as tanh
from tfx.ops.math.zeta import polygamma as polygamma
from tfx.ops.math.zeta import zeta as zeta
from tfx.ops.nn.softmax import log_sigmoid as log_sigmoid
from tfx.ops.nn.softmax import log_softmax as log_softmax
from tfx.ops.nn.softmax import sigmoid as sigmoid
from tfx.ops.nn.softmax import softmax as softmax
from tfx.ops.nn.softmax import softplus as softplus
from tfx.ops.nn.softmax import softsign as softsign
from tfx.ops.random.sobol import sobol_sample as sobol_sample

mod = floormod
special = _namespace(
    "tfx.math.special",
    bessel_i0=bessel_i0,
    bessel_i0e=bessel_i0e,
    bessel_i1=bessel_i1,
    bessel_i1e=bessel_i1e,
    bessel_j0=_bessel_j0,
    bessel_j1=_bessel_j1,
    bessel_k0=_bessel_k0,
    bessel_k0e=_bessel_k0e,
    bessel_k1=_bessel_k1,
    bessel_k1e=_bessel_k1e,
    bessel_y0=_bessel_y0,
    bessel_y1=_bessel_y1,
    dawsn=_dawsn,
    expint=_expint,
    fresnel_cos=_fresnel_cos,
    fresnel_sin=_fresnel_sin,
    spence=_spence,
)

_complete(__name__, "special")
