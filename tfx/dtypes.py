"""``tf.dtypes``: element types and conversions between them."""

from __future__ import annotations

from tfx.core.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from tfx.core.dtypes import DType as DType
from tfx.core.dtypes import as_dtype as as_dtype
from tfx.core.dtypes import bfloat16 as bfloat16
from tfx.core.dtypes import bool as bool
from tfx.core.dtypes import complex64 as complex64
from tfx.core.dtypes import complex128 as complex128
from tfx.core.dtypes import double as double
from tfx.core.dtypes import float8_e4m3fn as float8_e4m3fn
from tfx.core.dtypes import float8_e5m2 as float8_e5m2
from tfx.core.dtypes import float16 as float16
from tfx.core.dtypes import float32 as float32
from tfx.core.dtypes import float64 as float64
from tfx.core.dtypes import half as half
from tfx.core.dtypes import int4 as int4
from tfx.core.dtypes import int8 as int8
from tfx.core.dtypes import int16 as int16
from tfx.core.dtypes import int32 as int32
from tfx.core.dtypes import int64 as int64
from tfx.core.dtypes import qint8 as qint8
from tfx.core.dtypes import qint16 as qint16
from tfx.core.dtypes import qint32 as qint32
from tfx.core.dtypes import quint8 as quint8
from tfx.core.dtypes import quint16 as quint16
from tfx.core.dtypes import resource as resource
from tfx.core.dtypes import string as string
from tfx.core.dtypes import uint4 as uint4
from tfx.core.dtypes import uint8 as uint8
from tfx.core.dtypes import uint16 as uint16
from tfx.core.dtypes import uint32 as uint32
from tfx.core.dtypes import uint64 as uint64
from tfx.core.dtypes import variant as variant
from tfx.core.namespaces import complete as _complete
from tfx.ops.math.cast import cast as cast
from tfx.ops.math.cast import saturate_cast as saturate_cast
from tfx.ops.math.complex_parts import complex as complex

_complete(__name__)
