"""A log and its terms in, the chat messages that a model is sent out. Pure.

The same log and terms always give the same messages, to the byte, and a log that grows gives
messages that begin as they did before, so that the server's cache of the prefix holds.

Text inside a result is data: it goes as JSON, with whatever could act as a chat marker escaped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from azent.log import WITHHELD, folded, question_of, replies_of, turn_of, turns, without_last_calls
from azent.markers import escape_markers
from azent.messages import (
    Call,
    ChatMessage,
    Correction,
    Log,
    Message,
    Move,
    Question,
    Reply,
    Result,
    Specs,
)
from azent.prompt import PromptSet, Text, blanks_of, examples, fill
from azent.schema import render
from azent.selection import gate_messages, is_first, listed, retrieved, scope_of
from azent.shrunk import results_cut, shortened, summary_of, turns_left_out
from azent.typed import Typed


@dataclass(frozen=True, slots=True)
class Terms:
    """What stays fixed for the length of a conversation.

    `choice` holds for the first decision of each question. `rounds` is the most replies whose calls
    run, `repairs` the most corrections in a row. `readonly`, `repeatable` and `confirm` (a
    person is asked first) are names of tools. `until` ends a turn: a word that a reply contains, or
    a function that says so of it.
    `again` are those that may begin again after a crash, whether they began before it or not.
    `past` is how many replies of the last turn were there before `choice` was asked for.
    `parallel` is whether one reply may make several calls; `trusted`, whether the patterns in the
    specs may be evaluated. `output` is a JSON Schema that answers are held to, and `options` are
    the server's, for answers alone: decisions are decoded as azent decodes them. `typed` is the
    type whose values answers must be. `num_ctx` is the context, in tokens, that requests are fitted
    into; `summarise`, whether the model sums up the turns that are left out to fit. `encoded` is
    whether an encoder is there, that tells how near the functions are to a question.
    """

    specs: Specs
    prompts: PromptSet
    system: str = ""
    choice: str = "auto"
    rounds: int = 8
    repairs: int = 2
    readonly: frozenset[str] = frozenset()
    repeatable: frozenset[str] = frozenset()
    confirm: frozenset[str] = frozenset()
    again: frozenset[str] = frozenset()
    until: str | Callable[[Reply], bool] | None = None
    past: int = 0
    parallel: bool = True
    trusted: bool = True
    output: dict[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    typed: Typed | None = None
    num_ctx: int | None = None
    summarise: bool = False
    encoded: bool = False


def choice_now(turn: Log, terms: Terms) -> str:
    """The choice of tools that holds now: what was asked for holds until something was called."""
    since = replies_of(turn)[terms.past :]
    made = any(reply.calls and not reply.problem for reply in since)
    return "auto" if made else terms.choice


def messages_for(log: Log, terms: Terms, move: Move) -> tuple[ChatMessage, ...]:
    """Return the request for a move: system text and tools, the conversation, what to do now.

    What a model was asked to do stays before each of its replies, so that a request begins with all
    of the one before it, and the server reads only what is new.
    """
    if move == "gate":
        return gate_messages(log, terms.specs, terms.prompts)
    if move == "more":  # the same request again, to the byte: only its schema differs
        return messages_for(without_last_calls(log), terms, "decide")
    terms = replace(terms, specs=_shown(log, terms, move))
    chat = [_chat("system", _system(log, terms, move)), _chat("user", _earlier(log, terms))]
    *earlier, last = turns(_cut(log))[turns_left_out(log) :] or [()]
    for turn in earlier:
        chat += _turn_messages(turn, _with_short_questions(terms))
    chat += _turn_messages(last, _with_short_questions(terms) if move == "answer" else terms)
    chat.append(_chat("user", _instruction(turn_of(log), terms, move)))
    said = (message for message in chat if message["content"] or message.get("images"))
    return tuple(_merged(said))


def _shown(log: Log, terms: Terms, move: Move) -> Specs:
    """Return the functions that a request shows.

    Where decoding is held to a schema, the schema alone says which of them a decision is narrowed
    down to, so that the text of the functions stays the same from one question to the next.
    """
    choice = choice_now(turn_of(log), terms)
    if terms.prompts.held or move == "answer":
        return retrieved(terms.specs, turn_of(log), terms.prompts.selection, choice)
    return scope_of(log, terms.specs, terms.prompts, choice, terms.system).specs


def summary_messages(log: Log, terms: Terms, asked: str = "") -> tuple[ChatMessage, ...]:
    """The request for a summary of a log: the conversation without tools, and what to do now."""
    bare = Terms({}, terms.prompts)
    last = _chat("user", asked or fill(terms.prompts.texts["summary"], {}))
    return tuple(_merged([*messages_for(log, bare, "answer"), last]))


def _cut(log: Log) -> Log:
    """The log, with those results cut that are no longer sent whole."""
    cuts = results_cut(log)
    return tuple(
        replace(m, text=shortened(m.text, cuts[m.id]))
        if isinstance(m, Result) and m.id in cuts
        else m
        for m in log
    )


def _system(log: Log, terms: Terms, move: Move) -> str:
    """Return what a model is told first: the system text, azent's own, the tools.

    A set may have another text for answers without calls: small models that were told to reply in
    JSON do so whatever else they are asked for. After calls the text stays the same, so that the
    server need not read it anew.
    """
    if not terms.specs:
        return terms.system
    bare = move == "answer" and is_first(turn_of(log)) and "answering" in terms.prompts.texts
    return _filled(terms.prompts.texts["answering" if bare else "system"], terms)


def _earlier(log: Log, terms: Terms) -> str:
    """What stands in for the turns that are left out."""
    if not turns_left_out(log):
        return ""
    return fill(terms.prompts.texts["earlier"], {"summary": summary_of(log)})


def _with_short_questions(terms: Terms) -> Terms:
    """Return the terms without the set's text for questions, if that shows all functions."""
    texts = terms.prompts.texts
    if not {"functions", "examples"} & set(blanks_of(texts.get("question", Text("", "")))):
        return terms
    rest = {name: text for name, text in texts.items() if name != "question"}
    return replace(terms, prompts=replace(terms.prompts, texts=rest))


