"""``tfx.compat.v1.spectral``: spectral transforms by older names."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.ops.signal.fourier": """
            fft fft2d fft3d ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d
        """,
        "tfx.ops.signal.spectral": "dct idct",
    },
)
