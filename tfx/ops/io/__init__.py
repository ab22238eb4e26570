"""``tfx.io``: files, PNG images and tensors as bytes."""
