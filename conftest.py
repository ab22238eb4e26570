"""What examples of docstrings get: a folder to write to, and modules as programs import them.

pytest executes a module that is named before its package is loaded once more after the package has
imported it. There would be two of its functions and tables, and the public ones have nothing to do
with those that `import` finds.
"""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent


def pytest_collect_file(file_path: Path) -> None:
    """Load the package of a module first."""
    if file_path.suffix == ".py" and file_path.is_relative_to(_ROOT / "tfx"):
        package = ".".join(file_path.parent.relative_to(_ROOT).parts)
        with contextlib.suppress(Exception):  # pytest imports the module, too, and says what fails
            importlib.import_module(package)


@pytest.fixture(scope="session")
def folder_of_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder that examples of docstrings run in."""
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(autouse=True)
def _examples_write_elsewhere(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep files that an example writes out of the checkout."""
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(request.getfixturevalue("folder_of_examples"))
