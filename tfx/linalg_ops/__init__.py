"""Decompositions of matrices, which ONNX lacks: loops of ordinary operators, traced once.

A decomposition is a *composite* (one session eagerly, one called graph in a trace) with a
``custom_gradient`` that is a formula of other decompositions. It must know nothing of models.
"""
