"""The generated code: fresh, of the right age, and with field numbers that never change."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import google.protobuf
import pytest

from tfx.bundle import bundle_pb2 as pb

ROOT = Path(__file__).resolve().parents[3]

# A number that a released reader knows may never mean anything else. Add to this, change nothing.
FIELDS = {
    "Manifest": "format_version=1 producer=2 producer_version=3 requirements=4 files=5 variables=6 "
    "constants=7 assets=8 tables=9 objects=10 functions=11 concrete_functions=12 signatures=13 "
    "metadata=14 sha256=20 examples=15",
    "Requirements": "opset=1 ir_version=2 domains=3 features=4",
    "File": "path=1 size=2 sha256=3 crc32=4",
    "Dim": "size=1 name=2",
    "Shape": "unknown_rank=1 dims=2",
    "TensorSpec": "dtype=1 shape=2 name=3",
    "Storage": "file=1 key=2",
    "Variable": "name=1 dtype=2 shape=3 trainable=4 storage=5 synchronization=6 aggregation=7 "
    "device=8",
    "Constant": "name=1 dtype=2 shape=3 inline=4 storage=5",
    "Asset": "file=1",
    "Table": "name=1 keys=2 values=3 default_value=4 oov_buckets=5 is_mutable=6",
    "Child": "name=1 object=2 key=3",
    "Object": "kind=1 children=2 target=3 value=4 field_names=5 class_name=6 metadata_json=7",
    "Value": "none=1 bool_value=2 int_value=3 big_int=4 float_value=5 string_value=6 bytes_value=7 "
    "complex_value=8 list=9 tuple=10 dict=11 record=12 tensor_spec=13 dtype=14 shape=15 leaf=16 "
    "constant=17 opaque=18",
    "Complex": "real=1 imag=2",
    "ValueList": "items=1",
    "Dict": "entries=1",
    "Record": "type_name=1 fields=2 is_tuple=3",
    "Opaque": "type_name=1 text=2",
    "Parameter": "name=1 kind=2 default=3",
    "Function": "name=1 parameters=2 concrete_functions=3 input_signature=4 doc=5",
    "GraphInput": "name=1 dtype=2 shape=3 argument=4 variable=5 constant=6",
    "GraphOutput": "name=1 dtype=2 shape=3 result=4 variable=5",
    "FrozenVariable": "name=1 variable=2",
    "Graph": "file=1 inputs=2 outputs=3 frozen_variables=4",
    "ConcreteFunction": "name=1 arguments=2 result=3 argument_leaves=4 result_leaves=5 graph=6 "
    "live_graph=7 gradient_graph=8",
    "SignatureTensor": "name=1 leaf=2",
    "Signature": "name=1 concrete_function=2 inputs=3 outputs=4",
    "Example": "signature=1 calls=2 tolerance=3 variables_sha256=4 is_given=5",
    "ExampleCall": "inputs=1 outputs=2",
    "NamedTensor": "name=1 storage=2",
}


def test_no_field_number_has_changed() -> None:
    found = {
        name: " ".join(f"{field.name}={field.number}" for field in message.fields)
        for name, message in pb.DESCRIPTOR.message_types_by_name.items()
    }
    assert found == FIELDS


def test_numbers_are_kept_free_for_what_is_to_come() -> None:
    proto = (ROOT / "tfx/bundle/bundle.proto").read_text()
    assert re.search(r"reserved 16 to 19;.*adapters", proto)


def test_the_code_is_of_the_oldest_generation_that_all_supported_runtimes_take() -> None:
    text = (ROOT / "tfx/bundle/bundle_pb2.py").read_text()
    assert "# Protobuf Python Version: 6.30." in text
    assert google.protobuf.__version__.split(".")[0] in ("6", "7")


def test_the_code_is_what_the_compiler_makes_of_the_proto() -> None:
    grpc_tools = pytest.importorskip("grpc_tools", reason="needs grpcio-tools==1.72.2")
    assert grpc_tools is not None
    subprocess.run([sys.executable, "tools/gen_proto.py", "--check"], cwd=ROOT, check=True)


def test_the_proto_and_the_generated_descriptor_name_the_same_fields() -> None:
    """Notice a proto that was edited and not compiled, also where the compiler is missing."""
    proto = (ROOT / "tfx/bundle/bundle.proto").read_text()
    proto = re.sub(r"//[^\n]*", "", proto)
    for name, fields in FIELDS.items():
        (body,) = re.findall(rf"^message {name} {{(.*?)^}}", proto, re.S | re.M)
        body = re.sub(r"(enum|message) \w+ {.*?}", "", body, flags=re.S)
        found = re.findall(r"(\w+) = (\d+);", body)
        expected = [tuple(item.split("=")) for item in fields.split()]
        assert sorted(found) == sorted(expected), name
