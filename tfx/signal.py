"""``tfx.signal``: frames, windows, (lapped) cosine transforms and mel scales of real signals."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.lapped import fftshift as fftshift
from tfx.ops.lapped import ifftshift as ifftshift
from tfx.ops.lapped import inverse_mdct as inverse_mdct
from tfx.ops.lapped import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from tfx.ops.lapped import kaiser_window as kaiser_window
from tfx.ops.lapped import mdct as mdct
from tfx.ops.signal import dct as dct
from tfx.ops.signal import frame as frame
from tfx.ops.signal import hamming_window as hamming_window
from tfx.ops.signal import hann_window as hann_window
from tfx.ops.signal import idct as idct
from tfx.ops.signal import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from tfx.ops.signal import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from tfx.ops.signal import overlap_and_add as overlap_and_add
from tfx.ops.signal import vorbis_window as vorbis_window

_complete(__name__)
