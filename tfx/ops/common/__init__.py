"""Helpers shared by the operation families: arguments, shapes, operators of tensors."""
