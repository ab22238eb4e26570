"""NumPy's functions on tensors, with NumPy's names and dtypes; ``tfx.experimental.numpy``."""
