"""Libraries that use ONNX Runtime with options of their own work beside tfx, in any order.

Each ships its model in its wheel, so nothing but the package index is needed: magika tells types of
files, RapidOCR reads text in images (with a number of threads that the caller gives), and
faster-whisper finds speech in sound (one thread, no memory arena).
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
sys.path.append(sys.argv[1])  # after what tfx itself stands on
import numpy as np

def tfx():
    import tfx as tf
    assert float(tf.constant(1.0) + 1.0) == 2.0
    assert tf.function(lambda x: x @ x)(tf.ones([2, 2])).numpy().tolist() == [[2, 2], [2, 2]]

def magika():
    from magika import Magika
    text = b"import os\\n\\ndef f(x):\\n    return os.path.join(x, 'y')\\n" * 5
    assert Magika().identify_bytes(text).output.label == "python"

def rapidocr():
    from PIL import Image, ImageDraw
    from rapidocr_onnxruntime import RapidOCR
    image = Image.new("RGB", (220, 60), "white")
    ImageDraw.Draw(image).text((20, 15), "HELLO", fill="black", font_size=28)
    assert RapidOCR(intra_op_num_threads=2)(np.array(image))[0][0][1] == "HELLO"

def whisper():
    from faster_whisper.vad import get_speech_timestamps
    assert get_speech_timestamps(np.zeros(16000 * 3, np.float32)) == []

for name in sys.argv[2:]:
    globals()[name]()
print("fine")
"""
NAMES = ("tfx", "magika", "rapidocr", "whisper")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("neighbours")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
    command += ["magika==1.0.3", "rapidocr-onnxruntime==1.4.4", "faster-whisper==1.2.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        pytest.skip(f"the libraries cannot be installed: {done.stderr[-300:]}")
    return folder


@pytest.mark.proof
@pytest.mark.parametrize("order", list(itertools.permutations(NAMES)), ids=" ".join)
def test_libraries_work_beside_tfx(libraries: Path, order: tuple[str, ...]):
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(libraries), *order, "tfx"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "fine"
