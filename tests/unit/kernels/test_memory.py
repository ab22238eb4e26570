"""The C code under AddressSanitizer and UBSan, on random programs; and without a warning."""

from __future__ import annotations

import subprocess

import pytest

from tests.unit.kernels.compiling import compiled, sanitized
from tfx.kernels import build

# Random programs read registers that nothing was written to: the same every time.
ZEROS = "-ftrivial-auto-var-init=zero"


def test_no_warnings(tmp_path):
    assert build.build(tmp_path / "kernels.so", build.WARNINGS) == ""


def test_what_cannot_be_compiled_says_why(tmp_path, monkeypatch):
    assert "unknown" in build.build(tmp_path / "kernels.so", ["--no-such-option-unknown"])
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(build, "compilers", lambda: [])
    assert "no C compiler" in build.build(tmp_path / "kernels.so")


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    return sanitized("fuzz", tmp_path_factory.mktemp("fuzz"), [ZEROS])


def check(fuzzer, seed, count):
    command = [fuzzer, str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    accepted, ran, repeated, compared = map(int, done.stdout.split())
    assert accepted > count / 10 and ran > count / 20 and repeated > count / 100
    assert compared > count / 40


@pytest.mark.slow
def test_random_programs_stay_in_their_tensors(fuzzer):
    check(fuzzer, 0, 8_000)


@pytest.mark.slow
def test_the_loops_for_wide_vectors_have_the_results_of_the_others(tmp_path):
    flags = [*build.FLAGS, *build.machine_flags(), ZEROS]
    check(compiled("fuzz", tmp_path, flags), 1, 50_000)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_random_programs_stay_in_their_tensors(fuzzer, seed):
    check(fuzzer, seed, 50_000)


@pytest.mark.parametrize(
    "name",
    [
        "windows_check",
        "sums_check",
        "distinct_check",
        "integer_products_check",
        "lstm_check",
        "softmax_check",
        "attention_check",
        "matmul_check",
    ],
)
@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 2_000), *[pytest.param(s, 50_000, marks=pytest.mark.proof) for s in (1, 2, 3, 4)]],
)
def test_random_tensors_are_not_left_and_results_are_right(name, seed, count, tmp_path):
    program = sanitized(name, tmp_path, build.machine_flags())
    command = [program, str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) == count


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.proof)])
def test_whatever_the_runtime_is_and_does(count, tmp_path):
    """Too old, another one, failing; and tensors of any sizes, whose products overflow."""
    others = [name for name in build.SOURCES if name != "operator.c"]
    program = sanitized("runtime_check", tmp_path, [ZEROS, "-O0"], others)
    done = subprocess.run([program, "1", str(count)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    tried, succeeded, broken = map(int, done.stdout.split())
    assert tried == count and count / 8 < succeeded < count and broken > count / 10
