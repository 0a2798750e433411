"""Define the values that travel between the parts of azent.

All of them are frozen and have no behaviour. A conversation (`Log`) is a tuple of messages:
`Question`, `Ranking`, `Reply`, `Result`, `Correction`, `Note`. The log is the whole state of its
conversation: undo is a slice, a branch is another reference, a store keeps one JSON object per
message.

A model streams `Delta`s and then one `End`. A person watches events, of which the last is the
`Answer`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

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
NARROWING = ("gate", "choose", "list")  # these moves only narrow a decision down
Spec: TypeAlias = Mapping[str, Any]  # {"name", "description", "parameters": a JSON Schema, ...}
Specs: TypeAlias = Mapping[str, Spec]  # by name, in the order in which they are offered

# A keyword in the schemas that calls are validated against, never in those that a model sees: the
# other paths at which a call may give an argument, by its shown name ({"name": [["login"]]}).
ALIASES = "azent:aliases"
ChatMessage: TypeAlias = dict[str, Any]  # {"role", "content"}, as chat servers take it

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context(Generic[T]):
    """A container for the object that a caller passes to its functions as `context=`.

    A parameter with this annotation is filled in by azent and hidden from the model. `value` is the
    object itself: connections, a user, settings.
    """

    value: T


# ---- parts of a reply ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a reply or a tool call: a kind for programs, a sentence for the model."""

    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model, its input as JSON values.

    A call with a `problem` is invalid and never runs. `id` is assigned when the call enters a log.
    """

    tool: str
    tool_input: dict[str, Any]
    problem: Problem | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of requests in tokens and seconds; two usages can be added."""

    prompt_tokens: int = 0  # of the prompts, as the server counted them
    reply_tokens: int = 0  # of the replies, as the server counted them
    requests: int = 0  # number of requests sent
    seconds: float = 0.0  # wall time
    load_seconds: float = 0.0  # reported by the server: loading the model
    prompt_seconds: float = 0.0  # reported by the server: reading the prompts
    reply_seconds: float = 0.0  # reported by the server: writing the replies
    estimated_tokens: int = 0  # azent's estimate of prompt_tokens, made to fit the context window
    cached_tokens: int = 0  # found in the server's cache; Ollama counts them in prompt_tokens

    def __add__(self, other: Usage) -> Usage:
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Usage(*(one + another for one, another in pairs))


# ---- messages of a log ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """A message of the user. `images` are base64-encoded, as Ollama takes them."""

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The offered functions, ranked by similarity in meaning to the question that it follows."""

    scores: tuple[tuple[str, float], ...] = ()  # (function name, score), best first
    in_context: float | None = None  # best score with the turn before; None in a first turn


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the model after parsing."""

    calls: tuple[Call, ...] = ()
    text: str = ""  # the text outside tool calls
    thinking: str = ""  # the reasoning text
    problem: Problem | None = None
    repairs: tuple[str, ...] = ()  # what the parser repaired, one phrase each
    usage: Usage | None = None
    move: Move = "single"  # the kind of request that was answered
    raw: str = ""  # the text as received; stored, but never sent again
    done_reason: str = "stop"  # from the server; "length" if the reply was cut
    picked: tuple[str, ...] | None = None  # functions or subtasks that a narrowing reply named


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool call, as text for the model."""

    tool: str
    text: str
    ok: bool = True  # False if the function failed or did not run
    problem: Problem | None = None  # what is wrong with the call itself
    value: Any = field(default=None, compare=False, repr=False)  # the returned object
    id: str = ""  # the id of the call


@dataclass(frozen=True, slots=True)
class Correction:
    """A message of azent that tells the model why its last reply was unusable."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Note:
    """A record of an event that changes how the conversation goes on.

    - `shrunk`: requests send only `chars` characters of the results in `ids`, and leave out the
      first `turns` turns; `text` is their summary and `usage` its cost, if one was made.
    - `interrupted`: the calls in `ids` were started, and whether they finished is unknown.
    - `stopped`: the turn ends, for the reason in `text`.
    """

    what: Literal["shrunk", "interrupted", "stopped"]
    text: str = ""
    ids: tuple[str, ...] = ()
    turns: int = 0
    chars: int = 0
    usage: Usage | None = None


Message: TypeAlias = Question | Ranking | Reply | Result | Correction | Note
Log: TypeAlias = tuple[Message, ...]


# ---- request and streamed reply ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model."""

    messages: tuple[ChatMessage, ...]
    format: dict[str, Any] | None = None  # JSON Schema for constrained decoding
    timeout: float | None = None  # seconds for the reply; None: the model's own setting
    options: Mapping[str, Any] = field(default_factory=dict)  # override the model's; Ollama's names
    tools: tuple[Spec, ...] = ()  # for native tool calling, only used in comparisons


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed reply. `calls` are tool calls that the server itself parsed.

    `in_reasoning` marks the first piece of a reply that is expected to begin inside reasoning,
    because its opening tag is in the prompt: the text before the closing tag is then no answer.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    in_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The end of a streamed reply: the reason ("stop", "length") and the usage."""

    done_reason: str = "stop"
    usage: Usage = Usage(requests=1)


# ---- events --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asking:
    """The event that a request is being sent to the model.

    `number` counts the requests of the question; `why` gives the decision that led to the request.
    """

    move: Move
    number: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The event that a piece of the answer's text arrived."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The event that a piece of the model's reasoning arrived."""

    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    """The event that a reply is complete and parsed."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The event that a function was started."""

    call: Call


@dataclass(frozen=True, slots=True)
class CallFinished:
    """The event that a function returned after `seconds`, or was refused."""

    call: Call
    result: Result
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Corrected:
    """The event that a reply was unusable and a correction is sent to the model."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The event that the conversation was shortened to fit the context window."""

    note: Note


@dataclass(frozen=True, slots=True)
class Warning:
    """The event of a problem that the user should know about; the run goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The last event: the outcome of a question."""

    text: str
    value: Any = None  # the typed value, if a type was asked for
    log: Log = field(default=(), repr=False)  # the conversation so far
    calls: tuple[Call, ...] = ()  # the valid calls of this question
    results: tuple[Result, ...] = ()  # in the order of the calls
    usage: Usage = Usage()
    stopped: str | None = None  # "rounds", "repeats", "timeout", "refused", "terminated"
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
