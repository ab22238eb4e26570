"""The models of the matrix, by name: ``SOURCE/MODEL``, and the worker that checks each.

Only names are here: what makes a model stands in the worker, which needs its framework.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """A model.

    Attributes:
        name: ``SOURCE/MODEL``.
        framework: The worker, ``with_FRAMEWORK``, and what ``--use`` names an environment by.
    """

    name: str
    framework: str


_TRANSFORMERS = """
bert bert_masked distilbert roberta albert electra deberta_v2 mpnet modernbert gpt2
gpt_neox opt bloom llama mistral qwen2 qwen3 gemma gemma2 phi falcon mixtral mamba t5 bart whisper
wav2vec2 hubert clip vit deit beit dinov2 siglip_vision segformer
"""
_TORCHVISION = """
alexnet vgg11_bn resnet18 resnet50 resnext50_32x4d wide_resnet50_2 densenet121 googlenet
inception_v3 squeezenet1_1 shufflenet_v2_x1_0 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large
mnasnet1_0 efficientnet_b0 efficientnet_v2_s regnet_y_400mf regnet_x_400mf convnext_tiny vit_b_32
swin_t swin_v2_t maxvit_t deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large fcn_resnet50
"""
_TIMM = """
mobilenetv4_conv_small efficientvit_b0 ghostnet_100 levit_128s mixer_s32_224 resmlp_12_224
deit_tiny_patch16_224 convmixer_768_32 poolformer_s12 repvgg_a0 edgenext_xx_small mobilevit_xxs
nfnet_l0 hrnet_w18_small xcit_nano_12_p16_224 tf_efficientnet_lite0 eva02_tiny_patch14_224 coat_tiny
"""
_SKLEARN = """
linear_regression ridge lasso logistic_regression mlp_classifier mlp_regressor svc svr gaussian_nb
k_neighbors decision_tree random_forest gradient_boosting k_means pca scaler_logistic
polynomial_logistic tfidf_logistic
"""
_KERAS = """
mobilenet mobilenet_v2 mobilenet_v3_small mobilenet_v3_large efficientnet_b0 efficientnet_v2_b0
resnet50 resnet50_v2 densenet121 inception_v3 xception nasnet_mobile vgg16 convnext_tiny
"""
_SOURCES = (
    ("transformers", "torch", _TRANSFORMERS),
    ("torch", "torch", "lstm_ctc"),
    ("torchvision", "torch", _TORCHVISION),
    ("timm", "torch", _TIMM),
    ("sklearn", "sklearn", _SKLEARN),
    ("xgboost", "sklearn", "classifier regressor"),
    ("lightgbm", "sklearn", "classifier regressor"),
    ("keras", "keras", _KERAS),
    ("jax", "jax", "mlp cnn transformer gru"),
    ("flax", "jax", "mlp cnn resnet transformer vit lstm nnx_mlp nnx_cnn"),
    ("equinox", "jax", "mlp cnn"),
)
CATALOG = [
    Entry(f"{source}/{model}", framework)
    for source, framework, models in _SOURCES
    for model in models.split()
]
