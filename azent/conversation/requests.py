"""Make the chat messages that a model is sent, out of a log and its terms. Pure.

Equal logs and terms give byte-identical messages, and the messages of a longer log begin with those
of the shorter one, so that the server's prefix cache stays valid. Text inside a result is data: it
is sent as JSON, with every chat marker escaped.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from azent.conversation.position import Position, has_plain_answers
from azent.conversation.position import Terms as Terms
from azent.messages import (
    Call,
    ChatMessage,
    Context,
    Correction,
    Log,
    Message,
    Move,
    Question,
    Reply,
    Result,
    Specs,
)
from azent.messages.log import (
    folded,
    is_withheld,
    question_of,
    replies_of,
    results_cut,
    shortened,
    summary_of,
    turns,
    turns_left_out,
    without_last_calls,
)
from azent.prompt import Text, blanks_of, examples, fill
from azent.schema.render import render
from azent.selection import gate_messages, is_first, listed, retrieved
from azent.values.arguments import sendable, text
from azent.values.results import escape_markers


def messages_for(log: Log, terms: Terms, move: Move) -> tuple[ChatMessage, ...]:
    """Return the chat messages of a request: system text and tools, conversation, instruction.

    The instruction that led to each earlier reply stays before it, so that a request begins with
    the whole previous request and the server only reads what is new.
    """
    return request_at(Position(log, terms), move)


def request_at(at: Position, move: Move) -> tuple[ChatMessage, ...]:
    """Return the same as `messages_for`, for a position."""
    if move == "gate":
        return gate_messages(at.log, at.terms.specs, at.terms.prompts)
    if move == "more":  # the same request again, to the byte: only its schema differs
        return messages_for(without_last_calls(at.log), at.terms, "decide")
    terms = replace(at.terms, specs=_shown_specs(at, move))
    if move == "answer" and _is_plain_chat(at.log, terms):
        system, terms = _system_of_chat(terms), replace(terms, specs={})
    else:
        system = _system(terms)
    chat = [_chat("system", system), _chat("user", _summary_of_earlier(at.log, terms))]
    *earlier, last = turns(_with_cut_results(at.log))[turns_left_out(at.log) :] or [()]
    short = _with_short_questions(terms)
    for turn in earlier:
        chat += _turn_messages(turn, short)
    chat += _turn_messages(last, short if move == "answer" else terms)
    chat.append(_chat("user", _instruction(at.turn, terms, move)))
    filled = (message for message in chat if message["content"] or message.get("images"))
    return tuple(_merged(filled))


def _shown_specs(at: Position, move: Move) -> Specs:
    """Return the functions that a request lists.

    With constrained decoding only the schema narrows the functions of a decision down, so that
    their text in the prompt stays the same from one question to the next.
    """
    terms = at.terms
    if terms.prompts.held or move == "answer":
        return retrieved(terms.specs, at.turn, terms.prompts.selection, at.choice)
    return at.scope.specs


def summary_messages(log: Log, terms: Terms, asked: str = "") -> tuple[ChatMessage, ...]:
    """Return the request for a summary of a log: the conversation without tools, an instruction.

    `asked` replaces the instruction of the prompt set.
    """
    bare = Terms({}, terms.prompts)
    last = _chat("user", asked or fill(terms.prompts.texts["summary"], {}))
    return tuple(_merged([*messages_for(log, bare, "answer"), last]))


def _with_cut_results(log: Log) -> Log:
    """Return the log with the texts of shortened results cut."""
    cuts = results_cut(log)
    return tuple(
        replace(m, text=shortened(m.text, cuts[m.id]))
        if isinstance(m, Result) and m.id in cuts
        else m
        for m in log
    )


def _is_plain_chat(log: Log, terms: Terms) -> bool:
    """Return whether a conversation has no calls, in a set whose meaning decides about them.

    An answer is then asked for without instructions: small models that were told to reply in JSON
    do so whatever else they are asked for.
    """
    by_meaning = terms.prompts.selection.relevance and bool(terms.specs)
    return by_meaning and not any(reply.calls for reply in replies_of(log))


def _system_of_chat(terms: Terms) -> str:
    """Return the system message of an answer before any call, which may name the functions."""
    text = terms.prompts.texts.get("answering")
    return terms.system if text is None else _filled(text, terms)


def _system(terms: Terms) -> str:
    """Return the system message: the system text, azent's own, the functions."""
    return _filled(terms.prompts.texts["system"], terms) if terms.specs else terms.system


def _summary_of_earlier(log: Log, terms: Terms) -> str:
    """Return the text that replaces the turns left out, with their summary."""
    if not turns_left_out(log):
        return ""
    return fill(terms.prompts.texts["earlier"], {"summary": summary_of(log)})


def _with_short_questions(terms: Terms) -> Terms:
    """Return the terms without the prompt set's text for questions, if it lists all functions."""
    texts = terms.prompts.texts
    if not {"functions", "examples"} & set(blanks_of(texts.get("question", Text("", "")))):
        return terms
    rest = {name: text for name, text in texts.items() if name != "question"}
    return replace(terms, prompts=replace(terms.prompts, texts=rest))


