"""Programs of small loops and small steps, in the style of probabilistic and numerical ones.

Each is a function of the module ``tf``, which runs in TensorFlow and here, and returns a function
and its arguments.
"""
