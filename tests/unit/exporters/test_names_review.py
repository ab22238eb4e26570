"""File names that some system keeps for itself."""

import pytest

from tfx.exporters.names import FileNames


@pytest.mark.parametrize("name", ["con", "NUL", "Com1", "lpt9.x", "aux.live", "prn/x"])
def test_devices_of_windows(name):
    assert FileNames().stem(name) == "_" + name.replace("/", ".")


@pytest.mark.parametrize("name", ["console", "com", "nully", "com12", "x.con"])
def test_names_like_devices(name):
    assert FileNames().stem(name) == name
