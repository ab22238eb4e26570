"""A check that the installed ONNX Runtime is new enough for a bundle.

Owns the comparison of what the manifest requires with what the runtime takes. The one decision:
the runtime is asked, with a graph of one node, because it publishes its limits nowhere. It is asked
once for each pair of versions, before it gets a graph of the bundle.
"""

from __future__ import annotations

import functools
import os

from tfx.bundle.records import Requirements
from tfx.core.errors import OpError, UnsupportedVersionError
from tfx.core.wire_format import bytes_field, number_field
from tfx.runtime.session import Session

_ABSURD = 100_000
"""No runtime will ever have come this far."""


def check_runtime(requirements: Requirements, root: str | os.PathLike[str]) -> None:
    """Refuse a bundle whose graphs ONNX Runtime cannot know.

    Args:
        requirements: What the manifest says.
        root: The bundle, for messages.

    Raises:
        UnsupportedVersionError: The installed ONNX Runtime is too old.
    """
    opset, ir_version = requirements.opset, requirements.ir_version
    problem = _problem(opset, ir_version)
    if problem:
        raise UnsupportedVersionError(
            f"{root}: it needs opset {opset} and IR version {ir_version} of ONNX, which the "
            f"installed ONNX Runtime is too old for ({problem}); upgrade onnxruntime"
        )


@functools.lru_cache(maxsize=64)
def _problem(opset: int, ir_version: int) -> str:
    if not opset and not ir_version:
        return ""
    if max(opset, ir_version) > _ABSURD:
        return "no runtime has them"
    try:
        Session(_probe(opset or 13, ir_version or 8))
    except OpError as error:
        text = " ".join(error.message.split())
        # Anything else is wrong with the real graph too, and is said there.
        if "is under development" in text or "Unsupported model IR version" in text:
            return text[max(text.find("Unsupported model IR version"), 0) :]
    return ""


def _probe(opset: int, ir_version: int) -> bytes:
    """A model of one ``Identity``."""

    def port(name: bytes) -> bytes:
        tensor = number_field(1, 1) + bytes_field(2, b"")
        return bytes_field(1, name) + bytes_field(2, bytes_field(1, tensor))

    node = bytes_field(1, b"x") + bytes_field(2, b"y") + bytes_field(4, b"Identity")
    graph = bytes_field(1, node) + bytes_field(2, b"probe")
    graph += bytes_field(11, port(b"x")) + bytes_field(12, port(b"y"))
    opsets = bytes_field(1, b"") + number_field(2, opset)
    return number_field(1, ir_version) + bytes_field(7, graph) + bytes_field(8, opsets)
