"""``tf.linalg.LinearOperator`` and its family: matrices that are known by their structure.

``operator`` has the base class: a public method checks its arguments, asks the operator's own
method of the same name with an underscore, and has a default of dense matrices. A class overrides
what its structure makes cheaper. ``structure`` takes operators apart into tensors and puts them
together again; ``products`` is the table of what operator times operator is, and ``handlers`` that
of the public functions that take operators.
"""
