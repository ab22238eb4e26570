"""The graph: ONNX as our instruction set. The one package that touches onnx protobufs."""
