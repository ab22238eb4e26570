"""Parts of ``Variable``: how it begins, scatter updates, TensorFlow 1's names, observers."""
