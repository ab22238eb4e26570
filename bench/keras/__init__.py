"""The same Keras programs on the backends tfx, TensorFlow and JAX."""
