"""``tfx.nn``: activations, convolutions, pools, normalization, losses."""