def _put(text: str, terms: Terms) -> str:
    """Return a question as the set wants it put."""
    if "question" not in terms.prompts.texts or not terms.specs:
        return text
    return _filled(terms.prompts.texts["question"], terms, text)


def _instruction(turn: Log, terms: Terms, move: Move) -> str:
    """What to do now, which stands last in the request; without tools there is nothing to say."""
    texts = terms.prompts.texts
    if move == "answer" and terms.typed:
        schema = json.dumps(terms.typed.schema, ensure_ascii=False)
        return fill(texts["value"], {"question": question_of(turn), "schema": schema})
    name = _text_of(turn, move)
    if not terms.specs or name not in texts:
        return ""
    asked = "\n".join(f"- {thing}" for thing in listed(turn))
    return _filled(texts[name], terms, question_of(turn), asked)


def _text_of(turn: Log, move: Move) -> str:
    """Which text of the set says what to do now."""
    if move in ("decide", "single"):
        return "decide" if is_first(turn) else "next"
    return move


def _filled(text: Text, terms: Terms, question: str = "", asked: str = "") -> str:
    """A text with its blanks filled; what it has no blank for, such as all functions, is not made.

    `asked` are the separate things that are asked for, where the model has listed them.
    """
    makers: dict[str, Callable[[], str]] = {
        "system": lambda: terms.system,
        "functions": lambda: render(terms.specs, terms.prompts.functions),
        "examples": lambda: _examples(terms),
        "question": lambda: question,
        "asked": lambda: asked,
    }
    return fill(text, {name: makers[name]() for name in blanks_of(text) if name in makers})


def _examples(terms: Terms) -> str:
    """Examples of the user's own tools, each as the set shows one."""
    prompts = terms.prompts
    if not prompts.examples:
        return ""
    made = examples(terms.specs, prompts.examples, prompts.language)
    shown = ({"question": each.question, "reply": _wire(each.calls)} for each in made)
    return "\n".join(fill(prompts.texts["example"], blanks) for blanks in shown)