def _question_text(text: str, terms: Terms) -> str:
    """Return a question in the form that the prompt set gives it."""
    if "question" not in terms.prompts.texts or not terms.specs:
        return text
    return _filled(terms.prompts.texts["question"], terms, text)


def _instruction(turn: Log, terms: Terms, move: Move) -> str:
    """Return the instruction at the end of a request, or "" without tools."""
    texts = terms.prompts.texts
    if move == "answer" and terms.typed:
        schema = json.dumps(terms.typed.schema, ensure_ascii=False)
        return fill(texts["value"], {"question": question_of(turn), "schema": schema})
    name = _instruction_name(turn, move)
    if not terms.specs or name not in texts:
        return ""
    asked = "\n".join(f"- {thing}" for thing in listed(turn))
    return _filled(texts[name], terms, question_of(turn), asked)


def _instruction_name(turn: Log, move: Move) -> str:
    """Return the name of the prompt set's instruction for a move."""
    if move in ("decide", "single"):
        return "decide" if is_first(turn) else "next"
    return move


def _filled(text: Text, terms: Terms, question: str = "", asked: str = "") -> str:
    """Return a text with its blanks filled; values without a blank are not computed.

    `asked` is the list of subtasks that the model made of the question.
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
    """Return examples that call the user's own tools, in the form of the prompt set."""
    prompts = terms.prompts
    if not prompts.examples:
        return ""
    made = examples(terms.specs, prompts.examples, prompts.language)
    shown = ({"question": each.question, "reply": _calls_as_json(each.calls)} for each in made)
    return "\n".join(fill(prompts.texts["example"], blanks) for blanks in shown)


def _turn_messages(turn: Log, terms: Terms) -> list[ChatMessage]:
    """Return the chat messages of a turn, with the instruction for each reply before it."""
    chat: list[ChatMessage] = []
    results = {m.id: m for m in turn if isinstance(m, Result)}
    merged = folded(turn)
    for at, message in enumerate(merged):
        shown = _as_chat(message, results, terms)
        if isinstance(message, Reply) and any(each["content"] for each in shown):
            chat.append(_chat("user", _past_instruction(merged[:at], terms, message)))
        chat += shown
    return chat


def _past_instruction(before: Log, terms: Terms, reply: Reply) -> str:
    """Return the instruction that a reply followed, without the schema of a typed answer."""
    move = "decide" if _is_in_place_of_calls(reply, terms) else reply.move
    return _instruction(before, replace(terms, typed=None), move)


def _as_chat(message: Message, results: dict[str, Result], terms: Terms) -> list[ChatMessage]:
    """Return the chat messages of a message of the log; results follow the order of their calls."""
    texts = terms.prompts.texts
    match message:
        case Question(text, images):
            return [_chat("user", _question_text(text, terms), images)]
        case Reply(calls=calls) if calls:
            withheld = {id for id, result in results.items() if is_withheld(result)}
            calls = tuple(call for call in calls if call.id not in withheld)
            if not calls:
                return []
            outcomes = "\n".join(_result_line(call, calls, results) for call in calls)
            return [
                _chat("assistant", _calls_as_json(calls)),
                _chat("user", fill(texts["results"], {"results": outcomes})),
            ]
        case Reply(text=text, problem=None):
            return [_chat("assistant", _as_answer(text.strip(), message, terms))]
        case Correction(problem):
            return [_chat("user", fill(texts["correction"], {"problem": problem.message}))]
    return []


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
    if reply.move == "answer":
        return rule == "always" and bool(terms.specs) and has_plain_answers(terms)
    return reply.move == "decide" and rule != "apart"


def _calls_as_json(calls: Iterable[Call]) -> str:
    """Return calls in the JSON format that the model is asked to write."""
    listed = [{"tool": call.tool, "tool_input": call.tool_input} for call in calls]
    return json.dumps({"tools": listed}, ensure_ascii=False)


def _result_line(call: Call, calls: Sequence[Call], results: dict[str, Result]) -> str:
    """Return the result of a call as one line of JSON with chat markers escaped.

    The input is included only if the reply has another call of the same function.
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
    """Return a result's text decoded if it is canonical JSON, else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if json.dumps(value, ensure_ascii=False) == text else text


def _merged(chat: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return messages, neighbours of one role joined: chat templates want roles to alternate."""
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
    message: ChatMessage = {"role": role, "content": content}
    return {**message, "images": list(images)} if images else message


# ---- the system text of an agent -----------------------------------------------------------------

System: TypeAlias = str | Callable[..., str]


def system_text(system: System, context: object) -> str:
    """Return the system text of a run; a function may take the context's value.

    Raises UsageError for a text that cannot be sent.
    """
    if callable(system):
        value = context.value if isinstance(context, Context) else context
        made = system(value) if _takes_any(system) else system()
        return sendable("the system text", text("what the function `system` returned", made))
    return sendable("the system text", system)


def _takes_any(function: Callable[..., str]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except ValueError:  # some builtins do not tell what they take
        return True
