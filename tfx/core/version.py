"""The version of this distribution, for manifests and ``tfx.__version__``."""

from __future__ import annotations

VERSION = "0.1.0"
