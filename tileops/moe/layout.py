"""How the rows of the local experts lie in one tensor: the values of `MGroupedLayout`.

The fields are those of types.yaml, and an operator checks them, invariants included.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeAlias

__all__ = ["ContiguousLayout", "MGroupedLayout", "MaskedLayout", "MetadataKind", "Packing"]


class Packing(Enum):
    """Whether an expert's rows are padded to whole tiles."""

    TIGHT = "tight"
    ALIGNED = "aligned"


class MetadataKind(Enum):
    """What the metadata hold: the end row of each expert, or the expert of each row."""

    PHYSICAL_PSUM = "physical_psum"
    PER_ROW = "per_row"


@dataclass(frozen=True)
class ContiguousLayout:
    """One expert after another; aligned ones fill whole tiles of `alignment` rows."""

    packing: Packing
    metadata_kind: MetadataKind
    alignment: int = 1
    kind: ClassVar[str] = "contiguous"


@dataclass(frozen=True)
class MaskedLayout:
    """`max_m` rows for each expert, of which the metadata count the valid ones."""

    max_m: int
    kind: ClassVar[str] = "masked"


MGroupedLayout: TypeAlias = ContiguousLayout | MaskedLayout
