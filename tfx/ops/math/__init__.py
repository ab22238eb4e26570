"""``tfx.math``: arithmetic, reductions, special functions."""
