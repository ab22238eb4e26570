"""TensorFlow-named operations, one family a file, composed from ONNX operators through ``apply``.

An operator's gradient rule stands right below the functions that use it.
"""
