"""``tfx.signal``: spectra, windows, cosine transforms."""
