"""Makes ``torch_models.npz``: models that PyTorch exported, and what PyTorch computes with them.

Run by hand, with torch and onnxscript installed; the tests need neither. For each model: the file,
an input, a weighting ``w``, the output ``y``, gradients of ``sum(w * y**2)``, the losses of four
steps of SGD on ``mean((y - w)**2)``, and the parameters after them.
"""

# mypy: ignore-errors
# ruff: noqa: D101, D102, D103, TID253

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

# What the older exporter is asked for.
_OPSETS = {"mlp": 9, "residual": 10, "lstm": 9, "encoder": 14}


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = kind(3, 4, batch_first=True, **options)
        self.head = nn.Linear(8 if options.get("bidirectional") else 4, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dropout=0.0)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.layer(x).mean(1))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 3, 3, stride=2)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return self.head(torch.relu(self.second(x)).mean((2, 3)))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(4)
        self.short = nn.Conv2d(3, 4, 1, stride=2, bias=False)
        self.short_norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        y = torch.relu(self.second_norm(self.second(y)) + self.short_norm(self.short(x)))
        return self.head(torch.flatten(nn.functional.adaptive_avg_pool2d(y, 1), 1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.places = nn.Parameter(torch.randn(5, 8) * 0.1)
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)
        self.mix = nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 12), nn.GELU(), nn.Linear(12, 8))
        self.head = nn.Linear(8, 7)

    def forward(self, tokens):
        x = self.embed(tokens) + self.places
        heads = [z.reshape(z.shape[0], 5, 2, 4).transpose(1, 2) for z in
                 self.qkv(self.norm(x)).chunk(3, -1)]  # fmt: skip
        y = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.mix(y.transpose(1, 2).reshape(x.shape))
        return self.head(x + self.mlp(x))


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, padding=1)
        self.groups = nn.GroupNorm(2, 4)
        self.slope = nn.PReLU(4)
        self.inner = nn.Conv2d(4, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)
        self.last = nn.Conv2d(7, 1, 1)

    def forward(self, x):
        a = self.slope(self.groups(self.down(x)))
        u = self.up(nn.functional.leaky_relu(self.inner(a)))
        u = nn.functional.interpolate(u, scale_factor=0.5, mode="bilinear")
        u = nn.functional.interpolate(u, scale_factor=2.0, mode="nearest")
        return self.last(torch.cat([a, u], 1))


def models():
    mlp = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 1))
    return {
        "mlp": (mlp, torch.randn(6, 4)),
        "convolutions": (Convolutions(), torch.randn(4, 2, 10, 10)),
        "residual": (Residual(), torch.randn(3, 3, 8, 8)),
        "lstm": (Recurrent(nn.LSTM, num_layers=2), torch.randn(3, 5, 3)),
        "gru": (Recurrent(nn.GRU, bidirectional=True), torch.randn(3, 5, 3)),
        "rnn": (Recurrent(nn.RNN), torch.randn(3, 5, 3)),
        "encoder": (Encoder(), torch.randn(2, 4, 8)),
        "decoder": (Decoder(), torch.randint(0, 7, (2, 5))),
        "images": (Images(), torch.randn(2, 2, 8, 8)),
    }


def exported(model, x, opset=None):
    names = {"input_names": ["x"], "output_names": ["y"], "verbose": False}
    buffer = io.BytesIO()
    if opset is None:
        recurrent = isinstance(model, Recurrent)
        shapes = None if recurrent else ({0: torch.export.Dim("batch")},)
        program = torch.onnx.export(
            model, (x,), dynamo=True, optimize=False, dynamic_shapes=shapes, **names
        )
        proto = program.model_proto
    else:
        torch.onnx.export(
            model, (x,), buffer, dynamo=False, dynamic_axes={"x": {0: "batch"}},
            do_constant_folding=False, opset_version=opset, **names,
        )  # fmt: skip
        proto = onnx.load_from_string(buffer.getvalue())
    return stripped(proto).SerializeToString()


def stripped(proto):
    """Without the exporter's notes, which tell where things were on its machine."""
    graphs = [proto.graph, *proto.functions]
    del proto.metadata_props[:], proto.graph.metadata_props[:], proto.graph.value_info[:]
    while graphs:
        item = graphs.pop()
        item.doc_string = ""
        for part in (*item.node, *getattr(item, "input", ()), *getattr(item, "initializer", ())):
            if hasattr(part, "doc_string"):
                part.doc_string = ""
                del part.metadata_props[:]
        for function_value in getattr(item, "value_info", ()):
            del function_value.metadata_props[:]
        graphs += [a.g for n in item.node for a in n.attribute if a.HasField("g")]
    return proto


def reference(model, x):
    found = {"x": x.numpy()}
    y = model(x)
    w = torch.randn(y.shape)
    found |= {"y": y.detach().numpy(), "w": w.numpy()}
    given = x.clone().requires_grad_(x.dtype.is_floating_point)
    (model(given) ** 2 * w).sum().backward()
    if given.grad is not None:
        found["gradient"] = given.grad.numpy()
    for name, parameter in model.named_parameters():
        found[f"gradient:{name}"] = parameter.grad.numpy().copy()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = ((model(x) - w) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found["losses"] = np.array(losses)
    for name, parameter in model.named_parameters():
        found[f"after:{name}"] = parameter.detach().numpy().copy()
    return found


def main():
    torch.manual_seed(0)
    arrays = {}
    for name, (model, x) in models().items():
        model.eval()
        for part in model.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.normal_(0, 0.2)
                part.running_var.uniform_(0.5, 1.5)
        with torch.no_grad():
            for parameter in model.parameters():  # exporters merge what is equal
                if parameter.ndim == 1:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
        files = {"new": exported(model, x)}
        if name in _OPSETS:
            files["old"] = exported(model, x, _OPSETS[name])
        for kind, data in files.items():
            arrays[f"{name}/{kind}"] = np.frombuffer(data, np.uint8)
        arrays |= {f"{name}/{key}": value for key, value in reference(model, x).items()}
    root = Path(__file__).parents[1]
    np.savez_compressed(root / "tests/unit/importing/torch_models.npz", **arrays)


if __name__ == "__main__":
    sys.exit(main())
