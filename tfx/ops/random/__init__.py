"""``tfx.random``: random numbers, all from Philox4x32-10."""
