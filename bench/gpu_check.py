"""Everything that needs a GPU, checked and timed: ``python -m bench.gpu_check [name ...]``.

Prints a table with a line for each check. Exits with 0 if all passed, 1 if one failed, and 2 on a
machine where no GPU can be used, saying why. With ``--rehearse`` a second logical CPU plays the
GPU: the programs run and are compared, what only CUDA has is left out.
"""

from __future__ import annotations

import functools
import gc
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Callable

import ml_dtypes
import numpy as np
import onnxruntime

import tfx as tf
from tfx.core import onnxruntime_wheels
from tfx.runtime import cuda, gpu_diagnosis, values
from tfx.runtime.cuda_graphs import CapturingRunner

GPU, CPU = "/GPU:0", "/CPU:0"
REHEARSING = "--rehearse" in sys.argv
if REHEARSING:
    GPU = "/CPU:1"
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
LONG = "/job:localhost/replica:0/task:0/device:"
RNG = np.random.default_rng(0)
Check = Callable[[], str | None]
CHECKS: list[tuple[str, Check]] = []


def check(function: Check) -> Check:
    """Register a check: it raises if something is wrong, and returns a note."""
    CHECKS.append((function.__name__, function))
    return function


def cuda_check(function: Check) -> Check:
    """Register a check that cannot be rehearsed."""
    return function if REHEARSING else check(function)


def best(function: Callable[[], object], seconds: float = 0.5) -> float:
    """Milliseconds of the quickest of many calls."""
    function()
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        function()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest * 1e3


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def on_gpu(x: object) -> bool:
    return x.device == LONG + GPU[1:]


def is_away(variable: object) -> bool:
    """True if a variable's memory is the GPU's."""
    return REHEARSING or values.device_of(variable._raw) == "GPU:0"


def close(x: object, y: object, tolerance: float = 2e-3) -> None:
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def runner_of(function: object) -> object:
    """What runs the newest trace of a function."""
    concrete = function.concrete_functions[-1]
    run = concrete._program.plan.session.run_raw
    return getattr(run, "plain", run)


# Values


