"""What an answer took, from any of the forms in which providers say it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

MOST = 2**53  # tokens of one request: what a provider says is not trusted
_MAX_REST = 2**20  # characters of an event that has not ended

_INPUT = ("prompt_tokens", "input_tokens", "promptTokenCount")
_OUTPUT = ("completion_tokens", "output_tokens", "candidatesTokenCount")
_TOTAL = ("total_tokens", "totalTokenCount")
# Anthropic does not count these as input tokens.
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")


class Usage(NamedTuple):
    """The tokens of a request."""

    input: int
    output: int
    total: int


NOTHING = Usage(0, 0, 0)


def plus(one: Usage, other: Usage) -> Usage:
    """Return what both took."""
    return Usage(*(a + b for a, b in zip(one, other)))


def get(value: Any, name: str) -> Any:
    """Return a member of a dict, or an attribute; None if there is none."""
    if isinstance(value, dict):
        return value.get(name)
    return getattr(value, name, None)


def usage_of(answer: Any) -> Usage | None:
    """Return the usage in an answer, or None if it says nothing about it."""
    found = None
    for name in ("usage", "usageMetadata", "usage_metadata"):
        found = found or get(answer, name)
    if not found or isinstance(found, (str, int, float)):
        return None
    counts = [_first(found, names) for names in (_INPUT, _OUTPUT, _TOTAL)]
    if counts == [None, None, None]:
        return None
    before, after, total = (count or 0 for count in counts)
    if get(found, "prompt_tokens") is None and not total:
        before += sum(_number(get(found, name)) or 0 for name in _CACHED)
    return Usage(before, after, max(total, before + after))


def _first(found: Any, names: tuple[str, ...]) -> int | None:
    return next((number for name in names
                 if (number := _number(get(found, name))) is not None), None)


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= MOST else None


class Meter:
    """Reads a stream on its way: its usage, and the text so far."""

    def __init__(self) -> None:
        self.events = 0
        self.texts: list[str] = []
        self._usage: Usage | None = None
        self._rest = ""

    @property
    def usage(self) -> Usage | None:
        """The usage that the provider told, or None.

        Anthropic tells the input tokens first and the output tokens last.
        """
        return self._usage

    def add(self, chunk: Any) -> None:
        """Read the next chunk: an object, a dict, or text of an SSE stream."""
        self.events += 1
        for event in self._events_in(chunk):
            for holder in (event, get(event, "response"),
                           get(event, "message")):
                told = usage_of(holder)
                if told is not None:
                    self._take(told)
            self.texts += texts_in(event)

    def _take(self, told: Usage) -> None:
        seen = self._usage or NOTHING
        before = max(seen.input, told.input)
        after = max(seen.output, told.output)
        self._usage = Usage(before, after, max(seen.total, told.total,
                                               before + after))

    def _events_in(self, chunk: Any) -> Iterator[Any]:
        if isinstance(chunk, bytes):
            chunk = chunk.decode("utf-8", "replace")
        if not isinstance(chunk, str):
            yield chunk
            return
        *lines, self._rest = (self._rest + chunk).split("\n")
        if len(self._rest) > _MAX_REST:
            self._rest = ""
        for line in lines:
            if line.startswith("data:"):
                try:
                    yield json.loads(line[5:])
                except ValueError:
                    continue  # "[DONE]"


def texts_in(event: Any) -> Iterator[str]:
    """Yield the texts that an event of a stream adds to the answer."""
    for holder in _holders_in(event):
        for name in ("content", "reasoning_content", "text", "thinking",
                     "partial_json", "arguments"):
            text = get(holder, name)
            if isinstance(text, str) and text:
                yield text


def _holders_in(event: Any) -> Iterator[Any]:
    delta = get(event, "delta")
    if isinstance(delta, str):  # of the Responses API
        yield {"text": delta}
    elif delta is not None:  # of Anthropic
        yield delta
    for choice in _list(get(event, "choices")):
        yield choice  # of the completions of old: its text
        delta = get(choice, "delta")
        yield delta
        for call in _list(get(delta, "tool_calls")):
            yield get(call, "function")
    for candidate in _list(get(event, "candidates")):  # of Gemini
        yield from _list(get(get(candidate, "content"), "parts"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
