"""``tfx.compat.v1.nn``: neural networks with TensorFlow 1's arguments."""

from __future__ import annotations

from tfx.core.lazy_namespaces import lazy_namespace

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        "tfx.compat.v1.ops.nn_ops": """
            avg_pool conv2d ctc_beam_search_decoder ctc_loss dilation2d dropout erosion2d
            l2_normalize log_softmax max_pool moments relu_layer
            batch_norm_with_global_normalization depthwise_conv2d_native fractional_avg_pool
            fractional_max_pool fused_batch_norm sigmoid_cross_entropy_with_logits softmax
            softmax_cross_entropy_with_logits
            softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
            xw_plus_b
        """,
        "tfx.compat.v1.ops.argument_orders": """
            avg_pool2d conv1d conv2d_transpose conv3d conv3d_transpose convolution crelu
            depth_to_space depthwise_conv2d embedding_lookup embedding_lookup_sparse
            in_top_k max_pool_with_argmax nce_loss pool safe_embedding_lookup_sparse
            sampled_softmax_loss separable_conv2d space_to_batch space_to_depth
            sufficient_statistics weighted_cross_entropy_with_logits weighted_moments
        """,
        "tfx.compat.v1.recurrent": "rnn_cell",
        "tfx.compat.v1.recurrent.run_cells": """
            bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn
        """,
        "tfx.nn_ops.convolution_backprop": """
            conv2d_backprop_filter conv2d_backprop_input conv3d_backprop_filter
            conv3d_backprop_filter_v2=conv3d_backprop_filter
            depthwise_conv2d_native_backprop_filter=depthwise_conv2d_backprop_filter
            depthwise_conv2d_native_backprop_input=depthwise_conv2d_backprop_input
        """,
        "tfx.nn_ops.ctc_loss": "ctc_loss_v2=ctc_loss",
        "tfx.ops.nn.candidate_samplers": """
            log_uniform_candidate_sampler uniform_candidate_sampler
        """,
        "tfx.ops.nn.pooling": "avg_pool_v2=avg_pool max_pool_v2=max_pool",
        "tfx.sparse_ops.ctc_decoding": "ctc_beam_search_decoder_v2=ctc_beam_search_decoder",
    },
    others=("tfx.nn",),
)
