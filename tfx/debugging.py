"""``tf.debugging``: checks that raise where a program is wrong."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.tracebacks import disable_traceback_filtering as disable_traceback_filtering
from tfx.core.tracebacks import enable_traceback_filtering as enable_traceback_filtering
from tfx.core.tracebacks import (
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
)
from tfx.function.gradients.check_numerics import check_numerics as check_numerics
from tfx.ops.debugging.all_finite import assert_all_finite as assert_all_finite
from tfx.ops.debugging.assertions import Assert as Assert
from tfx.ops.debugging.assertions import assert_equal as assert_equal
from tfx.ops.debugging.assertions import assert_greater as assert_greater
from tfx.ops.debugging.assertions import assert_greater_equal as assert_greater_equal
from tfx.ops.debugging.assertions import assert_less as assert_less
from tfx.ops.debugging.assertions import assert_less_equal as assert_less_equal
from tfx.ops.debugging.assertions import assert_near as assert_near
from tfx.ops.debugging.assertions import assert_negative as assert_negative
from tfx.ops.debugging.assertions import assert_non_negative as assert_non_negative
from tfx.ops.debugging.assertions import assert_non_positive as assert_non_positive
from tfx.ops.debugging.assertions import assert_none_equal as assert_none_equal
from tfx.ops.debugging.assertions import assert_positive as assert_positive
from tfx.ops.debugging.check_numerics import disable_check_numerics as disable_check_numerics
from tfx.ops.debugging.check_numerics import enable_check_numerics as enable_check_numerics
from tfx.ops.debugging.static_assertions import assert_integer as assert_integer
from tfx.ops.debugging.static_assertions import assert_proper_iterable as assert_proper_iterable
from tfx.ops.debugging.static_assertions import assert_rank as assert_rank
from tfx.ops.debugging.static_assertions import assert_rank_at_least as assert_rank_at_least
from tfx.ops.debugging.static_assertions import assert_rank_in as assert_rank_in
from tfx.ops.debugging.static_assertions import assert_same_float_dtype as assert_same_float_dtype
from tfx.ops.debugging.static_assertions import assert_scalar as assert_scalar
from tfx.ops.debugging.static_assertions import assert_shapes as assert_shapes
from tfx.ops.debugging.static_assertions import assert_type as assert_type
from tfx.ops.debugging.static_assertions import is_numeric_tensor as is_numeric_tensor
from tfx.runtime.placement_log import get_log_device_placement as get_log_device_placement
from tfx.runtime.placement_log import set_log_device_placement as set_log_device_placement

_complete(__name__)
