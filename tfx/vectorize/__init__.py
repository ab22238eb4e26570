"""Batching: a traced function applied to all elements of a batch at once.

``batcher`` walks the graph of the function with the rules of ``ops.common.batching``, and
``if_batching`` and ``loop_batching`` convert what holds graphs. ``vectorized_map`` is the public
function, ``jacobian`` what the tape's methods use.
"""
