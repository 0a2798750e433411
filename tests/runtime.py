"""Carrying out the cases of tests/cases/runtime.jsonl: conversations with a scripted server.

A case has the code of its `tools`, with `marks` for some, what is asked (`ask`), the server's
`replies`, and settings for the `agent` and the `model`. A reply is a text, {"calls": [[tool,
input], ...]}, or what `Say`, `Fail`, `HangUp` and `Lines` take; the last one repeats, all of them
where it `cycles`. What is expected is looked up in `CHECKS`.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import azent
from tests.scripted_ollama import Asked, Fail, HangUp, Item, Lines, Say, ScriptedOllama

Case = dict[str, Any]


@dataclass
class Seen:
    """All that can be observed of a case."""

    namespace: dict[str, Any] = field(default_factory=dict)
    ran: list[Any] = field(default_factory=list)
    most: Counter[str] = field(default_factory=Counter)
    answer: azent.Answer = field(default_factory=lambda: azent.Answer(""))
    streamed: str = ""
    error: azent.AzentError | None = None
    requests: list[Asked] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def request(self, place: str) -> Asked:
        return self.requests[-1 if place == "last" else int(place) - 1]

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(name, given) for name, given in self.ran]


def carried_out(case: Case, *, in_a_loop: bool) -> Seen:
    """What comes of a case: by the synchronous driver, or on an event loop."""
    seen = Seen()
    tools = watched_tools(case, seen)
    with ScriptedOllama(
        *map(item_of, case["replies"]),
        cycles=case.get("cycles", False),
        decides=case.get("decides", True),
    ) as server:
        settings = {"retry_wait": 0.01, **case.get("model", {})}
        model = azent.open_model("scripted", host=server.url, **settings)
        began = time.monotonic()
        try:
            agent = azent.Agent(model, tools, **case.get("agent", {}))
            converse(agent, case.get("ask", ["go"]), seen, in_a_loop)
        except azent.AzentError as error:
            seen.error = error
        seen.seconds = time.monotonic() - began
        seen.requests = server.counted
    return seen


def converse(agent: azent.Agent, questions: list[str], seen: Seen, in_a_loop: bool) -> None:
    for question in questions:
        if in_a_loop:
            asyncio.run(converse_in_a_loop(agent, question, seen))
            continue
        for event in agent.stream(question, seen.answer.log):
            observe(event, seen)


async def converse_in_a_loop(agent: azent.Agent, question: str, seen: Seen) -> None:
    async for event in agent.astream(question, seen.answer.log):
        observe(event, seen)


def observe(event: Any, seen: Seen) -> None:
    match event:
        case azent.Chunk(text):
            seen.streamed += text
        case azent.Warning(text):
            seen.warnings.append(text)
        case azent.Answer():
            seen.answer = event


def item_of(reply: Any) -> Item:
    if isinstance(reply, str):
        return reply
    if "calls" in reply:
        listed = [{"tool": tool, "tool_input": given} for tool, given in reply["calls"]]
        return json.dumps({"tools": listed}, ensure_ascii=False)
    if "fail" in reply:
        return Fail(reply["fail"], reply["error"])
    if "lines" in reply:
        return Lines(reply["lines"])
    if "hang_up" in reply:
        return HangUp()
    size, text = reply.get("size"), reply.get("say", "")
    if size:
        cut = [text[at : at + size] for at in range(0, len(text), size)]
        return Say(pieces=cut)
    more = {name: value for name, value in reply.items() if name not in ("say", "size")}
    return Say(text, **more)


# ---- the tools, watched --------------------------------------------------------------------------


def watched_tools(case: Case, seen: Seen) -> list[Any]:
    module = types.ModuleType(f"runtime_case_{len(sys.modules)}")
    sys.modules[module.__name__] = module
    exec(compile(case.get("tools", ""), module.__name__, "exec", dont_inherit=True), vars(module))
    seen.namespace = vars(module)
    own = [f for f in vars(module).values() if inspect.isfunction(f)]
    offered = vars(module).get("tools", own)
    marks = case.get("marks", {})
    return [azent.tool(**marks.get(f.__name__, {}))(watched(f, seen)) for f in offered]


def watched(function: Any, seen: Seen) -> Any:
    """The same function, of the same kind, that notes when it runs."""
    signature, lock, inside = inspect.signature(function), threading.Lock(), Counter[str]()
    name = function.__name__

    @contextmanager
    def noted(args: Any, kwargs: Any) -> Iterator[None]:
        with lock:
            seen.ran.append([name, dict(signature.bind(*args, **kwargs).arguments)])
            inside[name] += 1
            seen.most[name] = max(seen.most[name], inside[name])
        try:
            yield
        finally:
            with lock:
                inside[name] -= 1

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with noted(args, kwargs):
            return function(*args, **kwargs)

    @functools.wraps(function)
    async def later(*args: Any, **kwargs: Any) -> Any:
        with noted(args, kwargs):
            return await function(*args, **kwargs)

    return later if inspect.iscoroutinefunction(function) else plain


# ---- what is expected: each check gives a problem in words, or None ------------------------------

Check = Callable[[Seen, Any], bool]


def ran(seen: Seen, want: list[Any]) -> bool:
    names_only = all(isinstance(each, str) for each in want)
    made = [name for name, _ in seen.calls] if names_only else seen.ran
    return sorted(map(repr, made)) == sorted(map(repr, want))


def sent(seen: Seen, want: dict[str, list[str]]) -> bool:
    return all(
        re.search(pattern, seen.request(place).text) for place in want for pattern in want[place]
    )


def not_sent(seen: Seen, want: dict[str, list[str]]) -> bool:
    return not any(
        re.search(pattern, seen.request(place).text) for place in want for pattern in want[place]
    )


def not_read(seen: Seen, want: dict[str, list[str]]) -> bool:
    """The model reads none of these words, as they are."""
    return not any(word in seen.request(place).text for place in want for word in want[place])


def sent_times(seen: Seen, want: dict[str, dict[str, int]]) -> bool:
    return all(
        seen.request(place).text.count(word) == times
        for place, words in want.items()
        for word, times in words.items()
    )


def error(seen: Seen, want: str) -> bool:
    kinds = [kind.__name__ for kind in type(seen.error).__mro__]
    return want in kinds


def error_says(seen: Seen, want: list[str]) -> bool:
    said = f"{seen.error} {seen.error.hint if seen.error else ''}"
    return all(re.search(pattern, said) for pattern in want)


def valid_history(seen: Seen, want: bool) -> bool:
    """What the model is told it said, where it made calls, is JSON."""
    told = [m["content"] for m in seen.requests[-1].body["messages"] if m["role"] == "assistant"]
    assert told
    return all("tools" in json.loads(content) for content in told)


def state(seen: Seen, want: list[Any]) -> bool:
    expression, value = want
    return bool(eval(expression, seen.namespace) == value)


CHECKS: dict[str, Check] = {
    "ran": ran,
    "count_ran": lambda seen, want: len(seen.ran) == want,
    "at_most_ran": lambda seen, want: len(seen.ran) <= want,
    "at_once": lambda seen, want: all(seen.most[name] <= most for name, most in want.items()),
    "state": state,
    "answer": lambda seen, want: bool(seen.answer.text == want),
    "answer_lacks": lambda seen, want: not any(word in seen.answer.text for word in want),
    "stopped": lambda seen, want: bool(seen.answer.stopped == want),
    "streamed": lambda seen, want: bool(seen.streamed == want),
    "streamed_lacks": lambda seen, want: not any(word in seen.streamed for word in want),
    "results_of": lambda seen, want: [result.tool for result in seen.answer.results] == want,
    "values": lambda seen, want: [result.value for result in seen.answer.results] == want,
    "result_chars": lambda seen, want: len(seen.answer.results[0].text) <= want,
    "requests": lambda seen, want: len(seen.requests) == want,
    "at_most_requests": lambda seen, want: len(seen.requests) <= want,
    "sent": sent,
    "not_sent": not_sent,
    "not_read": not_read,
    "sent_times": sent_times,
    "at_most_sent": lambda seen, want: all(
        len(seen.request(place).text) <= most for place, most in want.items()
    ),
    "sends_no": lambda seen, want: not any(r.body.get(n) for r in seen.requests for n in want),
    "options": lambda seen, want: seen.requests[-1].body["options"].items() >= want.items(),
    "fields": lambda seen, want: seen.requests[-1].body.items() >= want.items(),
    "valid_history": valid_history,
    "error": error,
    "error_says": error_says,
    "warns": lambda seen, want: any(want in warning for warning in seen.warnings),
    "seconds": lambda seen, want: seen.seconds <= want,
}


def met(name: str, seen: Seen, want: Any) -> bool:
    return CHECKS[name](seen, want)


def problems(case: Case, seen: Seen) -> list[str]:
    """What was expected and did not come."""
    expected = case["expect"]
    failed = [
        f"{name}: {want!r}" for name, want in expected.items() if not CHECKS[name](seen, want)
    ]
    if seen.error is not None and "error" not in expected:
        failed.append(f"it raised {seen.error!r}")
    return failed
