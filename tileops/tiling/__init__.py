"""What several kernel families share: strides as rows (`strides`) or as kept by reduced elements
(`view`), launch configurations (`config`, and `plan` for reductions), and device functions
(`device`, and `codes` for quantization, the modules here that import triton)."""
