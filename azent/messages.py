"""The values that travel between the parts of azent, and the JSON forms of those that are kept.

All are frozen and do nothing. A conversation (`Log`) is a tuple of messages: `Question`, `Ranking`,
`Reply`, `Result`, `Correction`, `Note`. Whoever holds a log holds the whole state of its
conversation, so undo is a slice, a branch is a copy of the name, and a store keeps one JSON object
per message.

What a model streams is a run of `Delta`s closed by one `End`; what a person watches is a run of
events closed by the `Answer`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import UnionType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

ProblemKind: TypeAlias = Literal[
    "truncated",
    "malformed",
    "unknown_tool",
    "missing_argument",
    "invalid_argument",
    "unexpected_argument",
    "empty",
    "too_deep",
    "too_many",
]
Move: TypeAlias = Literal["decide", "more", "answer", "single", "gate", "choose", "list"]
NARROWING = ("gate", "choose", "list")  # the moves that only narrow a decision down
Spec: TypeAlias = Mapping[str, Any]  # {"name", "description", "parameters": a JSON Schema, ...}
Specs: TypeAlias = Mapping[str, Spec]  # by name, in the order in which they are offered

# A keyword in schemas that calls are judged by, never in those that a model is shown: where else
# the value of an argument may stand, by the name that is shown ({"name": [["login"]]}).
ALIASES = "azent:aliases"
ChatMessage: TypeAlias = dict[str, Any]  # {"role", "content"}, as chat servers take it

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context(Generic[T]):
    """What one run hands to its functions; a parameter annotated with it is hidden from the model.

    `value` is the object that was given as `context=`: connections, a user, settings.
    """

    value: T


# ---- what the reader makes of a reply ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a reply or a call: a kind for programs, a sentence for the model."""

    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class Call:
    """One function that the model wants called, with its input as JSON values.

    A call with a `problem` is illegal and never runs. `id` is given when the call enters a log.
    """

    tool: str
    tool_input: dict[str, Any]
    problem: Problem | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What requests cost: tokens as the server counted them, and wall time in seconds.

    `load_seconds`, `prompt_seconds` and `reply_seconds` are the server's own account of it.
    `estimated_tokens` is what azent took the prompt for, where it fits prompts into a context.
    `cached_tokens` are those of the prompt that the server says it had read before; Ollama counts
    them as read, but they cost it no `prompt_seconds`.
    """

    prompt_tokens: int = 0
    reply_tokens: int = 0
    requests: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0
    prompt_seconds: float = 0.0
    reply_seconds: float = 0.0
    estimated_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Usage(*(one + another for one, another in pairs))


# ---- the messages of a log -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """What the user said. `images` are base64, as Ollama takes them."""

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """How near each offered function is to the question before it, by meaning.

    `scores` are pairs of a name and a score, the nearest function first (`azent.selection`). They
    are empty where no encoder could tell. `in_context` is the best score of the question together
    with what was said before it, None for the first question of a conversation.
    """

    scores: tuple[tuple[str, float], ...] = ()
    in_context: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said, as it was read.

    `text` is the words outside calls, `thinking` the reasoning, `repairs` what was bent to read it.
    `move` says what was asked for; `raw` is the text as it came: kept, and never sent again.
    `done_reason` is the server's: "length" where the reply was cut. `picked` is what a reply that
    narrows a decision down said: the functions chosen, or the things asked for; None: nothing.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    thinking: str = ""
    problem: Problem | None = None
    repairs: tuple[str, ...] = ()
    usage: Usage | None = None
    move: Move = "single"
    raw: str = ""
    done_reason: str = "stop"
    picked: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call, as text that the model can read.

    `value` is what the function returned: for the program, neither stored nor compared. `ok` is
    false where the function did not run, or failed; `problem` says what was wrong with the call.
    """

    tool: str
    text: str
    ok: bool = True
    problem: Problem | None = None
    value: Any = field(default=None, compare=False, repr=False)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """What azent tells the model about a reply that could not be used."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Note:
    """Something that befell the conversation.

    `shrunk`: of the results in `ids` only `chars` characters are still sent, and of the first
    `turns` turns nothing; `text` sums these up and cost `usage`, where that was asked for.
    `interrupted`: the calls in `ids` began and their end is not known. `stopped`: the turn ends,
    for the reason in `text`.
    """

    what: Literal["shrunk", "interrupted", "stopped"]
    text: str = ""
    ids: tuple[str, ...] = ()
    turns: int = 0
    chars: int = 0
    usage: Usage | None = None


Message: TypeAlias = Question | Ranking | Reply | Result | Correction | Note
Log: TypeAlias = tuple[Message, ...]


# ---- what a model streams ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked: chat messages, and the JSON Schema that its text must obey, if any.

    `timeout` is the seconds that are left for the reply; `None` leaves it to the model's settings.
    `options` go before the model's own (temperature, num_predict, ...), in Ollama's names. `tools`
    hands functions to the server's own tool calling, for comparison: azent needs none of it.
    """

    messages: tuple[ChatMessage, ...]
    format: dict[str, Any] | None = None
    timeout: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Spec, ...] = ()


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply. `calls` are those that the server itself read out of the text.

    `in_reasoning` says of the first text that it is expected to begin within reasoning, whose
    opening tag stood in the prompt: what comes before the closing tag is then no answer.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    in_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The end of a reply: why it ended ("stop", "length"), and what it cost."""

    done_reason: str = "stop"
    usage: Usage = Usage(requests=1)


# ---- what a person watches -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asking:
    """The model is being asked: the move says what for, the number counts a question's requests.

    `why` says what was decided before the request, where anything was.
    """

    move: Move
    number: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the answer's text, for a person to see."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply has come to its end and was read."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A function was begun."""

    call: Call


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A function came back after so many seconds, or was refused."""

    call: Call
    result: Result
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Corrected:
    """A reply could not be used, and the model is told why."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The conversation was shortened to fit into the context."""

    note: Note


