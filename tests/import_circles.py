"""Finds files that import each other in a circle: Python modules, those of
TypeScript, and units of C++, which are a .cpp and its .hpp.

An import inside a function counts, and so does one that only a type checker
sees: a reader needs the other module either way.  There is one exception: such
an import does not count if the imported module needs an optional package that
the importing module does not need.  An `import package.module` counts as an
import of the module, not of the package that holds it.
"""

import ast
import re

OPTIONAL = {"gevent"}

# Where an include starts, besides the folder of the file.
STARTS = ("core", "capi", "server", "bindings", ".")
UNITS = ("core", "capi", "io", "server", "bindings", "node/src")
NAMES = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"'
                   r"|\bfrom '(\.[^']+)\.js'", re.M)


class Module:
    """The imports of one file, from its own project and from others."""

    def __init__(self, name, is_package, tree):
        self.package = name if is_package else name.rpartition(".")[0]
        self.at_once = set()  # when it is imported itself
        self.later = set()
        self._walk(tree, is_later=False)

    def _walk(self, node, is_later):
        for child in ast.iter_child_nodes(node):
            found = self.later if is_later else self.at_once
            if isinstance(child, ast.Import):
                found.update(one.name for one in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = self._base(child)
                found.update(f"{base}.{one.name}" for one in child.names)
            self._walk(child, is_later or isinstance(
                child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                or is_for_types(child))

    def _base(self, node):
        if not node.level:
            return node.module
        parts = self.package.split(".")
        kept = parts[:len(parts) - node.level + 1]
        return ".".join(kept + [node.module] * bool(node.module))


def is_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(
        node.test)


def modules_of(root):
    """Returns the modules below `root` by their names."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        found[name] = Module(name, is_package, tree)
    return found


def arrows_of(name, modules, compiled):
    """Returns the modules of the project that the module `name` imports."""
    module = modules[name]
    found = own(module.at_once, modules, compiled)
    for other in own(module.later, modules, compiled):
        if optional(modules[other]) <= optional(module):
            found.add(other)
    return found - {name}


def own(imported, modules, compiled):
    """Returns the modules of the project among what is `imported`."""
    found = set()
    for one in imported:
        while one and one not in modules and one not in compiled:
            one = one.rpartition(".")[0]  # it is a name in a module
        found.add(one)
    return found & set(modules)


def optional(module):
    """Returns the optional packages that a module needs."""
    return OPTIONAL & {one.partition(".")[0] for one in module.at_once}


def circles(arrows):
    """Returns the sets of names that reach each other, by Tarjan's algorithm.
    """
    number, lowest, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(arrows[name]):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            place = stack.index(name)
            if len(stack) - place > 1:
                found.append(set(stack[place:]))
            del stack[place:]

    for name in sorted(arrows):
        if name not in number:
            visit(name)
    return found


def units_of(root):
    """Returns what each unit of C++ and TypeScript imports, by their paths."""
    files = {path.resolve(): path.relative_to(root).with_suffix("").as_posix()
             for folder in UNITS for path in (root / folder).rglob("*")
             if path.suffix in {".c", ".h", ".cpp", ".hpp", ".ts"}}
    arrows = {name: set() for name in files.values()}
    for path, name in files.items():
        text = path.read_text(encoding="utf-8", errors="replace")
        for included, imported in NAMES.findall(text):
            starts = [path.parent, *(root / one for one in STARTS)]
            found = [(start / (included or imported + ".ts")).resolve()
                     for start in starts]
            known = [files[one] for one in found if one in files]
            arrows[name].update(known[:1])
        arrows[name].discard(name)
    return arrows


def told_of(circle, arrows):
    return "; ".join(
        f"{name} imports {', '.join(sorted(arrows[name] & circle))}"
        for name in sorted(circle))


def check_units(root):
    """Returns one line for each circle of units below `root`."""
    arrows = units_of(root)
    return [f"units include each other: {told_of(circle, arrows)}"
            for circle in circles(arrows)]


def check(root):
    """Returns one line for each circle among the modules below `root`."""
    modules = modules_of(root)
    compiled = {".".join(path.relative_to(root).with_suffix("").parts)
                for path in root.rglob("*.pyi")} - set(modules)
    arrows = {name: arrows_of(name, modules, compiled) for name in modules}
    return [f"{root.name}: modules import each other: "
            f"{told_of(circle, arrows)}" for circle in circles(arrows)]
