"""Which functions Python computes in a graph: those in the table of docs/effects.md, no others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tfx as tf
from tests import source_tree
from tfx.graph.ir import HOST

# Modules whose functions take tensors. The files of ``io`` are not touched: nothing here runs.
_MODULES = ("bitwise", "linalg", "math", "nn", "random", "signal", "strings", "image", "debugging")
_TOP = ("as_string", "bitcast", "cast", "complex", "concat", "gather", "one_hot", "where", "print")
_TOP += ("fingerprint", "timestamp")
_IO = ("decode_base64", "decode_png", "decode_raw", "encode_base64", "encode_png", "parse_tensor")
_IO += ("matching_files", "read_file", "serialize_tensor", "write_file")
# What they do is to change settings.
_SETTINGS = ("enable_check_numerics", "disable_check_numerics", "set_seed", "set_global_generator")
_ROW = re.compile(r"^\| `([\w.]+)` \|", re.MULTILINE)

# Arguments for functions that the plain ones below do not fit.
_SPECIAL: dict[str, Callable[[], Any]] = {
    "bitcast": lambda: tf.bitcast(tf.complex(_floats(), _floats()), tf.float32),
    "strings.substr": lambda: tf.strings.substr(_text(), 0, 1),
    "strings.ngrams": lambda: tf.strings.ngrams(_text(), 1),
    "strings.format": lambda: tf.strings.format("{}", _floats()),
    "strings.to_hash_bucket": lambda: tf.strings.to_hash_bucket(_text(), 5),
    "strings.to_hash_bucket_fast": lambda: tf.strings.to_hash_bucket_fast(_text(), 5),
    "strings.to_hash_bucket_strong": lambda: tf.strings.to_hash_bucket_strong(_text(), 5, [1, 2]),
    "strings.unsorted_segment_join": lambda: tf.strings.unsorted_segment_join(_text(), [0, 0], 1),
    "strings.unicode_decode": lambda: tf.strings.unicode_decode(_text()[0], "UTF-8"),
    "strings.unicode_encode": lambda: tf.strings.unicode_encode([65], "UTF-8"),
    "strings.unicode_split": lambda: tf.strings.unicode_split(_text()[0], "UTF-8"),
    "strings.unicode_transcode": lambda: tf.strings.unicode_transcode(
        _text(), "UTF-8", "UTF-16-BE"
    ),
    "strings.regex_replace": lambda: tf.strings.regex_replace(_text(), "a+", "b"),
    "strings.split": lambda: tf.strings.split(_text()[0], maxsplit=1),
    "strings.lower": lambda: tf.strings.lower(_text(), "utf-8"),
    "strings.upper": lambda: tf.strings.upper(_text(), "utf-8"),
    "io.decode_raw": lambda: tf.io.decode_raw(_text(), tf.uint8),
    "io.parse_tensor": lambda: tf.io.parse_tensor(_text()[0], tf.float32),
    "io.write_file": lambda: tf.io.write_file("name", _text()[0]),
    "math.betainc": lambda: tf.math.betainc(_floats(), _floats(), _floats()),
    "math.conj": lambda: tf.math.conj(tf.complex(_floats(), _floats())),
    "math.real": lambda: tf.math.real(tf.complex(_floats(), _floats())),
    "math.imag": lambda: tf.math.imag(tf.complex(_floats(), _floats())),
    "math.abs": lambda: tf.abs(tf.complex(_floats(), _floats())),
    "linalg.eig": lambda: tf.linalg.eig(tf.linalg.diag(_floats())),
    "linalg.eigvals": lambda: tf.linalg.eigvals(tf.linalg.diag(_floats())),
    "math.angle": lambda: tf.math.angle(tf.complex(_floats(), _floats())),
    "image.adjust_jpeg_quality": lambda: tf.image.adjust_jpeg_quality(tf.zeros([2, 2, 3]), 50),
    "image.non_max_suppression_with_scores": lambda: tf.image.non_max_suppression_with_scores(
        tf.tile(_floats()[:, None], [1, 4]), _floats(), 1, soft_nms_sigma=0.5
    ),
    "io.encode_png": lambda: tf.io.encode_png(tf.cast(tf.zeros([2, 2, 3]), tf.uint8)),
    "io.encode_jpeg": lambda: tf.io.encode_jpeg(tf.cast(tf.zeros([2, 2, 3]), tf.uint8)),
    "audio.decode_wav": lambda: tf.audio.decode_wav(_text()[0]),
    "audio.encode_wav": lambda: tf.audio.encode_wav(tf.zeros([2, 2]), 8000),
    "numpy_function": lambda: tf.numpy_function(lambda x: x, [_floats()], tf.float32),
    "py_function": lambda: tf.py_function(lambda x: x, [_floats()], tf.float32),
    "assert": lambda: tf.debugging.assert_less(_floats(), 5.0),
    "check_numerics": lambda: tf.debugging.check_numerics(_floats(), "here"),
    "summary": lambda: tf.summary.scalar("a", _floats()[0]),
    "io.decode_and_crop_jpeg": lambda: tf.io.decode_and_crop_jpeg(_text()[0], [0, 0, 1, 1]),
    "strings.unicode_offsets": lambda: tf.strings.unicode_decode_with_offsets(_text()[0], "UTF-8"),
    "strings.unicode_script": lambda: tf.strings.unicode_script(tf.cast(_floats(), tf.int32)),
    "nn.ctc_beam_search_decoder": lambda: tf.nn.ctc_beam_search_decoder(
        tf.reshape(_floats(), [1, 1, 2]), [1]
    ),
    "edit_distance": lambda: tf.edit_distance(*[tf.sparse.from_dense([_floats()])] * 2),
}

_given: dict[str, Any] = {}


def _floats() -> Any:
    return _given["floats"]


def _text() -> Any:
    return _given["text"]


def _kinds(call: Callable[[], Any]) -> set[str]:
    """The kinds of host calls that a call adds to a function."""
    found: set[str] = set()

    @tf.function(autograph=False)
    def trace(floats: Any, text: Any) -> None:
        _given.update(floats=floats, text=text)
        graph = tf.compat.v1.get_default_graph().graph
        before = len(graph.nodes)
        try:
            call()
        except Exception:  # arguments that the function does not take
            return
        finally:
            found.update(n.attrs["call"].kind for n in graph.nodes[before:] if n.op == HOST)

    spec = [tf.TensorSpec([2], kind) for kind in (tf.float32, tf.string)]
    trace.get_concrete_function(*spec)
    return found


def _functions() -> Iterator[Callable[..., Any]]:
    for name in _MODULES:
        module = getattr(tf, name)
        for each in dir(module):
            found = getattr(module, each)
            if not each.startswith("_") and inspect.isfunction(found) and each not in _SETTINGS:
                yield found
    yield from (getattr(tf, name) for name in _TOP)
    yield from (getattr(tf.io, name) for name in _IO)
    for name in dir(tf.math.special):
        found = getattr(tf.math.special, name)
        if inspect.isfunction(found):
            yield found


def _walked() -> set[str]:
    """The kinds that public functions add when they are called with plain arguments."""
    kinds: set[str] = set()
    for function in _functions():
        for names in (["floats"], ["floats"] * 2, ["text"]):
            kinds |= _kinds(lambda f=function, n=names: f(*[_given[x] for x in n]))  # type: ignore[misc]
        kinds |= _kinds(lambda f=function: f(_text()[0]))  # type: ignore[misc]
    for call in _SPECIAL.values():
        kinds |= _kinds(call)
    return kinds


def test_the_table_of_host_calls_is_complete() -> None:
    text = (source_tree.ROOT / "docs" / "effects.md").read_text(encoding="utf-8")
    documented = _ROW.findall(text.partition("## All host calls")[2])
    assert len(documented) == len(set(documented))
    assert set(documented) == _walked()


@pytest.mark.parametrize("name", ["math.erfinv", "math.lgamma", "math.nextafter", "math.digamma"])
def test_what_is_made_of_nodes(name: str) -> None:
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    assert not _kinds(lambda: function(*[_floats()] * (1 + (name == "math.nextafter"))))  # type: ignore[operator]
    assert not _kinds(lambda: tf.bitcast(_floats(), tf.uint8))
