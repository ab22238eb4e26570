"""What a user gets: the sdist and the wheel are built, installed in a fresh environment, and used.

Everything is built from a copy of the checkout, because setuptools writes beside the sources. The
new environment sees the packages of the current one through a path file (so nothing is downloaded,
and either build of ONNX Runtime serves), but not tfx: only what the wheel brought.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import source_tree

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("install")]

# What `pip wheel` and `python -m build` call, without an environment to download setuptools into.
BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""
LINKED = {name: folder for name, folder in source_tree.package_roots().items() if name != "tfx"}
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".cache", ".*_cache", "__pycache__", "build", "dist", "*.egg-info"
)


def run(command: Sequence[str | Path], cwd: Path, **settings: str) -> str:
    # The checkout must not be seen by anything but its own path.
    hidden = {"PYTHONPATH", "PYTHONHOME", "KERAS_BACKEND"}
    environment = {k: v for k, v in os.environ.items() if k not in hidden} | settings
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(what: str, source: Path, out: Path) -> Path:
    out.mkdir(exist_ok=True)
    name = run([sys.executable, "-c", BUILD, f"build_{what}", out], cwd=source).splitlines()[-1]
    return out / name


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("install")


@pytest.fixture(scope="module")
def checkout(work: Path) -> Path:
    copy = work / "checkout"
    shutil.copytree(source_tree.ROOT, copy, symlinks=True, ignore=NOT_COPIED)
    return copy


@pytest.fixture(scope="module")
def wheel(checkout: Path, work: Path) -> Path:
    return build("wheel", checkout, work / "dist")


@pytest.fixture(scope="module")
def unpacked_sdist(checkout: Path, work: Path) -> Path:
    sdist = build("sdist", checkout, work / "dist")
    with tarfile.open(sdist) as archive:
        # The first releases of Python 3.11 have no filters.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(work / "sdist", **safely)
    (folder,) = (work / "sdist").iterdir()
    return folder


@pytest.fixture(scope="module")
def environment(wheel: Path, work: Path) -> Path:
    """Give the folder of the new environment's commands."""
    folder = work / "venv"
    venv.create(folder, symlinks=os.name != "nt")
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", commands / "python"]
    run([*pip, "install", "--no-deps", "--no-index", "--quiet", wheel], cwd=work)
    purelib = ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(run([commands / "python", *purelib], cwd=work).strip())
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "packages_of_the_tests.pth").write_text("\n".join(sorted(paths)), encoding="utf-8")
    return commands


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes]:
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*.py*")}


def names_in(archive: Path) -> set[str]:
    with zipfile.ZipFile(archive) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def test_wheel_holds_every_module_and_nothing_but_tfx(wheel: Path) -> None:
    files = names_in(wheel)
    # The other two are how Keras finds its backend.
    beside = {"keras_tfx.py", "keras_tfx.pth"}
    assert {name.split("/")[0] for name in files} == {"tfx", *beside}
    modules = {
        name.replace(".", "/") + ("/__init__.py" if path.stem == "__init__" else ".py")
        for name, path in source_tree.modules().items()
    }
    assert {name for name in files - beside if name.endswith(".py")} == modules
    assert "tfx/py.typed" in files
    assert {"tfx/bundle/bundle.proto", "tfx/bundle/bundle_pb2.pyi"} <= files


def test_sdist_gives_the_same_wheel(wheel: Path, unpacked_sdist: Path, work: Path) -> None:
    again = build("wheel", unpacked_sdist, work / "dist_of_sdist")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert {i.filename: i.CRC for i in first.infolist()} == {
            i.filename: i.CRC for i in second.infolist()
        }


def importable() -> list[str]:
    """The packages that need no extra: Keras imports its backend, which is not for others."""
    return [name for name in source_tree.packages() if not name.startswith("tfx.keras_backend")]


def test_sdist_can_be_used_as_it_stands(unpacked_sdist: Path, environment: Path) -> None:
    # As in a checkout, where the links do it: ./tfx hides the installed one, and is complete.
    names = [name for name in importable() if name != "tfx"]
    # From sys.modules: `tfx.function` is the decorator, whatever was imported.
    program = f"import sys, {', '.join(names)}\nfor m in {names!r}: print(sys.modules[m].__file__)"
    for line in run([environment / "python", "-c", program], cwd=unpacked_sdist).splitlines():
        assert unpacked_sdist in Path(line).parents
    for name, folder in LINKED.items():
        again = unpacked_sdist / name.replace(".", "/")
        assert contents(again) == contents(unpacked_sdist / folder.relative_to(source_tree.ROOT))


def test_every_package_imports_from_anywhere(environment: Path, elsewhere: Path) -> None:
    names = ", ".join(importable())
    program = f"import {names}; import tfx; print(tfx.__file__)"
    where = Path(run([environment / "python", "-W", "error", "-c", program], cwd=elsewhere).strip())
    assert environment.parent in where.parents


@pytest.mark.parametrize("name", ["exporters", "cli", "loaders", "model_zoo", "tests", "tools"])
def test_nothing_generic_can_be_imported(name: str, environment: Path, elsewhere: Path) -> None:
    program = f"import importlib.util; print(importlib.util.find_spec({name!r}))"
    # The second one is the environment of the tests, where tfx is installed as editable if at all.
    for python in (environment / "python", sys.executable):
        assert run([python, "-c", program], cwd=elsewhere).strip() == "None"


def test_version_is_the_one_in_the_metadata(environment: Path, elsewhere: Path) -> None:
    program = "import tfx, importlib.metadata as m; print(tfx.__version__, m.version('tfx-onnx'))"
    ours, theirs = run([environment / "python", "-c", program], cwd=elsewhere).split()
    assert ours == theirs


def test_command_is_installed(environment: Path, elsewhere: Path) -> None:
    assert "Usage: tfx" in run([environment / "tfx", "--help"], cwd=elsewhere)


def test_keras_runs_on_tfx_where_the_environment_says_so(
    environment: Path, elsewhere: Path
) -> None:
    program = """
import sys
assert "tfx" not in sys.modules
import keras, keras_tfx.src.ops.numpy as operations, keras_tfx.src.trainer
import tfx as tf
assert keras.backend.backend() == "tfx" and tf.keras.Model is keras.Model
assert issubclass(keras.Model, keras_tfx.src.trainer.Trainer)
assert operations is tf.keras_backend.numpy and keras_tfx.__version__ == tf.__version__
print(float(keras.ops.sum(keras.ops.ones([2]))), tf.__file__)
"""
    settings = {"KERAS_BACKEND": "tfx", "KERAS_HOME": str(elsewhere)}
    said = run([environment / "python", "-W", "error", "-c", program], elsewhere, **settings)
    total, where = said.split()
    assert total == "2.0" and environment.parent in Path(where).parents
