"""Run Keras' own tests, from its wheel, on the backend tfx, and count what passes.

``make test-keras ARGS="[FOLDER ...]"``: folders or files below ``keras/src``. Results go
to ``build/keras-tests/``: a line for each test that failed; a table by folder is printed.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import shutil
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
# Their base class, which is no test, makes sparse tensors and asks for them by TensorFlow's name.
CONFTEST_AS_TENSORFLOW = """
from keras.src.testing import test_case
from tfx.keras_hook import _serve_as_tensorflow

_serve_as_tensorflow(test_case)
"""
# What they call TensorFlow is tfx, as in a program that was written for it.
TENSORFLOW = """
import sys
import tfx
sys.modules[__name__] = tfx
"""
# These need TensorFlow, JAX or torch by their subject, or download weights.
LEFT_OUT = ("applications/", "export/litert", "export/openvino", "export/neptune", "utils/jax_")


def main() -> int:
    """Run the tests and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    parser.add_argument("--backend", default="tfx", help="another backend, for comparison")
    parser.add_argument("--workers", default="auto", help="processes at once")
    parser.add_argument(
        "--as-tensorflow",
        action="store_true",
        help="ask of tfx what the tests ask of TensorFlow by its name, its own limits included",
    )
    options = parser.parse_args()
    spec = find_spec("keras")
    if spec is None or spec.origin is None:
        sys.exit("Keras is not installed: pip install 'tfx-onnx[keras]'.")
    source = Path(spec.origin).parent / "src"
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "conftest.py").write_text(CONFTEST)
    stands_in = RESULTS / "tensorflow"
    if options.backend == "tfx":
        stands_in.mkdir(exist_ok=True)
        (stands_in / "__init__.py").write_text(TENSORFLOW)
    else:
        shutil.rmtree(stands_in, ignore_errors=True)
    adapted = adapt_tests(source, RESULTS / "src") if options.backend == "tfx" else source
    total: collections.Counter[str] = collections.Counter()
    failed: list[str] = []
    for folder in options.folders:
        # The tests of `trainers` import a class by the name of a backend, and know no other.
        whole = options.as_tensorflow or folder == "trainers"
        counts = run(
            (adapted if whole else source) / folder,
            folder,
            options.backend,
            options.workers,
            failed,
        )
        total += counts
        print(row(folder, counts), flush=True)
    print(row("all", total))
    (RESULTS / f"failed-{options.backend}.txt").write_text("\n".join(failed) + "\n")
    return 0


def adapt_tests(source: Path, target: Path) -> Path:
    """Copy the tests, asking of tfx what they ask of TensorFlow's backend.

    Much is tested for backends of certain names only, or tested otherwise for each of them. Which
    backend runs is said by the environment: Keras itself still sees it.
    """
    shutil.rmtree(target, ignore_errors=True)
    for path in source.rglob("*_test.py"):
        text = path.read_text(encoding="utf-8")
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        (place.parent / "__init__.py").touch()
        text = 'TENSORFLOW = "tensorflow"\n' + text
        text = re.sub(r"(?:keras\.|keras_)?backend\.backend\(\)", "TENSORFLOW", text)
        text = text.replace("keras.src.backend.tensorflow.", "tfx.keras_backend.")
        text = text.replace("TensorFlowTrainer", "Trainer")
        place.write_text(text, encoding="utf-8")
    (target / "__init__.py").touch()
    (target / "conftest.py").write_text(CONFTEST_AS_TENSORFLOW)
    return target


def run(
    path: Path, name: str, backend: str, workers: str, failed: list[str]
) -> collections.Counter[str]:
    """Run the tests below a path; how many passed, failed and were skipped."""
    report = RESULTS / f"{name.replace('/', '-')}-{backend}.xml"
    report.unlink(missing_ok=True)
    plugin = ["-p", "tfx.keras"] if backend == "tfx" else []
    ignored = [f"--ignore-glob=*/src/{part}*" for part in LEFT_OUT if part != f"{name}/"]
    options = [
        "-q",
        "--tb=line",
        "-c",
        os.devnull,
        "-p",
        "no:cacheprovider",
        "-n",
        workers,
    ]
    options += [*plugin, *ignored, f"--junitxml={report}"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(path)],
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
