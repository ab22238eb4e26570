"""Programs such as TensorFlow's guides teach them, with the numbers that TensorFlow gives.

Each file is about one guide's subject and written with the public names alone: with ``tensorflow``
imported as ``tf`` in place of ``tfx`` it passes too, but for the tests that say so.
"""
