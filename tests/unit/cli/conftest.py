"""The sample bundle, and the command as a function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.loaders.make_bundle import sample_bundle
from tfx.cli.app import app

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the sample bundle; tests must not change it."""
    return sample_bundle(tmp_path_factory.mktemp("cli") / "sample")


@pytest.fixture
def tfx() -> Run:
    """Give the command ``tfx`` as a function of its arguments."""

    def run(*args: object) -> Result:
        return CliRunner().invoke(app, [str(arg) for arg in args])

    return run
