"""``tf.profiler.experimental`` and the files that TensorBoard's profile plugin reads."""

from __future__ import annotations

import gzip
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import tfx as tf
from tfx.core import errors, wire_format

experimental = tf.profiler.experimental


def message(data: bytes) -> dict[int, list[Any]]:
    """The fields of a message by number: numbers and bytes."""
    found: dict[int, list[Any]] = {}
    for field in wire_format.fields(data, 0, len(data)):
        value = data[field.begin : field.end] if field.value is None else field.value
        found.setdefault(field.number, []).append(value)
    return found


def texts(plane: dict[int, list[Any]], number: int) -> dict[int, str]:
    """The names that a plane has for numbers."""
    entries = [message(message(e)[2][0]) for e in plane.get(number, [])]
    return {e[1][0]: e[2][0].decode() for e in entries}


def profiled(logdir: Path) -> tuple[dict[str, Any], dict[str, dict[int, list[Any]]]]:
    """The Chrome trace of the only profile in a folder, and the planes of the other file."""
    (run,) = (logdir / "plugins" / "profile").iterdir()
    assert re.fullmatch(r"\d{4}(_\d\d){5}", run.name)
    (trace,), (space,) = run.glob("*.trace.json.gz"), run.glob("*.xplane.pb")
    assert trace.name.removesuffix(".trace.json.gz") == space.name.removesuffix(".xplane.pb")
    planes = [message(p) for p in message(space.read_bytes())[1]]
    events = json.loads(gzip.decompress(trace.read_bytes()))
    return events, {p[2][0].decode(): p for p in planes}


def test_steps_and_nodes_are_in_both_files(tmp_path: Path) -> None:
    f = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)), jit_compile=False)
    with experimental.Profile(str(tmp_path)):
        for step in range(2):
            with experimental.Trace("train", step_num=step, _r=1) as mark:
                f(tf.ones([8, 8]))
                mark.set_metadata(batch=8)
    trace, planes = profiled(tmp_path)
    marks = [e for e in trace["traceEvents"] if e.get("cat") == "mark"]
    assert [(e["name"], e["args"]) for e in marks] == [
        ("train", {"step_num": 0, "_r": 1, "batch": 8}),
        ("train", {"step_num": 1, "_r": 1, "batch": 8}),
    ]
    host = planes["/host:CPU"]
    names, known = texts(host, 4), texts(host, 5)
    assert {"train", "MatMul:MatMul", "Sum:ReduceSum"} <= set(names.values())
    (line,) = [message(x) for x in host[3]]
    events = [message(e) for e in line[4]]
    found = [(names[e[1][0]], e) for e in events]
    assert sum(name == "MatMul:MatMul" for name, _ in found) == 2
    steps = [
        {known[s[1][0]]: s[4][0] for s in map(message, e[4])} for n, e in found if n == "train"
    ]
    assert steps == [{"step_num": 0, "_r": 1, "batch": 8}, {"step_num": 1, "_r": 1, "batch": 8}]
    first = next(e for n, e in found if n == "train")
    inside = [e for n, e in found if n == "MatMul:MatMul"]
    end = first[2][0] + first[3][0]
    assert inside[0][2][0] <= end + 10**9  # picoseconds; clocks agree to within a millisecond
    source = next(
        s[5][0].decode() for s in map(message, inside[0][4]) if known[s[1][0]] == "source"
    )
    assert source.startswith("test_profiler.py:")
    assert {"profile_start_time", "profile_stop_time"} == set(
        texts(planes["Task Environment"], 5).values()
    )


def test_every_thread_is_measured(tmp_path: Path) -> None:
    f = tf.function(lambda x: tf.exp(x))
    f(tf.ones([2]))
    experimental.start(tmp_path)
    thread = threading.Thread(target=lambda: f(tf.ones([2])))
    thread.start()
    thread.join()
    f(tf.ones([2]))
    experimental.stop()
    trace, planes = profiled(tmp_path)
    nodes = [e for e in trace["traceEvents"] if e.get("cat") == "node"]
    assert len({e["tid"] for e in nodes}) == 2
    assert len(planes["/host:CPU"][3]) == 2


def test_two_profiles_within_a_second_are_two_runs(tmp_path: Path) -> None:
    for _ in range(2):
        with experimental.Profile(tmp_path):
            tf.sqrt(tf.constant(2.0))
    assert len(list((tmp_path / "plugins" / "profile").iterdir())) == 2


def test_one_profile_at_a_time(tmp_path: Path) -> None:
    experimental.start(tmp_path, experimental.ProfilerOptions(host_tracer_level=3))
    with pytest.raises(errors.AlreadyExistsError, match="Another profiler is running"):
        experimental.start(tmp_path)
    experimental.stop(save=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(errors.UnavailableError, match="No profiler is running"):
        experimental.stop()
    with tf.profile(all_threads=True), pytest.raises(errors.AlreadyExistsError):
        experimental.start(tmp_path)


def test_a_trace_outside_of_a_profile_does_nothing() -> None:
    with experimental.Trace("train", step_num=1):
        assert float(tf.sqrt(tf.constant(4.0))) == 2.0


def test_an_empty_profile(tmp_path: Path) -> None:
    with experimental.Profile(tmp_path):
        pass
    trace, planes = profiled(tmp_path)
    assert [e["name"] for e in trace["traceEvents"]] == ["process_name"]
    assert set(planes) == {"/host:CPU", "Task Environment"}


def test_chrome_traces_name_threads_and_layers(tmp_path: Path) -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.name_scope("layer"):
            return tf.exp(x)

    with tf.profile() as p:
        f(tf.ones([3]))
    path = tmp_path / "trace.json"
    p.save_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    (node,) = [e for e in events if e.get("cat") == "node"]
    assert node["args"]["layer"] == "layer"
    named = {e["tid"] for e in events if e["name"] == "thread_name"}
    assert named == {e["tid"] for e in events if e["ph"] == "X"}
