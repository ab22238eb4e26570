"""``tfx.experimental.numpy``: NumPy's functions on tensors, with NumPy's names and dtypes.

``import tfx.experimental.numpy as tnp``. Results are tensors: tapes, functions and graphs see them.
"""

from __future__ import annotations

import numpy as _np

from tfx.core import dtypes as _dtypes
from tfx.core.dtypes import complex64 as complex64
from tfx.core.dtypes import complex128 as complex128
from tfx.core.dtypes import float16 as float16
from tfx.core.dtypes import float32 as float32
from tfx.core.dtypes import float64 as float64
from tfx.core.dtypes import int8 as int8
from tfx.core.dtypes import int16 as int16
from tfx.core.dtypes import int32 as int32
from tfx.core.dtypes import int64 as int64
from tfx.core.dtypes import uint8 as uint8
from tfx.core.dtypes import uint16 as uint16
from tfx.core.dtypes import uint32 as uint32
from tfx.core.dtypes import uint64 as uint64
from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.framework.tensor import Tensor as _Tensor
from tfx.numpy_ops import creation as _making
from tfx.numpy_ops.creation import arange as arange
from tfx.numpy_ops.creation import asanyarray as asanyarray
from tfx.numpy_ops.creation import asarray as asarray
from tfx.numpy_ops.creation import ascontiguousarray as ascontiguousarray
from tfx.numpy_ops.creation import copy as copy
from tfx.numpy_ops.creation import diag as diag
from tfx.numpy_ops.creation import diag_indices as diag_indices
from tfx.numpy_ops.creation import diagflat as diagflat
from tfx.numpy_ops.creation import empty as empty
from tfx.numpy_ops.creation import empty_like as empty_like
from tfx.numpy_ops.creation import eye as eye
from tfx.numpy_ops.creation import full as full
from tfx.numpy_ops.creation import full_like as full_like
from tfx.numpy_ops.creation import geomspace as geomspace
from tfx.numpy_ops.creation import identity as identity
from tfx.numpy_ops.creation import ix_ as ix_
from tfx.numpy_ops.creation import linspace as linspace
from tfx.numpy_ops.creation import logspace as logspace
from tfx.numpy_ops.creation import meshgrid as meshgrid
from tfx.numpy_ops.creation import ones as ones
from tfx.numpy_ops.creation import ones_like as ones_like
from tfx.numpy_ops.creation import tri as tri
from tfx.numpy_ops.creation import tril as tril
from tfx.numpy_ops.creation import triu as triu
from tfx.numpy_ops.creation import vander as vander
from tfx.numpy_ops.creation import zeros as zeros
from tfx.numpy_ops.creation import zeros_like as zeros_like
from tfx.numpy_ops.elementwise import abs as abs
from tfx.numpy_ops.elementwise import absolute as absolute
from tfx.numpy_ops.elementwise import add as add
from tfx.numpy_ops.elementwise import angle as angle
from tfx.numpy_ops.elementwise import arccos as arccos
from tfx.numpy_ops.elementwise import arccosh as arccosh
from tfx.numpy_ops.elementwise import arcsin as arcsin
from tfx.numpy_ops.elementwise import arcsinh as arcsinh
from tfx.numpy_ops.elementwise import arctan as arctan
from tfx.numpy_ops.elementwise import arctan2 as arctan2
from tfx.numpy_ops.elementwise import arctanh as arctanh
from tfx.numpy_ops.elementwise import around as around
from tfx.numpy_ops.elementwise import bitwise_and as bitwise_and
from tfx.numpy_ops.elementwise import bitwise_not as bitwise_not
from tfx.numpy_ops.elementwise import bitwise_or as bitwise_or
from tfx.numpy_ops.elementwise import bitwise_xor as bitwise_xor
from tfx.numpy_ops.elementwise import cbrt as cbrt
from tfx.numpy_ops.elementwise import ceil as ceil
from tfx.numpy_ops.elementwise import clip as clip
from tfx.numpy_ops.elementwise import conj as conj
from tfx.numpy_ops.elementwise import conjugate as conjugate
from tfx.numpy_ops.elementwise import cos as cos
from tfx.numpy_ops.elementwise import cosh as cosh
from tfx.numpy_ops.elementwise import deg2rad as deg2rad
from tfx.numpy_ops.elementwise import divide as divide
from tfx.numpy_ops.elementwise import divmod as divmod
from tfx.numpy_ops.elementwise import equal as equal
from tfx.numpy_ops.elementwise import exp as exp
from tfx.numpy_ops.elementwise import exp2 as exp2
from tfx.numpy_ops.elementwise import expm1 as expm1
from tfx.numpy_ops.elementwise import fabs as fabs
from tfx.numpy_ops.elementwise import fix as fix
from tfx.numpy_ops.elementwise import float_power as float_power
from tfx.numpy_ops.elementwise import floor as floor
from tfx.numpy_ops.elementwise import floor_divide as floor_divide
from tfx.numpy_ops.elementwise import gcd as gcd
from tfx.numpy_ops.elementwise import greater as greater
from tfx.numpy_ops.elementwise import greater_equal as greater_equal
from tfx.numpy_ops.elementwise import heaviside as heaviside
from tfx.numpy_ops.elementwise import hypot as hypot
from tfx.numpy_ops.elementwise import imag as imag
from tfx.numpy_ops.elementwise import isclose as isclose
from tfx.numpy_ops.elementwise import iscomplex as iscomplex
from tfx.numpy_ops.elementwise import iscomplexobj as iscomplexobj
from tfx.numpy_ops.elementwise import isfinite as isfinite
from tfx.numpy_ops.elementwise import isinf as isinf
from tfx.numpy_ops.elementwise import isnan as isnan
from tfx.numpy_ops.elementwise import isneginf as isneginf
from tfx.numpy_ops.elementwise import isposinf as isposinf
from tfx.numpy_ops.elementwise import isreal as isreal
from tfx.numpy_ops.elementwise import isrealobj as isrealobj
from tfx.numpy_ops.elementwise import isscalar as isscalar
from tfx.numpy_ops.elementwise import lcm as lcm
from tfx.numpy_ops.elementwise import less as less
from tfx.numpy_ops.elementwise import less_equal as less_equal
from tfx.numpy_ops.elementwise import log as log
from tfx.numpy_ops.elementwise import log1p as log1p
from tfx.numpy_ops.elementwise import log2 as log2
from tfx.numpy_ops.elementwise import log10 as log10
from tfx.numpy_ops.elementwise import logaddexp as logaddexp
from tfx.numpy_ops.elementwise import logaddexp2 as logaddexp2
from tfx.numpy_ops.elementwise import logical_and as logical_and
from tfx.numpy_ops.elementwise import logical_not as logical_not
from tfx.numpy_ops.elementwise import logical_or as logical_or
from tfx.numpy_ops.elementwise import logical_xor as logical_xor
from tfx.numpy_ops.elementwise import maximum as maximum
from tfx.numpy_ops.elementwise import minimum as minimum
from tfx.numpy_ops.elementwise import mod as mod
from tfx.numpy_ops.elementwise import multiply as multiply
from tfx.numpy_ops.elementwise import negative as negative
from tfx.numpy_ops.elementwise import nextafter as nextafter
from tfx.numpy_ops.elementwise import nonzero as nonzero
from tfx.numpy_ops.elementwise import not_equal as not_equal
from tfx.numpy_ops.elementwise import positive as positive
from tfx.numpy_ops.elementwise import power as power
from tfx.numpy_ops.elementwise import rad2deg as rad2deg
from tfx.numpy_ops.elementwise import real as real
from tfx.numpy_ops.elementwise import reciprocal as reciprocal
from tfx.numpy_ops.elementwise import remainder as remainder
from tfx.numpy_ops.elementwise import round as round
from tfx.numpy_ops.elementwise import sign as sign
from tfx.numpy_ops.elementwise import signbit as signbit
from tfx.numpy_ops.elementwise import sin as sin
from tfx.numpy_ops.elementwise import sinc as sinc
from tfx.numpy_ops.elementwise import sinh as sinh
from tfx.numpy_ops.elementwise import sqrt as sqrt
from tfx.numpy_ops.elementwise import square as square
from tfx.numpy_ops.elementwise import subtract as subtract
from tfx.numpy_ops.elementwise import tan as tan
from tfx.numpy_ops.elementwise import tanh as tanh
from tfx.numpy_ops.elementwise import true_divide as true_divide
from tfx.numpy_ops.elementwise import where as where
from tfx.numpy_ops.manipulation import append as append
from tfx.numpy_ops.manipulation import atleast_1d as atleast_1d
from tfx.numpy_ops.manipulation import atleast_2d as atleast_2d
from tfx.numpy_ops.manipulation import atleast_3d as atleast_3d
from tfx.numpy_ops.manipulation import broadcast_arrays as broadcast_arrays
from tfx.numpy_ops.manipulation import broadcast_to as broadcast_to
from tfx.numpy_ops.manipulation import compress as compress
from tfx.numpy_ops.manipulation import concatenate as concatenate
from tfx.numpy_ops.manipulation import cross as cross
from tfx.numpy_ops.manipulation import diagonal as diagonal
from tfx.numpy_ops.manipulation import diff as diff
from tfx.numpy_ops.manipulation import dot as dot
from tfx.numpy_ops.manipulation import dsplit as dsplit
from tfx.numpy_ops.manipulation import dstack as dstack
from tfx.numpy_ops.manipulation import einsum as einsum
from tfx.numpy_ops.manipulation import expand_dims as expand_dims
from tfx.numpy_ops.manipulation import flatten as flatten
from tfx.numpy_ops.manipulation import flip as flip
from tfx.numpy_ops.manipulation import fliplr as fliplr
from tfx.numpy_ops.manipulation import flipud as flipud
from tfx.numpy_ops.manipulation import hsplit as hsplit
from tfx.numpy_ops.manipulation import hstack as hstack
from tfx.numpy_ops.manipulation import inner as inner
from tfx.numpy_ops.manipulation import kron as kron
from tfx.numpy_ops.manipulation import matmul as matmul
from tfx.numpy_ops.manipulation import moveaxis as moveaxis
from tfx.numpy_ops.manipulation import ndim as ndim
from tfx.numpy_ops.manipulation import outer as outer
from tfx.numpy_ops.manipulation import pad as pad
from tfx.numpy_ops.manipulation import polyval as polyval
from tfx.numpy_ops.manipulation import ravel as ravel
from tfx.numpy_ops.manipulation import repeat as repeat
from tfx.numpy_ops.manipulation import reshape as reshape
from tfx.numpy_ops.manipulation import roll as roll
from tfx.numpy_ops.manipulation import rot90 as rot90
from tfx.numpy_ops.manipulation import select as select
from tfx.numpy_ops.manipulation import shape as shape
from tfx.numpy_ops.manipulation import size as size
from tfx.numpy_ops.manipulation import split as split
from tfx.numpy_ops.manipulation import squeeze as squeeze
from tfx.numpy_ops.manipulation import stack as stack
from tfx.numpy_ops.manipulation import swapaxes as swapaxes
from tfx.numpy_ops.manipulation import take as take
from tfx.numpy_ops.manipulation import take_along_axis as take_along_axis
from tfx.numpy_ops.manipulation import tensordot as tensordot
from tfx.numpy_ops.manipulation import tile as tile
from tfx.numpy_ops.manipulation import trace as trace
from tfx.numpy_ops.manipulation import transpose as transpose
from tfx.numpy_ops.manipulation import vdot as vdot
from tfx.numpy_ops.manipulation import vsplit as vsplit
from tfx.numpy_ops.manipulation import vstack as vstack
from tfx.numpy_ops.numpy_behavior import (
    experimental_enable_numpy_behavior as experimental_enable_numpy_behavior,
)
from tfx.numpy_ops.promotion import array as array
from tfx.numpy_ops.promotion import finfo as finfo
from tfx.numpy_ops.promotion import iinfo as iinfo
from tfx.numpy_ops.promotion import issubdtype as issubdtype
from tfx.numpy_ops.promotion import promote_types as promote_types
from tfx.numpy_ops.promotion import result_type as result_type
from tfx.numpy_ops.reductions import all as all
from tfx.numpy_ops.reductions import allclose as allclose
from tfx.numpy_ops.reductions import amax as amax
from tfx.numpy_ops.reductions import amin as amin
from tfx.numpy_ops.reductions import any as any
from tfx.numpy_ops.reductions import argmax as argmax
from tfx.numpy_ops.reductions import argmin as argmin
from tfx.numpy_ops.reductions import argsort as argsort
from tfx.numpy_ops.reductions import array_equal as array_equal
from tfx.numpy_ops.reductions import average as average
from tfx.numpy_ops.reductions import count_nonzero as count_nonzero
from tfx.numpy_ops.reductions import cumprod as cumprod
from tfx.numpy_ops.reductions import cumsum as cumsum
from tfx.numpy_ops.reductions import max as max
from tfx.numpy_ops.reductions import mean as mean
from tfx.numpy_ops.reductions import min as min
from tfx.numpy_ops.reductions import nanmean as nanmean
from tfx.numpy_ops.reductions import nanprod as nanprod
from tfx.numpy_ops.reductions import nansum as nansum
from tfx.numpy_ops.reductions import prod as prod
from tfx.numpy_ops.reductions import ptp as ptp
from tfx.numpy_ops.reductions import sort as sort
from tfx.numpy_ops.reductions import std as std
from tfx.numpy_ops.reductions import sum as sum
from tfx.numpy_ops.reductions import var as var

e, pi, inf, newaxis = _np.e, _np.pi, _np.inf, None
ndarray, bool_, string_ = _Tensor, _dtypes.bool, _dtypes.string
float_, int_, complex_ = float64, int64, complex128
object_, unicode_, inexact = _np.object_, _np.str_, _np.inexact
random = _namespace(
    "tfx.experimental.numpy.random",
    poisson=_making.poisson,
    rand=_making.rand,
    randint=_making.randint,
    randn=_making.randn,
    random=_making.random_sample,
    seed=_making.seed,
    standard_normal=_making.standard_normal,
    uniform=_making.uniform,
)

_complete(__name__, "random")
