"""``tfx.experimental.numpy``: NumPy's functions on tensors, with NumPy's names and dtypes.

``import tfx.experimental.numpy as tnp``. Results are tensors: tapes, functions and graphs see them.
"""

from __future__ import annotations

import numpy as _np

from tfx.arrays import making as _making
from tfx.arrays.behavior import (
    experimental_enable_numpy_behavior as experimental_enable_numpy_behavior,
)
from tfx.arrays.elementwise import abs as abs
from tfx.arrays.elementwise import absolute as absolute
from tfx.arrays.elementwise import add as add
from tfx.arrays.elementwise import angle as angle
from tfx.arrays.elementwise import arccos as arccos
from tfx.arrays.elementwise import arccosh as arccosh
from tfx.arrays.elementwise import arcsin as arcsin
from tfx.arrays.elementwise import arcsinh as arcsinh
from tfx.arrays.elementwise import arctan as arctan
from tfx.arrays.elementwise import arctan2 as arctan2
from tfx.arrays.elementwise import arctanh as arctanh
from tfx.arrays.elementwise import around as around
from tfx.arrays.elementwise import bitwise_and as bitwise_and
from tfx.arrays.elementwise import bitwise_not as bitwise_not
from tfx.arrays.elementwise import bitwise_or as bitwise_or
from tfx.arrays.elementwise import bitwise_xor as bitwise_xor
from tfx.arrays.elementwise import cbrt as cbrt
from tfx.arrays.elementwise import ceil as ceil
from tfx.arrays.elementwise import clip as clip
from tfx.arrays.elementwise import conj as conj
from tfx.arrays.elementwise import conjugate as conjugate
from tfx.arrays.elementwise import cos as cos
from tfx.arrays.elementwise import cosh as cosh
from tfx.arrays.elementwise import deg2rad as deg2rad
from tfx.arrays.elementwise import divide as divide
from tfx.arrays.elementwise import divmod as divmod
from tfx.arrays.elementwise import equal as equal
from tfx.arrays.elementwise import exp as exp
from tfx.arrays.elementwise import exp2 as exp2
from tfx.arrays.elementwise import expm1 as expm1
from tfx.arrays.elementwise import fabs as fabs
from tfx.arrays.elementwise import fix as fix
from tfx.arrays.elementwise import float_power as float_power
from tfx.arrays.elementwise import floor as floor
from tfx.arrays.elementwise import floor_divide as floor_divide
from tfx.arrays.elementwise import gcd as gcd
from tfx.arrays.elementwise import greater as greater
from tfx.arrays.elementwise import greater_equal as greater_equal
from tfx.arrays.elementwise import heaviside as heaviside
from tfx.arrays.elementwise import hypot as hypot
from tfx.arrays.elementwise import imag as imag
from tfx.arrays.elementwise import isclose as isclose
from tfx.arrays.elementwise import iscomplex as iscomplex
from tfx.arrays.elementwise import iscomplexobj as iscomplexobj
from tfx.arrays.elementwise import isfinite as isfinite
from tfx.arrays.elementwise import isinf as isinf
from tfx.arrays.elementwise import isnan as isnan
from tfx.arrays.elementwise import isneginf as isneginf
from tfx.arrays.elementwise import isposinf as isposinf
from tfx.arrays.elementwise import isreal as isreal
from tfx.arrays.elementwise import isrealobj as isrealobj
from tfx.arrays.elementwise import isscalar as isscalar
from tfx.arrays.elementwise import lcm as lcm
from tfx.arrays.elementwise import less as less
from tfx.arrays.elementwise import less_equal as less_equal
from tfx.arrays.elementwise import log as log
from tfx.arrays.elementwise import log1p as log1p
from tfx.arrays.elementwise import log2 as log2
from tfx.arrays.elementwise import log10 as log10
from tfx.arrays.elementwise import logaddexp as logaddexp
from tfx.arrays.elementwise import logaddexp2 as logaddexp2
from tfx.arrays.elementwise import logical_and as logical_and
from tfx.arrays.elementwise import logical_not as logical_not
from tfx.arrays.elementwise import logical_or as logical_or
from tfx.arrays.elementwise import logical_xor as logical_xor
from tfx.arrays.elementwise import maximum as maximum
from tfx.arrays.elementwise import minimum as minimum
from tfx.arrays.elementwise import mod as mod
from tfx.arrays.elementwise import multiply as multiply
from tfx.arrays.elementwise import negative as negative
from tfx.arrays.elementwise import nonzero as nonzero
from tfx.arrays.elementwise import not_equal as not_equal
from tfx.arrays.elementwise import positive as positive
from tfx.arrays.elementwise import power as power
from tfx.arrays.elementwise import rad2deg as rad2deg
from tfx.arrays.elementwise import real as real
from tfx.arrays.elementwise import reciprocal as reciprocal
from tfx.arrays.elementwise import remainder as remainder
from tfx.arrays.elementwise import round as round
from tfx.arrays.elementwise import sign as sign
from tfx.arrays.elementwise import signbit as signbit
from tfx.arrays.elementwise import sin as sin
from tfx.arrays.elementwise import sinc as sinc
from tfx.arrays.elementwise import sinh as sinh
from tfx.arrays.elementwise import sqrt as sqrt
from tfx.arrays.elementwise import square as square
from tfx.arrays.elementwise import subtract as subtract
from tfx.arrays.elementwise import tan as tan
from tfx.arrays.elementwise import tanh as tanh
from tfx.arrays.elementwise import true_divide as true_divide
from tfx.arrays.elementwise import where as where
from tfx.arrays.making import arange as arange
from tfx.arrays.making import asanyarray as asanyarray
from tfx.arrays.making import asarray as asarray
from tfx.arrays.making import ascontiguousarray as ascontiguousarray
from tfx.arrays.making import copy as copy
from tfx.arrays.making import diag as diag
from tfx.arrays.making import diag_indices as diag_indices
from tfx.arrays.making import diagflat as diagflat
from tfx.arrays.making import empty as empty
from tfx.arrays.making import empty_like as empty_like
from tfx.arrays.making import eye as eye
from tfx.arrays.making import full as full
from tfx.arrays.making import full_like as full_like
from tfx.arrays.making import geomspace as geomspace
from tfx.arrays.making import identity as identity
from tfx.arrays.making import ix_ as ix_
from tfx.arrays.making import linspace as linspace
from tfx.arrays.making import logspace as logspace
from tfx.arrays.making import meshgrid as meshgrid
from tfx.arrays.making import ones as ones
from tfx.arrays.making import ones_like as ones_like
from tfx.arrays.making import tri as tri
from tfx.arrays.making import tril as tril
from tfx.arrays.making import triu as triu
from tfx.arrays.making import vander as vander
from tfx.arrays.making import zeros as zeros
from tfx.arrays.making import zeros_like as zeros_like
from tfx.arrays.promotion import array as array
from tfx.arrays.promotion import finfo as finfo
from tfx.arrays.promotion import iinfo as iinfo
from tfx.arrays.promotion import issubdtype as issubdtype
from tfx.arrays.promotion import promote_types as promote_types
from tfx.arrays.promotion import result_type as result_type
from tfx.arrays.reductions import all as all
from tfx.arrays.reductions import allclose as allclose
from tfx.arrays.reductions import amax as amax
from tfx.arrays.reductions import amin as amin
from tfx.arrays.reductions import any as any
from tfx.arrays.reductions import argmax as argmax
from tfx.arrays.reductions import argmin as argmin
from tfx.arrays.reductions import argsort as argsort
from tfx.arrays.reductions import array_equal as array_equal
from tfx.arrays.reductions import average as average
from tfx.arrays.reductions import count_nonzero as count_nonzero
from tfx.arrays.reductions import cumprod as cumprod
from tfx.arrays.reductions import cumsum as cumsum
from tfx.arrays.reductions import max as max
from tfx.arrays.reductions import mean as mean
from tfx.arrays.reductions import min as min
from tfx.arrays.reductions import nanmean as nanmean
from tfx.arrays.reductions import nanprod as nanprod
from tfx.arrays.reductions import nansum as nansum
from tfx.arrays.reductions import prod as prod
from tfx.arrays.reductions import ptp as ptp
from tfx.arrays.reductions import sort as sort
from tfx.arrays.reductions import std as std
from tfx.arrays.reductions import sum as sum
from tfx.arrays.reductions import var as var
from tfx.arrays.shapes import append as append
from tfx.arrays.shapes import atleast_1d as atleast_1d
from tfx.arrays.shapes import atleast_2d as atleast_2d
from tfx.arrays.shapes import atleast_3d as atleast_3d
from tfx.arrays.shapes import broadcast_arrays as broadcast_arrays
from tfx.arrays.shapes import broadcast_to as broadcast_to
from tfx.arrays.shapes import compress as compress
from tfx.arrays.shapes import concatenate as concatenate
from tfx.arrays.shapes import cross as cross
from tfx.arrays.shapes import diagonal as diagonal
from tfx.arrays.shapes import diff as diff
from tfx.arrays.shapes import dot as dot
from tfx.arrays.shapes import dsplit as dsplit
from tfx.arrays.shapes import dstack as dstack
from tfx.arrays.shapes import einsum as einsum
from tfx.arrays.shapes import expand_dims as expand_dims
from tfx.arrays.shapes import flatten as flatten
from tfx.arrays.shapes import flip as flip
from tfx.arrays.shapes import fliplr as fliplr
from tfx.arrays.shapes import flipud as flipud
from tfx.arrays.shapes import hsplit as hsplit
from tfx.arrays.shapes import hstack as hstack
from tfx.arrays.shapes import inner as inner
from tfx.arrays.shapes import kron as kron
from tfx.arrays.shapes import matmul as matmul
from tfx.arrays.shapes import moveaxis as moveaxis
from tfx.arrays.shapes import ndim as ndim
from tfx.arrays.shapes import outer as outer
from tfx.arrays.shapes import pad as pad
from tfx.arrays.shapes import polyval as polyval
from tfx.arrays.shapes import ravel as ravel
from tfx.arrays.shapes import repeat as repeat
from tfx.arrays.shapes import reshape as reshape
from tfx.arrays.shapes import roll as roll
from tfx.arrays.shapes import rot90 as rot90
from tfx.arrays.shapes import select as select
from tfx.arrays.shapes import shape as shape
from tfx.arrays.shapes import size as size
from tfx.arrays.shapes import split as split
from tfx.arrays.shapes import squeeze as squeeze
from tfx.arrays.shapes import stack as stack
from tfx.arrays.shapes import swapaxes as swapaxes
from tfx.arrays.shapes import take as take
from tfx.arrays.shapes import take_along_axis as take_along_axis
from tfx.arrays.shapes import tensordot as tensordot
from tfx.arrays.shapes import tile as tile
from tfx.arrays.shapes import trace as trace
from tfx.arrays.shapes import transpose as transpose
from tfx.arrays.shapes import vdot as vdot
from tfx.arrays.shapes import vsplit as vsplit
from tfx.arrays.shapes import vstack as vstack
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
