"""The image functions of the backend: colours, sizes, transforms and filters."""

from __future__ import annotations

from tfx.keras_backend.image.color import hsv_to_rgb as hsv_to_rgb
from tfx.keras_backend.image.color import rgb_to_grayscale as rgb_to_grayscale
from tfx.keras_backend.image.color import rgb_to_hsv as rgb_to_hsv
from tfx.keras_backend.image.filters import gaussian_blur as gaussian_blur
from tfx.keras_backend.image.filters import sobel_edges as sobel_edges
from tfx.keras_backend.image.resampling import scale_and_translate as scale_and_translate
from tfx.keras_backend.image.resize import resize as resize
from tfx.keras_backend.image.sampling import map_coordinates as map_coordinates
from tfx.keras_backend.image.transforms import affine_transform as affine_transform
from tfx.keras_backend.image.transforms import (
    compute_homography_matrix as compute_homography_matrix,
)
from tfx.keras_backend.image.transforms import elastic_transform as elastic_transform
from tfx.keras_backend.image.transforms import perspective_transform as perspective_transform
