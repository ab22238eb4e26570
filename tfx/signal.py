"""``tfx.signal``: frames, windows, Fourier and (lapped) cosine transforms, mel scales."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.signal.fourier import fft as fft
from tfx.ops.signal.fourier import fft2d as fft2d
from tfx.ops.signal.fourier import fft3d as fft3d
from tfx.ops.signal.fourier import fftnd as fftnd
from tfx.ops.signal.fourier import ifft as ifft
from tfx.ops.signal.fourier import ifft2d as ifft2d
from tfx.ops.signal.fourier import ifft3d as ifft3d
from tfx.ops.signal.fourier import ifftnd as ifftnd
from tfx.ops.signal.fourier import irfft as irfft
from tfx.ops.signal.fourier import irfft2d as irfft2d
from tfx.ops.signal.fourier import irfft3d as irfft3d
from tfx.ops.signal.fourier import irfftnd as irfftnd
from tfx.ops.signal.fourier import rfft as rfft
from tfx.ops.signal.fourier import rfft2d as rfft2d
from tfx.ops.signal.fourier import rfft3d as rfft3d
from tfx.ops.signal.fourier import rfftnd as rfftnd
from tfx.ops.signal.mdct import fftshift as fftshift
from tfx.ops.signal.mdct import ifftshift as ifftshift
from tfx.ops.signal.mdct import inverse_mdct as inverse_mdct
from tfx.ops.signal.mdct import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from tfx.ops.signal.mdct import kaiser_window as kaiser_window
from tfx.ops.signal.mdct import mdct as mdct
from tfx.ops.signal.short_time import inverse_stft as inverse_stft
from tfx.ops.signal.short_time import inverse_stft_window_fn as inverse_stft_window_fn
from tfx.ops.signal.short_time import stft as stft
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
