"""``decode_csv``, with the values and messages of TensorFlow 2.21."""

from __future__ import annotations

import pytest

import tfx as tf


def lists(found):
    return [
        x.numpy() if x.shape == [] and x.dtype == tf.string else x.numpy().tolist() for x in found
    ]


@pytest.mark.parametrize("how", [lambda f: f, tf.function])
def test_columns(how) -> None:
    decode = how(lambda x: tf.io.decode_csv(x, [0, "", 9.0]))
    found = decode(tf.constant(["1,a,2.5", "3,b,"]))
    assert [x.dtype for x in found] == [tf.int32, tf.string, tf.float32]
    assert lists(found) == [[1, 3], [b"a", b"b"], [2.5, 9]]
    square = decode(tf.constant([["1,a,2"], ["3,,4"]]))
    assert lists(square) == [[[1], [3]], [[b"a"], [b""]], [[2], [4]]]


@pytest.mark.parametrize(
    ("record", "defaults", "options", "expected"),
    [
        ('1,"a,""b"', [0, ""], {}, [1, b'a,"b']),
        (" 1 ", [0], {}, [1]),
        ("1,2,3", [0], {"select_cols": [1]}, [2]),
        ("1,NA", [0, 5], {"na_value": "NA"}, [1, 5]),
        ('1,a"b', [0, ""], {"use_quote_delim": False}, [1, b'a"b']),
        ("1|2", [0, 0], {"field_delim": "|"}, [1, 2]),
        ("1,", [0, ""], {}, [1, b""]),
        ('"a\nb",', ["", ""], {}, [b"a\nb", b""]),
        (b"\xff,1", ["", 0], {}, [b"\xff", 1]),
        ("1e40,-0", [0.0, tf.constant([0], tf.int64)], {}, [float("inf"), 0]),
    ],
)
def test_records(record, defaults, options, expected) -> None:
    assert lists(tf.io.decode_csv(record, defaults, **options)) == expected


@pytest.mark.parametrize(
    ("record", "defaults", "message"),
    [
        ("1,a", [0], "Expect 1 fields but have 2 in record 0"),
        ("", [[0]], "Expect 1 fields but have 0 in record 0"),
        ("x", [0], "Field 0 in record 0 is not a valid int32: x"),
        ("99999999999", [0], "Field 0 in record 0 is not a valid int32: 99999999999"),
        ("1_0", [0], "not a valid int32"),
        (b"\xff" + b"x" * 999, [0], r"not a valid int32: \\xffx{76}\.\.\. \(1003 letters\)$"),
        ("x", [0.0], "is not a valid float: x"),
        (",", [[], [1]], "Field 0 is required but missing in record 0!"),
        (",1", [tf.constant([], tf.int32), 0], "Field 0 is required but missing"),
        ('1,a"b', [0, ""], "Unquoted fields cannot have quotes/CRLFs inside"),
        ("a\nb", [""], "Unquoted fields cannot have quotes/CRLFs inside"),
        ('"1,2', [0, ""], "Quoted field has to end with quote followed by delim or end"),
        ('"1"x,2', ["", 0], "Quote inside a string has to be escaped by another quote"),
        ("1", [tf.constant([0], tf.int8)], "float, double, int32, int64, string"),
        ("1", [[1, 2]], "only be 1 default per field"),
    ],
)
def test_what_is_refused(record, defaults, message) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.io.decode_csv(record, defaults)


def test_columns_that_do_not_fit() -> None:
    for wrong, message in (
        ([1], "do not match"),
        ([2, 1, 0], "increasing"),
        ([-1, 0, 1], "negative"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.io.decode_csv("1,2,3", [0, 0, 0], select_cols=wrong)
    with pytest.raises(ValueError, match="only 1 char"):
        tf.io.decode_csv("1", [0], field_delim=", ")