@cuda_check
def copies_of_every_type() -> str:
    kinds = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64]
    kinds += [np.uint16, np.uint32, np.uint64, np.bool_, ml_dtypes.bfloat16]
    kinds += [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
    for kind in kinds:
        for shape in ((), (0,), (5,), (3, 4)):
            array = RNG.integers(0, 2, shape).astype(kind)
            away = values.copy_to_device(values.from_numpy(array), "GPU:0")
            assert values.device_of(away) == "GPU:0", (kind, shape)
            assert values.copy_to_device(away, "GPU:0") is away
            back = values.to_numpy(away)
            assert back.dtype == array.dtype
            np.testing.assert_array_equal(back, array)
            np.testing.assert_array_equal(values.to_numpy(values.duplicates([away])[0]), array)
    return f"{len(kinds)} types"


@cuda_check
def speed_of_copies() -> str:
    host = values.from_numpy(np.ones(1 << 26, np.float32))
    away = values.copy_to_device(host, "GPU:0")
    gigabytes = (1 << 28) / 1e9
    up = gigabytes / best(lambda: values.copy_to_device(host, "GPU:0")) * 1e3
    down = gigabytes / best(lambda: values.copy_to_device(away, "CPU:0")) * 1e3
    across = gigabytes / best(lambda: values.duplicates([away])) * 1e3
    small = values.from_numpy(np.ones(4, np.float32))
    least = best(lambda: values.copy_to_device(small, "GPU:0")) * 1e3
    return f"up {up:.1f}, down {down:.1f}, on the GPU {across:.0f} GB/s; 16 bytes up {least:.0f} us"


@cuda_check
def memory_of_values_is_given_back() -> str:
    def make() -> None:
        for _ in range(50):
            values.copy_to_device(values.from_numpy(np.ones(1 << 22, np.float32)), "GPU:0")
        gc.collect()

    make()
    before = cuda.memory_in_use(0)[0]
    make()
    make()
    grown = cuda.memory_in_use(0)[0] - before
    assert grown < 64 << 20, f"{grown >> 20} MiB more in use"
    return f"{cuda.memory_in_use(0)[0] >> 20} MiB in use"


@cuda_check
def dlpack_both_ways() -> str:
    with tf.device(GPU):
        x = tf.constant(normal(3, 4)) * 2.0
    assert x.__dlpack_device__() == (2, 0)
    try:
        import torch
    except ImportError:
        return "device told; torch is not installed"
    theirs = torch.from_dlpack(x)
    assert theirs.is_cuda
    np.testing.assert_array_equal(theirs.cpu().numpy(), x.numpy())
    with tf.device(GPU):
        ours = tf.convert_to_tensor(torch.arange(5, device="cuda"))
    assert on_gpu(ours)
    np.testing.assert_array_equal(ours, np.arange(5))
    return "with torch"


# Eager


@check
def eager_operations_stay_on_the_gpu() -> str:
    a, b = normal(64, 64), normal(64, 64)
    with tf.device(GPU):
        x, y = tf.constant(a), tf.constant(b)
        z = tf.nn.relu(tf.matmul(x, y) + 1.0)
        assert all(on_gpu(t) for t in (x, y, z))
        milliseconds = best(lambda: tf.matmul(x, y))
    close(z, np.maximum(a @ b + 1, 0), 3e-2)  # TF32, as in TensorFlow
    return f"matmul 64x64 {milliseconds * 1e3:.0f} us"


@cuda_check
def products_without_tf32() -> str:
    a, b = normal(64, 64), normal(64, 64)
    exact = a.astype(np.float64) @ b

    def error() -> float:
        with tf.device(GPU):
            return float(np.abs(tf.matmul(tf.constant(a), tf.constant(b)).numpy() - exact).max())

    rough = error()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        fine = error()
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(True)
    assert fine < 1e-4, fine
    return f"largest error {fine:.0e}, with TF32 {rough:.0e}"


@check
def eager_operations_of_every_kind() -> str:
    def program() -> list[tf.Tensor]:
        x = tf.constant(normal_numbers)
        i = tf.constant([[3, 1], [2, 0]])
        return [
            tf.reduce_sum(x, axis=1),
            tf.nn.softmax(x),
            tf.cast(x, tf.bfloat16) + tf.cast(1.0, tf.bfloat16),
            tf.cast(x, tf.float64) * 2.0,
            tf.cast(x, tf.int8) + tf.cast(1, tf.int8),
            i // 2,
            tf.gather(x, [1, 0]),
            tf.where(x > 0),
            tf.concat([x, x], 0),
            tf.sort(x),
            tf.cumsum(x, axis=1),
            tf.shape(x),
        ]

    normal_numbers = normal(4, 6)
    expected = program()
    with tf.device(GPU):
        found = program()
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        close(tf.cast(x, tf.float32), tf.cast(y, tf.float32), 1e-2)
    return f"{len(found)} programs"


@check
def values_cross_where_they_must() -> None:
    a = normal(8)
    with tf.device(GPU):
        x = tf.constant(a)
    with tf.device(CPU):
        y = x + 1.0
        w = tf.identity(x)
    assert y.device.endswith("CPU:0")
    assert w.device.endswith("CPU:0")
    with tf.device(GPU):
        z = tf.identity(y)
        assert on_gpu(z)
        close(y + z, 2 * (a + 1))
    close((x + y).numpy(), 2 * a + 1)  # no scope: on the CPU
    assert float(x[0]) == a[0]
    with tf.device(GPU):
        text = (
            tf.strings.upper(tf.constant(["a"])) if hasattr(tf, "strings") else tf.constant(["A"])
        )
    assert text.numpy().tolist() == [b"A"]


@check
def failing_kernels_are_errors_of_ours() -> None:
    with tf.device(GPU):
        x, y = tf.constant(normal(2, 3)), tf.constant(normal(2, 3))
        try:
            tf.matmul(x, y)
        except tf.errors.InvalidArgumentError:
            return
    raise AssertionError("no InvalidArgumentError")


@check
def random_numbers_are_the_same_everywhere() -> None:
    expected = tf.random.stateless_uniform([1000], seed=[1, 2])
    with tf.device(GPU):
        found = tf.random.stateless_uniform([1000], seed=[1, 2])
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


# Variables and functions


@check
def variables_stay_on_the_gpu() -> None:
    with tf.device(GPU):
        v = tf.Variable(normal(4))
    start = v.numpy()
    assert v.device == LONG + GPU[1:]
    v.assign_add(np.ones(4, np.float32))
    with tf.device(CPU):
        v.assign(v + 1.0)
    assert is_away(v)
    close(v, start + 2)


@check
def functions_leave_results_and_variables_there() -> str:
    with tf.device(GPU):
        v = tf.Variable(tf.zeros([256, 256]))

        @tf.function
        def step(x):
            v.assign_add(tf.matmul(x, x) * 1e-3)
            return tf.reduce_sum(v)

        x = tf.constant(normal(256, 256))
        for i in range(1, 6):
            total = step(x)
            assert on_gpu(total)
            assert is_away(v)
            close(v, i * 1e-3 * (x.numpy() @ x.numpy()), 5e-3)
        milliseconds = best(lambda: step(x))
    return f"{milliseconds * 1e3:.0f} us a call"


@check
def a_function_on_two_devices() -> str:
    @tf.function
    def f(x):
        with tf.device(GPU):
            y = tf.matmul(x, x)
        with tf.device(CPU):
            z = tf.nn.relu(y)
        with tf.device(GPU):
            return tf.matmul(z, x) + y

    x = normal(128, 128) / 12  # so that products keep their size: TF32 has an error of 1e-3
    close(f(tf.constant(x)), np.maximum(x @ x, 0) @ x + x @ x, 2e-2)
    devices = {row.device for row in f.placement()[0]}
    assert devices == {"CPU:0", GPU[1:]}, devices
    given = tf.constant(x)
    return f"{best(lambda: f(given)):.3f} ms"


@check
def placement_tells_providers() -> str:
    @tf.function
    def f(x):
        return tf.reshape(tf.matmul(x, x), [tf.shape(x)[1], -1]) * 2.0

    with tf.device(GPU):
        spec = tf.TensorSpec([None, None], tf.float32)
        table = f.get_concrete_function(spec).placement()
    providers = {row.op: row.provider for row in table}
    assert REHEARSING or providers["MatMul"] == "CUDAExecutionProvider", str(table)
    on_host = sorted({row.op for row in table if row.provider == "CPUExecutionProvider"})
    return f"on the host: {', '.join(on_host) or 'nothing'}"


@check
def control_flow_runs_there() -> str:
    if not hasattr(tf, "while_loop"):
        return "this version has no while_loop"

    @tf.function
    def f(x):
        return tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 1.5), (0, x))[1]

    with tf.device(GPU):
        x = tf.constant(normal(8))
        for _ in range(4):
            y = f(x)
        assert on_gpu(y)
    close(y, x.numpy() * 1.5**5)
    return ""


