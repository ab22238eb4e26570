"""What every test gets: seeded randomness, the verifiers on, and no trace outside the checkout.

The decision: the environment is settled here, at import and before any test module imports tfx,
so that a bare ``pytest`` behaves as ``make test`` does.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import hypothesis
import hypothesis.configuration
import numpy as np
import pytest

CACHE = Path(__file__).resolve().parent.parent / ".cache"

# A shell starts what runs in its background with Ctrl-C ignored; the tests of Ctrl-C would hang.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Each stage of the graph checks itself and the next one (TFX_VERIFY is off for users).
os.environ["TFX_VERIFY"] = "1"
# ONNX Runtime's wheels otherwise keep a device id and a database of events in the home folder.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
# tmp_path and hypothesis's files stay in the checkout too.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ:
    (CACHE / "tmp").mkdir(parents=True, exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(CACHE / "tmp")
hypothesis.configuration.set_hypothesis_home_dir(CACHE / "hypothesis")

# The default tries the same examples on every run and machine. The other one, chosen with
# `pytest --hypothesis-profile=explore`, looks for new ones and remembers those that failed. Neither
# counts seconds: machines are shared.
hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile(
    "explore",
    hypothesis.settings.get_profile("ci"),
    derandomize=False,
    database=hypothesis.database.DirectoryBasedExampleDatabase(CACHE / "hypothesis" / "examples"),
    max_examples=1000,
)
hypothesis.settings.load_profile("ci")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Give a generator seeded by the test's name: the same numbers in any order, alone or not."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def _same_numbers_in_any_order(request: pytest.FixtureRequest) -> None:
    """Seed what a test's module draws from, too: which tests ran before it here is chance."""
    seed = zlib.crc32(request.node.nodeid.encode())
    np.random.seed(seed)
    for held in vars(request.module).values():
        if isinstance(held, np.random.Generator):
            held.bit_generator.state = type(held.bit_generator)(seed).state


@pytest.fixture
def three_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide the CPU into CPU:0, CPU:1 and CPU:2, as a program does before its first operation."""
    from tfx.runtime import logical_devices

    state = logical_devices.State()
    state.settled = True
    state.divisions[logical_devices.CPU] = (logical_devices.LogicalDeviceConfiguration(),) * 3
    monkeypatch.setattr(logical_devices, "state", state)


# Runs in a process of its own because a provider that cannot load prints to stderr, and because
# only the session says what it runs on: get_available_providers() lists what was compiled in.
CUDA_PROBE = """
from tfx.runtime.gpu_diagnosis import gpu_trouble
gpu_trouble()  # loads CUDA's libraries from wheels, too
import onnx, onnxruntime
from onnx import helper
value = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
node = helper.make_node("Neg", ["x"], ["y"])
graph = helper.make_graph([node], "probe", [value("x")], [value("y")])
opset = [helper.make_opsetid("", 21)]
model = helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()
session = onnxruntime.InferenceSession(model, providers=["CUDAExecutionProvider"])
print(session.get_providers()[0])
"""


@functools.cache
def cuda_works() -> bool:
    """Tell whether ONNX Runtime runs a model on a CUDA device here."""
    if not any(Path("/dev").glob("nvidia[0-9]*")) and sys.platform == "linux":
        return False
    probe = subprocess.run(
        [sys.executable, "-c", CUDA_PROBE],
        capture_output=True,
        text=True,
        check=False,
        cwd=CACHE.parent,
    )
    return probe.stdout.strip() == "CUDAExecutionProvider"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked gpu where no CUDA device works."""
    needing = [item for item in items if item.get_closest_marker("gpu")]
    if needing and not cuda_works():
        for item in needing:
            item.add_marker(pytest.mark.skip(reason="no CUDA device that ONNX Runtime can use"))
