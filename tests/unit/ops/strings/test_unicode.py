"""Code points of texts and where they begin, as TensorFlow 2.21 finds them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import tfx as tf

# What to do with errors, a text, its code points without control characters (63 in their place) and
# their offsets, its characters and theirs.
FOUND = [
    ("replace", b"a\xc3\xa9b", [97, 233, 98], [0, 1, 3], [b"a", b"\xc3\xa9", b"b"], [0, 1, 3]),
    ("replace", b"a\xffb", [97, 63, 98], [0, 1, 2], [b"a", b"\xef\xbf\xbd", b"b"], [0, 1, 2]),
    (
        "replace",
        b"\xe4\xbd\xa0\xf0\x9f\x98\x80",
        [20320, 128512],
        [0, 3],
        [b"\xe4\xbd\xa0", b"\xf0\x9f\x98\x80"],
        [0, 3],
    ),
    ("replace", b"\xe4\xbd", [63], [0], [b"\xef\xbf\xbd"], [0]),
    ("replace", b"\xf0\x9f\x98x", [63, 120], [0, 3], [b"\xef\xbf\xbd", b"x"], [0, 3]),
    (
        "replace",
        b"\xed\xa0\x80z",
        [63, 63, 63, 122],
        [0, 1, 2, 3],
        [b"\xef\xbf\xbd", b"\xef\xbf\xbd", b"\xef\xbf\xbd", b"z"],
        [0, 1, 2, 3],
    ),
    ("replace", b"\xc0\x80", [63, 63], [0, 1], [b"\xef\xbf\xbd", b"\xef\xbf\xbd"], [0, 1]),
    ("replace", b"\x00\x1fq", [63, 63, 113], [0, 1, 2], [b"\x00", b"\x1f", b"q"], [0, 1, 2]),
    ("replace", b"", [], [], [], []),
    ("replace", b"\xef\xbf\xbdx", [65533, 120], [0, 3], [b"\xef\xbf\xbd", b"x"], [0, 3]),
    ("replace", b"ab\xe2\x82", [97, 98, 63], [0, 1, 2], [b"a", b"b", b"\xef\xbf\xbd"], [0, 1, 2]),
    ("ignore", b"a\xc3\xa9b", [97, 233, 98], [0, 1, 3], [b"a", b"\xc3\xa9", b"b"], [0, 1, 3]),
    ("ignore", b"a\xffb", [97, 98], [0, 2], [b"a", b"b"], [0, 2]),
    (
        "ignore",
        b"\xe4\xbd\xa0\xf0\x9f\x98\x80",
        [20320, 128512],
        [0, 3],
        [b"\xe4\xbd\xa0", b"\xf0\x9f\x98\x80"],
        [0, 3],
    ),
    ("ignore", b"\xe4\xbd", [], [], [], []),
    ("ignore", b"\xf0\x9f\x98x", [120], [3], [b"x"], [3]),
    ("ignore", b"\xed\xa0\x80z", [122], [3], [b"z"], [3]),
    ("ignore", b"\xc0\x80", [], [], [], []),
    ("ignore", b"\x00\x1fq", [113], [2], [b"\x00", b"\x1f", b"q"], [0, 1, 2]),
    ("ignore", b"", [], [], [], []),
    ("ignore", b"\xef\xbf\xbdx", [65533, 120], [0, 3], [b"\xef\xbf\xbd", b"x"], [0, 3]),
    ("ignore", b"ab\xe2\x82", [97, 98], [0, 1], [b"a", b"b"], [0, 1]),
]


@pytest.mark.parametrize(("errors", "value", "points", "starts", "pieces", "borders"), FOUND)
def test_with_offsets(errors, value, points, starts, pieces, borders):
    found, offsets = tf.strings.unicode_decode_with_offsets(
        value, "UTF-8", errors, replacement_char=63, replace_control_characters=True
    )
    assert found.numpy().tolist() == points
    assert offsets.dtype is tf.int64
    assert offsets.numpy().tolist() == starts
    found, offsets = tf.strings.unicode_split_with_offsets(value, "UTF-8", errors)
    assert found.numpy().tolist() == pieces
    assert offsets.numpy().tolist() == borders


def test_of_many():
    texts = [["aéb", "q"], ["你😀", ""]]
    found, offsets = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")
    assert found.to_list() == [[[97, 233, 98], [113]], [[20320, 128512], []]]
    assert offsets.to_list() == [[[0, 1, 3], [0]], [[0, 3], []]]
    ragged = tf.ragged.constant([["aé"], []], dtype=tf.string)
    found, offsets = tf.strings.unicode_split_with_offsets(ragged, "UTF-8")
    assert found.to_list() == [[[b"a", "é".encode()]], []]
    assert offsets.to_list() == [[[0, 1]], []]


@pytest.mark.parametrize(("encoding", "width"), [("UTF-16-BE", 2), ("UTF-32-BE", 4)])
def test_wide_encodings(encoding, width):
    text = "aé🙂".encode(encoding)
    found, offsets = tf.strings.unicode_decode_with_offsets(text, encoding)
    assert found.numpy().tolist() == [97, 233, 128578]
    assert offsets.numpy().tolist() == [0, width, 2 * width]


def test_in_a_function():
    @tf.function
    def f(x):
        return tf.strings.unicode_decode_with_offsets(x, "UTF-8")

    points, offsets = f(tf.constant(["né", ""]))
    assert points.to_list() == [[110, 233], []]
    assert offsets.to_list() == [[0, 1], []]


def test_strict():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid formatting"):
        tf.strings.unicode_decode_with_offsets(b"a\xff", "UTF-8", "strict")
    with pytest.raises(ValueError, match="errors must be one of"):
        tf.strings.unicode_split_with_offsets("a", "UTF-8", "never")


def test_control_characters_that_are_ignored():
    found = tf.strings.unicode_transcode(
        [b"a\x01b\xff"], "UTF-8", "UTF-8", "ignore", replace_control_characters=True
    )
    assert found.numpy().tolist() == [b"ab"]


def test_scripts():
    points = tf.strings.unicode_decode("aéЖ語ひ!١α𐍈 \u0378", "UTF-8")
    # Latin, Latin, Cyrillic, Han, Hiragana, common, common, Greek, Gothic, common, unknown.
    expected = [25, 25, 8, 17, 20, 0, 2, 14, 13, 0, 103]
    assert tf.strings.unicode_script(points).numpy().tolist() == expected
    f = tf.function(tf.strings.unicode_script)
    assert f(tf.constant([[-1, 0x110000], [0x10FFFF, 65]])).numpy().tolist() == [
        [-1, -1],
        [103, 25],
    ]


def test_marks_of_the_order_of_bytes():
    """As TensorFlow 2.21: a mark belongs to the first character; without one it is big endian."""
    text = "aéb"
    for encoded, name, starts in [
        (b"\xff\xfe" + text.encode("utf-16-le"), "UTF-16", [0, 4, 6]),
        (text.encode("utf-16-be"), "UTF-16", [0, 2, 4]),
        (b"\xff\xfe\0\0" + text.encode("utf-32-le"), "UTF-32", [0, 8, 12]),
        ("a日本b".encode("gb18030"), "GB18030", [0, 1, 3, 5]),
    ]:
        found, offsets = tf.strings.unicode_decode_with_offsets(encoded, name)
        assert offsets.numpy().tolist() == starts
        assert [chr(c) for c in found.numpy()] == list("a日本b" if name == "GB18030" else text)


def test_broken_texts_take_linear_time():
    found = tf.strings.unicode_decode(b"\xff" * 200_000, "UTF-8", replacement_char=63)
    assert found.shape == [200_000]
    assert set(found.numpy().tolist()) == {63}


def test_replacements_that_are_no_characters():
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a code point; got 1114112"):
        tf.strings.unicode_decode(b"a\xff", "UTF-8", replacement_char=0x110000)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be written in UTF-8"):
        tf.strings.unicode_split(b"a\xff", "UTF-8", replacement_char=0xD800)


def test_threads_decode_broken_texts_at_once():
    values = [b"a\xff" * (100 + i) for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda v: tf.strings.unicode_decode_with_offsets(v, "UTF-8"), values))
    for value, (points, offsets) in zip(values, found, strict=True):
        assert points.numpy().tolist() == [97, 65533] * (len(value) // 2)
        assert offsets.numpy().tolist() == list(range(len(value)))
