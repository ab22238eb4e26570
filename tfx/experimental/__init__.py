"""``tfx.experimental``: NumPy's interface, types made of tensors, and optional values."""

from __future__ import annotations

from tfx.core.dtypes import float8_e4m3fn as float8_e4m3fn
from tfx.core.dtypes import float8_e5m2 as float8_e5m2
from tfx.core.dtypes import int4 as int4
from tfx.core.dtypes import uint4 as uint4
from tfx.core.namespaces import complete as _complete
from tfx.experimental import dlpack as dlpack
from tfx.experimental import numpy as numpy
from tfx.experimental.dispatch import dispatch_for_api as dispatch_for_api
from tfx.experimental.dispatch import (
    dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis,
)
from tfx.experimental.dispatch import (
    dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis,
)
from tfx.experimental.dispatch import (
    dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis,
)
from tfx.experimental.dispatch import unregister_dispatch_for as unregister_dispatch_for
from tfx.framework.composite.extension_type import (
    BatchableExtensionType as BatchableExtensionType,
)
from tfx.framework.composite.extension_type import ExtensionType as ExtensionType
from tfx.framework.composite.extension_type_spec import ExtensionTypeSpec as ExtensionTypeSpec
from tfx.framework.composite.optional import Optional as Optional
from tfx.ragged_ops.row_partition import RowPartition as RowPartition

_complete(__name__, "dlpack", "numpy")
