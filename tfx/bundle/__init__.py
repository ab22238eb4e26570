"""The bundle format: its manifest, its variable store, and safe reading and writing of its files.

Owns what the bytes of a bundle mean. Must not know of ONNX protobufs, ONNX Runtime, tensors or
tracing: it deals in NumPy arrays, bytes and the plain records of ``manifest``. The one decision:
everything read from a bundle is untrusted, and is checked in full before anybody acts on it.
"""
