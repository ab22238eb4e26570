"""Values that are made of tensors: extension types, optional values, slices of few rows."""
