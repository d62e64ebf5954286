"""A case made small: the free integers of its row lowered while every rule still holds.

In: a case and a bound on the elements of a tensor. Out: a case of the same branch, dtypes and id
whose tensors keep to the bound, or the smallest that was found. Everything is tried in one fixed
order and judged by instantiating, so that what comes out is a call like any other. What makes the
row itself is kept as long as the bound allows it: what is more than one stays so, and of two
integers that one rule reads the larger stays larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from math import log2, prod

from tileops.manifest.language.syntax import Name
from tileops.manifest.workload.case import Case, CaseFails, Instance
from tileops.manifest.workload.instantiate import generate, instantiate, unmet
from tileops.manifest.workload.knobs import Knob, State, knobs_of
from tileops.manifest.workload.traits import Traits, traits_of

#: Contents larger than this are not generated while searching; the result is checked in full.
LIGHT = 1 << 14
#: Instantiations that one search may make.
BUDGET = 1500
#: Upper bounds on every index at once, tried before single steps.
CAPS = (1024, 512, 256, 128, 64, 48, 32, 24, 16, 12, 8, 6, 4)

Target = Callable[[int], int]

_NO_TRAITS = Traits((), (), (), ())


@dataclass(frozen=True, slots=True)
class Score:
    """How far tensors are above the bound, in doublings; then how large the knobs are."""

    excess: float
    weight: float


def shrink(case: Case, max_elements: int = 4096) -> Case:
    """The case with small tensors. Never fails: a case that cannot be judged is returned as is."""
    found = case
    for most in (LIGHT, None):
        search = _Search(case, max_elements, most)
        state = search.run()
        if state is None:
            continue
        found = state.of(case)
        if _sound(found):
            return found
    return case if not _sound(found) else found


def largest_tensor(instance: Instance) -> int:
    """The elements of a call's largest tensor."""
    return max(_sizes(instance), default=0)


def _sizes(instance: Instance) -> list[int]:
    sizes = [prod(meta.shape) for meta in instance.inputs.values() if meta is not None]
    return sizes + [prod(spec[0]) for spec in instance.outputs.values() if spec is not None]


def _sound(case: Case) -> bool:
    try:
        instance = instantiate(case)
        return not unmet(instance, generate(instance))
    except CaseFails:
        return False


