"""What of the repository the probes of a task use, found from their syntax trees.

Reads one JSON document on standard input: {"base": DIR, "gold": DIR, "probes": [{"path": "probes/test_x.py",
"absPath": FILE}]}; writes one on standard output:
  uses:        [{symbol, spelled, status, kind, tests, file, line}]  symbols resolved to a definition
  attributes:  [{name, tests, file, line}]   attribute names read from objects of a type that is not known,
               which gold defines as a member and base does not
  keywords:    [{name, symbol, tests, file, line}]  keyword arguments that gold's parameters have and base's do not
  goldNew:     identifiers that stand in gold's sources and nowhere in base's
  goldProse:   {file: [lines of gold that hold only comments or docstrings]}
`status` is `absent` (base lacks it), `signature`, `body` (gold changes it), `same`, or `unknown` (gold lacks it too).
Nothing is imported or run. Python 3.10 or newer, standard library only.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tokenize
from dataclasses import dataclass, field

SKIPPED_FOLDERS = {"__pycache__", ".git", ".pytest_cache", "tests", "test"}


@dataclass
class Definition:
    kind: str
    signature: str = ""
    body: str = ""
    returns: ast.expr | None = None
    module: str = ""
    parameters: tuple[str, ...] = ()
    bases: list[ast.expr] = field(default_factory=list)


@dataclass
class Index:
    modules: set[str] = field(default_factory=set)
    symbols: dict[str, Definition] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    identifiers: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    parameters: set[str] = field(default_factory=set)

    def canonical(self, dotted: str) -> str:
        """Follows re-exports: of the longest prefix that is an alias, until nothing changes."""
        for _ in range(20):
            parts = dotted.split(".")
            for end in range(len(parts), 0, -1):
                target = self.aliases.get(".".join(parts[:end]))
                if target is not None:
                    dotted = ".".join([target, *parts[end:]])
                    break
            else:
                return dotted
        return dotted

    def find(self, dotted: str) -> tuple[str, Definition] | None:
        """The definition of a dotted name, members looked up through base classes."""
        name = self.canonical(dotted)
        found = self.symbols.get(name)
        if found is not None:
            return name, found
        owner, _, member = name.rpartition(".")
        definition = self.symbols.get(owner)
        if definition is None or definition.kind != "class":
            return None
        for base in definition.bases:
            resolved = self.resolve(base, definition.module)
            if resolved is not None and resolved != owner:
                inherited = self.find(f"{resolved}.{member}")
                if inherited is not None:
                    return inherited
        return None

    def resolve(self, expression: ast.expr | None, module: str) -> str | None:
        """The class that an annotation or base names, seen from a module; unions give their first known class."""
        if expression is None:
            return None
        if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
            try:
                return self.resolve(ast.parse(expression.value, mode="eval").body, module)
            except SyntaxError:
                return None
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.BitOr):
            return self.resolve(expression.left, module) or self.resolve(expression.right, module)
        if isinstance(expression, ast.Subscript) and dotted_name(expression.value) in {
            "Optional", "typing.Optional", "Iterator", "Generator", "typing.Iterator", "typing.Generator",
            "collections.abc.Iterator", "collections.abc.Generator", "type", "Type",
        }:
            inner = expression.slice
            return self.resolve(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, module)
        name = dotted_name(expression)
        if name is None:
            return None
        for candidate in (f"{module}.{name}", name):
            canonical = self.canonical(candidate)
            if canonical in self.symbols and self.symbols[canonical].kind == "class":
                return canonical
        return None


def dotted_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted_name(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def parameters_of(arguments: ast.arguments) -> tuple[str, ...]:
    return tuple(
        a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs] if a.arg not in ("self", "cls")
    )


def imports_of(tree: ast.Module, module: str, is_package: bool):
    """(bound name, dotted target) of every import statement of a module, relative ones resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = module.split(".")
                keep = len(parts) - node.level + (1 if is_package else 0)
                source = ".".join([*parts[:keep], *([source] if source else [])])
            for alias in node.names:
                yield (alias.asname or alias.name, f"{source}.{alias.name}" if source else alias.name)


def index_tree(root: str) -> Index:
    index = Index()
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        for file in sorted(files):
            if not file.endswith(".py"):
                continue
            path = os.path.join(folder, file)
            parts = os.path.relpath(path, root)[:-3].split(os.sep)
            if parts[0] == "src":
                parts = parts[1:]
            is_package = parts[-1] == "__init__"
            module = ".".join(parts[:-1] if is_package else parts)
            with open(path, encoding="utf-8") as source:
                tree = ast.parse(source.read(), path)
            index.modules.add(module)
            index_module(index, tree, module, is_package)
    for module in list(index.modules):
        index.symbols.setdefault(module, Definition("module", module=module))
    return index