@dataclass(frozen=True, slots=True)
class Warning:
    """Something that the user should know, and that did not stop the run."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question: the last event.

    `text` is the words, `value` the typed value where one was asked for, `log` the conversation so
    far, `calls` and `results` those of this question in the order of the calls. `stopped` is None,
    or says why the run ended early: "rounds", "repeats", "timeout", "refused", "terminated".
    """

    text: str
    value: Any = None
    log: Log = field(default=(), repr=False)
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    usage: Usage = Usage()
    stopped: str | None = None
    warnings: tuple[str, ...] = ()


Event: TypeAlias = (
    Asking
    | Chunk
    | Thinking
    | Replied
    | CallStarted
    | CallFinished
    | Corrected
    | Shrunk
    | Warning
    | Answer
)


# ---- JSON forms ----------------------------------------------------------------------------------

_KINDS: dict[str, type[Message]] = {
    "question": Question,
    "ranking": Ranking,
    "reply": Reply,
    "result": Result,
    "correction": Correction,
    "note": Note,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def to_json(message: Message) -> dict[str, Any]:
    """A message as plain JSON values, fields at their defaults left out, its kind under "kind"."""
    return {"kind": _NAMES[type(message)], **_plain(message)}


def from_json(data: Any) -> Message:
    """The message that `to_json` made; KeyError, TypeError or ValueError on anything else."""
    fields = {name: value for name, value in _object(data).items() if name != "kind"}
    message: Message = read_as(_KINDS[str(data["kind"])], fields)
    return message


def read_as(kind: Any, value: Any) -> Any:
    """A JSON value as the type that an annotation names. Raises KeyError, TypeError, ValueError."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        types = _field_types(kind)
        return kind(**{name: read_as(types[name], each) for name, each in _object(value).items()})
    origin, choices = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else read_as(choices[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = choices[:1] * len(value) if choices[-1] is Ellipsis else choices
        return tuple(read_as(each, item) for each, item in zip(kinds, value, strict=True))
    if kind is float and type(value) is int:
        return float(value)
    if kind is Any or type(value) is (origin or kind) or (origin is Literal and value in choices):
        return value
    raise TypeError(f"{value!r:.80} is not of the type {kind}")


@cache
def _field_types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise TypeError(f"{value!r:.80} is no object")


def _plain(value: Any) -> dict[str, Any]:
    kept = [f for f in dataclasses.fields(value) if f.compare]
    said = {f.name: getattr(value, f.name) for f in kept if getattr(value, f.name) != f.default}
    return {name: _plain_item(item) for name, item in said.items()}


def _plain_item(item: Any) -> Any:
    if dataclasses.is_dataclass(item):
        return _plain(item)
    return [_plain_item(each) for each in item] if isinstance(item, tuple) else item
