"""Examples and lines of CSV as tensors."""
