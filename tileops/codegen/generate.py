"""Entry -> Operator: signature, plan, effects and text put together."""

from __future__ import annotations

from tileops.codegen.class_parameters import parameters_of
from tileops.codegen.model import Header, Operator
from tileops.codegen.operator_schema import arguments_of, infer_argument_names
from tileops.codegen.overloads import header_of, outputs_of
from tileops.manifest.signature.effects import effect_branches
from tileops.manifest.signature.model import Signature
from tileops.manifest.signature.plan import discriminants_of
from tileops.manifest.signature.steps import Plan


def generate_header(signature: Signature) -> Header:
    """What registration needs. Raises `Unschematic` where no operator schema fits."""
    arguments = arguments_of(signature)
    return header_of(signature, arguments, effect_branches(signature, discriminants_of(signature)))


def generate(signature: Signature, plan: Plan) -> Operator:
    """The operator of a checked and planned entry. Raises `Unschematic`."""
    # A cold import makes headers only, and the emitters are a tenth of what it would load.
    from tileops.codegen.infer_function import infer_text

    arguments = arguments_of(signature)
    span = signature.entry.name.span
    branches = effect_branches(signature, discriminants_of(signature))
    text = infer_text(signature, plan, arguments, branches, f"{span.file}:{span.line}")
    return Operator(
        header=header_of(signature, arguments, branches),
        arguments=arguments,
        parameters=parameters_of(signature),
        outputs=outputs_of(signature),
        index_names=text.index_names,
        infer_arguments=infer_argument_names(arguments),
        prefix=text.prefix,
        source=text.source,
        signature=signature,
        plan=plan,
    )
