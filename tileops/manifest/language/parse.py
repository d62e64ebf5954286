"""Text to syntax trees, through Python's own parser; nothing is ever evaluated here.

In: the text of an expression or a shape. Out: a tree of `syntax`, or `ExprError` with the offset of
what is wrong. Length and nesting are bounded, so that hostile text fails at once.
"""

from __future__ import annotations

import ast
import math
import re
import warnings

from tileops.manifest.language.syntax import (
    Apply,
    Axes,
    Axis,
    Binary,
    BoolOp,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Expr,
    Field,
    Literal,
    Name,
    Negate,
    Not,
    Present,
    ShapeTerm,
    SliceExpr,
    Splice,
    Subscript,
    TupleExpr,
)

MAX_LENGTH = 2000
MAX_BRACKETS = 50
MAX_DEPTH = 200

#: The functions that take a comprehension as their argument.
FOLDS = frozenset({"all", "sum", "max", "min"})

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}


class ExprError(Exception):
    """Text that is no expression of the language, with the offset of what is wrong.

    `fault` names the sort of error: syntax, form (a rejected form of table 12), name, kind, literal
    or function; the caller maps it to a diagnostic code. What reads a name whose declaration could
    not be read is "lost", and no finding: that declaration has one.
    """

    def __init__(self, message: str, at: int = 0, help: str = "", fault: str = "syntax") -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.help = help
        self.fault = fault


def parse_expression(text: str) -> Expr:
    """The tree of one expression. Raises `ExprError`."""
    return _convert(python_tree(text))


def parse_shape(text: str) -> ShapeTerm:
    """The tree of a shape: `[axis, ...]` or `Family[arg, ...]`. Raises `ExprError`."""
    tree = python_tree(text)
    if isinstance(tree, ast.List):
        return Axes(tuple(map(_axis, tree.elts)), tree.col_offset)
    if isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name):
        inner = tree.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return Apply(tree.value.id, tuple(map(_convert, parts)), tree.col_offset)
    raise ExprError(
        'a shape must be "[axis, ...]" or one application "Family[argument, ...]"', tree.col_offset
    )


def _axis(node: ast.expr) -> Axis | Splice:
    if not isinstance(node, ast.Starred):
        return Axis(_convert(node))
    if not isinstance(node.value, ast.Name | ast.Call):
        raise ExprError("a splice must be *name or *primitive(...)", node.col_offset)
    return Splice(_convert(node.value))


