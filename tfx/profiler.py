"""``tfx.profiler``: profiles for TensorBoard. ``tfx.profile`` has tables and texts."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.core.namespaces import namespace as _namespace
from tfx.function.inspection.profiler import Profile as _Profile
from tfx.function.inspection.profiler import ProfilerOptions as _ProfilerOptions
from tfx.function.inspection.profiler import Trace as _Trace
from tfx.function.inspection.profiler import start as _start
from tfx.function.inspection.profiler import stop as _stop

experimental = _namespace(
    "tfx.profiler.experimental",
    Profile=_Profile,
    ProfilerOptions=_ProfilerOptions,
    Trace=_Trace,
    start=_start,
    stop=_stop,
)

_complete(__name__, "experimental")
