"""``tf.summary``: values over time, in event files that TensorBoard opens.

Inside a traced function a summary is a host call. The writer, the recording condition and the
default step are those of the moment when the function runs.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.summary import experimental as experimental
from tfx.summary.graphs import graph as graph
from tfx.summary.histograms import histogram as histogram
from tfx.summary.images import image as image
from tfx.summary.recording import record_if as record_if
from tfx.summary.recording import should_record_summaries as should_record_summaries
from tfx.summary.recording import write as write
from tfx.summary.scalars import scalar as scalar
from tfx.summary.sounds import audio as audio
from tfx.summary.texts import text as text
from tfx.summary.tracing import trace_export as trace_export
from tfx.summary.tracing import trace_off as trace_off
from tfx.summary.tracing import trace_on as trace_on
from tfx.summary.writer import SummaryWriter as SummaryWriter
from tfx.summary.writer import create_file_writer as create_file_writer
from tfx.summary.writer import create_noop_writer as create_noop_writer
from tfx.summary.writer import flush as flush

_complete(__name__, "experimental")
