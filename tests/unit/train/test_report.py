"""The table of a restore, and the renames that it suggests."""

from __future__ import annotations

import pytest

from tfx.train.report import Form, Row, make_report

F = Form("float32", (3,))


def report(
    old: list[str], new: list[str], matched: tuple[str, ...] = (), fixed: tuple[str, ...] = ()
) -> dict[str, str]:
    rows = [Row("unexpected", key=key, saved=F) for key in old]
    rows += [Row("missing", path=path, present=F) for path in new]
    rows += [Row("restored", key=key, path=key, saved=F, present=F) for key in matched]
    return make_report("c", rows, frozenset(fixed)).suggested_renames


@pytest.mark.parametrize(
    ("old", "new", "matched", "expected"),
    [
        (["kernel"], ["kernels"], (), {"kernel": "kernels"}),
        (["a/w", "a/b"], ["b/w", "b/b"], (), {"a": "b"}),
        (["a/w", "a/b"], ["b/w", "b/b"], ("a/x",), {"a/w": "b/w", "a/b": "b/b"}),
        (["m/w", "m/l/0/b"], ["w", "l/0/b"], (), {"m": ""}),
        (["w", "l/0/b"], ["m/w", "m/l/0/b"], (), {"": "m"}),
        (["w", "l/0/b"], ["m/w", "m/l/0/b"], ("x",), {"w": "m/w", "l": "m/l"}),
        (["l/0/w", "l/1/w"], ["l/0/v", "l/1/v"], (), {"l/0/w": "l/0/v", "l/1/w": "l/1/v"}),
        (["zzz"], ["aaa"], (), {}),
        (["x/zzz"], ["y/aaa"], (), {}),
        ([], ["a"], (), {}),
    ],
    ids=str,
)
def test_suggestions(
    old: list[str], new: list[str], matched: tuple[str, ...], expected: dict[str, str]
) -> None:
    assert report(old, new, matched) == expected


def test_only_values_of_one_form_are_paired() -> None:
    rows = (
        Row("unexpected", key="w", saved=F),
        Row("missing", path="ww", present=Form("int8", ())),
    )
    assert make_report("c", rows, frozenset()).suggested_renames == {}


def test_what_is_fixed_is_not_suggested() -> None:
    assert report(["o/m/a", "a"], ["o/m/b", "b"], fixed=("o/m/a", "o/m/b")) == {}
    assert report(["o/m/aa", "aa"], ["o/m/ab", "ab"], fixed=("o/m/aa", "o/m/ab")) == {"aa": "ab"}


def test_each_name_is_used_once() -> None:
    assert report(["kernel_1", "kernel_2"], ["kernel_3"]) in (
        {"kernel_1": "kernel_3"},
        {"kernel_2": "kernel_3"},
    )


def test_long_lists_are_cut() -> None:
    rows = [Row("missing", path=f"v{i}", present=F) for i in range(1000)]
    text = str(make_report("c", rows, frozenset()))
    assert "... and 975 more" in text
    assert len(text.splitlines()) == 28


def test_many_names_take_no_time() -> None:
    rows = [Row("missing", path=f"layers/{i}/new", present=F) for i in range(5000)]
    rows += [Row("unexpected", key=f"layers/{i}/old", saved=F) for i in range(5000)]
    assert len(make_report("c", rows, frozenset()).suggested_renames) > 50


def test_table() -> None:
    rows = [
        Row("restored", "a", "a", F, F),
        Row("clash", "head/w", "head/w", F, Form("float32", (5, None))),
        Row("missing", path="new", present=Form("int32", None)),
        Row("unexpected", key="old/x", saved=F, note="a note"),
    ]
    assert str(make_report("dir/c", rows, frozenset())).splitlines() == [
        "dir/c: 1 of 3 values restored",
        "              name    checkpoint    program",
        "  clash       head/w  float32 (3,)  float32 (5, ?)",
        "  missing     new     -             int32 of any shape",
        "  unexpected  old/x   float32 (3,)  -                   a note",
    ]
