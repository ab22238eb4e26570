"""Training and inference of the model zoo beside TensorFlow, PyTorch and JAX."""
