"""Lookup tables: from words to numbers and back, as operators over a vocabulary.

A table is built of standard ONNX operators (``vocabulary_index``), so a function that looks
something up runs in any ONNX Runtime, in Node and in browsers too, and needs no file beside it.
"""
