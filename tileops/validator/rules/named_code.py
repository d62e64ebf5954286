"""The code that an implemented entry names besides its class: a cost function, classes of ADTs."""

from __future__ import annotations

from collections.abc import Iterator

from tileops.diagnostics import codes
from tileops.manifest.adt import Constructor
from tileops.manifest.language.kinds import ADTKind, members_of
from tileops.validator.model import Phase, Rule, Subject
from tileops.validator.rules.reference import resolve


def cost_function(subject: Subject) -> None:
    """`func` of the roofline is a function."""
    decl = subject.entry.roofline
    if decl is None or decl.func is None:
        return
    fault = ""
    try:
        if not callable(resolve(decl.func.text)):
            fault = "what is there cannot be called"
    except LookupError as error:
        fault = str(error)
    if fault:
        subject.report(
            codes.NO_COST_FUNCTION,
            f"func must be a function, got {decl.func}: {fault}",
            span=decl.func.span,
            field="roofline.func",
        )


def adt_classes(subject: Subject) -> None:
    """The Python classes of the ADTs that the parameters take are classes, their enums hold the
    declared strings, and an instance says which constructor it is."""
    if subject.signature is None:
        return
    for param in subject.signature.params:
        for kind in members_of(param.kind):
            if not isinstance(kind, ADTKind):
                continue
            for constructor in subject.manifest.adts[kind.name].constructors:
                for fault in _faults(constructor):
                    subject.report(
                        codes.BAD_ADT_CLASS,
                        f"{kind.name}.{constructor.name} must have its Python class, {fault}",
                        span=param.text.span,
                        field=f"signature.params.{param.name}",
                    )


def _faults(constructor: Constructor) -> Iterator[str]:
    try:
        found = resolve(constructor.python)
    except LookupError as error:
        yield f"got none: {error}"
        return
    if not isinstance(found, type):
        yield f"got {constructor.python}, which is no class"
        return
    # Where the class has no kind of its own, only its instances know.
    kind_of = getattr(found, "kind", None)
    if isinstance(kind_of, str) and kind_of != constructor.name:
        yield f"got {constructor.python}, whose kind is {kind_of!r}"
    for field, path in constructor.enums.items():
        try:
            members = [member.value for member in resolve(path)]
        except (LookupError, TypeError, AttributeError) as error:
            yield f"got no enum for {field}: {error}"
            continue
        kind = constructor.fields[field]
        if sorted(map(str, members)) != sorted(getattr(kind, "values", ())):
            yield f"got {path} with the values {', '.join(sorted(map(str, members)))}"


RULES = (
    Rule("cost", "func of the roofline is a function", Phase.CODE, cost_function),
    Rule("adts", "ADTs have their Python classes", Phase.CODE, adt_classes),
)
