"""What classes of different layers have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self, cast


class Immutable:
    """An object that never changes is its own copy."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class Closing:
    """A ``with`` block closes it at its end."""

    __slots__ = ()

    def close(self) -> None:
        """Let go of what is open."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class AsJson:
    """A dataclass whose fields JSON can hold."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as objects that JSON can hold."""
        fields: dict[str, Any] = dataclasses.asdict(cast(Any, self))
        return fields


class FromConfig:
    """Can be made again from the arguments of its constructor."""

    __slots__ = ()

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The object whose ``get_config`` returned ``config``."""
        return cls(**config)


def class_name_of(config: Any) -> str:
    """The name of the class in ``{"class_name": ..., "config": ...}``, as ``serialize`` makes it.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(config, Mapping) or not isinstance(config.get("class_name"), str):
        raise ValueError(
            f"Unknown config={config!r}; expected {{'class_name': ..., 'config': ...}}, as "
            "serialize() makes it."
        )
    return str(config["class_name"])


class Configured(FromConfig):
    """Its attributes are the arguments of its constructor."""

    __slots__ = ()

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor that make an equal object."""
        return dict(vars(self))
