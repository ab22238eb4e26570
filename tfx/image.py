"""``tfx.image``: colours, geometry, sizes, boxes and comparisons of images."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.ops.image.boxes import crop_and_resize as crop_and_resize
from tfx.ops.image.boxes import draw_bounding_boxes as draw_bounding_boxes
from tfx.ops.image.boxes import non_max_suppression as non_max_suppression
from tfx.ops.image.boxes import non_max_suppression_padded as non_max_suppression_padded
from tfx.ops.image.boxes import non_max_suppression_with_scores as non_max_suppression_with_scores
from tfx.ops.image.color import adjust_brightness as adjust_brightness
from tfx.ops.image.color import adjust_contrast as adjust_contrast
from tfx.ops.image.color import adjust_gamma as adjust_gamma
from tfx.ops.image.color import adjust_hue as adjust_hue
from tfx.ops.image.color import adjust_saturation as adjust_saturation
from tfx.ops.image.color import convert_image_dtype as convert_image_dtype
from tfx.ops.image.color import grayscale_to_rgb as grayscale_to_rgb
from tfx.ops.image.color import hsv_to_rgb as hsv_to_rgb
from tfx.ops.image.color import per_image_standardization as per_image_standardization
from tfx.ops.image.color import rgb_to_grayscale as rgb_to_grayscale
from tfx.ops.image.color import rgb_to_hsv as rgb_to_hsv
from tfx.ops.image.color import rgb_to_yiq as rgb_to_yiq
from tfx.ops.image.color import rgb_to_yuv as rgb_to_yuv
from tfx.ops.image.color import yiq_to_rgb as yiq_to_rgb
from tfx.ops.image.color import yuv_to_rgb as yuv_to_rgb
from tfx.ops.image.combined_suppression import (
    combined_non_max_suppression as combined_non_max_suppression,
)
from tfx.ops.image.distorted_boxes import (
    sample_distorted_bounding_box as sample_distorted_bounding_box,
)
from tfx.ops.image.distorted_boxes import (
    stateless_sample_distorted_bounding_box as stateless_sample_distorted_bounding_box,
)
from tfx.ops.image.geometry import central_crop as central_crop
from tfx.ops.image.geometry import crop_to_bounding_box as crop_to_bounding_box
from tfx.ops.image.geometry import extract_patches as extract_patches
from tfx.ops.image.geometry import flip_left_right as flip_left_right
from tfx.ops.image.geometry import flip_up_down as flip_up_down
from tfx.ops.image.geometry import pad_to_bounding_box as pad_to_bounding_box
from tfx.ops.image.geometry import random_crop as random_crop
from tfx.ops.image.geometry import random_flip_left_right as random_flip_left_right
from tfx.ops.image.geometry import random_flip_up_down as random_flip_up_down
from tfx.ops.image.geometry import resize_with_crop_or_pad as resize_with_crop_or_pad
from tfx.ops.image.geometry import rot90 as rot90
from tfx.ops.image.geometry import transpose as transpose
from tfx.ops.image.glimpse import extract_glimpse as extract_glimpse
from tfx.ops.image.jpeg import adjust_jpeg_quality as adjust_jpeg_quality
from tfx.ops.image.jpeg import random_jpeg_quality as random_jpeg_quality
from tfx.ops.image.jpeg import stateless_random_jpeg_quality as stateless_random_jpeg_quality
from tfx.ops.image.quality import image_gradients as image_gradients
from tfx.ops.image.quality import psnr as psnr
from tfx.ops.image.quality import sobel_edges as sobel_edges
from tfx.ops.image.quality import ssim as ssim
from tfx.ops.image.quality import ssim_multiscale as ssim_multiscale
from tfx.ops.image.quality import total_variation as total_variation
from tfx.ops.image.random import random_brightness as random_brightness
from tfx.ops.image.random import random_contrast as random_contrast
from tfx.ops.image.random import random_hue as random_hue
from tfx.ops.image.random import random_saturation as random_saturation
from tfx.ops.image.random import stateless_random_brightness as stateless_random_brightness
from tfx.ops.image.random import stateless_random_contrast as stateless_random_contrast
from tfx.ops.image.random import stateless_random_hue as stateless_random_hue
from tfx.ops.image.random import stateless_random_saturation as stateless_random_saturation
from tfx.ops.image.resize import ResizeMethod as ResizeMethod
from tfx.ops.image.resize import resize as resize
from tfx.ops.image.resize_with_pad import resize_with_pad as resize_with_pad
from tfx.ops.image.resize_with_pad import stateless_random_crop as stateless_random_crop
from tfx.ops.image.resize_with_pad import (
    stateless_random_flip_left_right as stateless_random_flip_left_right,
)
from tfx.ops.image.resize_with_pad import (
    stateless_random_flip_up_down as stateless_random_flip_up_down,
)
from tfx.ops.io.pictures import decode_and_crop_jpeg as decode_and_crop_jpeg
from tfx.ops.io.pictures import decode_bmp as decode_bmp
from tfx.ops.io.pictures import decode_gif as decode_gif
from tfx.ops.io.pictures import decode_image as decode_image
from tfx.ops.io.pictures import decode_jpeg as decode_jpeg
from tfx.ops.io.pictures import encode_jpeg as encode_jpeg
from tfx.ops.io.pictures import extract_jpeg_shape as extract_jpeg_shape
from tfx.ops.io.pictures import is_jpeg as is_jpeg
from tfx.ops.io.png import decode_png as decode_png
from tfx.ops.io.png import encode_png as encode_png

_complete(__name__)
