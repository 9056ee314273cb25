"""The sources of limits: a file, a text or a dict.  The core gets YAML."""

from __future__ import annotations

import os
from _collections_abc import Mapping  # already imported, unlike collections.abc

from limitree import _native
from limitree.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    from typing_extensions import TypeAlias

# As texts, because otherwise their parts would have to be imported.
Replace: TypeAlias = "bool | Literal['added']"
OneText: TypeAlias = "str | os.PathLike[str] | Mapping[str, object]"
Limits: TypeAlias = "OneText | Sequence[OneText]"

#: A tree without names, for a limiter that has descriptors only, or that gets
#: its names by put.
NO_LIMITS: Limits = {"schema": {}}

#: The default of limiters, which need limits or descriptors.
NOT_GIVEN: Limits = {}

# JSON allows these as they are; in YAML they are line breaks, or not allowed.
_UNPRINTABLE = "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"


def read(limits: Limits) -> list[tuple[bytes, bytes]]:
    """Return the YAML of `limits` and its name in error messages.

    A ``str`` with a newline or a colon is YAML, any other ``str`` is the name
    of a file; an ``os.PathLike`` is always a file.  A mapping has the shape of
    a ``limits.yaml``.  A list has several of these with different top-level
    names, which make up one tree.  Raises OSError if a file cannot be read,
    ConfigError for a text that is one limit, TypeError for anything else.
    """
    if limits is NO_LIMITS:
        return []
    if isinstance(limits, (list, tuple)):
        if not limits:
            raise TypeError("limits must not be an empty list")
        return [_read_one(one) for one in limits]
    return [_read_one(limits)]


def _is_text(source: object) -> bool:
    return isinstance(source, str) and ("\n" in source or ":" in source)


def _read_one(source: object, name: str = "limits") -> tuple[bytes, bytes]:
    if isinstance(source, Mapping):
        return _yaml_of(source), name.encode()
    if _is_text(source):
        return source.encode(), name.encode()  # type: ignore[attr-defined]
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path, YAML text, a dict or a list "
                        f"of those, not {type(source).__name__}")
    try:
        with open(source, "rb") as file:
            return file.read(), os.fsencode(source)
    except FileNotFoundError:
        if name == "limits":
            _refuse_plain(source)
        raise


def read_descriptors(sources: Limits) -> list[tuple[bytes, bytes]]:
    """Return the texts of files of envoyproxy/ratelimit, and their names.

    As `read`; a folder stands for all files in it, without its folders.
    """
    if not isinstance(sources, (list, tuple)):
        sources = [sources]  # type: ignore[list-item]
    return [_read_one(file, "descriptors")
            for one in sources for file in _files_in(one)]


def _files_in(source: object) -> list[object]:
    """Return the files of a folder, or `source` if it is not a folder."""
    if (not isinstance(source, (str, os.PathLike)) or _is_text(source)
            or not os.path.isdir(source)):
        return [source]
    # Entries, not names: a name with a colon would be taken for YAML text.
    folder: str = os.fspath(source)
    with os.scandir(folder) as entries:
        files = [entry for entry in entries if entry.is_file()]
    files.sort(key=lambda entry: entry.name)
    return list(files)


def read_node(node: str | Mapping[str, object]) -> bytes:
    """Return the YAML of what stands below one name of a ``limits.yaml``.

    Raises TypeError unless it is YAML text or a mapping.
    """
    if isinstance(node, str):
        return node.encode()
    if isinstance(node, Mapping):
        return _yaml_of(node)
    raise TypeError("a node must be YAML text or a dict, not "
                    f"{type(node).__name__}")


def _refuse_plain(text: object) -> None:
    """Raise ConfigError if `text` is a limit, such as "5/minute"."""
    try:
        _native.parse_rates(text)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return
    import json
    raise ConfigError(
        f"limits are a tree, {text!r} is one limit: name what it is for, as "
        f"in {{\"schema\": {{\"job\": {{\"limits\": {json.dumps(text)}}}}}}}")


def _yaml_of(limits: Mapping[str, object]) -> bytes:
    import json
    import re
    text = json.dumps(limits, ensure_ascii=False, default=_plain)
    escaped = re.sub(_UNPRINTABLE, lambda found: f"\\u{ord(found[0]):04x}",
                     text)
    return escaped.encode()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError("limits must be made of dicts, lists, texts and numbers; "
                    f"there is a {type(value).__name__} in them")


#: What limitree calls options of redis-py, in the same units.
_OF_REDIS_PY = {
    "socket_timeout": "timeout", "socket_connect_timeout": "connect_timeout",
    "ssl_ca_certs": "tls_ca_file", "ssl_certfile": "tls_cert_file",
    "ssl_keyfile": "tls_key_file"}


def of_redis_py(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options`, in which names of redis-py may stand."""
    return {_OF_REDIS_PY.get(name, name): value
            for name, value in options.items()}


def text_of_options(options: Mapping[str, object]) -> dict[str, str]:
    """Return `options` as texts for the core; None leaves the default.

    A number for a duration is seconds.  Raises TypeError for a value that is
    not a text, number, bool or path.
    """
    return {name: _text_of_option(name, value)
            for name, value in options.items() if value is not None}


def _text_of_option(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    try:
        _native.check_options({name: ""})  # is there such an option?
    except ConfigError:
        pass
    raise TypeError(f"{name} must be str, int, float, bool or a path, not "
                    f"{type(value).__name__}")
