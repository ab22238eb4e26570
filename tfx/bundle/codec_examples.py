"""Golden examples to and from their protobuf messages.

Owns the order and presence of fields, as ``codec`` does for the rest of the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tfx.bundle import bundle_pb2 as pb
from tfx.bundle import records as r
from tfx.core.errors import BundleError


def example_to_proto(example: r.Example) -> pb.Example:
    """Encode an example."""
    return pb.Example(
        signature=example.signature,
        calls=[
            pb.ExampleCall(inputs=_named(call.inputs), outputs=_named(call.outputs))
            for call in example.calls
        ],
        tolerance=example.tolerance,
        variables_sha256=example.variables_sha256,
        is_given=example.is_given,
    )


def example_from_proto(proto: pb.Example, at: str) -> r.Example:
    """Decode an example; what it says is not checked yet."""
    where = f"{at}example of {proto.signature!r}"
    return r.Example(
        proto.signature,
        tuple(
            r.ExampleCall(
                _by_name(call.inputs, f"{where}: input"), _by_name(call.outputs, f"{where}: output")
            )
            for call in proto.calls
        ),
        proto.tolerance,
        proto.variables_sha256,
        proto.is_given,
    )


def _named(tensors: Mapping[str, r.Storage]) -> list[pb.NamedTensor]:
    return [
        pb.NamedTensor(name=name, storage=pb.Storage(file=item.file, key=item.key))
        for name, item in tensors.items()
    ]


def _by_name(tensors: Iterable[pb.NamedTensor], where: str) -> dict[str, r.Storage]:
    found: dict[str, r.Storage] = {}
    for item in tensors:
        if item.name in found:
            raise BundleError(f"{where} {item.name!r} is there twice, expected each name once")
        found[item.name] = r.Storage(item.storage.file, item.storage.key)
    return found
