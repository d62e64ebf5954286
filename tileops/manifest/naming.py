"""Names derived from an entry's key: the words of a class name and the operator's name."""

from __future__ import annotations

import re

#: Abbreviations whose capitals do not tell where a word ends, and the one word each becomes.
ABBREVIATIONS: dict[str, str] = {
    "SiLU": "silu",
    "GELU": "gelu",
    "SELU": "selu",
    "ReLU": "relu",
    "PReLU": "prelu",
    "ELU": "elu",
    "RMS": "rms",
    "MoE": "moe",
    "RoPE": "rope",
    "YaRN": "yarn",
    "FP8": "fp8",
    "INT8": "int8",
    "INT4": "int4",
    "W4A16": "w4a16",
    "W8A8": "w8a8",
    "W4A8": "w4a8",
    "C2C": "c2c",
    "TopK": "topk",
    "TopP": "topp",
    "MinP": "minp",
    "KV": "kv",
    "GEMM": "gemm",
    "BMM": "bmm",
    "MLA": "mla",
    "GQA": "gqa",
    "MHA": "mha",
    "NSA": "nsa",
    "DSA": "dsa",
    "SSD": "ssd",
    "FFT": "fft",
    "QK": "qk",
    "LSE": "lse",
}

_KNOWN = "|".join(sorted(ABBREVIATIONS, key=len, reverse=True))
_WORD = re.compile(rf"({_KNOWN})(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+[0-9]*|_+")


def snake_case(name: str) -> str:
    """`FusedAddRMSNormFwd` -> `fused_add_rms_norm_fwd`."""
    words = []
    for match in _WORD.finditer(name):
        word = match.group(0)
        words.append(ABBREVIATIONS.get(word, word.lower()).strip("_"))
    return "_".join(word for word in words if word)


def operator_name(op: str, family: str) -> str:
    """The operator of class `op`: its family, once, and its words."""
    stem = snake_case(op.removesuffix("Op"))
    if stem == family or stem.startswith(f"{family}_"):
        return stem
    return f"{family}_{stem}"
