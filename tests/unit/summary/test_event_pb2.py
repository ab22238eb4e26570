"""The messages of event files: the numbers that TensorBoard knows, and how the code was generated."""

from __future__ import annotations

import re

import pytest

from tests.source_tree import ROOT
from tfx.summary import event_pb2 as pb

# Message -> its fields, as in TensorBoard's own files.
FIELDS = {
    "Event": "wall_time=1 step=2 file_version=3 graph_def=4 summary=5 log_message=6 "
    "session_log=7 tagged_run_metadata=8 meta_graph_def=9 source_metadata=10",
    "LogMessage": "level=1 message=2",
    "SessionLog": "status=1 checkpoint_path=2 msg=3",
    "TaggedRunMetadata": "tag=1 run_metadata=2",
    "SourceMetadata": "writer=1",
    "Summary": "value=1",
    "Summary.Image": "height=1 width=2 colorspace=3 encoded_image_string=4",
    "Summary.Audio": "sample_rate=1 num_channels=2 length_frames=3 encoded_audio_string=4 "
    "content_type=5",
    "Summary.Value": "tag=1 simple_value=2 obsolete_old_style_histogram=3 image=4 histo=5 audio=6 "
    "node_name=7 tensor=8 metadata=9",
    "HistogramProto": "min=1 max=2 num=3 sum=4 sum_squares=5 bucket_limit=6 bucket=7",
    "SummaryDescription": "type_hint=1",
    "Metadata": "plugin_data=1 display_name=2 summary_description=3 data_class=4",
    "Metadata.PluginData": "plugin_name=1 content=2",
    "Tensor": "dtype=1 tensor_shape=2 tensor_content=4 string_val=8",
    "Shape": "dim=2 unknown_rank=3",
    "Shape.Dim": "size=1",
    "RunMetadata": "function_graphs=4",
    "RunMetadata.FunctionGraphs": "pre_optimization_graph=2",
    "AudioData": "version=1 encoding=2",
    "GraphDef": "node=1 versions=4",
    "GraphDef.Versions": "producer=1",
    "NodeDef": "name=1 op=2 input=3 device=4 attr=5",
    "Attribute": "list=1",
    "Attribute.List": "shape=7",
}


@pytest.mark.parametrize("name", FIELDS)
def test_numbers(name: str) -> None:
    first, *rest = name.split(".")
    descriptor = pb.DESCRIPTOR.message_types_by_name[first]
    for part in rest:
        descriptor = descriptor.nested_types_by_name[part]
    found = " ".join(f"{f.name}={f.number}" for f in sorted(descriptor.fields, key=lambda f: f.number))
    assert found == FIELDS[name]


def test_nothing_else_and_all_of_it_is_in_the_proto() -> None:
    assert {n for n in FIELDS if "." not in n} == set(pb.DESCRIPTOR.message_types_by_name)
    proto = re.sub(r"//[^\n]*", "", (ROOT / "tfx/summary/event.proto").read_text())
    fields = [f"{a}={b}" for a, b in re.findall(r"\b([a-z]\w*) = (\d+);", proto)]
    assert sorted(fields) == sorted(" ".join(FIELDS.values()).split())


def test_the_code_loads_under_protobuf_6_and_7() -> None:
    text = (ROOT / "tfx/summary/event_pb2.py").read_text()
    assert "# Protobuf Python Version: 6.30." in text
