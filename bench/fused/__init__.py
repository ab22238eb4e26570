"""Programs of many small operators: with fused kernels, without, and on other frameworks."""