def index_module(index: Index, tree: ast.Module, module: str, is_package: bool) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            index.identifiers.add(node.id)
        elif isinstance(node, ast.Attribute):
            index.identifiers.add(node.attr)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            index.identifiers.add(node.name)
            if not isinstance(node, ast.ClassDef):
                index.parameters.update(parameters_of(node.args))
        elif isinstance(node, ast.arg):
            index.identifiers.add(node.arg)
        elif isinstance(node, ast.keyword) and node.arg:
            index.identifiers.add(node.arg)
        elif isinstance(node, ast.alias):
            index.identifiers.update((node.asname or node.name).split("."))
        elif isinstance(node, ast.ImportFrom) and node.module:
            index.identifiers.update(node.module.split("."))
    index.identifiers.update(module.split("."))
    for name, target in imports_of(tree, module, is_package):
        if f"{module}.{name}" != target:
            index.aliases[f"{module}.{name}"] = target
    for node in tree.body:
        index_statement(index, node, module, module)


def index_statement(index: Index, node: ast.stmt, owner: str, module: str) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        index.aliases.pop(f"{owner}.{node.name}", None)
        is_property = any(dotted_name(d) in ("property", "cached_property", "functools.cached_property") for d in node.decorator_list)
        kind = "attribute" if is_property else ("function" if owner == module else "method")
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        index.symbols[f"{owner}.{node.name}"] = Definition(
            kind=kind,
            signature=f"({ast.unparse(node.args)}){returns}",
            body="\n".join(ast.dump(s) for s in without_docstring(node.body)),
            returns=node.returns,
            module=module,
            parameters=parameters_of(node.args),
        )
    elif isinstance(node, ast.ClassDef):
        dotted = f"{owner}.{node.name}"
        index.aliases.pop(dotted, None)
        own = [s for s in without_docstring(node.body) if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        index.symbols[dotted] = Definition(
            kind="class",
            signature=f"({', '.join(ast.unparse(b) for b in node.bases)})",
            body="\n".join(ast.dump(s) for s in own),
            module=module,
            bases=list(node.bases),
        )
        fields = []
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                fields.append(statement.target.id)
            before = set(index.symbols)
            index_statement(index, statement, dotted, module)
            index.members.update(s.rpartition(".")[2] for s in set(index.symbols) - before)
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for inner in ast.walk(statement):
                    if (
                        isinstance(inner, ast.Attribute)
                        and isinstance(inner.ctx, ast.Store)
                        and isinstance(inner.value, ast.Name)
                        and inner.value.id == "self"
                    ):
                        index.symbols.setdefault(f"{dotted}.{inner.attr}", Definition("attribute", module=module))
                        index.members.add(inner.attr)
        index.parameters.update(fields)
        if f"{dotted}.__init__" not in index.symbols:
            index.symbols[dotted].parameters = tuple(fields)
        else:
            index.symbols[dotted].parameters = index.symbols[f"{dotted}.__init__"].parameters
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    kind = "constant" if owner == module else "attribute"
                    annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
                    index.symbols[f"{owner}.{name.id}"] = Definition(
                        kind, body=ast.dump(node.value) if node.value else "", module=module, returns=annotation
                    )
    elif isinstance(node, (ast.If, ast.Try, ast.With)):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.stmt):
                index_statement(index, inner, owner, module)


@dataclass
class Use:
    symbol: str
    spelled: str
    line: int


@dataclass
class Part:
    """What one function, fixture or class of a probe file (or its module level, name '') uses and refers to."""

    name: str
    uses: list[Use] = field(default_factory=list)
    attributes: list[tuple[str, int]] = field(default_factory=list)
    keywords: list[tuple[str, str | None, int]] = field(default_factory=list)
    refers: set[str] = field(default_factory=set)
    gives: str | None = None


