"""Signatures that functions show."""

from __future__ import annotations

import inspect
from typing import Any


def show_signature(function: Any, signature: inspect.Signature) -> None:
    """Set the signature that ``inspect.signature`` and ``help`` show for a function."""
    function.__signature__ = signature
