"""The search for the user's frame, on made-up code objects and made-up installations."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
import tfx.core.source
from tfx.core import source
from tfx.core.source import (
    UNKNOWN_LOCATION,
    SourceLocation,
    is_internal,
    raised_at,
    user_call,
    user_frame,
)

PACKAGE = Path(tfx.core.source.__file__).parents[1]


def run_as(filename: str, call: Callable[[], Any]) -> Any:
    """Calls `call` from a function whose code says that it stands in `filename`."""
    namespace: dict[str, Any] = {}
    exec(compile("def through(call):\n    return call()\n", filename, "exec"), namespace)
    return namespace["through"](call)


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.endswith(text))


def test_text() -> None:
    assert SourceLocation("/home/me/model.py", 12, "train_step").text() == (
        "model.py:12 in train_step"
    )
    assert UNKNOWN_LOCATION.text() == "<unknown location>"


def test_the_line_that_led_to_an_error() -> None:
    with pytest.raises(TypeError, match="dtype") as caught:
        run_as("/home/me/model.py", lambda: tf.cast(1.0, "no dtype"))
    assert raised_at(caught.value).file == __file__
    assert raised_at(ValueError("never raised")) is UNKNOWN_LOCATION


def test_finds_its_caller() -> None:
    found = user_frame()  # here
    assert found.file == __file__
    assert found.line == line_of("# here")
    assert found.function == "test_finds_its_caller"


def test_passes_over_own_code() -> None:
    namespace: dict[str, Any] = {"user_frame": user_frame}
    code = "def outer():\n    return inner()\ndef inner():\n    return user_frame()\n"
    exec(compile(code, str(PACKAGE / "function" / "made_up.py"), "exec"), namespace)
    found = namespace["outer"]()
    assert (found.file, found.function) == (__file__, "test_passes_over_own_code")


def test_the_function_that_the_user_called() -> None:
    namespace: dict[str, Any] = {"user_call": user_call}
    code = "def outer():\n    return inner()\ndef inner():\n    return user_call()\n"
    exec(compile(code, str(PACKAGE / "function" / "made_up.py"), "exec"), namespace)
    found, frame = namespace["outer"]()
    assert (found.file, found.function) == (__file__, "test_the_function_that_the_user_called")
    assert frame is not None
    assert frame.f_code.co_name == "outer"
    found, frame = user_call()
    assert found.function == "test_the_function_that_the_user_called"
    assert frame is None


def test_user_code_nearest_to_the_call_wins() -> None:
    assert run_as("/home/me/model.py", user_frame)[:3] == ("/home/me/model.py", 2, "through")


@pytest.mark.parametrize(
    ("filename", "internal"),
    [
        (str(PACKAGE / "ops" / "math.py"), True),
        (str(PACKAGE / "__init__.py"), True),
        (str(PACKAGE / "exporters" / "writer.py"), True),
        (str(PACKAGE / "cli" / "show.py"), True),
        (str(PACKAGE / "loaders" / "bundle.py"), True),
        (str(PACKAGE / "model_zoo" / "digits" / "train.py"), False),
        (str(PACKAGE) + "_extra/model.py", False),
        (str(PACKAGE.parent / "model_zoo" / "digits" / "train.py"), False),
        (str(PACKAGE.parent / "tests" / "test_x.py"), False),
        ("/home/me/tfx/model.py", False),
        ("<frozen importlib._bootstrap>", True),
        (contextlib.__file__, True),
        (np.__file__, True),
        ("<string>", False),
        ("<stdin>", False),
        ("/home/me/ipykernel_1/123.py", False),
        ("model.py", False),
    ],
)
def test_what_is_internal(filename: str, internal: bool) -> None:
    assert is_internal(filename) is internal
    assert is_internal(filename) is internal  # from the cache


def test_with_statement_of_a_user() -> None:
    namespace: dict[str, Any] = {"user_frame": user_frame}
    code = "def scope(seen):\n    seen.append(user_frame())\n    yield\n"
    exec(compile(code, str(PACKAGE / "scopes.py"), "exec"), namespace)
    scope: Callable[[list[SourceLocation]], Iterator[None]] = namespace["scope"]
    seen: list[SourceLocation] = []
    with contextlib.contextmanager(scope)(seen):
        pass
    assert seen[0].file == __file__


def test_no_user_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    class EveryFileIsInternal(dict[str, bool]):
        def get(self, key: str, default: Any = None) -> Any:
            return True

    monkeypatch.setattr(source, "_SKIP", EveryFileIsInternal())
    assert user_frame() is UNKNOWN_LOCATION


def make_tree(root: Path) -> Path:
    for folder in ("tfx", "exporters", "cli", "loaders/python", "model_zoo"):
        (root / folder).mkdir(parents=True)
    return root / "tfx"


def prefixes(package: Path) -> tuple[set[str], set[str]]:
    inside, user = source._part_prefixes(str(package))
    assert all(path.endswith(os.sep) for path in inside + user)
    return {path.rstrip(os.sep) for path in inside}, {path.rstrip(os.sep) for path in user}


def test_checkout_with_links(tmp_path: Path) -> None:
    package = make_tree(tmp_path)
    for name, target in (("exporters", "exporters"), ("cli", "cli"), ("loaders", "loaders/python")):
        (package / name).symlink_to(Path("..") / target)
    (package / "model_zoo").symlink_to(Path("..") / "model_zoo")
    inside, user = prefixes(package)
    expected = {"tfx", "exporters", "cli", "loaders/python"}
    assert inside == {str(tmp_path / name) for name in expected}
    assert user == {str(package / "model_zoo")}


def test_checkout_whose_links_became_text_files(tmp_path: Path) -> None:
    package = make_tree(tmp_path)
    (package / "cli").write_text("../cli")
    assert prefixes(package)[0] == {str(package), str(tmp_path / "cli")}


def test_neighbours_in_site_packages_are_strangers(tmp_path: Path) -> None:
    package = make_tree(tmp_path)
    (package / "cli").mkdir()  # tfx.cli is installed inside; the cli beside it is somebody else's
    assert prefixes(package)[0] == {str(package)}


def test_package_reached_by_a_link(tmp_path: Path) -> None:
    package = make_tree(tmp_path / "real")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "tfx").symlink_to(package)
    inside, user = prefixes(tmp_path / "site" / "tfx")
    assert inside == {str(tmp_path / "site" / "tfx"), str(package)}
    assert len(user) == 2