class PartReader(ast.NodeVisitor):
    def __init__(self, index: Index, bindings: dict[str, str], part: Part, fixtures: dict[str, str | None]):
        self.index = index
        self.bindings = bindings
        self.part = part
        self.types: dict[str, str | None] = {}
        self.fixtures = fixtures

    def target_of(self, node: ast.expr) -> str | None:
        """The dotted symbol that an expression denotes: through imports, or as a member of a known type."""
        if isinstance(node, ast.Name):
            return self.bindings.get(node.id) if node.id not in self.types else None
        if isinstance(node, ast.Attribute):
            owner = self.target_of(node.value)
            if owner is not None:
                return f"{owner}.{node.attr}"
            kind = self.type_of(node.value)
            return None if kind is None else f"{kind}.{node.attr}"
        return None

    def type_of(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.types.get(node.id)
        if isinstance(node, ast.Call):
            target = self.target_of(node.func)
            found = self.index.find(target) if target else None
            if found is None:
                return None
            name, definition = found
            return name if definition.kind == "class" else self.index.resolve(definition.returns, definition.module)
        if isinstance(node, ast.Attribute):
            target = self.target_of(node)
            found = self.index.find(target) if target else None
            return None if found is None else self.index.resolve(found[1].returns, found[1].module)
        if isinstance(node, ast.Await):
            return self.type_of(node.value)
        return None

    def bind(self, target: ast.expr, value: str | None) -> None:
        if isinstance(target, ast.Name):
            self.types[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self.bind(element, None)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None)
        else:
            self.visit(target)

    def visit_FunctionDef(self, node):
        for decorator in node.decorator_list:
            self.visit(decorator)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            self.part.refers.add(argument.arg)
            annotated = self.annotated(argument.annotation)
            self.types[argument.arg] = annotated or self.fixtures.get(argument.arg)
        for statement in node.body:
            self.visit(statement)

    visit_AsyncFunctionDef = visit_FunctionDef

    def annotated(self, annotation: ast.expr | None) -> str | None:
        if annotation is None:
            return None
        target = self.target_of(annotation)
        found = self.index.find(target) if target else None
        return found[0] if found is not None and found[1].kind == "class" else None

    def visit_Assign(self, node):
        self.visit(node.value)
        kind = self.type_of(node.value)
        for target in node.targets:
            self.bind(target, kind)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)
        self.bind(node.target, self.annotated(node.annotation) or (self.type_of(node.value) if node.value else None))

    def visit_With(self, node):
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, self.type_of(item.context_expr))
        for statement in node.body:
            self.visit(statement)

    def visit_For(self, node):
        self.visit(node.iter)
        self.bind(node.target, None)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_comprehension_expr(self, node):
        for generator in node.generators:
            self.visit(generator.iter)
            self.bind(generator.target, None)
            for condition in generator.ifs:
                self.visit(condition)
        for name in ("key", "value", "elt"):
            if hasattr(node, name):
                self.visit(getattr(node, name))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_expr

    def visit_Yield(self, node):
        if node.value is not None:
            self.visit(node.value)
            self.part.gives = self.part.gives or self.type_of(node.value)

    def visit_Return(self, node):
        if node.value is not None:
            self.visit(node.value)
            self.part.gives = self.part.gives or self.type_of(node.value)

    def visit_Name(self, node):
        self.part.refers.add(node.id)
        target = self.target_of(node)
        if target is not None:
            self.part.uses.append(Use(target, target, node.lineno))

    def visit_Attribute(self, node):
        target = self.target_of(node)
        if target is not None and self.index.find(target) is not None:
            self.part.uses.append(Use(target, target, node.lineno))
        elif target is None or target.split(".")[0] in self.roots():
            self.part.attributes.append((node.attr, node.lineno))
        self.visit(node.value)

    def roots(self) -> set[str]:
        return {module.split(".")[0] for module in self.index.modules}

    def visit_Call(self, node):
        target = self.target_of(node.func)
        name = dotted_name(node.func) or ""
        strings = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if name.split(".")[-1] in ("setattr", "getattr", "hasattr", "delattr", "patch", "object") and strings:
            owner = (self.target_of(node.args[0]) or self.type_of(node.args[0])) if node.args else None
            text = strings[0]
            if text.split(".")[0] in self.roots() and "." in text:
                self.part.uses.append(Use(text, text, node.lineno))
            elif owner is not None and self.index.find(f"{owner}.{text}") is not None:
                self.part.uses.append(Use(f"{owner}.{text}", f"{owner}.{text}", node.lineno))
            else:
                self.part.attributes.append((text, node.lineno))
        for keyword in node.keywords:
            if keyword.arg is not None:
                self.part.keywords.append((keyword.arg, target, node.lineno))
        self.generic_visit(node)


def read_file(index: Index, path: str, shared: dict[str, Part], fixtures: dict[str, str | None]) -> tuple[list[Part], ast.Module]:
    with open(path, encoding="utf-8") as source:
        tree = ast.parse(source.read(), path)
    roots = {module.split(".")[0] for module in index.modules}
    bindings = {name: target for name, target in imports_of(tree, "", False) if target.split(".")[0] in roots}
    parts: list[Part] = []
    level = Part("")
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            part = Part(statement.name)
            reader = PartReader(index, bindings, part, {**fixtures, **{p.name: p.gives for p in parts}})
            reader.visit(statement)
            parts.append(part)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, target in imports_of(ast.Module([statement], []), "", False):
                if target.split(".")[0] in roots:
                    level.uses.append(Use(target, target, statement.lineno))
        else:
            PartReader(index, bindings, level, fixtures).visit(statement)
    return [level, *parts], tree


