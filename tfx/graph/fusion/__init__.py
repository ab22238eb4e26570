"""Plans of this machine whose element-wise operators run together, by the fused kernels."""
