"""The options that every optimizer takes besides its own, and what is wrong with some of them.

Constructors take them as ``**options: Unpack[Options]``: one place names, types and checks them.
"""

from __future__ import annotations

import difflib
from typing import Any, TypedDict

_FORMER = {"lr": "learning_rate", "decay": "a schedule of tfx.optimizers.schedules"}


class OtherOptions(TypedDict, total=False):
    """The options besides ``weight_decay``, which AdamW has among its own arguments."""

    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None


class Options(OtherOptions, total=False):
    """Keyword arguments common to all optimizers; see ``Optimizer`` for their meaning."""

    weight_decay: float | None


DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(Options.__annotations__),
    "use_ema": False,
    "ema_momentum": 0.99,
}


def checked(cls: str, options: Options) -> dict[str, Any]:
    """All options, defaults filled in.

    Raises:
        TypeError: an unknown option.
        ValueError: values out of range, or options that exclude each other.
    """
    for name in options:
        if name not in DEFAULTS:
            raise TypeError(
                f"{cls}: Argument(s) not recognized: {name!r}{_instead(name)}. Options of all "
                f"optimizers are {', '.join(DEFAULTS)}."
            )
    full = {**DEFAULTS, **options}
    clips = {n: full[n] for n in ("clipnorm", "clipvalue", "global_clipnorm")}
    if sum(v is not None for v in clips.values()) > 1:
        raise ValueError(
            "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
            + ", ".join(f"{n}={v}" for n, v in clips.items())
        )
    for name, value in clips.items():
        if value is not None and value < 0:
            raise ValueError(f"`{name}` must not be negative. Received: {name}={value}")
    if not 0 <= full["ema_momentum"] <= 1:
        raise ValueError(
            "`ema_momentum` must be in the range [0, 1]. Received: "
            f"ema_momentum={full['ema_momentum']}"
        )
    for name, least in (("ema_overwrite_frequency", 1), ("gradient_accumulation_steps", 2)):
        if full[name] is not None and (not isinstance(full[name], int) or full[name] < least):
            raise ValueError(
                f"`{name}` must be an integer >= {least} or None. Received: {name}={full[name]}"
            )
    return full


def _instead(name: str) -> str:
    known = _FORMER.get(name) or next(iter(difflib.get_close_matches(name, DEFAULTS, 1)), None)
    return f"; use {known}" if known else ""
