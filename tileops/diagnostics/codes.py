"""The one table of diagnostic codes. A code is stable and never reused.

A code is a constant here, in the block of its stage, and a member of `CODES` at the end, which
keeps the order of the ids.
"""

from __future__ import annotations

from tileops.diagnostics.model import Code, Severity

# TO101-TO119: reading files of YAML (tileops.manifest.source, tileops.manifest.files).
YAML_SYNTAX = Code("TO101", "yaml-syntax", Severity.ERROR, "The text is not YAML.")
DUPLICATE_KEY = Code("TO102", "duplicate-key", Severity.ERROR, "A mapping has the same key twice.")
COMPLEX_KEY = Code("TO103", "complex-key", Severity.ERROR, "A key of a mapping is not a scalar.")
UNKNOWN_TAG = Code("TO104", "unknown-tag", Severity.ERROR, "A YAML tag asks for another type.")
FILE_TOO_LARGE = Code("TO105", "file-too-large", Severity.ERROR, "A file exceeds the size limit.")
TOO_DEEP = Code("TO106", "nested-too-deeply", Severity.ERROR, "Nesting exceeds the depth limit.")
ALIAS_EXPANSION = Code(
    "TO107", "alias-expansion", Severity.ERROR, "YAML aliases are recursive or expand too far."
)
NOT_UTF8 = Code("TO108", "not-utf8", Severity.ERROR, "A file is not UTF-8 text.")
UNREADABLE_FILE = Code("TO109", "unreadable-file", Severity.ERROR, "A file cannot be read.")
NOT_A_MAPPING = Code(
    "TO110", "not-a-mapping", Severity.ERROR, "A file is empty or its content is not a mapping."
)
BAD_FILE_NAME = Code(
    "TO111", "bad-file-name", Severity.ERROR, "The name of a manifest file gives no family."
)
BAD_SCALAR = Code(
    "TO112", "bad-scalar", Severity.ERROR, "A scalar does not denote a value of its type."
)

# TO120-TO139: entries and their fields (tileops.manifest.decode, tileops.manifest.load).
UNKNOWN_KEY = Code("TO120", "unknown-key", Severity.ERROR, "A section has a key it does not know.")
MISSING_KEY = Code("TO121", "missing-key", Severity.ERROR, "A section lacks a required key.")
WRONG_TYPE = Code("TO122", "wrong-type", Severity.ERROR, "A field holds another type of value.")
BAD_NAME = Code("TO123", "bad-name", Severity.ERROR, "A name is not an identifier.")
RESERVED_NAME = Code("TO124", "reserved-name", Severity.ERROR, "A name is reserved.")
DUPLICATE_NAME = Code("TO125", "duplicate-name", Severity.ERROR, "Two declarations share a name.")
BAD_OP_NAME = Code("TO126", "bad-op-name", Severity.ERROR, "An entry's key is no class name.")
DUPLICATE_OP = Code("TO127", "duplicate-op", Severity.ERROR, "Two entries have one name.")
WRONG_FAMILY = Code(
    "TO128", "wrong-family", Severity.ERROR, "An entry's family is not that of its file."
)
BAD_ROOFLINE = Code("TO129", "bad-roofline", Severity.ERROR, "A roofline has no one formula.")
SAME_OPERATOR = Code("TO130", "same-operator", Severity.ERROR, "Two entries have one operator.")
BAD_ADT = Code("TO131", "bad-adt", Severity.ERROR, "An algebraic data type is not well formed.")

# TO201-TO219: expressions, types and kinds (tileops.manifest.language).
SYNTAX = Code("TO201", "expression-syntax", Severity.ERROR, "Text is no expression.")
REJECTED_FORM = Code("TO202", "rejected-form", Severity.ERROR, "A form is not in the language.")
UNKNOWN_NAME = Code("TO203", "unknown-name", Severity.ERROR, "A name is not declared here.")
WRONG_KIND = Code("TO204", "wrong-kind", Severity.ERROR, "A value has another kind than its use.")
DEAD_LITERAL = Code(
    "TO205", "dead-literal", Severity.ERROR, "A comparison names a value that nothing takes."
)
UNKNOWN_FUNCTION = Code(
    "TO206", "unknown-function", Severity.ERROR, "A call names no built-in or misuses one."
)
BAD_DEFAULT = Code("TO207", "bad-default", Severity.ERROR, "A default is not of its type.")

# TO220-TO239: signatures (tileops.manifest.signature.check).
BAD_ORDER = Code("TO220", "bad-order", Severity.ERROR, "Parameters or inputs stand out of order.")
BAD_PRESENCE = Code("TO221", "bad-presence", Severity.ERROR, "A presence is not well formed.")
BAD_FAMILY = Code("TO222", "bad-type-family", Severity.ERROR, "A type family is not well formed.")
MISSING_CASE = Code("TO223", "missing-case", Severity.ERROR, "A type family lacks a case.")
OVERLAPPING_CASE = Code(
    "TO224", "overlapping-case", Severity.ERROR, "Two cases of a family take one value."
)
CYCLE = Code("TO225", "cycle", Severity.ERROR, "Declarations depend on each other in a circle.")
BAD_COMBO = Code("TO226", "bad-dtype-combo", Severity.ERROR, "A dtype combination is not legal.")
UNUSED = Code("TO227", "unused", Severity.ADVISORY, "A declaration is used by nothing.")
MISPLACED = Code("TO228", "misplaced", Severity.ERROR, "A field stands where it may not.")
NO_TORCH_DTYPE = Code(
    "TO229", "no-torch-dtype", Severity.ADVISORY, "A dtype of a tensor has no torch dtype."
)

