"""Operations that need traced loops or gradients of their own: CTC, quantization."""
