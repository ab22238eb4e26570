"""``tfx.audio``: sounds as the bytes of WAV files."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.io.wav import decode_wav as decode_wav
from tfx.ops.io.wav import encode_wav as encode_wav

_complete(__name__)
