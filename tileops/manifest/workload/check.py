"""An entry's workloads as a whole: read, instantiated, held to every rule; and the way in.

In: a signature and its plan. Out: a `Workload`, its cases, and findings. `cases` is lenient and
quick: what cannot be read is left out. `check_workloads` is what the validator asks.
"""

from __future__ import annotations

from tileops.diagnostics import codes
from tileops.diagnostics.model import Findings, Label, Span
from tileops.manifest.roofline import RooflineError, price, read_roofline
from tileops.manifest.signature.model import Role, Signature
from tileops.manifest.signature.steps import Plan
from tileops.manifest.workload.branch import Workload
from tileops.manifest.workload.case import Case, CaseFails, Instance
from tileops.manifest.workload.declaration import values_of
from tileops.manifest.workload.instantiate import check_requirements, generate, instantiate
from tileops.manifest.workload.metadata import read_metadata
from tileops.manifest.workload.rows import read_rows


def read_workload(signature: Signature, plan: Plan, findings: Findings) -> Workload:
    """A signature with its metadata tensors and cost model read."""
    metadata = read_metadata(signature, findings)
    return Workload(signature, plan, metadata, read_roofline(signature, plan, findings))


def cases(signature: Signature, plan: Plan, findings: Findings | None = None) -> tuple[Case, ...]:
    """Every case of an entry, in the order of row and dtype case."""
    findings = Findings() if findings is None else findings
    return read_rows(read_workload(signature, plan, findings), findings)


def check_workloads(
    signature: Signature, plan: Plan, findings: Findings, *, contents: bool = True
) -> tuple[Instance, ...]:
    """Every case of an entry as a call; `contents` generates values and checks `requires`."""
    before = findings.errors
    workload = read_workload(signature, plan, findings)
    if findings.errors > before:
        return ()
    found = read_rows(workload, findings)
    instances: list[Instance] = []
    failed: set[int] = set()
    for case in found:
        try:
            instance = instantiate(case)
            instances.append(instance)
            if contents:
                check_requirements(instance, generate(instance))
            _price(instance)
        except (CaseFails, RooflineError) as error:
            # Rows repeat a failure for every dtype case; one sentence is enough.
            if id(case.decl) not in failed:
                failed.add(id(case.decl))
                _report(case, error, findings)
    if findings.errors == before:
        _check_coverage(signature, found, findings)
    return tuple(instances)


def _price(instance: Instance) -> None:
    workload = instance.case.workload
    if workload.roofline is not None:
        cost = price(
            workload.roofline,
            instance.priced(),
            workload.signature,
            workload.discriminants,
            instance.case.point,
        )
        if cost is not None and min(cost) < 0:
            raise RooflineError(
                f"flops and bytes must not be negative, got {cost[0]} and {cost[1]}"
            )


def _report(case: Case, error: CaseFails | RooflineError, findings: Findings) -> None:
    entry = case.signature.entry
    span: Span = case.decl.span
    if isinstance(error, CaseFails):
        span = next((k.span for k, _ in case.decl.items if k.value == error.field), span)
        declared = error.declared or values_of(case.signature, error.field)
    else:
        declared = None if entry.roofline is None else entry.roofline.span
    at = next(at for at, decl in enumerate(entry.workloads) if decl is case.decl)
    findings.add(
        codes.ROW_FAILS if isinstance(error, CaseFails) else codes.BAD_FORMULA,
        span,
        f"case {case.id}: {error}",
        op=entry.op,
        field=f"workloads[{at}]",
        labels=() if declared is None else (Label(declared, "declared here"),),
    )


def _check_coverage(signature: Signature, found: tuple[Case, ...], findings: Findings) -> None:
    """Every optional tensor of an implemented entry is passed in a row and omitted in one."""
    status = signature.entry.status
    if status is None or status.text != "implemented":
        return
    for tensor in signature.tensors:
        if tensor.role is Role.OUTPUT or tensor.presence is None:
            continue
        seen = {case.present[tensor.name] for case in found}
        for wanted, verb in ((True, "passed"), (False, "omitted")):
            if wanted not in seen:
                group = "params" if tensor.role is Role.CONSTRUCTION else "inputs"
                findings.add(
                    codes.NO_COVERAGE,
                    tensor.decl.name.span,
                    f"{tensor.name} must be {verb} in at least one row, got none",
                    op=signature.op,
                    field=f"signature.{group}.{tensor.name}",
                )