def python_tree(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExprError(f"an expression must be at most {MAX_LENGTH} characters, got {len(text)}")
    if not text.isascii():
        at = next(i for i, char in enumerate(text) if not char.isascii())
        raise ExprError("an expression must be ASCII text", at)
    if re.search(r"[\r\n]", text):
        text = re.sub(r"[\r\n]", " ", text)
    _bound_depth(text)
    stripped = text.lstrip()
    indent = len(text) - len(stripped)
    try:
        tree = _quiet_parse(stripped.rstrip())
    except SyntaxError as error:
        at = max((error.offset or 1) - 1, 0) + indent
        raise ExprError(f"the text must be an expression, got: {error.msg}", at) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExprError("the text must be an expression, got what Python cannot parse") from None
    # Every level but two takes a character of its own, so that short text needs no look.
    if len(text) > MAX_DEPTH - 2 and _tree_depth(tree) > MAX_DEPTH:
        raise ExprError(f"an expression must nest at most {MAX_DEPTH} deep")
    if indent:
        for node in ast.walk(tree):
            if hasattr(node, "col_offset"):
                node.col_offset += indent
    return tree


# What Python's parser warns about: escapes it does not know, and a number that runs into a word.
_WARNED = re.compile(r"\\|[0-9.][A-Za-z_]")


def _quiet_parse(text: str) -> ast.expr:
    if _WARNED.search(text) is None:
        # Setting filters costs as much as parsing does.
        return ast.parse(text, mode="eval").body
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


def _bound_depth(text: str) -> None:
    """Refuses text whose brackets or repeated prefix operators nest too deep for any parser."""
    if text.count("(") + text.count("[") + text.count("{") <= MAX_BRACKETS:
        return
    depth = 0
    for at, char in enumerate(text):
        if char in "([{":
            depth += 1
            if depth > MAX_BRACKETS:
                raise ExprError(f"brackets must nest at most {MAX_BRACKETS} deep", at)
        elif char in ")]}":
            depth -= 1


def _tree_depth(tree: ast.expr) -> int:
    level: list[ast.AST] = [tree]
    depth = 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _convert(node: ast.expr) -> Expr:
    at = node.col_offset
    match node:
        case ast.Constant(value=value):
            return _literal(value, at)
        case ast.Name(id="inf"):
            return Literal(math.inf, at)
        case ast.Name(id=name):
            return Name(name, at)
        case ast.Tuple(elts=elts):
            return TupleExpr(tuple(map(_convert, elts)), at)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Negate(_convert(operand), at)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return Not(_convert(operand), at)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            return Binary(_BINARY[type(op)], _convert(left), _convert(right), at)
        case ast.BoolOp(op=bool_op, values=values):
            word = "and" if isinstance(bool_op, ast.And) else "or"
            return BoolOp(word, tuple(map(_convert, values)), at)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Conditional(_convert(test), _convert(body), _convert(orelse), at)
        case ast.Compare():
            return _compare(node)
        case ast.Attribute(value=ast.Name(id=base), attr=field):
            if field == "shape":
                raise ExprError(
                    f"a rule must not read {base}.shape",
                    at,
                    "write the relation into the tensor's shape, with one shape term for both",
                    "form",
                )
            return Field(base, field, at)
        case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            return SliceExpr(
                _convert(value),
                None if lower is None else _convert(lower),
                None if upper is None else _convert(upper),
                at,
            )
        case ast.Subscript(value=value, slice=index) if not isinstance(index, ast.Slice):
            return Subscript(_convert(value), _convert(index), at)
        case ast.Call():
            return _call(node)
    raise ExprError(f"{_describe(node)} must not stand in an expression", at, fault="form")


def _literal(value: object, at: int) -> Literal:
    if value is None or isinstance(value, bool | int | str):
        return Literal(value, at)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ExprError("a float literal must be finite, infinity is written inf", at)
        return Literal(value, at)
    raise ExprError(f"a {type(value).__name__} literal must not stand in an expression", at)


def _compare(node: ast.Compare) -> Expr:
    ops = []
    for op, operand in zip(node.ops, node.comparators, strict=True):
        is_test = isinstance(op, ast.Is | ast.IsNot)
        none = isinstance(operand, ast.Constant) and operand.value is None
        none_left = isinstance(node.left, ast.Constant) and node.left.value is None
        if is_test or none or none_left:
            raise ExprError(
                "presence must not be tested by comparing with None"
                if none or none_left
                else "identity tests must not stand in an expression",
                node.col_offset,
                "write present(x) or not present(x)",
                "form",
            )
        ops.append(_COMPARE[type(op)])
    return Compare(
        _convert(node.left), tuple(ops), tuple(map(_convert, node.comparators)), node.col_offset
    )


def _call(node: ast.Call) -> Expr:
    name = _dotted(node.func)
    if name is None:
        raise ExprError("a call must name a built-in primitive", node.col_offset)
    if name == "isinstance":
        raise ExprError(
            "isinstance must not stand in an expression",
            node.col_offset,
            "use per_axis(s, i, n)",
            "form",
        )
    if name == "present":
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.Name):
            raise ExprError("present must take one name", node.col_offset)
        return Present(node.args[0].id, node.col_offset)
    args: list[Expr] = []
    for arg in node.args:
        if isinstance(arg, ast.GeneratorExp):
            if name not in FOLDS or len(node.args) != 1:
                raise ExprError(
                    "a comprehension must be the only argument of all, sum, max or min",
                    arg.col_offset,
                )
            args.append(_comprehension(arg))
        elif isinstance(arg, ast.Starred):
            raise ExprError("arguments of a call must not be spliced", arg.col_offset)
        else:
            args.append(_convert(arg))
    keywords: list[tuple[str, Expr]] = []
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ExprError("keyword arguments of a call must not be spliced", node.col_offset)
        keywords.append((keyword.arg, _convert(keyword.value)))
    return Call(name, tuple(args), tuple(keywords), node.col_offset)


def _comprehension(node: ast.GeneratorExp) -> Comprehension:
    only = node.generators[0]
    if len(node.generators) != 1 or only.ifs or only.is_async:
        raise ExprError("a comprehension must have one for and no if", node.col_offset)
    if not isinstance(only.target, ast.Name):
        raise ExprError("a comprehension must bind one plain name", node.col_offset)
    return Comprehension(_convert(node.elt), only.target.id, _convert(only.iter), node.col_offset)


def _dotted(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=space), attr=name):
            return f"{space}.{name}"
    return None


def _describe(node: ast.AST) -> str:
    words = {
        ast.ListComp: "a list comprehension",
        ast.SetComp: "a set comprehension",
        ast.GeneratorExp: "a comprehension outside all, sum, max and min",
        ast.DictComp: "a dict comprehension",
        ast.Lambda: "lambda",
        ast.List: "a list",
        ast.Dict: "a dict",
        ast.Set: "a set",
        ast.Attribute: "this attribute access",
        ast.Starred: "a splice outside a shape",
        ast.JoinedStr: "an f-string",
        ast.NamedExpr: "an assignment",
    }
    if isinstance(node, ast.BinOp):
        return f"the operator {_OPERATOR_TEXT.get(type(node.op), type(node.op).__name__)}"
    if isinstance(node, ast.UnaryOp):
        return f"the operator {'+' if isinstance(node.op, ast.UAdd) else '~'}"
    return words.get(type(node), type(node).__name__)


_OPERATOR_TEXT: dict[type[ast.operator], str] = {
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