def test_names(tree: ast.Module) -> list[tuple[str, str]]:
    """(name in an id, part that holds it) of each test of a file."""
    names = []
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name.startswith("test"):
            names.append((statement.name, statement.name))
        elif isinstance(statement, ast.ClassDef) and statement.name.startswith("Test"):
            for inner in statement.body:
                if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)) and inner.name.startswith("test"):
                    names.append((f"{statement.name}::{inner.name}", statement.name))
    return names


def prose_lines(path: str) -> list[int]:
    """Lines that hold nothing but a comment or (part of) a docstring."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source, path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            lines.add(token.start[0])
    return sorted(lines)


def prose_of(root: str) -> dict[str, list[int]]:
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        for file in files:
            if file.endswith(".py"):
                path = os.path.join(folder, file)
                found[os.path.relpath(path, root).replace(os.sep, "/")] = prose_lines(path)
    return found


def main() -> None:
    request = json.load(sys.stdin)
    base, gold = index_tree(request["base"]), index_tree(request["gold"])
    files = sorted(request["probes"], key=lambda f: (not f["path"].endswith("conftest.py"), f["path"]))
    shared: dict[str, Part] = {}
    fixtures: dict[str, str | None] = {}
    origin: dict[int, tuple[str, str]] = {}
    users: dict[int, set[str]] = {}
    every: list[Part] = []
    tests: list[tuple[str, str, list[Part]]] = []
    for file in files:
        parts, tree = read_file(gold, file["absPath"], shared, fixtures)
        for part in parts:
            origin[id(part)] = (file["path"], part.name)
            users[id(part)] = set()
        every.extend(parts)
        if os.path.basename(file["path"]).startswith("test_"):
            for name, holder in test_names(tree):
                tests.append((f"{file['path']}::{name}", holder, parts))
        else:
            for part in parts:
                shared[part.name or f"<{file['path']}>"] = part
                fixtures[part.name] = part.gives
    for test, holder, parts in tests:
        local = {part.name: part for part in parts}
        pending, seen = [local[holder], local[""]], set()
        pending.extend(part for name, part in shared.items() if name.startswith("<"))
        while pending:
            part = pending.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            users[id(part)].add(test)
            for name in part.refers:
                found = local.get(name) or shared.get(name)
                if found is not None:
                    pending.append(found)

    def status_of(symbol: str) -> tuple[str, str, str]:
        in_gold = gold.find(symbol)
        if in_gold is None:
            return symbol, "unknown", "unknown"
        name, after = in_gold
        found = base.find(name) or base.find(symbol)
        if found is None:
            return name, "absent", after.kind
        before = found[1]
        if before.signature != after.signature or before.kind != after.kind:
            return name, "signature", after.kind
        if after.kind == "class":
            old, new = base.symbols.get(f"{found[0]}.__init__"), gold.symbols.get(f"{name}.__init__")
            if (old.signature if old else "") != (new.signature if new else ""):
                return name, "signature", after.kind
            if before.body != after.body:
                return name, "signature", after.kind
            return name, "same", after.kind
        return name, "same" if before.body == after.body else "body", after.kind

    uses: dict[str, dict] = {}
    attributes: dict[str, dict] = {}
    keywords: dict[str, dict] = {}
    new_members = gold.members - base.members - base.identifiers
    for part in every:
        file, _ = origin[id(part)]
        using = users[id(part)]
        for use in part.uses:
            name, status, kind = status_of(use.symbol)
            entry = uses.setdefault(
                name,
                {"symbol": name, "spelled": use.spelled, "status": status, "kind": kind, "tests": set(), "file": file, "line": use.line},
            )
            entry["tests"] |= using
        for name, line in part.attributes:
            if name in new_members:
                attributes.setdefault(name, {"name": name, "tests": set(), "file": file, "line": line})["tests"] |= using
        for name, target, line in part.keywords:
            found = gold.find(target) if target else None
            if found is not None:
                before = base.find(found[0])
                known = before[1].parameters if before else ()
                if name not in found[1].parameters or name in known:
                    continue
            elif target is not None or name not in gold.parameters - base.parameters - base.identifiers:
                continue
            entry = keywords.setdefault(
                name, {"name": name, "symbol": found[0] if found else None, "tests": set(), "file": file, "line": line}
            )
            entry["tests"] |= using

    def listed(entries: dict[str, dict]) -> list[dict]:
        return [{**entry, "tests": sorted(entry["tests"])} for _, entry in sorted(entries.items())]

    json.dump(
        {
            "uses": listed(uses),
            "attributes": listed(attributes),
            "keywords": listed(keywords),
            "goldNew": sorted(gold.identifiers - base.identifiers),
            "goldProse": prose_of(request["gold"]),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
