"""Mixture of experts: routing, permutation and grouped matrix products.

Every entry of the family is spec-only; `layout` holds the objects that its parameters take.
"""

__all__: list[str] = []
