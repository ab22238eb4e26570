"""Everything that reads a bundle in Python; installed as ``tfx.loaders``.

It must stay usable without ``onnx`` and without the tracing packages: it knows ``tfx.core``,
``tfx.bundle`` and ``tfx.runtime`` only. Import it as ``tfx.loaders``, never as ``loaders``.
"""
