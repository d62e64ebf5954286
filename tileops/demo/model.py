"""A small decoder in the style of Llama over bytes, written once over a spelling of its operators.

In: a configuration, weights (weights.py), a spelling (spelling.py). Out: logits of every position,
and the history of keys and values with those of the new tokens behind the old ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from tileops.demo.spelling import Spelling

__all__ = ["Config", "Decoder", "Layer", "Weights"]


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes of the model; the vocabulary is the 256 bytes."""

    layers: int = 4
    width: int = 512
    query_heads: int = 8
    key_heads: int = 2
    head: int = 64
    hidden: int = 1408


class Layer(torch.nn.Module):
    """The weights of one layer; a matrix has one row for each column of its result."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__()
        for name in ("attention_norm", "qkv", "output", "mlp_norm", "gate_up", "down"):
            self.register_buffer(name, tensors[name])


class Weights(torch.nn.Module):
    """All weights: `embedding` [256, W], the layers, `norm` [W] and `head` [256, W]."""

    def __init__(
        self,
        config: Config,
        embedding: torch.Tensor,
        layers: list[Layer],
        norm: torch.Tensor,
        head: torch.Tensor,
    ) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("embedding", embedding)
        self.layers = torch.nn.ModuleList(layers)
        self.register_buffer("norm", norm)
        self.register_buffer("head", head)


class Decoder(torch.nn.Module):
    """The model in one spelling; several may hold the same `Weights`."""

    def __init__(self, weights: Weights, spelling: Spelling) -> None:
        super().__init__()
        self.weights = weights
        self.spelling = spelling

    def forward(
        self, tokens: torch.Tensor, history: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits [S, 256] of tokens [S], and the history that the next tokens get.

        history: [layers, 2, 1, T, key heads, D], rotated keys and values of the T tokens before;
        None stands for the beginning of the text.
        """
        ops, weights = self.spelling, self.weights
        residual = F.embedding(tokens, weights.embedding)
        delta = None
        grown = []
        for index, layer in enumerate(weights.layers):
            if delta is None:
                normed = ops.rms_norm(residual, layer.attention_norm)
            else:
                normed, residual = ops.fused_add_rms_norm(delta, residual, layer.attention_norm)
            past = None if history is None else history[index]
            delta, keys_values = self._attend(normed, layer, past)
            grown.append(keys_values)
            normed, residual = ops.fused_add_rms_norm(delta, residual, layer.mlp_norm)
            delta = ops.gemm(ops.silu_and_mul(ops.gemm(normed, layer.gate_up)), layer.down)
        total = residual if delta is None else ops.add(residual, delta)
        logits = ops.gemm(ops.rms_norm(total, weights.norm), weights.head)
        return logits, torch.stack(grown)

    def _attend(
        self, normed: torch.Tensor, layer: Layer, past: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The layer's attention [S, W], and its keys and values [2, 1, T + S, key heads, D]."""
        ops, config = self.spelling, self.weights.config
        heads = ops.gemm(normed, layer.qkv).view(1, normed.shape[0], -1, config.head)
        turned = self._rotate(heads[:, :, : -config.key_heads], past)
        queries = turned[:, :, : config.query_heads]
        keys_values = torch.stack(
            (turned[:, :, config.query_heads :], heads[:, :, -config.key_heads :])
        )
        if past is not None:
            keys_values = torch.cat((past, keys_values), dim=2)
        mixed = ops.gqa(queries, keys_values[0], keys_values[1])
        return ops.gemm(mixed.flatten(2)[0], layer.output), keys_values

    def _rotate(self, x: torch.Tensor, past: torch.Tensor | None) -> torch.Tensor:
        """x at the positions after `past`: the operator counts from 0, so empty rows go before."""
        if past is None:
            return self.spelling.rope(x)
        length = past.shape[2]
        return self.spelling.rope(F.pad(x, (0, 0, 0, 0, length, 0)))[:, length:]