def _turn_messages(turn: Log, terms: Terms) -> list[ChatMessage]:
    """Return a turn as the model sees it: before each of its replies stands what it was asked."""
    chat: list[ChatMessage] = []
    results = {m.id: m for m in turn if isinstance(m, Result)}
    merged = folded(turn)
    for at, message in enumerate(merged):
        shown = _as_chat(message, results, terms)
        if isinstance(message, Reply) and any(each["content"] for each in shown):
            chat.append(_chat("user", _asked(merged[:at], terms, message)))
        chat += shown
    return chat


def _asked(before: Log, terms: Terms, reply: Reply) -> str:
    """Return the instruction that a reply followed, without the schema of a typed answer."""
    move = "decide" if _is_in_place_of_calls(reply, terms) else reply.move
    return _instruction(before, replace(terms, typed=None), move)


def _as_chat(message: Message, results: dict[str, Result], terms: Terms) -> list[ChatMessage]:
    """Return what the model sees of a message; results stand in the order of their calls."""
    texts = terms.prompts.texts
    match message:
        case Question(text, images):
            return [_chat("user", _put(text, terms), images)]
        case Reply(calls=calls) if calls:
            calls = tuple(call for call in calls if not _is_withheld(call, results))
            if not calls:
                return []
            outcomes = "\n".join(_outcome(call, calls, results) for call in calls)
            return [
                _chat("assistant", _wire(calls)),
                _chat("user", fill(texts["results"], {"results": outcomes})),
            ]
        case Reply(text=text, problem=None):
            return [_chat("assistant", _as_answer(text.strip(), message, terms))]
        case Correction(problem):
            return [_chat("user", fill(texts["correction"], {"problem": problem.message}))]
    return []


def _is_withheld(call: Call, results: Mapping[str, Result]) -> bool:
    result = results.get(call.id)
    return result is not None and not result.ok and result.text == WITHHELD


def _as_answer(text: str, reply: Reply, terms: Terms) -> str:
    """Return an answer as its request asked for it: as JSON if it came in place of calls."""
    if text and _is_in_place_of_calls(reply, terms):
        return json.dumps({"answer": text}, ensure_ascii=False)
    return text


def _is_in_place_of_calls(reply: Reply, terms: Terms) -> bool:
    """Return whether an answer is shown as one that the model gave in place of calls.

    Conversations that clients bring do not say how their answers were asked for. Where any decision
    may give the answer, they were most likely given so.
    """
    rule = terms.prompts.answers
    free = terms.typed is None and terms.output is None and not terms.options
    likely = reply.move == "answer" and rule == "always" and free and bool(terms.specs)
    return likely or (reply.move == "decide" and rule != "apart")


def _wire(calls: Iterable[Call]) -> str:
    """Calls as the model is asked to write them."""
    listed = [{"tool": call.tool, "tool_input": call.tool_input} for call in calls]
    return json.dumps({"tools": listed}, ensure_ascii=False)


def _outcome(call: Call, calls: Sequence[Call], results: dict[str, Result]) -> str:
    """Return what came of a call as one line of JSON, with nothing in it that acts as a marker.

    Its input is repeated only if the reply has another call of the same function.
    """
    result = results.get(call.id)
    if result is None:
        outcome: dict[str, Any] = {"error": "not finished"}
    elif result.ok:
        outcome = {"result": _value(result.text)}
    else:
        outcome = {"error": result.text}
    twins = sum(other.tool == call.tool for other in calls) > 1
    which = {"tool": call.tool, **({"tool_input": call.tool_input} if twins else {})}
    return escape_markers(json.dumps({**which, **outcome}, ensure_ascii=False))


def _value(text: str) -> Any:
    """A result's text as the JSON value that it is, or as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if json.dumps(value, ensure_ascii=False) == text else text


def _merged(chat: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Neighbours of one role as one message: many chat templates demand that roles take turns."""
    merged: list[ChatMessage] = []
    for message in chat:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1] = _joined(merged[-1], message)
        else:
            merged.append(message)
    return merged


def _joined(one: ChatMessage, other: ChatMessage) -> ChatMessage:
    texts = filter(None, (one["content"], other["content"]))
    images = (*one.get("images", ()), *other.get("images", ()))
    return _chat(one["role"], "\n\n".join(texts), images)


def _chat(role: str, content: str, images: Sequence[str] = ()) -> ChatMessage:
    said: ChatMessage = {"role": role, "content": content}
    return {**said, "images": list(images)} if images else said
