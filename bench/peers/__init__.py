"""The same calls in other frameworks, each in an environment of its own.

``python -m bench.peers`` drives them. A script ``with_x`` imports one framework and ``worker``,
which needs NumPy alone, and answers the driver's requests one at a time: only one process works.
The calls of TensorFlow and of tfx are the same program, ``tensorflow_calls``.
"""
