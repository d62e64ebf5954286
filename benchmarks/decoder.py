"""Layers of a decoder as a server runs them: a prompt at once, then steps on a cache of fixed size.

In: sizes, a spelling of the operators (tileops/demo/spelling.py), a device. Out: a module whose
`prefill` and `decode` compile as one graph each, with shapes that stay, so that CUDA graphs can
replay them. The plain model is what one would write for speed: scaled_dot_product_attention over
grouped heads, tables for the rotation.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from tileops.demo.spelling import PLAIN, TILEOPS, Spelling

BASE = 10000.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """A stack of equal layers; `context` is how many positions a cache holds."""

    layers: int
    width: int
    query_heads: int
    key_heads: int
    head: int
    hidden: int
    context: int
    prompt: int

    def __str__(self) -> str:
        return f"{self.layers} layers of width {self.width}"


SMALL = Sizes(2, 256, 4, 2, 64, 704, context=128, prompt=64)
LLAMA3_8B = Sizes(4, 4096, 32, 8, 128, 14336, context=4096, prompt=1024)


def _plain_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal for a prompt; one query, the last, sees every key."""
    output = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
        is_causal=q.shape[1] > 1, enable_gqa=True,
    )  # fmt: skip
    return output.transpose(1, 2)


SPELLINGS: dict[str, Spelling] = {
    "plain": dataclasses.replace(PLAIN, gqa=_plain_attention),
    "tileops": TILEOPS,
}


class Layers(torch.nn.Module):
    """The layers in one spelling. Weights are random, of a size that keeps activations of order 1.

    Shapes: a prompt is [B, S, W], a step [B, 1, W]; both give their last layer's residual.
    """

    def __init__(self, sizes: Sizes, spelling: str, batch: int, weights: Weights) -> None:
        super().__init__()
        self.sizes, self.ops = sizes, SPELLINGS[spelling]
        self.rotates = spelling == "plain"
        self.weights = weights
        like = weights.norms[0]
        angle = torch.outer(
            torch.arange(sizes.context, dtype=torch.float64),
            BASE ** (-torch.arange(sizes.head // 2, dtype=torch.float64) * 2 / sizes.head),
        )
        self.register_buffer("cosine", angle.cos().float().to(like.device))
        self.register_buffer("sine", angle.sin().float().to(like.device))
        # A cache that is full but for its last position, which a step writes.
        shape = (batch, sizes.context, sizes.key_heads, sizes.head)
        for index in range(sizes.layers):
            for name in ("keys", "values"):
                full = torch.randn(shape, device=like.device, dtype=like.dtype)
                self.register_buffer(f"{name}{index}", full)
        self.register_buffer("last", torch.tensor([sizes.context - 1], device=like.device))

    def prefill(self, x: torch.Tensor) -> torch.Tensor:
        """A prompt; its keys and values go to the front of the caches."""
        return self._run(x, None)

    def decode(self, x: torch.Tensor) -> torch.Tensor:
        """One step at the last position of the caches."""
        return self._run(x, self.last)

    def _run(self, x: torch.Tensor, position: torch.Tensor | None) -> torch.Tensor:
        ops, weights = self.ops, self.weights
        batch, length, width = x.shape
        residual = x.reshape(-1, width)
        normed = ops.rms_norm(residual, weights.norms[0])
        for index in range(self.sizes.layers):
            heads = ops.gemm(normed, weights.qkv[index])
            heads = heads.view(batch, length, -1, self.sizes.head)
            mixed = self._attend(heads, index, position).reshape(batch * length, -1)
            delta = ops.gemm(mixed, weights.output[index])
            normed, residual = ops.fused_add_rms_norm(delta, residual, weights.norms[2 * index + 1])
            hidden = ops.silu_and_mul(ops.gemm(normed, weights.gate_up[index]))
            delta = ops.gemm(hidden, weights.down[index])
            normed, residual = ops.fused_add_rms_norm(delta, residual, weights.norms[2 * index + 2])
        return normed.view(batch, length, width)

    def _attend(
        self, heads: torch.Tensor, index: int, position: torch.Tensor | None
    ) -> torch.Tensor:
        groups = self.sizes.key_heads
        turned = self._rotate(heads[:, :, :-groups], position)
        queries, keys, values = (
            turned[:, :, :-groups],
            turned[:, :, -groups:],
            heads[:, :, -groups:],
        )
        cache = (getattr(self, f"keys{index}"), getattr(self, f"values{index}"))
        if position is None:
            for kept, new in zip(cache, (keys, values), strict=True):
                kept[:, : heads.shape[1]] = new
            return self.ops.gqa(queries.contiguous(), keys.contiguous(), values.contiguous())
        for kept, new in zip(cache, (keys, values), strict=True):
            kept.index_copy_(1, position, new)
        return self.ops.gqa(queries.contiguous(), *cache)

    def _rotate(self, x: torch.Tensor, position: torch.Tensor | None) -> torch.Tensor:
        """The operator counts positions from 0; a step is rotated by tables in both spellings."""
        if position is None and not self.rotates:
            return self.ops.rope(x.contiguous())
        if position is None:
            cosine, sine = self.cosine[: x.shape[1]], self.sine[: x.shape[1]]
        else:
            cosine, sine = self.cosine[position], self.sine[position]
        cosine, sine = cosine[:, None, :], sine[:, None, :]
        first, second = x.float().chunk(2, dim=-1)
        turned = (first * cosine - second * sine, second * cosine + first * sine)
        return torch.cat(turned, dim=-1).to(x.dtype)


class Weights(torch.nn.Module):
    """What several `Layers` share."""

    def __init__(self, sizes: Sizes, device: str, dtype: torch.dtype) -> None:
        super().__init__()
        heads = sizes.query_heads + 2 * sizes.key_heads

        def matrices(rows: int, columns: int) -> torch.nn.ParameterList:
            generator = torch.Generator(device).manual_seed(20)
            made = (
                torch.randn(rows, columns, generator=generator, device=device) / columns**0.5
                for _ in range(sizes.layers)
            )
            return torch.nn.ParameterList(_frozen(item.to(dtype)) for item in made)

        self.qkv = matrices(heads * sizes.head, sizes.width)
        self.output = matrices(sizes.width, sizes.query_heads * sizes.head)
        self.gate_up = matrices(2 * sizes.hidden, sizes.width)
        self.down = matrices(sizes.width, sizes.hidden)
        ones = torch.ones(sizes.width, device=device, dtype=dtype)
        self.norms = torch.nn.ParameterList(
            _frozen(ones.clone()) for _ in range(2 * sizes.layers + 1)
        )


def _frozen(tensor: torch.Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(tensor, requires_grad=False)
