"""pyproject.toml tells the truth about the source tree: packages, data, links, dependencies."""

from __future__ import annotations

import os
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import import_rules, source_tree

ROOT = source_tree.ROOT
SETUPTOOLS = source_tree.pyproject()["tool"]["setuptools"]
PROJECT = source_tree.pyproject()["project"]
LINKS = {name: path for name, path in source_tree.package_roots().items() if name != "tfx"}

# Import name -> distribution name, where they differ.
DISTRIBUTIONS = {"google": "protobuf", "sklearn": "scikit-learn"}


def test_package_list_is_complete() -> None:
    expected = list(source_tree.packages())
    text = "".join(f'    "{name}",\n' for name in expected)
    assert SETUPTOOLS["packages"] == expected, (
        f"the list in [tool.setuptools] of pyproject.toml should read\npackages = [\n{text}]"
    )


@pytest.mark.parametrize("folder", source_tree.packages().values(), ids=source_tree.packages())
def test_package_has_an_init_file(folder: Path) -> None:
    assert (folder / "__init__.py").is_file(), f"{folder} holds modules but no __init__.py"


@pytest.mark.parametrize("folder", source_tree.packages().values(), ids=source_tree.packages())
def test_package_data_covers_every_file(folder: Path) -> None:
    patterns = [pattern for group in SETUPTOOLS["package-data"].values() for pattern in group]
    left_out = [
        path.name
        for path in folder.iterdir()
        if path.is_file()
        and path.suffix not in {".py", ".pyc", ".md", ".png"}  # pictures are those of README.md
        and not path.name.startswith("libtfx_kernels.")  # compiled where the wheel is built
        and not any(fnmatch(path.name, pattern) for pattern in patterns)
    ]
    assert not left_out, "add these to [tool.setuptools.package-data]: they are not in the wheel"


@pytest.mark.skipif(sys.platform == "win32", reason="git makes text files of links on Windows")
@pytest.mark.parametrize(("name", "folder"), LINKS.items())
def test_link_leads_to_the_mapped_folder(name: str, folder: Path) -> None:
    link = ROOT / name.replace(".", "/")
    assert link.is_symlink()
    assert not Path(os.readlink(link)).is_absolute(), "a clone stands somewhere else"
    assert link.resolve() == folder.resolve()


@pytest.mark.parametrize(
    ("platform", "machine", "has_gpu_wheel"),
    [
        ("linux", "x86_64", True),
        ("linux", "aarch64", True),
        ("linux", "riscv64", False),
        ("win32", "AMD64", True),
        ("win32", "ARM64", False),
        ("darwin", "arm64", False),
        ("darwin", "x86_64", False),
    ],
)
def test_every_platform_gets_the_runtime_for_cpus(
    platform: str, machine: str, has_gpu_wheel: bool
) -> None:
    environment = {"sys_platform": platform, "platform_machine": machine}

    def chosen(lines: list[str]) -> list[str]:
        found = [Requirement(line) for line in lines if "onnxruntime" in line]
        return [r.name for r in found if r.marker is None or r.marker.evaluate(environment)]

    extras = PROJECT["optional-dependencies"]
    assert chosen(PROJECT["dependencies"]) == ["onnxruntime"]
    assert chosen(extras["cpu"]) == ["onnxruntime"]
    assert chosen(extras["gpu"]) == ["onnxruntime-gpu"] * has_gpu_wheel
    assert chosen(extras["cuda"]) == ["onnxruntime-gpu"] * has_gpu_wheel


def test_what_is_imported_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    lists = [PROJECT["dependencies"], extras["demo"], extras["keras"]]
    always, demo, keras = ({Requirement(line).name for line in lines} for lines in lists)
    parts = {"model_zoo": demo, "keras_backend": keras}
    known = source_tree.modules()
    missing = set()
    for name, path in known.items():
        allowed = always | parts.get(import_rules.package_of(name) or "", set())
        for found in import_rules.imports_of(name, path.read_text(encoding="utf-8"), known):
            root = found.target.split(".")[0]
            ours = root == "tfx" or root in sys.stdlib_module_names
            # Imports inside functions are those of optional packages, which an extra installs.
            if found.when == "module" and not ours and DISTRIBUTIONS.get(root, root) not in allowed:
                missing.add(f"{name}:{found.line} imports {root}")
    assert not missing, "not among the dependencies in pyproject.toml"


def test_command_leads_to_a_module_of_ours() -> None:
    module, _, function = PROJECT["scripts"]["tfx"].partition(":")
    path = source_tree.modules()[module]
    assert re.search(rf"\b{function}\b", path.read_text(encoding="utf-8")), (
        f"{path} does not define {function}"
    )
