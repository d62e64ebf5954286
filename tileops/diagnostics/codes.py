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

CODES: tuple[Code, ...] = (
    YAML_SYNTAX,
    DUPLICATE_KEY,
    COMPLEX_KEY,
    UNKNOWN_TAG,
    FILE_TOO_LARGE,
    TOO_DEEP,
    ALIAS_EXPANSION,
    NOT_UTF8,
    UNREADABLE_FILE,
    NOT_A_MAPPING,
    BAD_FILE_NAME,
    BAD_SCALAR,
)
