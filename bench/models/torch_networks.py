"""Networks of torchvision, timm and transformers with random weights, and their arguments.

Runs in the environment that has them. The sizes of images and of language models are small where
an architecture allows it: what is looked for are operators and how they are put together.
"""

# mypy: ignore-errors

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn


class Network(NamedTuple):
    """A network and the arguments that it is called with."""

    module: nn.Module
    arguments: tuple[Any, ...]


# By name: what makes a network.
NETWORKS: dict[str, Callable[[], Network]] = {}


class Picked(nn.Module):
    """Of what a network returns, the tensors under these names."""

    def __init__(self, inner: nn.Module, *picks: str, **fixed: Any) -> None:
        super().__init__()
        self.inner = inner
        self.picks = picks
        self.fixed = fixed

    def forward(self, *tensors: torch.Tensor, **named: torch.Tensor) -> Any:
        """Call the network, and take apart what comes."""
        result = self.inner(*tensors, **named, **self.fixed)
        found = tuple(result[p] for p in self.picks)
        return found[0] if len(found) == 1 else found


class Named(nn.Module):
    """A network of transformers, called by position."""

    def __init__(self, inner: nn.Module, names: tuple[str, ...], *picks: str, **fixed: Any) -> None:
        super().__init__()
        self.inner = inner
        self.names = names
        self.picks = picks
        self.fixed = fixed

    def forward(self, *tensors: torch.Tensor) -> Any:
        """Call the network with tensors by name."""
        named = dict(zip(self.names, tensors, strict=True))
        result = self.inner(**named, **self.fixed)
        found = tuple(getattr(result, p) for p in self.picks)
        return found[0] if len(found) == 1 else found


# torchvision ------------------------------------------------------------------------------------


def prepare() -> None:
    """Make torchvision usable, also its build for CUDA beside a torch without CUDA.

    Such a build has no operators of its own, for which it registers rules when it is imported.
    They are declared here; no network of the matrix runs them.
    """
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _kept.append(library)
        for module in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        importlib.import_module("torchvision")


# Declarations of operators, which last as long as these objects.
_kept: list[Any] = []


def _picture(size: int, batch: int = 2) -> tuple[torch.Tensor]:
    return (torch.randn(batch, 3, size, size),)


def _vision(name: str, size: int, **options: Any) -> Network:
    models = importlib.import_module("torchvision").models
    make = getattr(models, name, None) or getattr(models.segmentation, name)
    weights = {"weights": None}
    if hasattr(models.segmentation, name):
        weights["weights_backbone"] = None
    module = make(**weights, **options)
    if hasattr(models.segmentation, name):
        module = Picked(module, "out")
    return Network(module, _picture(size))


_VISION: dict[str, tuple[int, dict[str, Any]]] = {
    "alexnet": (96, {}),
    "vgg11_bn": (64, {"num_classes": 10}),
    "resnet18": (64, {}),
    "resnet50": (64, {}),
    "resnext50_32x4d": (64, {}),
    "wide_resnet50_2": (64, {}),
    "densenet121": (64, {}),
    "googlenet": (64, {"aux_logits": False, "init_weights": False}),
    "inception_v3": (96, {"aux_logits": False, "init_weights": False}),
    "squeezenet1_1": (64, {}),
    "shufflenet_v2_x1_0": (64, {}),
    "mobilenet_v2": (64, {}),
    "mobilenet_v3_small": (64, {}),
    "mobilenet_v3_large": (64, {}),
    "mnasnet1_0": (64, {}),
    "efficientnet_b0": (64, {}),
    "efficientnet_v2_s": (64, {}),
    "regnet_y_400mf": (64, {}),
    "regnet_x_400mf": (64, {}),
    "convnext_tiny": (64, {}),
    "vit_b_32": (64, {"image_size": 64}),
    "swin_t": (64, {}),
    "swin_v2_t": (64, {}),
    "maxvit_t": (224, {"input_size": (224, 224)}),  # windows of 7 in every stage
    "deeplabv3_mobilenet_v3_large": (64, {}),
    "lraspp_mobilenet_v3_large": (64, {}),
    "fcn_resnet50": (64, {}),
}
for _name, (_size, _options) in _VISION.items():
    NETWORKS[f"torchvision/{_name}"] = functools.partial(_vision, _name, _size, **_options)


