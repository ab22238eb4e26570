"""The programs in PyTorch, eagerly, with its own layers: images have the channels first.

They are on the device that is torch's default when they are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from bench.zoo import programs
from bench.zoo.programs import Maker, Program


def makers() -> dict[str, Maker]:
    """What makes the programs."""
    return {
        "mlp": _mlp,
        "convnet": _convnet,
        "resnet50": _resnet50,
        "char_lstm": lambda batch: _writer(_CharLstm(), batch, torch.optim.Adam, lr=3e-3),
        "decoder": lambda batch: _writer(
            _Decoder(), batch, torch.optim.AdamW, lr=2e-3, weight_decay=0.01
        ),
        "vae": _vae,
    }


def _given(array: Any) -> Any:
    """A tensor on the device where models are made."""
    return torch.from_numpy(array).to(torch.get_default_device())


def _wait(result: Any) -> Any:
    """Return when the device has made a result."""
    if result.is_cuda:
        torch.cuda.synchronize()
    return result


def _program(
    model: Any, loss: Callable[[], Any], given: Any, optimizer: Any, clip: float | None = None
) -> Program:
    weights = list(model.parameters())

    def train() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(weights, clip)
        optimizer.step()
        return value.detach()

    def infer() -> Any:
        model.eval()
        with torch.inference_mode():
            result = model(given)
        model.train()
        return result

    return Program(train, infer, _wait, sum(w.numel() for w in weights))


def _classifier(model: Any, x: Any, y: Any, kind: Any, **options: Any) -> Program:
    optimizer = kind(model.parameters(), **options)
    return _program(model, lambda: F.cross_entropy(model(x), y), x, optimizer)


def _images(batch: int, side: int, channels: int, classes: int) -> tuple[Any, Any]:
    x, y = programs.images(batch, channels, side, side, classes=classes)
    return _given(x), _given(y)


def _mlp(batch: int) -> Program:
    a, b, c, d = programs.MLP_WIDTHS
    relu = nn.ReLU
    model = nn.Sequential(nn.Linear(a, b), relu(), nn.Linear(b, c), relu(), nn.Linear(c, d))
    x, y = map(_given, programs.images(batch, a))
    return _classifier(model, x, y, torch.optim.Adam, lr=1e-3)


def _convnet(batch: int) -> Program:
    first, second, units = programs.CONVNET
    layers: list[Any] = []
    for before, after in ((1, first), (first, second)):
        layers += [nn.Conv2d(before, after, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(49 * second, units), nn.ReLU(), nn.Linear(units, 10)]
    x, y = _images(batch, 28, 1, 10)
    return _classifier(nn.Sequential(*layers), x, y, torch.optim.SGD, lr=0.01)


class _Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(
            *_conv(channels, width, 1, 1),
            nn.ReLU(),
            *_conv(width, width, 3, stride),
            nn.ReLU(),
            *_conv(width, 4 * width, 1, 1),
        )
        same = stride == 1 and channels == 4 * width
        self.shortcut = (
            nn.Identity() if same else nn.Sequential(*_conv(channels, 4 * width, 1, stride))
        )

    def forward(self, x: Any) -> Any:
        return F.relu(self.path(x) + self.shortcut(x))


def _conv(channels: int, width: int, size: int, stride: int) -> list[Any]:
    conv = nn.Conv2d(channels, width, size, stride, size // 2, bias=False)
    return [conv, nn.BatchNorm2d(width)]


def _resnet50(batch: int) -> Program:
    layers: list[Any] = [*_conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, depth in enumerate((3, 4, 6, 3)):
        for i in range(depth):
            width = 64 << stage
            layers.append(_Bottleneck(channels, width, 2 if stage and not i else 1))
            channels = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]
    x, y = _images(batch, 224, 3, 1000)
    return _classifier(nn.Sequential(*layers), x, y, torch.optim.SGD, lr=0.1, momentum=0.9)


def _writer(model: Any, batch: int, kind: Any, **options: Any) -> Program:
    tokens = _given(programs.texts(batch))
    optimizer = kind(model.parameters(), **options)

    def loss() -> Any:
        logits = model(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    return _program(model, loss, tokens[:, :-1], optimizer, programs.CLIP)


class _CharLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.characters = nn.Embedding(programs.VOCABULARY, programs.LSTM_WIDTH)
        self.lstm = nn.LSTM(programs.LSTM_WIDTH, programs.LSTM_UNITS, batch_first=True)
        self.logits = nn.Linear(programs.LSTM_UNITS, programs.VOCABULARY)

    def forward(self, tokens: Any) -> Any:
        return self.logits(self.lstm(self.characters(tokens))[0])


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.RMSNorm(width, 1e-6), nn.RMSNorm(width, 1e-6)])
        self.project, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: Any) -> Any:
        batch, time, width = x.shape
        parts = self.project(self.norms[0](x)).view(batch, time, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.merge(found.transpose(1, 2).reshape(batch, time, width))
        return x + self.narrow(F.gelu(self.widen(self.norms[1](x))))


class _Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        width = programs.DECODER_WIDTH
        self.characters = nn.Embedding(programs.VOCABULARY, width)
        self.places = nn.Embedding(programs.TEXT, width)
        blocks = [_Block(width, programs.HEADS) for _ in range(programs.DEPTH)]
        self.blocks = nn.Sequential(*blocks)
        self.norm, self.logits = nn.RMSNorm(width, 1e-6), nn.Linear(width, programs.VOCABULARY)

    def forward(self, tokens: Any) -> Any:
        places = self.places(torch.arange(tokens.shape[1]))
        return self.logits(self.norm(self.blocks(self.characters(tokens) + places)))


def _vae(batch: int) -> Program:
    code, units, pixels = programs.VAE_CODE, programs.VAE_UNITS, programs.PIXELS

    def perceptron(*widths: int) -> Any:
        a, b, c, d = widths
        return nn.Sequential(
            nn.Linear(a, b), nn.ReLU(), nn.Linear(b, c), nn.ReLU(), nn.Linear(c, d)
        )

    encoder = perceptron(pixels, units, units, 2 * code)
    decoder = perceptron(code, units, units, pixels)
    x = _given(programs.digits(batch)).flatten(1)
    weights = nn.ModuleList([encoder, decoder])

    def loss() -> Any:
        mean, log_variance = encoder(x).chunk(2, 1)
        logits = decoder(mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean))
        of_pixels = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1)
        return (of_pixels + divergence).mean()

    optimizer = torch.optim.Adam(weights.parameters(), lr=1e-3)
    given = _given(programs.codes(batch))
    program = _program(decoder, loss, given, optimizer)
    return program._replace(parameters=sum(w.numel() for w in weights.parameters()))
