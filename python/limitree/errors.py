"""The exceptions of limitree.  A denied action is a Decision, not an error."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from limitree._native import Decision

# "limits.yaml:7:9: count must be greater than 0, is -3"
_PLACE = r"(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): "


class LimitExceeded(Exception):
    """A request was denied.

    ``acquire`` and functions under ``limit`` raise it.  ``decision`` is the
    denial; its ``retry_after`` is the wait in seconds.  Two are equal if their
    decisions are equal.
    """

    decision: Decision
    #: The ``error_message`` of the limit, or None.
    message: str | None = None

    def __init__(self, decision: Decision) -> None:
        if isinstance(decision, dict):  # it went through JSON
            from limitree.decision import of_json
            decision = of_json(decision)
        super().__init__(decision)
        self.decision = decision

    def __eq__(self, other: object) -> bool:
        if (not isinstance(other, LimitExceeded)
                or type(other) is not type(self)):
            return NotImplemented
        return self.decision == other.decision

    def __hash__(self) -> int:
        return hash((type(self), self.decision))

    def __str__(self) -> str:
        if isinstance(self.decision, str):
            # A task queue other than Celery may pass on a text.
            return f"limit exceeded: {self.decision}"
        if self.message is not None:
            return self.message
        wait = self.decision.retry_after
        if wait is None or wait == float("inf"):
            return "limit exceeded: no wait is long enough"
        return f"limit exceeded: try again in {wait:.3f} s"


class ConfigError(ValueError):
    """Limits or options are not valid.

    ``messages`` has one line for each mistake, in the order of the file.
    ``file``, ``line`` and ``column`` (both from 1) are the place of the first
    one, or None for a mistake in an option.
    """

    file: str | None
    line: int | None
    column: int | None
    messages: tuple[str, ...]

    def __init__(self, *messages: str) -> None:
        import re
        super().__init__(*messages)
        self.messages = messages
        place = re.match(_PLACE, messages[0]) if messages else None
        self.file = place["file"] if place else None
        self.line = int(place["line"]) if place else None
        self.column = int(place["column"]) if place else None

    def __str__(self) -> str:
        return "\n".join(self.messages)


class StoreError(Exception):
    """The store is down or refused; nothing was charged.

    ``reason`` is the kind of failure in one word, such as ``"readonly"`` or
    ``"timeout"``: the words in the counters of Limiter.prometheus.
    """

    reason: str

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message, reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])


class StoreTimeout(StoreError, TimeoutError):
    """The store did not answer in time: the request may have been charged."""


class ClientGone(ValueError):
    """A request has no address, because its client has closed the connection.

    Nobody waits for an answer.  The web integrations end such a request without
    a message in the log.
    """


class UnknownRoot(ValueError):
    """The limits have no such top-level name."""


def error_of(status: str, messages: list[str], reason: str) -> Exception:
    """Return the exception for a status of the C interface, by its name."""
    message = messages[0]
    if status == "invalid_config":
        return ConfigError(*messages)
    if status == "store_timeout":
        return StoreTimeout(message, reason)
    if status in ("store_unavailable", "store_protocol"):
        return StoreError(message, reason)
    if status == "unknown_root":
        return UnknownRoot(message)
    if status == "invalid_argument":
        return ValueError(message)
    return RuntimeError(message)