# timm -------------------------------------------------------------------------------------------


def _timm(name: str, size: int | None, **options: Any) -> Network:
    import timm

    module = timm.create_model(name, pretrained=False, **options)
    return Network(module, _picture(size or module.default_cfg["input_size"][-1]))


_TIMM: dict[str, tuple[int | None, dict[str, Any]]] = {
    "mobilenetv4_conv_small": (64, {}),
    "efficientvit_b0": (64, {}),
    "ghostnet_100": (64, {}),
    "levit_128s": (None, {}),
    "mixer_s32_224": (64, {"img_size": 64}),
    "resmlp_12_224": (64, {"img_size": 64}),
    "deit_tiny_patch16_224": (64, {"img_size": 64}),
    "convmixer_768_32": (32, {}),
    "poolformer_s12": (64, {}),
    "repvgg_a0": (64, {}),
    "edgenext_xx_small": (64, {}),
    "mobilevit_xxs": (64, {}),
    "nfnet_l0": (64, {}),
    "hrnet_w18_small": (64, {}),
    "xcit_nano_12_p16_224": (64, {}),
    "tf_efficientnet_lite0": (64, {}),
    "eva02_tiny_patch14_224": (56, {"img_size": 56}),
    "coat_tiny": (64, {"img_size": 64}),
}
for _name, (_size, _options) in _TIMM.items():
    NETWORKS[f"timm/{_name}"] = functools.partial(_timm, _name, _size, **_options)


# transformers -----------------------------------------------------------------------------------

_SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 128,
    "max_position_embeddings": 64,
}


def _tokens(batch: int = 2, length: int = 9, vocabulary: int = 128) -> torch.Tensor:
    # Above the special tokens: a padding token would have positions of its own.
    return torch.randint(5, vocabulary, (batch, length))


def _mask(batch: int = 2, length: int = 9) -> torch.Tensor:
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[-1, -3:] = 0
    return mask


def _text(
    architecture: str, config: str, *picks: str, fixed: dict[str, Any] | None = None, **options: Any
) -> Network:
    import transformers

    module = getattr(transformers, architecture)(getattr(transformers, config)(**options))
    vocabulary = getattr(module.config, "vocab_size", 128)
    names = ("input_ids", "attention_mask")
    wrapped = Named(module, names, *picks, **(fixed or {}))
    return Network(wrapped, (_tokens(vocabulary=vocabulary), _mask()))


