"""A module of the package that is imported when it is first used."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LazyModule:
    """Stands for the module ``limitree.<name>`` in the names of another one.

    The first use imports the module, which then takes the place of this object.
    Later uses cost what they would after an import at the top.
    """

    __slots__ = ("_name", "_names")

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        self._name = name
        self._names = names  # the globals of the module that has the name

    def __getattr__(self, attribute: str) -> Any:
        package = __import__(f"limitree.{self._name}")
        module = self._names[self._name] = getattr(package, self._name)
        return getattr(module, attribute)
