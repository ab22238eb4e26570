"""Run Keras' own tests, from its wheel, on the backend tfx, and count what passes.

``make test-keras ARGS="[FOLDER ...]"``: folders or files below ``keras/src``. Results go
to ``build/keras-tests/``: a line for each test that failed; a table by folder is printed.
"""

from __future__ import annotations

import argparse
import collections
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "keras-tests"

# Everything that a backend has to do with; the rest tests other backends or Keras' own tools.
FOLDERS = [
    "activations",
    "backend/common",
    "backend/tests",
    "callbacks",
    "constraints",
    "datasets",
    "dtype_policies",
    "export",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "ops",
    "optimizers",
    "quantizers",
    "random",
    "regularizers",
    "saving",
    "testing",
    "trainers",
    "tree",
    "utils",
    "visualization",
]
# What the tests import from the `conftest` of Keras' repository, which its wheel lacks.
CONFTEST = """
import keras
import pytest

def skip_if_backend(name, reason):
    return pytest.mark.skipif(keras.backend.backend() == name, reason=reason)
"""
# These need TensorFlow, JAX or torch by their subject, or download weights.
LEFT_OUT = ("applications/", "export/litert", "export/openvino", "export/neptune", "utils/jax_")


def main() -> int:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--backend", default="tfx", help="another backend, for comparison")
    parser.add_argument("--workers", default="auto", help="processes at once")
    options = parser.parse_args()
    spec = find_spec("keras")
    if spec is None or spec.origin is None:
        sys.exit("Keras is not installed: pip install 'tfx-onnx[keras]'.")
    source = Path(spec.origin).parent / "src"
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "conftest.py").write_text(CONFTEST)
    (RESULTS / "trainer_test.py").write_text(adapted(source / "trainers" / "trainer_test.py"))
    total: collections.Counter[str] = collections.Counter()
    failed: list[str] = []
    for folder in options.folders:
        counts = run(source / folder, folder, options.backend, options.workers, failed)
        total += counts
        print(row(folder, counts), flush=True)
    print(row("all", total))
    (RESULTS / f"failed-{options.backend}.txt").write_text("\n".join(failed) + "\n")
    return 0


def adapted(path: Path) -> str:
    """The one test that chooses classes and devices by the backend's name, knowing tfx."""
    text = path.read_text(encoding="utf-8")
    arm = 'if backend.backend() == "tfx":\n    from tfx.keras_backend.trainer import TfxTrainer'
    first = 'if backend.backend() == "jax":'
    text = text.replace(first, f"{arm} as Trainer\nel{first}", 1)
    return text.replace("CPU_DEVICES = {", 'CPU_DEVICES = {"tfx": "CPU:0",', 1)


def run(
    path: Path, name: str, backend: str, workers: str, failed: list[str]
) -> collections.Counter[str]:
    """Run the tests below a path; how many passed, failed and were skipped."""
    report = RESULTS / f"{name.replace('/', '-')}-{backend}.xml"
    report.unlink(missing_ok=True)
    plugin = ["-p", "tfx.keras"] if backend == "tfx" else []
    ignored = [f"--ignore-glob=*/src/{part}*" for part in LEFT_OUT if part != f"{name}/"]
    paths = [str(path)]
    if name == "trainers" and backend == "tfx":
        ignored.append(f"--ignore={path / 'trainer_test.py'}")
        paths.append(str(RESULTS / "trainer_test.py"))
    options = ["-q", "--tb=line", "-c", os.devnull, "-p", "no:cacheprovider", "-n", workers]
    options += [*plugin, *ignored, f"--junitxml={report}"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, *paths],
        env={**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": f"{ROOT}:{RESULTS}"},
        cwd=RESULTS,
        check=False,
        stdout=(RESULTS / f"{name.replace('/', '-')}-{backend}.log").open("w"),
    )
    counts: collections.Counter[str] = collections.Counter()
    if not report.exists():
        counts["failed"] = 1
        failed.append(f"{name}: the run did not end")
        return counts
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        kind = "failed" if kinds & {"failure", "error"} else "skipped" if kinds else "passed"
        counts[kind] += 1
        if kind == "failed":
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return counts


def row(name: str, counts: collections.Counter[str]) -> str:
    """One line of the table."""
    passed, lost = counts["passed"], counts["failed"]
    share = 100 * passed / max(passed + lost, 1)
    return f"| {name} | {passed} | {lost} | {counts['skipped']} | {share:.1f} % |"


if __name__ == "__main__":
    sys.exit(main())
