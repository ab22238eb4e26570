"""A fuzzer for manifests, headers of weights and graphs: well-formed files that say anything.

Run as ``python -m tests.hostile.fuzzing HONEST KIND COUNT SEED``. KIND is ``manifest``, ``header``
or ``graph``. Files are changed as structures, not as bytes, and all hashes are made right again, so
each change gets past the first checks. Both loaders must take the bundle or refuse it with an error
of ``tfx.errors``; what must not happen is anything else, the end of the process included.
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import onnx
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import strategies as st

import tfx as tf
from tests.hostile.attempt import LOADERS
from tests.hostile.cases import WEIGHTS
from tests.hostile.make import conformance

_SECONDS = 20
_MEMORY = 3 << 30
_SIGNED = st.sampled_from([0, 1, -1, 2, 7, 127, 2**31 - 1, -(2**31)]) | st.integers(-99, 99)
_LONG = _SIGNED | st.sampled_from([2**63 - 1, -(2**63), 2**62, 2**32, 2**40])
_TEXT = st.sampled_from(
    ["", "x", "y", "kernel", "head", "predict.onnx", WEIGHTS, "bundle.pb", "../x", "/dev/zero",
     "\0", "__class__", "Identity", "If", "Loop", "local", "com.microsoft", "0", "1", "n", "unk__0"]
) | st.text(max_size=4)  # fmt: skip

F = FieldDescriptor
_SCALARS: dict[int, st.SearchStrategy[Any]] = {
    F.CPPTYPE_INT32: _SIGNED,
    F.CPPTYPE_INT64: _LONG,
    F.CPPTYPE_UINT32: _SIGNED.map(lambda n: n % 2**32),
    F.CPPTYPE_UINT64: _LONG.map(lambda n: n % 2**64),
    F.CPPTYPE_DOUBLE: st.floats(),
    F.CPPTYPE_FLOAT: st.floats(width=32),
    F.CPPTYPE_BOOL: st.booleans(),
    F.CPPTYPE_ENUM: st.integers(0, 25),
}
_JSON = st.recursive(
    st.none() | st.booleans() | _LONG | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)


def change_message(data: st.DataObject, message: Any) -> None:
    """Change one thing somewhere in a protobuf message."""
    while True:
        here = [f for f, _ in message.ListFields()]
        fields = here * 3 + list(message.DESCRIPTOR.fields)
        field = data.draw(st.sampled_from(fields))
        is_message = field.cpp_type == F.CPPTYPE_MESSAGE
        value = getattr(message, field.name)
        if field.is_repeated:
            if is_message and field.message_type.GetOptions().map_entry:
                return
            inner = _change_list(data, field, value, is_message)
            if inner is None:
                return
            message = inner
        elif not is_message:
            setattr(message, field.name, data.draw(_scalar(field)))
            return
        elif data.draw(st.integers(0, 5)) == 0:
            message.ClearField(field.name)
            return
        else:
            value.SetInParent()
            message = value


def _change_list(data: st.DataObject, field: Any, items: Any, is_message: bool) -> Any:
    """Change a list, or return the item to change."""
    what = data.draw(st.integers(0, 7))
    if not items or what == 0:
        if is_message:
            return items.add()
        items.append(data.draw(_scalar(field)))
        return None
    place = data.draw(st.integers(0, len(items) - 1))
    if what == 1:
        del items[place]
    elif what == 2:
        items.append(items[place])
    elif what == 3:
        other = data.draw(st.integers(0, len(items) - 1))
        kept = list(items)
        kept[place], kept[other] = kept[other], kept[place]
        copies = [type(k).FromString(k.SerializeToString()) for k in kept] if is_message else kept
        del items[:]
        items.extend(copies)
    elif is_message:
        return items[place]
    else:
        items[place] = data.draw(_scalar(field))
    return None


def _scalar(field: Any) -> st.SearchStrategy[Any]:
    if field.cpp_type == F.CPPTYPE_STRING:
        return st.binary(max_size=40) if field.type == F.TYPE_BYTES else _TEXT
    return _SCALARS[field.cpp_type]


def change_json(data: st.DataObject, value: Any) -> Any:
    """A JSON value with one thing changed somewhere in it."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        what = data.draw(st.integers(0, 5))
        if what == 0:
            return {k: v for k, v in value.items() if k != key}
        if what == 1:
            return {**value, data.draw(_TEXT): value[key]}
        return {**value, key: change_json(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], change_json(data, value[place]), *value[place + 1 :]]
    return data.draw(_JSON)


