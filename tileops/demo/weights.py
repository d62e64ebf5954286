"""Weights that are built, not trained, so that the greedy token is beyond doubt at every step.

In: a configuration. Out: `Weights` in bfloat16. One head of every layer looks back a fixed number
of bytes (`HOP`), by a query that its rotation turns onto the key at that distance, and hands on
what it finds there; the layers together recite the text from that far back. The right byte's logit
is about 1, and the next one's lower by more than ten times what rounding moves them (the codes of
two bytes are never closer). All other weights are random, and stir what passes through them.
"""

from __future__ import annotations

import math

import torch

from tileops.demo.model import Config, Layer, Weights

__all__ = ["build_weights", "look_back"]

SEED = 20
# How many bytes a layer looks back. Up to 4 the scores fall steeply all the way to distance 0, so
# that the first bytes of a text, which have nothing that far back, are beyond doubt as well.
HOP = 4
# Score between the byte that a head looks for and its neighbours: exp(-14) is far below rounding.
CONTRAST = 14.0
# Each find is written this much larger than the one before, so that the roundings of the residual
# before it hardly show.
GAIN = 2.0
# What random heads and random layers add, in parts of what the layer found.
STIR = 0.1
# Radians per position of the slowest pair that a head looks back with.
SLOWEST = 0.05


def look_back(config: Config) -> int:
    """How far before a byte its prediction lies."""
    return 1 + HOP * config.layers


class _Builder:
    """Holds the generator and the directions of the residual that carry something.

    Row 0 of `basis` is the same for every byte; slot l, a block of rows after it, carries the code
    of the byte that l layers have found.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.generator = torch.Generator().manual_seed(SEED)
        self.basis = torch.linalg.qr(self.random(config.width, config.width))[0]
        self.code = min(config.head, (config.width - 1) // (config.layers + 1))
        codes = self.random(256, self.code)
        self.codes = codes / codes.norm(dim=1, keepdim=True)

    def random(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)

    def slot(self, index: int) -> torch.Tensor:
        """[code, W]: the directions of a slot."""
        return self.basis[1 + index * self.code : 1 + (index + 1) * self.code]

    def unit(self, layer: int) -> float:
        """What makes a direction of size 1 in the layer's residual 1 again after its norm."""
        square = 1.0 + sum(GAIN ** (2 * index) for index in range(layer + 1))
        return math.sqrt(square / self.config.width)

    def read(self, index: int) -> torch.Tensor:
        """[code, W]: takes the code out of the normed residual of layer `index`."""
        return self.slot(index) * (self.unit(index) / GAIN**index)

    def beside(self, matrix: torch.Tensor) -> torch.Tensor:
        """What a matrix adds to a residual, without the direction that all bytes share."""
        shared = self.basis[0]
        return matrix - torch.outer(shared, shared @ matrix)

    def norm(self) -> torch.Tensor:
        return 1.0 + 0.1 * self.random(self.config.width)

    def layer(self, index: int) -> dict[str, torch.Tensor]:
        config = self.config
        width, hidden = config.width, config.hidden
        stir = STIR * GAIN ** (index + 1)
        attention_norm, mlp_norm = self.norm(), self.norm()
        qkv, output = self._attention(index, stir)
        gate_up = self.random(2 * hidden, width) / math.sqrt(width)
        # A product silu(a) * b of two normal values has a mean square of about 0.36.
        down = self.random(width, hidden) * (stir / math.sqrt(0.36 * width * hidden))
        return {
            "attention_norm": attention_norm,
            "qkv": qkv / attention_norm,
            "output": output,
            "mlp_norm": mlp_norm,
            "gate_up": gate_up / mlp_norm,
            "down": self.beside(down),
        }

    def _attention(self, index: int, stir: float) -> tuple[torch.Tensor, torch.Tensor]:
        """The projections: random ones, into which the head that looks back is written."""
        config, size = self.config, self.config.head
        heads = config.query_heads + 2 * config.key_heads
        qkv = (self.random(heads * size, config.width) / math.sqrt(config.width)).unflatten(
            0, (heads, size)
        )
        scale = stir / math.sqrt(config.width * config.query_heads * size)
        output = self.beside(self.random(config.width, config.query_heads * size)) * scale
        output = output.unflatten(1, (config.query_heads, size))
        query = (5 * index) % config.query_heads
        key = query // (config.query_heads // config.key_heads)
        turn, still = _vectors(size, HOP)
        constant = self.basis[0] * self.unit(index)
        qkv[query] = torch.outer(turn, constant)
        qkv[config.query_heads + key] = torch.outer(still, constant)
        value = qkv[config.query_heads + config.key_heads + key]
        value.zero_()
        value[: self.code] = self.read(index)
        output[:, query] = 0.0
        output[:, query, : self.code] = self.slot(index + 1).T * GAIN ** (index + 1)
        return qkv.flatten(0, 1), output.flatten(1)


def _vectors(size: int, distance: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and a key whose product, once rotated, is largest `distance` positions apart."""
    pair = torch.arange(size // 2, dtype=torch.float64)
    frequency = 10000.0 ** (-pair / (size // 2))
    # The slow pairs hardly tell neighbours apart; they would add to the score and to its rounding.
    used = (frequency > SLOWEST).double()
    per_pair = CONTRAST / float((used * (1.0 - frequency.cos())).sum())
    # Attention divides by the root of the head's size.
    length = math.sqrt(per_pair * math.sqrt(size)) * used
    angle = -distance * frequency
    query = torch.cat((length * angle.cos(), length * angle.sin()))
    key = torch.cat((length, torch.zeros_like(length)))
    return query, key


def build_weights(config: Config, device: torch.device) -> Weights:
    """The same weights on every machine, rounded to bfloat16."""
    builder = _Builder(config)

    def place(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.bfloat16).contiguous().to(device)

    embedding = builder.basis[0] + builder.codes @ builder.slot(0)
    embedding = embedding + builder.random(256, config.width) * (STIR / math.sqrt(config.width))
    layers = [builder.layer(index) for index in range(config.layers)]
    norm = builder.norm()
    head = builder.codes @ builder.read(config.layers) / norm
    return Weights(
        config,
        place(embedding),
        [Layer({name: place(x) for name, x in layer.items()}) for layer in layers],
        place(norm),
        place(head),
    )