_CAUSAL = {"use_cache": False}
_GROUPED = {**_SMALL, "num_key_value_heads": 2}
_TEXT: dict[str, tuple[Any, ...]] = {
    "bert": ("BertModel", "BertConfig", ("last_hidden_state", "pooler_output"), None, _SMALL),
    "bert_base": ("BertModel", "BertConfig", ("last_hidden_state",), None, {}),
    "bert_masked": ("BertForMaskedLM", "BertConfig", ("logits",), None, _SMALL),
    "distilbert": (
        "DistilBertModel",
        "DistilBertConfig",
        ("last_hidden_state",),
        None,
        {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 128},
    ),
    "roberta": (
        "RobertaForSequenceClassification",
        "RobertaConfig",
        ("logits",),
        None,
        _SMALL,
    ),
    "albert": (
        "AlbertModel",
        "AlbertConfig",
        ("last_hidden_state",),
        None,
        {**_SMALL, "embedding_size": 16},
    ),
    "electra": (
        "ElectraForTokenClassification",
        "ElectraConfig",
        ("logits",),
        None,
        {**_SMALL, "embedding_size": 16},
    ),
    "deberta_v2": (
        "DebertaV2Model",
        "DebertaV2Config",
        ("last_hidden_state",),
        None,
        {**_SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "mpnet": ("MPNetModel", "MPNetConfig", ("last_hidden_state",), None, _SMALL),
    "modernbert": (
        "ModernBertModel",
        "ModernBertConfig",
        ("last_hidden_state",),
        None,
        {
            **_SMALL,
            "pad_token_id": 0,
            "cls_token_id": 1,
            "sep_token_id": 2,
            "eos_token_id": 2,
            "bos_token_id": 1,
        },
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        ("logits",),
        _CAUSAL,
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 128, "n_positions": 64},
    ),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", ("logits",), _CAUSAL, _SMALL),
    "opt": (
        "OPTForCausalLM",
        "OPTConfig",
        ("logits",),
        _CAUSAL,
        {**_SMALL, "ffn_dim": 64, "word_embed_proj_dim": 32},
    ),
    "bloom": (
        "BloomForCausalLM",
        "BloomConfig",
        ("logits",),
        _CAUSAL,
        {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 128},
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", ("logits",), _CAUSAL, _GROUPED),
    "mistral": (
        "MistralForCausalLM",
        "MistralConfig",
        ("logits",),
        _CAUSAL,
        {**_GROUPED, "sliding_window": 4},
    ),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", ("logits",), _CAUSAL, _GROUPED),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", ("logits",), _CAUSAL, {**_GROUPED, "head_dim": 8}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", ("logits",), _CAUSAL, {**_GROUPED, "head_dim": 8}),
    "gemma2": (
        "Gemma2ForCausalLM",
        "Gemma2Config",
        ("logits",),
        _CAUSAL,
        {**_GROUPED, "head_dim": 8, "sliding_window": 4},
    ),
    "phi": ("PhiForCausalLM", "PhiConfig", ("logits",), _CAUSAL, _SMALL),
    "falcon": (
        "FalconForCausalLM",
        "FalconConfig",
        ("logits",),
        _CAUSAL,
        {**_SMALL, "new_decoder_architecture": False},
    ),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        ("logits",),
        _CAUSAL,
        {**_GROUPED, "num_local_experts": 4},
    ),
    "mamba": (
        "MambaForCausalLM",
        "MambaConfig",
        ("logits",),
        _CAUSAL,
        {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 128, "state_size": 8},
    ),
}
for _name, (_architecture, _config, _picks, _fixed, _options) in _TEXT.items():
    NETWORKS[f"transformers/{_name}"] = functools.partial(
        _text, _architecture, _config, *_picks, fixed=_fixed, **_options
    )


def _network(name: str) -> Callable[[Callable[[], Network]], Callable[[], Network]]:
    def add(make: Callable[[], Network]) -> Callable[[], Network]:
        NETWORKS[name] = make
        return make

    return add


@_network("transformers/t5")
def _t5() -> Network:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=128, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    module = Named(T5ForConditionalGeneration(config), names, "logits", use_cache=False)
    return Network(module, (_tokens(), _mask(), _tokens(length=5)))


@_network("transformers/bart")
def _bart() -> Network:
    from transformers import BartConfig, BartModel

    config = BartConfig(
        vocab_size=128, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
        max_position_embeddings=64,
    )  # fmt: skip
    names = ("input_ids", "attention_mask", "decoder_input_ids")
    module = Named(BartModel(config), names, "last_hidden_state", use_cache=False)
    return Network(module, (_tokens(), _mask(), _tokens(length=5)))


@_network("transformers/whisper")
def _whisper() -> Network:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=128, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
        max_source_positions=32, max_target_positions=32, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None,
    )  # fmt: skip
    names = ("input_features", "decoder_input_ids")
    module = Named(WhisperForConditionalGeneration(config), names, "logits", use_cache=False)
    return Network(module, (torch.randn(2, 8, 64), _tokens(length=5)))


