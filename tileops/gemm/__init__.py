"""Dense matrix products. One class per operator; kernels load on first use."""

from __future__ import annotations

from tileops.gemm import reference
from tileops.runtime.op import Kernel, Op, Policy

__all__ = ["GEMMFwdOp"]


class GEMMFwdOp(Op):
    """Matrix product of two matrices, either one stored transposed.

    `d[m, n] = sum_k A[m, k] * B[k, n]`, summed in float32 and rounded once to the inputs' dtype.
    By default `b` is stored as a linear layer's weight is: one row per output column.

    Shapes:
        a: [M, K], or [K, M] with trans_a; float16, bfloat16 or float32, any strides.
        b: [N, K] with trans_b (the default), or [K, N] without; a's dtype, any strides.
        d: [M, N], a's dtype, contiguous. K = 0 gives zeros.

    Errors:
        CallError when a rank, dtype or device is wrong, or when a and b disagree about K.

    Reference: torch.mm

    Compiled for CUDA it is torch.mm, under PyTorch's settings of precision, unless
    `tileops.boundary_policy` says otherwise: host time of a node is more than the kernels gain.
    """

    policy = Policy(cuda="reference")
    reference = staticmethod(reference.gemm)
    kernel_types = {
        "descriptor": Kernel("tileops.gemm.gemm_descriptor:launch_descriptor"),
        "split_k": Kernel("tileops.gemm.gemm:launch_split_k"),
        "pointer": Kernel("tileops.gemm.gemm:launch_pointer"),
    }