# TO301-TO319: inference plans (tileops.manifest.signature.plan).
UNSOLVED = Code("TO301", "unsolved-index", Severity.ERROR, "No input solves an index.")
TOO_MANY_POINTS = Code(
    "TO302", "too-many-points", Severity.ERROR, "Discriminants have too many combinations."
)
MANY_POINTS = Code(
    "TO303", "many-points", Severity.ADVISORY, "Discriminants have many combinations."
)

# TO401-TO419: effects (tileops.manifest.signature.effects).
BAD_EFFECT = Code("TO401", "bad-effect", Severity.ERROR, "An effect declaration is not legal.")

# TO501-TO519: workload rows (tileops.manifest.workload).
BAD_ROW_KEY = Code("TO501", "bad-row-key", Severity.ERROR, "A row has a key too many or too few.")
BAD_ROW_VALUE = Code("TO502", "bad-row-value", Severity.ERROR, "A value of a row is not legal.")
BAD_LABEL = Code("TO503", "bad-label", Severity.ERROR, "A row's label is not legal.")
DUPLICATE_CASE = Code("TO504", "duplicate-case", Severity.ERROR, "Two cases have one id.")
ROW_FAILS = Code("TO505", "row-fails", Severity.ERROR, "A row breaks a rule of its signature.")
NO_COVERAGE = Code(
    "TO506", "no-coverage", Severity.ERROR, "An optional tensor is never passed or never omitted."
)
BAD_VALUES = Code("TO507", "bad-values", Severity.ERROR, "A generator or predicate is misused.")

# TO601-TO619: cost models (tileops.manifest.roofline).
BAD_FORMULA = Code("TO601", "bad-formula", Severity.ERROR, "A roofline formula is not legal.")

# TO701-TO719: the code of implemented entries (tileops.validator.rules).
UNSCHEMATIC = Code(
    "TO701", "unschematic", Severity.ADVISORY, "No operator schema carries a parameter."
)
NO_CLASS = Code("TO702", "no-class", Severity.ERROR, "An implemented entry lacks its class.")
NOT_EXPORTED = Code("TO703", "not-exported", Severity.ERROR, "An export list omits an entry.")
WRONG_BOUNDARY = Code(
    "TO704", "wrong-boundary", Severity.ERROR, "The boundary names disagree with the entry."
)
BAD_STAGE = Code("TO705", "bad-stage", Severity.ERROR, "A stage or kernel is not what it names.")
WRONG_PARAMETERS = Code(
    "TO706", "wrong-parameters", Severity.ERROR, "A class takes other parameters than its entry."
)
BAD_DOCSTRING = Code("TO707", "bad-docstring", Severity.ERROR, "A docstring lacks a section.")
NO_REFERENCE_API = Code(
    "TO708", "no-reference-api", Severity.ERROR, "A reference API does not resolve."
)
NO_REFERENCE_PACKAGE = Code(
    "TO709",
    "no-reference-package",
    Severity.ADVISORY,
    "The package of a reference API is not installed.",
)
NO_COST_FUNCTION = Code(
    "TO710", "no-cost-function", Severity.ERROR, "The function of a cost model does not resolve."
)
BAD_ADT_CLASS = Code(
    "TO711", "bad-adt-class", Severity.ERROR, "A data type lacks its Python class or enum."
)

# TO801-TO819: the compile boundary of implemented entries (tileops.validator.compiled).
NOT_ONE_GRAPH = Code(
    "TO801", "not-one-graph", Severity.ERROR, "A call does not compile in one graph."
)
NOT_ONE_NODE = Code(
    "TO802", "not-one-node", Severity.ERROR, "A compiled call is not one node, its own."
)
FRAME_PER_SIZE = Code(
    "TO803", "frame-per-size", Severity.ERROR, "A compiled call compiles again for other sizes."
)
NEEDS_A_SIZE = Code(
    "TO804", "needs-a-size", Severity.ERROR, "A call does not compile while a size is unknown."
)
WRONG_FAKE = Code("TO805", "wrong-fake", Severity.ERROR, "A real result is not what the fake says.")
UNDECLARED_WRITE = Code(
    "TO806", "undeclared-write", Severity.ERROR, "A call writes an input that it may only read."
)
SHARED_MEMORY = Code(
    "TO807", "shared-memory", Severity.ERROR, "A result shares memory with an input or a result."
)
COMPILED_DIFFERS = Code(
    "TO808", "compiled-differs", Severity.ERROR, "A compiled call gives other results."
)
OPCHECK_FAILS = Code(
    "TO809", "opcheck-fails", Severity.ERROR, "The operator fails torch.library.opcheck."
)
WORKER_DIED = Code("TO810", "worker-died", Severity.ERROR, "A call ends its process.")
WORKER_HUNG = Code("TO811", "worker-hung", Severity.ERROR, "A check does not end in time.")
FIXED_SIZES = Code(
    "TO812",
    "no-free-size",
    Severity.ADVISORY,
    "No size may vary, so that a dynamic check is not made.",
)

CODES: tuple[Code, ...] = tuple(
    sorted(
        (value for value in list(globals().values()) if isinstance(value, Code)),
        key=lambda code: code.id,
    )
)
