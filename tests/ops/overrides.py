"""Node tests that cannot pass, each with the reason, and tolerances that differ."""

from __future__ import annotations

import onnxruntime

# Relative and absolute tolerance by operator.
TOLERANCE = {
    # The cases have the results in four decimals.
    "AveragePool": (1e-5, 1e-4),
    "GridSample": (1e-5, 1e-4),
    "RoiAlign": (1e-5, 1e-4),
    # Sums that cancel: their errors are parts of the largest results, of some hundreds.
    "DFT": (1e-5, 1e-3),
    "STFT": (1e-5, 1e-3),
    "Resize": (1e-5, 2e-5),
}

_WHY = {
    "ONNX Runtime differs from the reference here": """
        test_maxunpool_export_with_output_shape
        test_resize_downsample_scales_cubic_align_corners
        test_resize_downsample_scales_linear_align_corners
    """,
    "ONNX Runtime has no kernel": """
        test_image_decoder_decode_bmp_rgb
        test_image_decoder_decode_jpeg2k_rgb
        test_image_decoder_decode_jpeg_bgr
        test_image_decoder_decode_jpeg_grayscale
        test_image_decoder_decode_jpeg_rgb
        test_image_decoder_decode_png_rgb
        test_image_decoder_decode_pnm_rgb
        test_image_decoder_decode_tiff_rgb
        test_image_decoder_decode_webp_rgb
    """,
    "ONNX Runtime has unsigned 8, 32 and 64 bit only; signed types are newer than opset 21": """
        test_bitshift_left_int16
        test_bitshift_left_int32
        test_bitshift_left_int32_negative_shift
        test_bitshift_left_int32_overflow
        test_bitshift_left_int32_shift_ge_width
        test_bitshift_left_int64
        test_bitshift_left_int8
        test_bitshift_left_int8_negative_shift
        test_bitshift_left_int8_overflow
        test_bitshift_left_int8_shift_ge_width
        test_bitshift_left_uint16
        test_bitshift_right_int16
        test_bitshift_right_int32
        test_bitshift_right_int32_negative_input
        test_bitshift_right_int32_negative_shift
        test_bitshift_right_int32_shift_ge_width
        test_bitshift_right_int64
        test_bitshift_right_int8
        test_bitshift_right_int8_negative_input
        test_bitshift_right_int8_negative_shift
        test_bitshift_right_int8_shift_ge_width
        test_bitshift_right_uint16
    """,
    "ONNX Runtime lacks this variant": """
        test_attention_3d_local_window
        test_attention_4d_diff_heads_mask4d_padded_kv
        test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal
        test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal
        test_attention_bidirectional_window
        test_attention_local_window
        test_attention_local_window_default
        test_attention_local_window_ext_cache_float16_mask
        test_attention_local_window_ext_cache_rank2_mask
        test_attention_local_window_ext_cache_rank3_head_mask
        test_attention_local_window_ext_cache_rank4_batch_mask
        test_attention_local_window_gqa_rank4_mask
        test_attention_local_window_rank1_boolean_mask
        test_attention_local_window_with_past
    """,
    "ONNX Runtime refuses empty sets of bool": """
        test_reduce_max_empty_set_bool
    """,
    "ONNX Runtime takes per-tensor zero points only": """
        test_convinteger_with_padding
    """,
    "bool is bit-packed in the test only": """
        test_bitcast_bool_to_uint8
    """,
    "float16 is newer than opset 21": """
        test_range_float16_type_positive_delta
    """,
    "float32 only at opset 21": """
        test_celu_float16
    """,
    "floats need fmod=1 before opset 28": """
        test_mod_float16_mixed_sign_fmod_0
        test_mod_float32_mixed_sign_fmod_0
        test_mod_float64_mixed_sign_fmod_0
        test_mod_float_edge_cases_fmod_0_float16
        test_mod_float_edge_cases_fmod_0_float32
        test_mod_float_edge_cases_fmod_0_float64
    """,
    "needs a locale that the machine may lack": """
        test_strnormalizer_export_monday_casesensintive_lower
        test_strnormalizer_export_monday_casesensintive_upper
        test_strnormalizer_export_monday_empty_output
        test_strnormalizer_export_monday_insensintive_upper_twodim
    """,
    "random": """
        test_bernoulli
        test_bernoulli_double
        test_bernoulli_seed
        test_training_dropout
        test_training_dropout_default
        test_training_dropout_default_mask
        test_training_dropout_mask
    """,
}

# What release 1.32 of ONNX Runtime runs, and right; those before it do not.
_SINCE_1_32 = """
    test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal
    test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal
    test_attention_4d_diff_heads_mask4d_padded_kv test_attention_local_window
    test_attention_bidirectional_window test_attention_local_window_default
    test_attention_local_window_rank1_boolean_mask test_attention_local_window_with_past
    test_attention_local_window_ext_cache_rank3_head_mask
    test_attention_local_window_ext_cache_rank4_batch_mask
    test_attention_local_window_ext_cache_rank2_mask
    test_attention_local_window_ext_cache_float16_mask test_attention_3d_local_window
    test_attention_local_window_gqa_rank4_mask
    test_bitshift_right_uint16 test_bitshift_left_uint16
"""
RELEASE = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
_MENDED = set(_SINCE_1_32.split()) if RELEASE >= (1, 32) else set()
REFUSED = {
    name: why for why, names in _WHY.items() for name in names.split() if name not in _MENDED
}

# These depend on chance or on the machine: they are not run.
_CHANCE = ("random", "needs a locale that the machine may lack")
UNSTABLE = {name for name, why in REFUSED.items() if why in _CHANCE}
