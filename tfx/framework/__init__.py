"""Tensors, variables and the one choke point ``apply``: eager execution and graph building."""
