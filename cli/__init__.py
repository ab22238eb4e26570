"""The ``tfx`` command; installed as ``tfx.cli``.

It parses, calls and prints, and holds no logic of its own. Import it as ``tfx.cli``, never as
``cli``: that would make a second copy of every module.
"""
