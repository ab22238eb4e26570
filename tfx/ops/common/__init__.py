"""What the operation families share: arguments, shapes, operators of tensors."""
