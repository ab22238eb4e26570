"""ONNX models of others as graphs: any opset, local functions, nothing in them believed."""
