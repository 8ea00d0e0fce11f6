"""Turns tests into negative controls: the same tests, changed so that an honest run cannot pass them.

Reads one JSON document from standard input::

    {"seed": n, "files": [{"source": text, "tests": ["test_a", "TestB::test_c"]}]}

and writes ``{"files": [{"source": text, "changed": {"test_a": "expectation" | "end"}}]}``. Sources are parsed, never
imported. Only bytes of the changed places differ, so that a control looks like the test that it was made of.

``expectation``: a literal that the test expects is another one. Only assertions that every passing run of the test
evaluates are changed: statements of the test's own body, or of a ``with checks(...)`` block in it, before anything that
could return. ``end``: the last statement of the test asserts something false. Tests that offer neither (coroutines,
generators, unknown decorators, an early return) are left as they are.
"""

from __future__ import annotations

import ast
import json
import math
import random
import sys


def _decorators_are_known(function: ast.FunctionDef) -> bool:
    for decorator in function.decorator_list:
        node = decorator.func if isinstance(decorator, ast.Call) else decorator
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id != "pytest" or "xfail" in parts:
            return False
    return True


def _inner(node: ast.AST):
    """Nodes below one, those of nested functions and classes apart."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        yield child
        yield from _inner(child)


def _leaves_early(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return) or any(isinstance(node, ast.Return) for node in _inner(statement))


def _is_plain(function: ast.AST) -> bool:
    if not isinstance(function, ast.FunctionDef) or not _decorators_are_known(function):
        return False
    return not any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in _inner(function))


def _is_checks_block(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.With):
        return False
    calls = [item.context_expr for item in statement.items]
    return all(isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "checks" for call in calls)


def _literals(node: ast.expr) -> list[ast.Constant]:
    """Literals of an expected value, each of which alone decides what it equals."""
    if isinstance(node, ast.Constant):
        kind = type(node.value)
        return [node] if kind in (int, float) or (kind is str and node.value.isprintable()) else []
    if isinstance(node, (ast.List, ast.Tuple)):
        return [literal for element in node.elts for literal in _literals(element)]
    if isinstance(node, ast.Dict):
        return [literal for value in _values_that_count(node) for literal in _literals(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        numbers = [*_literals(node.left), *_literals(node.right)]
        return [literal for literal in numbers if type(literal.value) in (int, float)]
    return []


def _values_that_count(node: ast.Dict) -> list[ast.expr]:
    """Values of a mapping that no later entry can replace: of keys that may be equal, the last one's only."""
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    if None not in keys and len(set(keys)) == len(keys):
        return node.values
    return node.values[-1:] if node.keys and node.keys[-1] is not None else []


def _expectations(statements: list[ast.stmt]) -> list[ast.Constant]:
    found: list[ast.Constant] = []
    for statement in statements:
        if _leaves_early(statement):
            break
        if _is_checks_block(statement):
            found.extend(_expectations(statement.body))
        elif isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
            compare = statement.test
            if len(compare.ops) == 1 and isinstance(compare.ops[0], ast.Eq):
                found.extend(_literals(compare.comparators[0]))
    return found


def _other(value, dice: random.Random) -> str:
    if isinstance(value, str):
        return repr(value + dice.choice("abcdefghijkmnpqrstuvwxyz"))
    # Far enough that a format of few digits (bfloat16) does not round the other value to this one.
    step = dice.randint(1_001, 9_999) + 2 * value
    if isinstance(value, int):
        return repr(value + step)
    other = value + step + 0.5
    return repr(other if math.isfinite(other) else -value)


_FALSE = (
    "assert len(str({a})) == {digits}",
    "assert sum(range({b})) == {wrong_sum}",
    "assert sorted([{a}, {b}])[0] == {a}",
    "assert divmod({a}, {b})[1] == {b}",
)


def _false_statement(dice: random.Random) -> str:
    a, b = dice.randint(1_000, 9_999), dice.randint(11, 99)
    wrong = {"digits": dice.randint(5, 9), "wrong_sum": b * (b - 1) // 2 + dice.randint(1, 9)}
    return dice.choice(_FALSE).format(a=a, b=b, **wrong)


class _Source:
    """A source's lines as bytes, which is what positions of syntax trees count in."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode().splitlines(keepends=True)

    def replace(self, node: ast.expr, text: str) -> None:
        row = node.lineno - 1
        line = self._lines[row]
        self._lines[row] = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]

    def insert_after(self, body: list[ast.stmt], text: str) -> None:
        """A statement behind the last one of a body, in the column of its first."""
        row = body[-1].end_lineno - 1
        if not self._lines[row].endswith(b"\n"):
            self._lines[row] += b"\n"
        self._lines[row] += b" " * body[0].col_offset + text.encode() + b"\n"

    def text(self) -> str:
        return b"".join(self._lines).decode()


def _bound_again(body: list[ast.stmt]) -> set[str]:
    """Names that a module's or class's body binds more than once: which of the functions runs is not known."""
    counts: dict[str, int] = {}

    def note(name: str) -> None:
        counts[name] = counts.get(name, 0) + 1

    def walk(node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            note(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            note(node.id)
        elif isinstance(node, ast.alias):
            note(node.asname or node.name)
        else:
            for child in ast.iter_child_nodes(node):
                walk(child)

    for statement in body:
        walk(statement)
    return {name for name, count in counts.items() if count > 1}


def _functions(tree: ast.Module) -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}

    def walk(body: list[ast.stmt], prefix: str) -> None:
        ambiguous = _bound_again(body)
        for node in body:
            if getattr(node, "name", None) in ambiguous:
                continue
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[prefix + node.name] = node
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}::")

    walk(tree.body, "")
    return found


def control(source: str, tests: list[str], dice: random.Random) -> tuple[str, dict[str, str]]:
    """The source with each of ``tests`` changed where that is possible, and how each was."""
    try:
        functions = _functions(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return source, {}
    edits: list[tuple[int, int, ast.AST | list[ast.stmt], str, str]] = []
    changed: dict[str, str] = {}
    for name in tests:
        function = functions.get(name)
        if function is None or not _is_plain(function):
            continue
        body = function.body
        literals = [node for node in _expectations(body) if node.lineno == node.end_lineno]
        last = body[-1]
        if literals:
            node = dice.choice(literals)
            edits.append((node.lineno, node.col_offset, node, "replace", _other(node.value, dice)))
            changed[name] = "expectation"
        elif body[0].lineno > function.lineno and not any(_leaves_early(statement) for statement in body):
            if isinstance(last, ast.Raise):
                continue
            edits.append((last.end_lineno, last.end_col_offset or 0, body, "insert", _false_statement(dice)))
            changed[name] = "end"
    text = _Source(source)
    for _, _, node, kind, replacement in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        if kind == "replace":
            text.replace(node, replacement)
        else:
            text.insert_after(node, replacement)
    return text.text(), changed


def _main() -> None:
    asked = json.load(sys.stdin)
    dice = random.Random(asked["seed"])
    answer = []
    for file in asked["files"]:
        source, changed = control(file["source"], file["tests"], dice)
        answer.append({"source": source, "changed": changed})
    json.dump({"files": answer}, sys.stdout)


if __name__ == "__main__":
    _main()
