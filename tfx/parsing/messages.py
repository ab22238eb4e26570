"""The messages of records, which are loaded when a program first needs one."""

from __future__ import annotations

from typing import Any

NAMES = frozenset(
    {
        "BytesList",
        "Example",
        "Feature",
        "FeatureList",
        "FeatureLists",
        "Features",
        "FloatList",
        "Int64List",
        "SequenceExample",
    }
)


def message_class(name: str) -> Any:
    """The class of a message: protobuf is imported now, if it was not before."""
    from tfx.parsing import example_pb2

    return getattr(example_pb2, name)
