"""``tfx.signal``: frames, windows, cosine transforms and mel scales of real signals."""

from __future__ import annotations

from tfx.ops.signal import dct as dct
from tfx.ops.signal import frame as frame
from tfx.ops.signal import hamming_window as hamming_window
from tfx.ops.signal import hann_window as hann_window
from tfx.ops.signal import idct as idct
from tfx.ops.signal import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from tfx.ops.signal import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from tfx.ops.signal import overlap_and_add as overlap_and_add
from tfx.ops.signal import vorbis_window as vorbis_window
