"""Without ONNX Runtime, or with half of one, `import tfx` says what to type."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

# What the finder and the metadata say is put in place of what is really there.
PROGRAM = """
    import importlib.machinery
    import sys
    from importlib import metadata

    LEFT, INSTALLED = {left!r}, {installed!r}

    def version(name):
        if name in INSTALLED:
            return INSTALLED[name]
        raise metadata.PackageNotFoundError(name)

    import tfx.core.onnxruntime_wheels as wheels  # imports tfx, with what is really there
    metadata.version = version
    wheels.find_spec = lambda name: importlib.machinery.ModuleSpec(name, None) if LEFT else None
    del sys.modules["tfx"]
    try:
        import tfx
    except ImportError as e:
        print(e.name, e)
    else:
        print("imported")
"""


def _message(left: bool, installed: dict[str, str]) -> str:
    code = textwrap.dedent(PROGRAM).format(left=left, installed=installed)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_none_is_installed():
    text = _message(False, {})
    assert text.startswith("onnxruntime tfx runs on ONNX Runtime, and none is installed")
    assert "`pip install onnxruntime`" in text
    assert "`pip install 'onnxruntime-gpu[cuda,cudnn]'`" in text


@pytest.mark.parametrize(
    ("installed", "command"),
    [
        ({"onnxruntime": "1.32.0"}, "onnxruntime==1.32.0"),
        ({"onnxruntime-gpu": "1.31.1"}, "onnxruntime-gpu==1.31.1"),
        ({"onnxruntime": "1.32.0", "onnxruntime-gpu": "1.31.1"}, "onnxruntime-gpu==1.31.1"),
    ],
    ids=str,
)
def test_one_of_two_was_removed(installed, command):
    """The folder is left without the files that both had."""
    text = _message(True, installed)
    assert f"`pip install --force-reinstall --no-deps {command}`" in text


def test_what_is_there_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", "import tfx; print(tfx.constant(2.0).numpy())"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.strip() == "2.0", done.stderr
