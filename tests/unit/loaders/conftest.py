"""The sample bundle, made once a session and copied for tests that change its files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.loaders.make_bundle import sample_bundle
from tfx.loaders import Bundle


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the sample bundle; tests must not change it."""
    return sample_bundle(tmp_path_factory.mktemp("sample") / "bundle")


@pytest.fixture
def own_path(sample_path: Path, tmp_path: Path) -> Path:
    """Give a copy of the sample bundle to change."""
    shutil.copytree(sample_path, tmp_path / "bundle")
    return tmp_path / "bundle"


@pytest.fixture
def bundle(sample_path: Path) -> Iterator[Bundle]:
    """Give the sample bundle, open."""
    with Bundle.open(sample_path) as opened:
        yield opened
