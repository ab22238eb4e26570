"""``tfx.compat.v1.image``: images with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.ops.image.geometry": """
            resize_image_with_crop_or_pad=resize_with_crop_or_pad
            transpose_image=transpose
        """,
        "tfx.compat.v1.ops.image_ops": """
            ResizeMethod extract_glimpse resize resize_area resize_bicubic resize_bilinear
            resize_images=resize resize_nearest_neighbor
        """,
        "tfx.compat.v1.ops.argument_orders": """
            crop_and_resize draw_bounding_boxes extract_image_patches
            sample_distorted_bounding_box
        """,
    },
    others=("tfx.image",),
)
