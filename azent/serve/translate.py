"""What a client wants, whatever protocol it came by, and the conversation that it makes.

A client keeps the conversation: each request brings all of it, calls and results included. It
becomes a log as azent's own agents keep one, so that the same pure steps say what comes next. Calls
are numbered anew, because clients use one id for several calls, or none at all.
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

MOST_ROUNDS = 1_000_000  # how often functions are called is for the client to say
LONGEST_NAME = 256
MOST_MESSAGES = 4_000  # in one request with tools, the calls in them counted too
MOST_SCHEMA_PARTS = 5_000  # arrays and objects in the schemas of one request
DEEPEST_SCHEMA = 64  # of them inside each other
IMAGE_STARTS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")
NO_RESULT = "no result was given"


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a client.

    `calls` bear the client's ids. A message of the role "tool" answers the call of the id
    `answers`, or where there is none, of the name `tool`.
    """

    role: str
    text: str = ""
    images: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    answers: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request of a client: the conversation so far, and what may come next.

    `output` is a JSON Schema that words must obey; `options` are the server's, in Ollama's names.
    `count_tokens` is whether a stream ends with what it cost.
    """

    model: str
    said: tuple[Said, ...]
    specs: Specs = field(default_factory=dict)
    choice: str = "auto"
    parallel: bool = True
    output: dict[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    count_tokens: bool = True


def turn_of_request(wanted: Wanted, model: Model, options: Options) -> Turn:
    """The turn that a request continues. Its functions run at the client's, and none here.

    Takes a while where the model's server is asked for the size of the model, or files are read.
    Raises RequestRefused, and SchemaError for a schema of words that refers to elsewhere.
    """
    log, encoder = log_of(wanted.said), encoder_for(options.encoder)
    terms = Terms(
        specs={} if wanted.choice == "none" else wanted.specs,
        prompts=prompts_for(model, options.prompts),
        system="\n\n".join(m.text for m in wanted.said if m.role == "system" and m.text),
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
    """Refuse a conversation so long that reading it would take minutes. Raises RequestRefused."""
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


def log_of(said: Iterable[Said]) -> Log:
    """The log that a client's messages make, its last turn open.

    Raises RequestRefused for a result that answers no call.
    """
    log: list[Message] = []
    waiting: dict[str, Call] = {}  # by azent's number; the calls themselves bear the client's ids
    made = 0
    for message in said:
        if message.role == "system":
            continue
        if message.role != "user" and not log:
            log.append(Question(""))  # a turn begins with a question, also where a client has none
        if message.role == "tool":
            log.append(_result(message, waiting))
            continue
        log += [_unanswered(number, call) for number, call in waiting.items()]
        waiting = {str(made + n): call for n, call in enumerate(message.calls, start=1)}
        made += len(message.calls)
        log += _as_message(message, waiting)
    log += [_unanswered(number, call) for number, call in waiting.items()]
    return tuple(log) if _is_open(log) else (*log, Question(""))


def _as_message(message: Said, numbered: Mapping[str, Call]) -> list[Message]:
    if message.role == "user":
        return [Question(message.text, message.images)]
    if numbered:
        calls = tuple(replace(call, id=number) for number, call in numbered.items())
        return [Reply(calls, message.text, move="decide")]
    return [Reply(text=message.text, move="answer")] if message.text.strip() else []


def _result(message: Said, waiting: dict[str, Call]) -> Result:
    """The result that a message brings, matched by the id, by the name, or by the order."""
    found = _answered(message, waiting)
    if found is None:
        raise RequestRefused(
            "a message of the role 'tool' answers no call that stands before it",
            "It must follow the assistant's message with the `tool_calls` that it answers.",
        )
    return Result(waiting.pop(found).tool, message.text, id=found)


def _answered(message: Said, waiting: Mapping[str, Call]) -> str | None:
    """The number of the call that a message answers."""
    if message.answers and any(call.id for call in waiting.values()):
        return next((n for n, call in waiting.items() if call.id == message.answers), None)
    named = (n for n, call in waiting.items() if call.tool == message.tool)
    return next(named, next(iter(waiting), None))


def _unanswered(number: str, call: Call) -> Result:
    return Result(call.tool, NO_RESULT, ok=False, id=number)


def _is_open(log: list[Message]) -> bool:
    """Is there something left to say: a question, or results that came last?"""
    return bool(log) and isinstance(log[-1], Question | Result)


# ---- tools ---------------------------------------------------------------------------------------


def specs_of(tools: Iterable[Mapping[str, Any]]) -> dict[str, Spec]:
    """The specs of a client's functions ({"name", "description", "parameters"}), looked through.

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
    """End work in a thread that nobody waits for any more; elsewhere this does nothing."""
    with suppress(NoEventLoopError):
        from_thread.check_cancelled()


def check_schemas(schemas: Iterable[Any]) -> None:
    """Refuse schemas that are together too large to be checked quickly, or one that is too deep.

    Checking a schema takes a quarter of a millisecond for each of its parts. Raises RequestRefused.
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
    """The arguments of an earlier call as an object, whatever the client kept of them."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return {"arguments": given}
    return given if isinstance(given, dict) else {"arguments": given}


def image_of(data: str) -> str:
    """An image in base64, checked, without line breaks. Raises RequestRefused.

    The client for Ollama takes a text that is a file's name for that file. So the bytes must begin
    as those of an image do, which no name decodes to.
    """
    text = "".join(data.split())
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise RequestRefused("an image is not base64") from error
    if not decoded.startswith(IMAGE_STARTS):
        raise RequestRefused("an image is neither PNG, JPEG, GIF, WebP, BMP nor TIFF")
    return text
