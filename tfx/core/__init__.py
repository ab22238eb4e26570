"""Facts that every other layer needs and that need no other layer.

Owns error classes, dtypes, shapes, type specs, nested structures and the search for the
user's own stack frame. It knows nothing of graphs, tensors, files or ONNX Runtime. Import
from the submodules: this package re-exports nothing, so that it costs nothing to import.
"""
