"""Pages of reference: limitree.h, the TypeScript declarations, the docstrings.

This file reads the first two.  Both have one known style, so lines and braces
are enough to find declarations and comments.  mkdocstrings reads Python.
"""

import ast
import json
import re

NAME = re.compile(r"\b(?:LIMITREE_[A-Z_]+|limitree_\w+|_async)\b(?:\(\))?")
PYTHON = {
    "limitree": "Limiters and decisions",
    "limitree.testing": "Clocks for tests",
    "limitree.wsgi": "WSGI",
    "limitree.asgi": "ASGI",
    "limitree.flask": "Flask",
    "limitree.django": "Django",
    "limitree.drf": "Django REST framework",
    "limitree.fastapi": "FastAPI",
    "limitree.litestar": "Litestar",
    "limitree.quart": "Quart",
    "limitree.sanic": "Sanic",
    "limitree.aiohttp": "aiohttp",
    "limitree.grpc": "gRPC",
    "limitree.httpx": "Calls with httpx",
    "limitree.requests": "Calls with requests",
    "limitree.litellm": "LiteLLM",
    "limitree.web": "For frameworks",
    "limitree.prometheus": "Prometheus",
    "limitree.otel": "OpenTelemetry",
}


def text_of(comment):
    """Returns the text of a comment, without its asterisks."""
    body = re.sub(r"^/\*\*?|\*/$", "", comment.strip())
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in
             body.splitlines()]
    return "\n".join(lines).strip()


def declarations(text):
    """Yields (comment, code) for each declaration outside of any brace."""
    comment, code, inside, depth = [], [], False, 0
    for line in [*text.splitlines(), ""]:
        if not code and (inside or line.startswith("/*")):
            if not inside and comment:
                yield "\n".join(comment), ""
                comment = []
            comment.append(line)
            inside = "*/" not in line
            continue
        bare = re.sub(r"/\*.*?(\*/|$)|'[^']*'|^ *\*.*", "", line)
        depth += sum(map(bare.count, "{([")) - sum(map(bare.count, "})]"))
        if line.strip():
            code.append(line)
        ends = not line.strip() or line.endswith((";", "}"))
        if depth == 0 and ends and (code or comment):
            yield "\n".join(comment), "\n".join(code)
            comment, code = [], []


# ---- C ----------------------------------------------------------------------


def as_markdown(text):
    """Marks the names in a comment of limitree.h as code."""
    escaped = re.sub(r"([*<>\[\]|])", r"\\\1", text)
    return NAME.sub(lambda found: f"`{found[0]}`", escaped)


def title_of(code):
    """Returns the name that a declaration of C declares, or empty."""
    for pattern in (r"\b(limitree_\w+)\(", r"\(\*(limitree_\w+)\)",
                    r"^}? ?(limitree_\w+);", r"(limitree_\w+);",
                    r"#define (LIMITREE_\w+)", r"^  (LIMITREE_\w+) ="):
        found = re.search(pattern, code, re.M)
        if found:
            return found[1]
    return ""


def of_header(header):
    """Returns the page of limitree.h."""
    about = re.match(r"/\*.*?\*/", header, re.S)[0]
    body = header[header.index('extern "C" {\n#endif\n') + 20:]
    body = body[:body.rindex("#ifdef __cplusplus")]
    page = ["# limitree.h", "This is [the C interface](../c-api.md), as "
            "`limitree.h` declares it.", f"```text\n{text_of(about)}\n```"]
    for comment, code in declarations(body):
        section = re.match(r"/\* -+ (.*?) -+ \*/", comment)
        if section:
            page.append(f"## {section[1]}")
            continue
        if not code or code.startswith("#endif"):
            continue
        title = title_of(code)
        if title:
            page.append(f"### `{title}`")
        if comment:
            page.append(as_markdown(text_of(comment)))
        page.append(f"```c\n{code.replace('LIMITREE_API ', '')}\n```")
    return "\n\n".join(page) + "\n"


# ---- TypeScript -------------------------------------------------------------


def read_types(folder, name):
    """Returns what a file of declarations exports: (declared, handed on).

    `declared` maps names to comment and code, `handed on` to (file, name).
    """
    text = (folder / f"{name}.d.ts").read_text(encoding="utf-8")
    declared, handed = {}, {}
    for comment, code in declarations(text):
        again = re.match(r"export (?:type )?{(.*)} from '\./(.*)\.js';", code,
                         re.S)
        if again:
            for one in filter(None, map(str.strip, again[1].split(","))):
                handed[one.split()[-1]] = (again[2], one.split()[0])
            continue
        found = re.match(r"export (?:default |declare |abstract )*"
                         r"(?:class|interface|type|function|const|let) (\w+)",
                         code)
        if found:
            shown = re.sub(r"^export (declare )?|^ *#private;\n", "", code,
                           flags=re.M)
            # Overloads of a function stand one below the other.
            before = declared.get(found[1])
            declared[found[1]] = ((before[0] or comment,
                                   f"{before[1]}\n{shown}")
                                  if before else (comment, shown))
    return declared, handed


def exports_of(folder, name):
    """Yields the file, the name, the comment and the code of each export."""
    declared, handed = read_types(folder, name)
    for one, (comment, code) in declared.items():
        yield name, one, comment, code
    for file, one in handed.values():
        for found in exports_of(folder, file):
            if found[1] == one:
                yield found


def of_types(root, folder):
    """Returns the page of all entry points of the npm package."""
    package = json.loads((root / "package.json").read_text(encoding="utf-8"))
    page = ["# The npm package", "These are the exports of each entry point, "
            "with their TypeScript declarations. [Node.js](../node.md) and "
            "[web servers](../node-web.md) show how to use them."]
    seen = {}
    for entry, files in package["exports"].items():
        if not isinstance(files, dict):
            continue
        module = ("limitree" + entry[1:])
        page.append(f"## `{module}`")
        file = files["require"]["types"].rsplit("/", 1)[1]
        for source, name, comment, code in exports_of(
                folder, file.removesuffix(".d.ts")):
            if (source, name) in seen:
                page.append(f"`{name}` is that of `{seen[source, name]}`.")
                continue
            seen[source, name] = module
            page.append(f"### `{name}`")
            if comment:
                page.append(text_of(comment))
            page.append(f"```ts\n{code}\n```")
    return "\n\n".join(page) + "\n"


# ---- Python -----------------------------------------------------------------


def names_of(file):
    """Returns the public names of a Python module, in order."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return sorted(ast.literal_eval(node.value), key=str.lower)
    return [node.name for node in tree.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef,
                                 ast.AsyncFunctionDef))
            and not node.name.startswith("_")]


def of_python(root):
    """Returns the page that mkdocstrings fills."""
    page = ["# The Python package", "[Python](../python.md) shows how to use "
            "it."]
    for module, title in PYTHON.items():
        file = root / "python" / module.replace(".", "/")
        file = file / "__init__.py" if file.is_dir() else (
            file.with_suffix(".py"))
        page.append(f"## {title}")
        page += [f"::: {module}.{name}" for name in names_of(file)
                 if not name.startswith("__")]
    return "\n\n".join(page) + "\n"