def _text_of(data: st.DataObject, value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    if data.draw(st.integers(0, 9)) == 0:  # as bytes, for once
        place = data.draw(st.integers(0, len(text) - 1))
        text = text[:place] + data.draw(_TEXT) + text[place + 1 :]
    return text


def change_manifest(data: st.DataObject, victim: Any) -> None:
    """Change the manifest."""
    for _ in range(data.draw(st.integers(1, 3))):
        change_message(data, victim.manifest)


def change_header(data: st.DataObject, victim: Any) -> None:
    """Change the header of the weights."""
    old = (victim.folder / WEIGHTS).read_bytes()
    (length,) = struct.unpack("<Q", old[:8])
    header = json.loads(old[8 : 8 + length])
    for _ in range(data.draw(st.integers(1, 3))):
        header = change_json(data, header)
    # Where there is room the data stays where graphs expect it.
    text = _text_of(data, header).encode().ljust(length)
    victim.replace(WEIGHTS, struct.pack("<Q", len(text)) + text + old[8 + length :])


def change_graph(data: st.DataObject, victim: Any) -> None:
    """Change a graph."""

    def change(model: onnx.ModelProto) -> None:
        for _ in range(data.draw(st.integers(1, 4))):
            change_message(data, model)

    victim.change_model(change)


KINDS: dict[str, Callable[[st.DataObject, Any], None]] = {
    "manifest": change_manifest,
    "header": change_header,
    "graph": change_graph,
}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(honest: Path, work: Path, kind: str, count: int, seed: int) -> dict[str, int]:
    """Try ``count`` changes; returns how often each kind of outcome came.

    Raises:
        Exception: a loader raised something that is not an error for users.
    """
    outcomes: dict[str, int] = {}
    victims = conformance()
    files = ["bundle.pb", WEIGHTS, "predict.onnx"]
    contents = {name: (honest / name).read_bytes() for name in files}
    tries = 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, deadline=None, database=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(st.data())
    def attempt(data: st.DataObject) -> None:
        nonlocal tries
        tries += 1
        # A new folder: what was loaded from the last one may be mapped yet.
        folder = work / str(tries)
        shutil.copytree(honest, folder)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        victim = victims.Victim(folder)
        try:
            KINDS[kind](data, victim)
        except (ValueError, TypeError, UnicodeEncodeError):
            hypothesis.reject()  # no such file can be written
        victim.write()
        for loader, use in LOADERS.items():
            signal.alarm(_SECONDS)
            try:
                use(folder)
                word = "taken"
            except tf.errors.OpError as error:
                word = type(error).__name__
                assert len(str(error)) < 4000, str(error)[:200]
            signal.alarm(0)
            outcomes[f"{loader} {word}"] = outcomes.get(f"{loader} {word}", 0) + 1
        shutil.rmtree(folder)

    attempt()
    return outcomes


def main(honest: Path, kind: str, count: int, seed: int) -> None:
    """Fuzz, with limits on memory and time."""
    tf.add([1.0], [2.0])
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    before = _peak()
    with tempfile.TemporaryDirectory() as work:
        outcomes = fuzz(honest, Path(work), kind, count, seed)
    taken = _peak() - before
    assert taken < _MEMORY, f"it took {taken >> 20} MiB"
    print(json.dumps(outcomes | {"MiB": taken >> 20}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
