"""What a request may take, before the answer is there."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Any

from limitree.litellm.usage import MOST

#: The calls in which a model writes an answer.
WRITING = frozenset("""
    completion acompletion text_completion atext_completion responses aresponses
    anthropic_messages aanthropic_messages generate_content agenerate_content
    generate_content_stream agenerate_content_stream _arealtime
    _aresponses_websocket create_interaction acreate_interaction
    pass_through_endpoint llm_passthrough_route allm_passthrough_route
    """.split())

_LIMITS_OF_OUTPUT = ("max_tokens", "max_completion_tokens", "max_output_tokens",
                     "maxOutputTokens")
_CHOICES = ("n", "best_of", "candidateCount")
_TEXTS = ("system", "instructions", "messages", "prompt", "input", "contents",
          "tools", "functions", "query", "documents")
# What is in these is not text, but a picture or a sound.
_NOT_TEXT = ("image_url", "url", "data", "file_data", "inline_data",
             "inlineData")
_CHARACTERS_OF_A_TOKEN = 4
_ANSWERS = 100
_MODELS = 1000


class Learnt:
    """How long the answers of each model are: the p95 of the last hundred.

    Bounded: of more than a thousand models, the least used are forgotten.
    """

    def __init__(self, unknown: int) -> None:
        self._unknown = unknown
        self._answers: OrderedDict[str, deque[int]] = OrderedDict()

    def add(self, model: str, output: int) -> None:
        """Learn from one answer."""
        answers = self._answers.setdefault(model, deque(maxlen=_ANSWERS))
        self._answers.move_to_end(model)
        answers.append(output)
        if len(self._answers) > _MODELS:
            self._answers.popitem(last=False)

    def output(self, model: str) -> int:
        """Return how many tokens an answer of `model` hardly exceeds."""
        answers = self._answers.get(model)
        if not answers:
            return self._unknown
        return sorted(answers)[(len(answers) * 95 - 1) // 100]


def output_limit(data: dict[str, Any]) -> int | None:
    """Return the output tokens that a request allows at most.

    Clients may name it in several ways, of which a provider reads one: the
    largest counts.
    """
    numbers = _numbers_in(data, _LIMITS_OF_OUTPUT)
    return max(numbers) if numbers else None


def choices(data: dict[str, Any]) -> int:
    """Return how many answers a request wants, each of which has output."""
    return max([1, *_numbers_in(data, _CHOICES)])


def cap_output(data: dict[str, Any], call_type: str, most: int) -> None:
    """Let a provider write at most `most` tokens for each answer."""
    if "generate_content" in call_type:
        name = "maxOutputTokens"
        where = ("generationConfig" if "generationConfig" in data
                 else "config")
        place = data.get(where)
        if not isinstance(place, dict):
            place = data[where] = {}
    else:
        place = data
        name = "max_output_tokens" if "responses" in call_type else "max_tokens"
    if not _numbers_in(data, _LIMITS_OF_OUTPUT):
        place[name] = most
    for place in _places_in(data):
        for name in _LIMITS_OF_OUTPUT:
            if (_number(place.get(name)) or 0) > most:
                place[name] = most


def _places_in(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where a request may say how an answer should be."""
    return [data, *(found for name in ("extra_body", "config",
                                       "generationConfig")
                    if isinstance(found := data.get(name), dict))]


def _numbers_in(data: dict[str, Any], names: tuple[str, ...]) -> list[int]:
    return [number for place in _places_in(data) for name in names
            if (number := _number(place.get(name))) is not None]


def _number(value: object) -> int | None:
    """Return a number of a client: as LiteLLM, also from a text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not number >= 0:  # nan, too
        return None
    return int(min(number, MOST))


def input_tokens(data: dict[str, Any], model: str, is_chat: bool) -> int:
    """Return the input tokens of a request by LiteLLM's counter.

    For a thread: a long prompt takes long.
    """
    import litellm  # type: ignore[import-not-found]
    messages = data.get("messages")
    if is_chat and isinstance(messages, list):
        try:
            # Without the default, images would be fetched to be measured.
            return int(litellm.token_counter(
                model=model, messages=messages, tools=data.get("tools"),
                use_default_image_token_count=True))
        except Exception:
            pass  # a kind of content that the counter does not know
    numbers, texts = _leaves(data)
    return numbers + text_tokens("\n".join(texts), model)


def text_tokens(text: str, model: str) -> int:
    """Return the tokens of a text; for a thread."""
    import litellm
    if not text:
        return 0
    try:
        return int(litellm.token_counter(model=model, text=text))
    except Exception:
        return len(text) // _CHARACTERS_OF_A_TOKEN + 1


def _leaves(data: dict[str, Any]) -> tuple[int, list[str]]:
    """Return how many numbers a prompt has, each a token, and its texts."""
    numbers, texts = 0, []
    for value in _values_in([data.get(name) for name in _TEXTS]):
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, int):
            numbers += 1
    return numbers, texts


def _values_in(start: object) -> Iterator[object]:
    """Yield all that is in lists and dicts, however deep, without recursion."""
    stack = [start]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            stack.extend(member for name, member in value.items()
                         if name not in _NOT_TEXT)
        else:
            yield value
