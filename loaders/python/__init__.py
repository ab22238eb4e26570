"""Everything that reads a bundle in Python; installed as ``tfx.loaders``.

It must stay usable without ``onnx`` and without the tracing packages: it knows ``tfx.core``,
``tfx.bundle`` and ``tfx.runtime`` only. Names are fetched when first used: the command line asks
for few of them, and ONNX Runtime takes its time to import. Import it as ``tfx.loaders``, never as
``loaders``: that would make a second copy of every module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfx.core.namespaces import MissingNameError, complete

if TYPE_CHECKING:
    from tfx.loaders.bundle import Bundle as Bundle
    from tfx.loaders.signature import SignatureInfo as SignatureInfo
    from tfx.loaders.state import Variables as Variables
    from tfx.loaders.summary import BundleSummary as BundleSummary
    from tfx.loaders.summary import summarize as summarize
    from tfx.loaders.verify_bundle import Check as Check
    from tfx.loaders.verify_bundle import VerifyReport as VerifyReport
    from tfx.loaders.verify_bundle import verify as verify

_NAMES = {
    "Bundle": "tfx.loaders.bundle",
    "BundleSummary": "tfx.loaders.summary",
    "Check": "tfx.loaders.verify_bundle",
    "SignatureInfo": "tfx.loaders.signature",
    "Variables": "tfx.loaders.state",
    "VerifyReport": "tfx.loaders.verify_bundle",
    "summarize": "tfx.loaders.summary",
    "verify": "tfx.loaders.verify_bundle",
}


def __getattr__(name: str) -> Any:
    module = _NAMES.get(name)
    if module is None:
        raise MissingNameError(__name__, name)
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


__all__ = [*_NAMES]

complete(__name__)