@_network("transformers/wav2vec2")
def _wav2vec2() -> Network:
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3),
        num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    return Network(Named(Wav2Vec2ForCTC(config), ("input_values",), "logits"),
                   (torch.randn(2, 1000),))  # fmt: skip


@_network("transformers/hubert")
def _hubert() -> Network:
    from transformers import HubertConfig, HubertModel

    config = HubertConfig(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
        num_feat_extract_layers=2, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    return Network(Named(HubertModel(config), ("input_values",), "last_hidden_state"),
                   (torch.randn(2, 800),))  # fmt: skip


@_network("transformers/clip")
def _clip() -> Network:
    from transformers import CLIPConfig, CLIPModel

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": 4}  # fmt: skip
    config = CLIPConfig(
        text_config={**sizes, "vocab_size": 128, "max_position_embeddings": 16, "eos_token_id": 127,
                     "bos_token_id": 126, "pad_token_id": 1},
        vision_config={**sizes, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )  # fmt: skip
    names = ("input_ids", "pixel_values")
    tokens = _tokens()
    tokens[:, -1] = 127
    module = Named(CLIPModel(config), names, "logits_per_image", "text_embeds")
    return Network(module, (tokens, torch.randn(3, 3, 32, 32)))


def _image(architecture: str, config: str, *picks: str, size: int = 32, **options: Any) -> Network:
    import transformers

    module = getattr(transformers, architecture)(getattr(transformers, config)(**options))
    return Network(Named(module, ("pixel_values",), *picks), _picture(size))


_PATCHED = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "image_size": 32, "patch_size": 8}  # fmt: skip
_IMAGES: dict[str, tuple[Any, ...]] = {
    "vit": ("ViTForImageClassification", "ViTConfig", ("logits",), _PATCHED),
    "deit": ("DeiTForImageClassification", "DeiTConfig", ("logits",), _PATCHED),
    "beit": ("BeitForImageClassification", "BeitConfig", ("logits",), _PATCHED),
    "dinov2": ("Dinov2Model", "Dinov2Config", ("last_hidden_state",), _PATCHED),
    "siglip_vision": ("SiglipVisionModel", "SiglipVisionConfig", ("pooler_output",), _PATCHED),
    "segformer": (
        "SegformerForSemanticSegmentation",
        "SegformerConfig",
        ("logits",),
        {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 1, 1, 1], "decoder_hidden_size": 24},
    ),
}
for _name, (_architecture, _config, _picks, _options) in _IMAGES.items():
    _size = 64 if _name == "segformer" else 32
    NETWORKS[f"transformers/{_name}"] = functools.partial(
        _image, _architecture, _config, *_picks, size=_size, **_options
    )


@_network("transformers/lstm_ctc")
def _lstm() -> Network:
    """No network of a package, but what recurrent networks of people look like."""

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(32, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.log_softmax(self.head(self.rnn(x)[0]), -1)

    return Network(Recurrent(), (torch.randn(2, 12, 8),))


NETWORKS["torch/lstm_ctc"] = NETWORKS.pop("transformers/lstm_ctc")


def randomized(module: nn.Module, seed: int) -> nn.Module:
    """The network for inference, with no two parameters alike and statistics that matter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in module.named_parameters():
            if p.ndim <= 1 or p.abs().max() < 1e-2:
                p.add_(torch.randn(p.shape, generator=generator) * 0.1)
            del name
        for m in module.modules():
            if isinstance(m, nn.BatchNorm2d | nn.BatchNorm1d) and m.running_mean is not None:
                m.running_mean.add_(torch.randn(m.running_mean.shape, generator=generator) * 0.1)
                m.running_var.mul_(torch.rand(m.running_var.shape, generator=generator) + 0.5)
    return module.eval()
