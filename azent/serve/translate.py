"""Translate a client's request, of either protocol, into a turn of a conversation.

Each request contains the whole conversation, which becomes a log like that of an agent. Calls get
new ids, because some clients use one id for several calls, or none.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyio import NoEventLoopError, from_thread

from azent.conversation.requests import Terms
from azent.errors import RequestRefused
from azent.messages import Call, Log, Message, Question, Reply, Result, Spec, Specs
from azent.messages.log import replies_of, turn_of
from azent.models import Model
from azent.models.encoders import encoder_for
from azent.prompt.choice import prompts_for
from azent.runtime.calls import Execution
from azent.runtime.effects import Turn
from azent.schema.drafts import foreign_parameters
from azent.schema.references import inlined, without_references
from azent.tools.tool import RESERVED

if TYPE_CHECKING:
    from azent.serve.guard import Options

MOST_ROUNDS = 1_000_000  # no limit: the client decides how often functions are called
LONGEST_NAME = 256
MOST_MESSAGES = 4_000  # and calls, in one request with tools
MOST_SCHEMA_PARTS = 5_000  # arrays and objects in the schemas of one request
DEEPEST_SCHEMA = 64  # nested arrays and objects
IMAGE_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")
NO_RESULT = "no result was given"


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """One message of a client.

    `calls` have the client's ids. A message with the role "tool" is the result of the call with
    the id `answers`, or without an id, of a call of `tool`.
    """

    role: str
    text: str = ""
    images: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    answers: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request of a client: the conversation so far, and what is wanted next.

    - `output`: a JSON Schema for the text of the answer.
    - `options`: options of the model's server, by Ollama's names.
    - `count_tokens`: whether a stream ends with the usage.
    """

    model: str
    messages: tuple[ClientMessage, ...]
    specs: Specs = field(default_factory=dict)
    choice: str = "auto"
    parallel: bool = True
    output: dict[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    count_tokens: bool = True


def turn_of_request(wanted: Wanted, model: Model, options: Options) -> Turn:
    """Return the turn that a request continues; its calls run at the client, not here.

    It may read files and ask the model's server for the model's size. Raises RequestRefused, and
    SchemaError for an `output` with references to other documents.
    """
    log, encoder = log_of(wanted.messages), encoder_for(options.encoder)
    terms = Terms(
        specs={} if wanted.choice == "none" else wanted.specs,
        prompts=prompts_for(model, options.prompts),
        system="\n\n".join(m.text for m in wanted.messages if m.role == "system" and m.text),
        choice=wanted.choice,
        rounds=MOST_ROUNDS,
        repairs=options.repairs,
        repeatable=frozenset(wanted.specs),
        past=len(replies_of(turn_of(log))),
        parallel=wanted.parallel,
        trusted=False,
        num_ctx=model.num_ctx,
        output=wanted.output and without_references(inlined(wanted.output)),
        options=wanted.options,
        encoded=encoder is not None,
    )
    deadline = None if options.timeout is None else time.monotonic() + options.timeout
    return Turn(log, terms, Execution({}), deadline=deadline, encoder=encoder)


def check_messages(body: Mapping[str, Any]) -> None:
    """Raise RequestRefused for a conversation so long that parsing it would take minutes."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return
    calls = (m.get("tool_calls") for m in messages if isinstance(m, dict))
    count = len(messages) + sum(len(made) for made in calls if isinstance(made, list))
    if count > MOST_MESSAGES:
        hint = "Leave out what came first."
        message = f"the conversation has more than {MOST_MESSAGES:,} messages and calls"
        raise RequestRefused(message, hint, status=413)


# ---- messages ------------------------------------------------------------------------------------


def log_of(messages: Iterable[ClientMessage]) -> Log:
    """Return the log of a client's messages, whose last turn is open.

    Raises RequestRefused for a result that answers no call.
    """
    log: list[Message] = []
    waiting: dict[str, Call] = {}  # by azent's id; the calls themselves have the client's ids
    made = 0
    for message in messages:
        if message.role == "system":
            continue
        if message.role != "user" and not log:
            log.append(Question(""))  # a turn begins with a question, even if the client sent none
        if message.role == "tool":
            log.append(_result(message, waiting))
            continue
        log += [_unanswered(number, call) for number, call in waiting.items()]
        waiting = {str(made + n): call for n, call in enumerate(message.calls, start=1)}
        made += len(message.calls)
        log += _as_message(message, waiting)
    log += [_unanswered(number, call) for number, call in waiting.items()]
    return tuple(log) if _is_open(log) else (*log, Question(""))


def _as_message(message: ClientMessage, numbered: Mapping[str, Call]) -> list[Message]:
    if message.role == "user":
        return [Question(message.text, message.images)]
    if numbered:
        calls = tuple(replace(call, id=number) for number, call in numbered.items())
        return [Reply(calls, message.text, move="decide")]
    return [Reply(text=message.text, move="answer")] if message.text.strip() else []


def _result(message: ClientMessage, waiting: dict[str, Call]) -> Result:
    """Return the result in a message, matched to its call by id, by name, or by order."""
    found = _answered(message, waiting)
    if found is None:
        raise RequestRefused(
            "a message of the role 'tool' answers no call that stands before it",
            "It must follow the assistant's message with the `tool_calls` that it answers.",
        )
    return Result(waiting.pop(found).tool, message.text, id=found)


def _answered(message: ClientMessage, waiting: Mapping[str, Call]) -> str | None:
    """Return azent's id of the call that a message answers."""
    if message.answers and any(call.id for call in waiting.values()):
        return next((n for n, call in waiting.items() if call.id == message.answers), None)
    named = (n for n, call in waiting.items() if call.tool == message.tool)
    return next(named, next(iter(waiting), None))


def _unanswered(number: str, call: Call) -> Result:
    return Result(call.tool, NO_RESULT, ok=False, id=number)


def _is_open(log: list[Message]) -> bool:
    """Return whether a log ends with a question or results, so that the model has to reply."""
    return bool(log) and isinstance(log[-1], Question | Result)


# ---- tools ---------------------------------------------------------------------------------------


def specs_of(tools: Iterable[Mapping[str, Any]]) -> dict[str, Spec]:
    """Check and return the specs of a client's functions: {"name", "description", "parameters"}.

    Raises RequestRefused or SchemaError for what cannot be offered.
    """
    tools = list(tools)
    check_schemas(tool.get("parameters") for tool in tools)
    specs: dict[str, Spec] = {}
    for tool in tools:
        _stop_if_client_left()
        name = tool["name"]
        if name in specs or name in RESERVED or not _can_be_named(name):
            raise RequestRefused(f"no tool may be named {name!r}", _why_not(name, specs))
        specs[name] = {
            "name": name,
            "description": tool.get("description") or "",
            "parameters": foreign_parameters(name, tool.get("parameters")),
        }
    return specs


def _stop_if_client_left() -> None:
    """Raise in a worker thread whose request was cancelled; elsewhere do nothing."""
    with suppress(NoEventLoopError):
        from_thread.check_cancelled()


def check_schemas(schemas: Iterable[Any]) -> None:
    """Raise RequestRefused for schemas that are too large together, or nested too deeply.

    Checking a schema takes a quarter of a millisecond for each of its parts.
    """
    waiting = [(schema, 1) for schema in schemas]
    parts = 0
    while waiting:
        part, depth = waiting.pop()
        if not isinstance(part, dict | list):
            continue
        parts += 1
        if parts > MOST_SCHEMA_PARTS or depth > DEEPEST_SCHEMA:
            most = f"{MOST_SCHEMA_PARTS:,} parts, {DEEPEST_SCHEMA} levels deep"
            hint = "Offer fewer or simpler functions."
            raise RequestRefused(f"the schemas have more than {most}", hint)
        inner = part.values() if isinstance(part, dict) else part
        waiting.extend((each, depth + 1) for each in inner)


def _can_be_named(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable() and not set(name) & set(" \"'`")


def _why_not(name: str, specs: Specs) -> str:
    if name in specs:
        return "Another one bears that name."
    if name in RESERVED:
        return f"{', '.join(sorted(RESERVED))} are what `tool_choice` can say."
    return "A name is printable, without spaces and quotes."


def arguments_of(given: Any) -> dict[str, Any]:
    """Return the arguments of an earlier call as an object, whatever the client sent."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return {"arguments": given}
    return given if isinstance(given, dict) else {"arguments": given}


def image_of(data: str) -> str:
    """Check and return an image in base64, without line breaks. Raises RequestRefused.

    Ollama's client library reads a text that is a path from that file. So the decoded bytes must
    begin like an image, as those of no path do.
    """
    text = "".join(data.split())
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise RequestRefused("an image is not base64") from error
    if not decoded.startswith(IMAGE_STARTS):
        raise RequestRefused("an image is neither PNG, JPEG, GIF, WebP, BMP nor TIFF")
    return text
