"""Device names taken apart and put together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfx.runtime.device_spec import DeviceSpec

SPECS = st.builds(
    DeviceSpec,
    job=st.sampled_from([None, "localhost", "worker"]),
    replica=st.sampled_from([None, 0, 3]),
    task=st.sampled_from([None, 0, 1]),
    device_type=st.sampled_from(["CPU", "gpu"]),
    device_index=st.sampled_from([None, 0, 12]),
)


@given(SPECS)
def test_names_say_everything(spec):
    assert DeviceSpec.from_string(spec.to_string()) == spec
    assert hash(DeviceSpec().parse_from_string(spec.to_string())) == hash(spec)


@given(SPECS, SPECS)
def test_merging_takes_the_inner_one_where_it_says_something(outer, inner):
    merged = outer.make_merged_spec(inner)
    for part in ("job", "replica", "task", "device_type", "device_index"):
        said = getattr(inner, part)
        assert getattr(merged, part) == (getattr(outer, part) if said is None else said)


def test_as_text():
    spec = DeviceSpec("ps", 0, 1, "gpu", 2)
    assert spec.to_string() == "/job:ps/replica:0/task:1/device:GPU:2"
    assert "device_type=GPU, device_index=2" in repr(spec)
    assert (
        spec.replace(device_index=None, task=None).to_string() == "/job:ps/replica:0/device:GPU:*"
    )
    assert DeviceSpec().to_string() == ""
    assert spec != "/job:ps"


@pytest.mark.parametrize("name", ["foo", "/job", "device:", "task:x", "/CPU:1.5", "/cpu/gpu"])
def test_no_names(name):
    with pytest.raises(ValueError, match="is not a device name"):
        DeviceSpec.from_string(name)
