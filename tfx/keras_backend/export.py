"""``model.export``: a bundle of a Keras model."""

from __future__ import annotations


class TfxExportArchive:
    """Placeholder until the bundle of Keras models is written."""
