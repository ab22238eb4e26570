"""Parts of ``Variable``: scatter updates, names of TensorFlow 1, and who is told of assignments."""
