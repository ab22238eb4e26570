"""``tfx.signal``: frames, windows, (lapped) cosine transforms and mel scales of real signals."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.signal.mdct import fftshift as fftshift
from tfx.ops.signal.mdct import ifftshift as ifftshift
from tfx.ops.signal.mdct import inverse_mdct as inverse_mdct
from tfx.ops.signal.mdct import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from tfx.ops.signal.mdct import kaiser_window as kaiser_window
from tfx.ops.signal.mdct import mdct as mdct
from tfx.ops.signal.spectral import dct as dct
from tfx.ops.signal.spectral import frame as frame
from tfx.ops.signal.spectral import hamming_window as hamming_window
from tfx.ops.signal.spectral import hann_window as hann_window
from tfx.ops.signal.spectral import idct as idct
from tfx.ops.signal.spectral import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from tfx.ops.signal.spectral import (
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from tfx.ops.signal.spectral import overlap_and_add as overlap_and_add
from tfx.ops.signal.spectral import vorbis_window as vorbis_window

_complete(__name__)
