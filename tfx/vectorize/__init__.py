"""Batching: a traced function applied to all elements of a batch at once.

``rules`` is the table of batching rules by ONNX operator, the ``rules_*`` files fill it,
``convert`` walks a graph with them. ``mapping`` is ``vectorized_map``, ``jacobians`` what the
tape's methods use.
"""
