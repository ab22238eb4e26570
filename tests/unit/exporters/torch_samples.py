"""Torch modules that tests export: each has one thing that exporters get wrong easily."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn


class Tied(nn.Module):
    """Two layers with one weight, biases of equal values, a batch norm, a counter."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(dropout)
        self.last = nn.Linear(4, 4)
        self.last.weight = self.first.weight
        nn.init.zeros_(self.first.bias)
        nn.init.zeros_(self.last.bias)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)

    def forward(self, x: Any, mask: Any = None) -> Any:
        self.calls += 1
        hidden = self.drop(self.norm(torch.relu(self.first(x))))
        if mask is not None:
            hidden = hidden * mask
        return {"logits": self.last(hidden), "hidden": (hidden, hidden * self.scale)}

    def encode(self, x: Any) -> Any:
        """The first layer alone."""
        return self.first(x)


class Pair(NamedTuple):
    """Two results."""

    total: Any
    parts: Any


class Nested(nn.Module):
    """Takes and returns structures, and returns an argument as it is."""

    def forward(self, batch: dict[str, Any], *rest: Any, scale: Any, flag: bool = False) -> Any:
        total = batch["a"] + batch["b"][0] * scale + sum(rest)
        return Pair(-total if flag else total, [batch["b"][1], None, 3])


class Cache(nn.Module):
    """Keeps what it saw in a buffer, which it replaces."""

    seen: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3, 2))

    def forward(self, x: Any) -> Any:
        self.seen = torch.cat([self.seen[1:], x])
        return self.seen.sum(0)


class Branches(nn.Module):
    """Decides by the contents of a tensor."""

    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


class Inner(nn.Module):
    """Uses a function that ONNX has not."""

    def forward(self, x: Any) -> Any:
        return torch.special.bessel_j0(x)


class NoConversion(nn.Module):
    """Has a layer without conversion."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Any) -> Any:
        return self.inner(x) + 1


class InPlace(nn.Module):
    """Changes its argument."""

    def forward(self, x: Any) -> Any:
        x.add_(1)
        return x * 2


class Convolutions(nn.Module):
    """A small network for images."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        flat = self.body(x).flatten(2).transpose(1, 2)
        found, _ = self.attend(flat, flat, flat, need_weights=False)
        return self.head(found.mean(1))