@dataclass(slots=True)
class _Search:
    case: Case
    bound: int
    most: int | None
    left: int = BUDGET
    knobs: tuple[Knob, ...] = ()
    traits: Traits = _NO_TRAITS
    soft: bool = True
    seen: dict[str, tuple[State, Score] | None] = field(default_factory=dict)

    def run(self) -> State | None:
        start = State(self.case.params, self.case.indices)
        every = knobs_of(self.case)
        free = tuple(knob for knob in every if not knob.param)
        self.traits = traits_of(self.case, every)
        best = self.judge(start)
        if best is None:
            return None
        # Structure is given up, and parameters are touched, only when the bound asks for it.
        for soft, knobs in ((True, free), (True, every), (False, free), (False, every)):
            if best[1].excess <= 0:
                break
            self.soft, self.knobs, self.left = soft, knobs, BUDGET
            self.seen.clear()
            best = self.descend(self.cap(best))
        return best[0]

    # --- judging ------------------------------------------------------------------------------

    def judge(self, state: State) -> tuple[State, Score] | None:
        """The state, repaired, with its score; None where it is no call."""
        key = repr((state.params, state.indices))
        if key not in self.seen:
            self.left -= 1
            self.seen[key] = self.measure(state)
        return self.seen[key]

    def measure(self, state: State) -> tuple[State, Score] | None:
        if self.soft and not self.traits.kept(state):
            return None
        state = self.traits.restored(state, self.case)
        for _ in range(4):
            try:
                instance = instantiate(state.of(self.case))
                values = generate(instance, most=self.most)
                broken = unmet(instance, values)
            except CaseFails:
                return None
            if not broken:
                kept = not self.soft or self.traits.kept(state)
                return (state, self.score(state, instance)) if kept else None
            repaired = state
            for name, at in broken:
                requirement = self.case.workload.metadata[name].requirements[at]
                index = requirement.arguments[0] if requirement.arguments else None
                total = requirement.predicate.total
                if total is None or not isinstance(index, Name) or index.id not in state.indices:
                    return None
                # The lists have changed, and this index is what they add up to.
                repaired = repaired.with_index(index.id, total(values[name]))
            state = repaired
        return None

    def score(self, state: State, instance: Instance) -> Score:
        excess = sum(max(log2(max(size, 1) / self.bound), 0.0) for size in _sizes(instance))
        weight = sum(log2(1 + knob.read(state)) for knob in self.knobs)
        return Score(excess, weight)

    # --- moves --------------------------------------------------------------------------------

    def cap(self, best: tuple[State, Score]) -> tuple[State, Score]:
        """Every index at most some bound, by halving it: one move where many would do."""
        for cap in CAPS:
            state = best[0]
            # Lists keep their proportions: the longest says how far all of them are scaled.
            longest = max((k.read(state) for k in self.knobs if k.part == "scale"), default=0)
            for knob in self.knobs:
                value = knob.read(state)
                shift = _halvings(longest if knob.part == "scale" else value, cap)
                if shift and not knob.param:
                    state = knob.turn(state, self.case, max(value >> shift, 1))
            found = self.judge(state)
            if found is None or found[1].excess >= best[1].excess:
                continue
            if found[1].excess <= 0:
                return found
            best = found
        return best

    def descend(self, best: tuple[State, Score]) -> tuple[State, Score]:
        """The best that single moves reach, the first that helps taken each time."""
        while best[1].excess > 0 and self.left > 0:
            better = next(self.improvements(best), None)
            if better is None:
                return best
            best = better
        return best

    def improvements(self, best: tuple[State, Score]) -> Iterator[tuple[State, Score]]:
        for knobs, target in self.moves(best[0]):
            if self.left <= 0:
                return
            state: State | None = best[0]
            for knob in knobs:
                state = None if state is None else self.turned(knob, state, target)
            found = None if state is None else self.judge(state)
            if found is None:
                continue
            excess, weight = found[1].excess, found[1].weight
            touches = any(knob.param for knob in knobs)
            lighter = weight < best[1].weight and not touches
            if excess < best[1].excess or (excess == best[1].excess and lighter):
                yield found

    def turned(self, knob: Knob, state: State, target: Target) -> State | None:
        value = knob.read(state)
        wanted = target(value)
        if not 0 < wanted < value:
            return None
        try:
            return knob.turn(state, self.case, wanted)
        except ValueError:
            return None

    def moves(self, state: State) -> Iterator[tuple[tuple[Knob, ...], Target]]:
        """Knobs to turn together and how far, the simplest and the largest first."""
        ordered = sorted(
            (knob for knob in self.knobs if knob.read(state) > 1),
            key=lambda knob: (knob.param, -knob.read(state)),
        )
        singles = [(knob,) for knob in ordered]
        values = dict.fromkeys(knob.read(state) for knob in ordered)
        equal = [tuple(k for k in ordered if k.read(state) == value) for value in values]
        groups = [group for group in equal if len(group) > 1]
        pairs = list(combinations(ordered, 2))
        for sets in (singles, groups, pairs):
            yield from ((knobs, _divided(2)) for knobs in sets)
        yield tuple(ordered), _divided(2)
        for sets in (singles, groups):
            for target in _OTHERS:
                yield from ((knobs, target) for knobs in sets)
        for divisor in (3, 5, 7):
            yield from ((knobs, _divided(divisor)) for knobs in pairs)


def _halvings(value: int, cap: int) -> int:
    """How often a value is halved to be at most `cap`."""
    count = 0
    while value >> count > cap:
        count += 1
    return count


def _divided(divisor: int) -> Target:
    return lambda value: value // divisor


def _rounded(step: int) -> Target:
    """Half, rounded down to a multiple of a power of two."""
    return lambda value: value // 2 // step * step


_OTHERS: tuple[Target, ...] = (
    *(_rounded(1 << power) for power in (7, 6, 5, 4, 3, 2, 1)),
    *(_divided(divisor) for divisor in (3, 5, 7, 11, 13)),
    lambda value: value - 1,
)