def _network() -> tuple[list[tf.Variable], Callable[..., tf.Tensor]]:
    rng = np.random.default_rng(1)
    sizes = [(784, 512), (512, 512), (512, 10)]
    weights = [tf.Variable(rng.normal(0, 0.05, s).astype(np.float32)) for s in sizes]

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            h = x
            for w in weights[:-1]:
                h = tf.nn.relu(tf.matmul(h, w))
            error = tf.matmul(h, weights[-1]) - y
            loss = tf.reduce_mean(error * error)
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.05 * g)
        return loss

    return weights, step


@check
def training_gives_the_cpus_numbers() -> str:
    x, y = normal(256, 784), normal(256, 10)
    losses, times = {}, {}
    for device in (CPU, GPU):
        with tf.device(device):
            _, step = _network()
            given = tf.constant(x), tf.constant(y)
            losses[device] = [float(step(*given)) for _ in range(20)]
            times[device] = best(functools.partial(step, *given), 2.0)
    close(losses[GPU], losses[CPU], 1e-2)
    assert losses[GPU][-1] < losses[GPU][0]
    return f"step {times[GPU]:.2f} ms, on the CPU {times[CPU]:.2f} ms"


@check
def convolutions() -> str:
    late = {} if REHEARSING else gpu_diagnosis.missing_later_libraries()
    assert "libcudnn.so.9" not in late, f"cannot be loaded: {late}"
    x, w = normal(8, 32, 32, 16), normal(3, 3, 16, 32)

    @tf.function
    def f(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME") ** 2.0)
        return y, tape.gradient(y, w)

    expected = f(tf.constant(x), tf.constant(w))
    with tf.device(GPU):
        given = tf.constant(x), tf.constant(w)
        found = f(*given)
        milliseconds = best(lambda: f(*given))
    close(found[0] / expected[0], 1.0, 1e-2)
    close(found[1] / tf.reduce_max(expected[1]), expected[1] / tf.reduce_max(expected[1]), 1e-2)
    return f"forward and backward {milliseconds:.2f} ms"


# CUDA graphs


def _deep(x):
    for _ in range(40):
        x = tf.tanh(tf.matmul(x, x) * 0.01 + x)
    return x


@cuda_check
def cuda_graphs_are_captured_and_right() -> str:
    f = tf.function(_deep)
    arrays = [normal(64, 64) for _ in range(8)]
    expected = [_deep(tf.constant(a)) for a in arrays]
    with tf.device(GPU):
        inputs = [tf.constant(a) for a in arrays]
        found = [f(x) for x in inputs]  # kept: replays must not overwrite earlier results
        runner = runner_of(f)
        assert isinstance(runner, CapturingRunner), type(runner)
        assert runner.captured() == 1, "nothing was captured: see the log"
        captured = best(lambda: f(inputs[0]))
        open_shapes = tf.function(_deep, input_signature=[tf.TensorSpec([None, None], tf.float32)])
        open_shapes(inputs[0])
        plain = best(lambda: open_shapes(inputs[0]))
    for x, y in zip(found, expected, strict=True):
        close(x, y)
    return f"captured {captured * 1e3:.0f} us, not captured {plain * 1e3:.0f} us"


@check
def cuda_graphs_see_changed_variables() -> None:
    with tf.device(GPU):
        v = tf.Variable(tf.ones([32, 32]))

        @tf.function
        def f(x):
            for _ in range(10):
                x = tf.nn.relu(x * 0.5 + v)
            return x

        x = tf.constant(normal(32, 32))
        for i in range(30):
            v.assign(tf.fill([32, 32], float(i)))
            expected = x.numpy()
            for _ in range(10):
                expected = np.maximum(expected * 0.5 + i, 0)
            close(f(x), expected)


@check
def what_cannot_be_captured_runs() -> str:
    def sizes(x):
        return tf.where(_deep(x) > 0)

    def shapes(x, n):
        return tf.reshape(_deep(x), n)

    a = normal(16, 16)
    with tf.device(GPU):
        f, g = tf.function(sizes), tf.function(shapes)
        for _ in range(5):
            x = tf.constant(a)
            np.testing.assert_array_equal(f(x).numpy(), sizes(tf.constant(a)).numpy())
            for n in ([4, 64], [64, 4]):  # read on the host: must not be frozen into a graph
                assert g(x, tf.constant(n)).shape == n
    return ""


@cuda_check
def calls_do_not_leak() -> str:
    with tf.device(GPU):
        _, step = _network()
        given = tf.constant(normal(256, 784)), tf.constant(normal(256, 10))
        for _ in range(20):
            step(*given)
        before = cuda.memory_in_use(0)[0]
        for _ in range(200):
            step(*given)
        grown = cuda.memory_in_use(0)[0] - before
    assert grown < 64 << 20, f"{grown >> 20} MiB more in use after 200 steps"
    return f"{grown >> 20} MiB more after 200 steps"


# Configuration


@cuda_check
def devices_that_are_not_there() -> None:
    allowed = tf.config.get_soft_device_placement()
    try:
        tf.config.set_soft_device_placement(False)
        try:
            with tf.device("/GPU:99"):
                raise AssertionError("GPU:99 was accepted")
        except tf.errors.InvalidArgumentError as e:
            assert GPU[1:] in e.message, e.message
        tf.config.set_soft_device_placement(True)
        with tf.device("/GPU:99"):
            assert (tf.constant(1.0) + 1.0).device.endswith("CPU:0")
    finally:
        tf.config.set_soft_device_placement(allowed)


@cuda_check
def facts_and_memory() -> str:
    (gpu, *_) = tf.config.list_physical_devices("GPU")
    details = tf.config.experimental.get_device_details(gpu)
    assert details["device_name"]
    assert details["compute_capability"] >= (6, 0)
    info = tf.config.experimental.get_memory_info("GPU:0")
    assert 0 < info["current"] <= info["peak"]
    major, minor = details["compute_capability"]
    return f"{details['device_name']}, {major}.{minor}, {details['memory'] >> 30} GiB"


@cuda_check
def a_divided_gpu() -> None:
    program = """
        import tfx as tf
        gpu = tf.config.list_physical_devices("GPU")[0]
        part = tf.config.LogicalDeviceConfiguration(memory_limit=512)
        tf.config.set_logical_device_configuration(gpu, [part, part])
        with tf.device("/GPU:1"):
            x = tf.ones([64, 64])
            assert float((x @ x)[0, 0]) == 64.0
            try:
                y = tf.function(lambda x: tf.reduce_sum(tf.exp(tf.tile(x, [512, 512]))))(x)
            except tf.errors.ResourceExhaustedError:
                print("limited")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "limited", "4 GiB were had within a limit of 512 MiB"


@cuda_check
def several_gpus() -> str:
    count = len(tf.config.list_physical_devices("GPU"))
    if count < 2:
        return "there is one"
    a = normal(32, 32)
    with tf.device("/GPU:1"):
        x = tf.constant(a)
        assert x.device.endswith("GPU:1")
    with tf.device("/GPU:0"):
        y = tf.matmul(x, x)
        assert on_gpu(y)
    close(y, a @ a)
    return f"{count} GPUs"


def main(names: list[str]) -> int:
    """Run the checks.

    Args:
        names: Those to run; none: all.

    Returns:
        The exit status.
    """
    flavours = ", ".join(f"{n} {v}" for n, v in onnxruntime_wheels.installed().items())
    print(f"onnxruntime {onnxruntime.__version__} ({flavours or 'no distribution found'})")
    trouble = None if REHEARSING else gpu_diagnosis.gpu_trouble()
    if trouble is not None:
        print(f"There is no GPU to check: {trouble}")
        return 2
    for device in () if REHEARSING else cuda.devices():
        print(f"{device.name}, {device.memory >> 30} GiB")
    failed = 0
    for name, function in CHECKS:
        if names and name not in names:
            continue
        start = time.perf_counter()
        try:
            note, verdict = function() or "", "pass"
        except Exception as e:  # the table goes on
            note, verdict = f"{type(e).__name__}: {str(e).strip()[:300]}", "FAIL"
            failed += 1
            traceback.print_exc()
        seconds = time.perf_counter() - start
        print(f"{verdict}  {name.replace('_', ' '):<45} {seconds:7.2f} s  {note}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main([name for name in sys.argv[1:] if not name.startswith("-")]))
