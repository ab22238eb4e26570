"""Errors of other packages in one line of ours."""

from __future__ import annotations

_MOST = 300


def one_line(error: BaseException) -> str:
    r"""The class and the beginning of the text of an error, without a full stop.

    Example:
        >>> one_line(ValueError("no converter\nfor X."))
        'ValueError: no converter for X'
    """
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:_MOST].rstrip('.')}"
