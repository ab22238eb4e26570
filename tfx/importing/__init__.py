"""Models of others as objects: called, differentiated, trained, saved, and given back as ONNX."""
