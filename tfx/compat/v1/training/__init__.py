"""TensorFlow 1's optimizers, losses, learning rates and ``Saver``."""
