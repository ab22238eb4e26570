"""Functional control flow: ``cond``, ``while_loop``, ``TensorArray`` and what is made of them."""
