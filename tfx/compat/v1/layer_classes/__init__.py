"""TensorFlow 1's layers: objects that make their variables with ``get_variable``."""
