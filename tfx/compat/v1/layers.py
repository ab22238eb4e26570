"""``tfx.compat.v1.layers``: layers as objects and as functions."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.layer_classes.layer": "InputSpec Layer",
        "tfx.compat.v1.layer_classes.basic": """
            BatchNormalization Dense Dropout Flatten batch_normalization dense dropout flatten
        """,
        "tfx.compat.v1.layer_classes.convolutions": """
            Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose SeparableConv1D SeparableConv2D
            conv1d conv2d conv2d_transpose conv3d conv3d_transpose separable_conv1d
            separable_conv2d
        """,
        "tfx.compat.v1.layer_classes.pools": """
            AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D
            MaxPooling3D average_pooling1d average_pooling2d average_pooling3d max_pooling1d
            max_pooling2d max_pooling3d
        """,
    },
)
