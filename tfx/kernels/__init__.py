"""The library of fused kernels: element-wise loops that ONNX Runtime runs as one operator.

``program.c`` interprets programs of such loops; ``operator.c`` is the custom operator ``Fused``
that runs one. Plans of the machine at hand use it where the library was built; what is saved never
has it.
"""
