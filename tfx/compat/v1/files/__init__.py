"""TensorFlow 1: what is read from files and written to them."""
