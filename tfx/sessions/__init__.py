"""Graphs that are built first and run in parts later: TensorFlow 1's model, over traced functions.

A ``Graph`` is a ``FuncGraph`` in which reading and assigning a variable are nodes and the order of
operations is a set of edges beside them. ``resolve`` takes the part that some fetches need, turns
reads and assignments into values, and the result is an ordinary traced function. ``Session`` keeps
the variables' memory and calls such functions; ``wrap_function`` makes one of a whole graph.
"""
