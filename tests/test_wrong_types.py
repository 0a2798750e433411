"""What is of a wrong type is refused by all of the public API, and it is said what to do.

One table names a use of everything public; the parameters are read off the signatures, so that a
new parameter is looked at without being added here.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import azent
from azent import lab
from azent.batch import run_batch
from azent.lab import Split, tune, write
from azent.mcp import connect, http_app
from azent.models.embedded import Embedded
from azent.models.ollama import Ollama
from azent.models.openai import OpenAI
from azent.models.profiles import profiles_from_json
from azent.serve import Options
from azent.serve.app import app


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


class Odd:
    """Something that is nothing that azent could want."""

    def __repr__(self) -> str:
        return "<odd>"


CALL = '{"tools": [{"tool": "add", "tool_input": {"a": 1, "b": 2}}]}'
REQUEST = azent.Request(({"role": "user", "content": "Hello"},))
WRONG: list[Any] = [Odd(), 5, b"text", ["text"], float("nan")]


def model() -> azent.Scripted:
    return azent.Scripted(CALL, "Done.", "Yes.")


def asked(question: Any = "Hello", **more: Any) -> Any:
    return azent.Agent(model(), [azent.tool(confirm=True)(add)]).ask(question, **more)


def told(**settings: Any) -> Any:
    given = {"model": model(), "tools": [add], **settings}
    return azent.Agent(given.pop("model"), given.pop("tools"), **given).ask("Hello")


def marked(**options: Any) -> Any:
    return azent.Toolbox([azent.tool(**options)(add)])


def kept(method: str, **given: Any) -> Any:
    store = azent.Store("kept.db")
    with store.hold("name") as held:
        held.keep(asked().log)
    done = getattr(store, method)(**given)
    if method == "hold":
        with done:
            return done
    return done


def in_states(**state: Any) -> Any:
    one = azent.State(**{"name": "first", **state})
    return azent.States(azent.Scripted("Hi."), [one]).ask("Hello")


async def heard(**given: Any) -> Any:
    return await azent.Agent(model(), [add]).aask(**{"question": "Hello", **given})


def chain() -> azent.Chain:
    return azent.Chain("Put into French: $text") | model()


# Each: what is public, a use of it in which one argument is put wrong, what may be anything.
USES: dict[str, tuple[Any, Callable[..., Any], set[str]]] = {
    "Agent": (azent.Agent, told, set()),
    "Agent.ask": (azent.Agent.ask, asked, {"context"}),
    "Agent.aask": (azent.Agent.aask, lambda **g: asyncio.run(heard(**g)), {"context"}),
    "Agent.as_tool": (azent.Agent.as_tool, azent.Agent(model(), [add]).as_tool, set()),
    "Cached": (azent.Cached, lambda **g: azent.Cached(**{"model": "m", "path": "p", **g}), set()),
    "Chain.as_tool": (azent.Chain.as_tool, chain().as_tool, set()),
    "Recorded": (
        azent.Recorded,
        lambda **g: azent.Recorded(**{"model": "m", "path": "p", **g}),
        set(),
    ),
    "ReplyReader": (azent.ReplyReader, lambda **g: azent.ReplyReader(**{"tools": [], **g}), set()),
    "ReplyReader.feed": (azent.ReplyReader.feed, azent.ReplyReader([add]).feed, set()),
    "Scripted": (azent.Scripted, azent.Scripted, {"replies"}),
    "Session": (
        azent.Session,
        lambda **g: asked(session=azent.Session(**{"name": "x", **g})),
        set(),
    ),
    "State": (azent.State, in_states, set()),
    "States": (
        azent.States,
        lambda **g: azent.States(**{"model": "m", "states": [azent.State("a")], **g}),
        {"settings"},
    ),
    "States.state_of": (
        azent.States.state_of,
        azent.States(model(), [azent.State("a")]).state_of,
        set(),
    ),
    "Store": (azent.Store, azent.Store, set()),
    "Store.hold": (azent.Store.hold, lambda **g: kept("hold", **g), set()),
    "Store.log": (azent.Store.log, lambda **g: kept("log", **g), set()),
    "Store.branch": (
        azent.Store.branch,
        lambda **g: kept("branch", **{"name": "name", "new": "new", **g}),
        set(),
    ),
    "Store.undo": (azent.Store.undo, lambda **g: kept("undo", **{"name": "name", **g}), set()),
    "Store.delete": (azent.Store.delete, lambda **g: kept("delete", **g), set()),
    "Toolbox": (azent.Toolbox, azent.Toolbox, set()),
    "Toolbox.add": (azent.Toolbox.add, azent.Toolbox().add, set()),
    "Toolbox.run": (azent.Toolbox.run, azent.Toolbox([add]).run, {"context"}),
    "chat_of": (azent.chat_of, azent.chat_of, set()),
    "function_to_json": (
        azent.function_to_json,
        lambda **g: azent.function_to_json(**{"function": add, **g}),
        set(),
    ),
    "open_encoder": (azent.open_encoder, azent.open_encoder, {"settings"}),
    "open_model": (azent.open_model, azent.open_model, {"settings"}),
    "open_model: ollama": (Ollama, lambda **g: named("ollama:", **g), set()),
    "open_model: openai": (OpenAI, lambda **g: named("openai:http://h/v1#", **g), set()),
    "open_model: gguf": (Embedded, lambda **g: named("gguf:", **g), set()),
    "prompt_function": (
        azent.prompt_function,
        lambda **g: azent.prompt_function(**{"source": "Sum up $x", "model": model(), **g}),
        set(),
    ),
    "read_reply": (
        azent.read_reply,
        lambda **g: azent.read_reply(**{"text": CALL, "tools": [add], **g}),
        {"done_reason"},
    ),
    "select": (
        azent.select,
        lambda **g: azent.select(**{"question": "Hi", "tools": [add], "model": model(), **g}),
        set(),
    ),
    "summary": (
        azent.summary,
        lambda **g: azent.summary(**{"conversation": asked(), "model": model(), **g}),
        set(),
    ),
    "tool": (type(azent.Toolbox([add])["add"].options), marked, set()),
}
VALUES = {  # values, which do nothing with what they hold
    *("Answer", "Asking", "Call", "CallFinished", "CallStarted", "Chunk", "Context", "Corrected"),
    *("Correction", "Delta", "End", "Note", "Problem", "Question", "Replied", "Reply", "Request"),
    *("Result", "Shrunk", "StepFinished", "StepStarted", "Thinking", "Tool", "Usage", "Warning"),
}
NUMBERS = {  # of the wrong values, 5 is right for these
    *("timeout", "wait", "pause", "retry_wait", "connect_timeout", "first_token", "reply_timeout"),
    *("keep_alive", "rounds", "repairs", "result_chars", "width", "retries", "num_ctx"),
    *("turn_count", "billions"),
}


def named(kind: str, **given: Any) -> Any:
    """A model opened with one setting that is wrong, its name or address among them."""
    for name in ("name", "address", "source"):
        if name in given:
            return {"ollama:": Ollama, "gguf:": Embedded}.get(kind, OpenAI)(given[name])
    return azent.open_model(f"{kind}m", **given)


def cases() -> Iterator[Any]:
    for use, (public, _, free) in USES.items():
        for name in inspect.signature(public).parameters:
            if name != "self" and name not in free:
                yield pytest.param(use, name, id=f"{use}-{name}")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("use", "parameter"), list(cases()))
def test_a_wrong_type_is_refused(use: str, parameter: str) -> None:
    do = USES[use][1]
    for wrong in WRONG:
        if wrong == 5 and parameter in NUMBERS:
            continue
        with pytest.raises(azent.AzentError) as refused:
            do(**{parameter: wrong})
        assert refused.value.hint, f"{wrong!r}: {refused.value}"


def test_everything_public_is_looked_at() -> None:
    def is_error(name: str) -> bool:
        value = getattr(azent, name)
        return isinstance(value, type) and issubclass(value, azent.AzentError)

    looked_at = {use.partition(".")[0].partition(":")[0] for use in USES}
    left = {name for name in azent.__all__ if not is_error(name)} - VALUES - looked_at
    assert left == {"Model", "Encoder"}  # protocols, made by nobody


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num_ctx": "8k"}, "num_ctx is '8k'"),
        ({"num_ctx": 0}, "num_ctx is 0"),
        ({"num_ctx": True}, "num_ctx is True"),
        ({"host": 5}, "host is 5"),
        ({"retries": -1}, "retries is -1"),
        ({"retry_wait": "1s"}, "retry_wait is '1s'"),
        ({"keep_alive": []}, "keep_alive is []"),
        ({"headers": {"X-Key": 5}}, "the header X-Key is 5"),
        ({"options": [("seed", 1)]}, "options is [('seed', 1)]"),
        ({"colour": "red"}, "ollama models have no setting 'colour'"),
    ],
)
def test_a_model_is_not_set_to_what_it_cannot_be(settings: Any, said: str) -> None:
    with pytest.raises(azent.UsageError) as refused:
        azent.open_model("m", **settings)
    assert said in str(refused.value)
    assert refused.value.hint


@pytest.mark.parametrize("given", [lambda answer: answer, lambda answer: answer.log])
def test_an_answer_stands_for_its_log(given: Callable[[azent.Answer], Any]) -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    answer = azent.Agent(azent.Scripted("Hi.")).ask("Hello")
    assert azent.chat_of(given(answer)) == said
    assert azent.summary(given(answer), azent.Scripted("A greeting.")) == "A greeting."
    states = azent.States(model(), [azent.State("first")])
    assert states.state_of(given(answer)) == "first"


def test_a_name_and_a_description_of_a_mark_are_in_the_schema() -> None:
    marked = azent.tool(name="plus", description="Sum up.")(add)
    found = azent.function_to_json(marked)
    assert (found["name"], found["description"]) == ("plus", "Sum up.")
    assert found == azent.Toolbox([marked])["plus"].spec
    given = azent.function_to_json(marked, name="sum", description="Other.")
    assert (given["name"], given["description"]) == ("sum", "Other.")


# ---- what has modules of its own -----------------------------------------------------------------


def batch(**given: Any) -> Any:
    Path("questions.jsonl").write_text('{"id": "1", "question": "Hello"}\n', "utf-8")
    asked = {"questions": "questions.jsonl", "answers": "a.jsonl", "agents": azent.Agent(model())}
    return run_batch(**{**asked, **given})


def tuned(**given: Any) -> Any:
    several = [lab.Case(str(n), "Hello", (), lambda calls, text: "") for n in range(8)]
    search = {"model": "m", "split": Split(tuple(several[:4]), tuple(several[4:]))}
    return tune(**{**search, **given})


@pytest.mark.parametrize(
    ("use", "arguments"),
    [
        (tuned, ["model", "split", "bases", "budget", "seed", "file", "jobs", "watch"]),
        (lambda folder: write(None, folder, None), ["folder"]),  # type: ignore[arg-type]  # unused
        (batch, ["questions", "answers", "agents", "parallel", "most", "patience", "approve"]),
        (batch, ["watch", "tries"]),
        (lambda agent: batch(agents=[agent]), ["agent"]),
        (lab.read_cases, ["file"]),
        (lab.read_outcomes, ["file"]),
        (lab.read_bfcl, ["file"]),
        (lambda **given: list(lab.evaluate([], **given)), ["file", "jobs"]),
        (lambda **given: lab.cases_from(**{"sources": [], **given}), ["sources", "sample"]),
        (profiles_from_json, ["source"]),
        (connect, ["address"]),
        (lambda **given: connect("server", **given), ["env", "timeout"]),
        (http_app, ["toolbox"]),
        (app, ["models"]),
        (lambda model: app({"m": model}), ["model"]),
        (Options, ["host", "port", "max_bytes", "parallel", "waiting", "repairs", "timeout"]),
        (Options, ["grace", "verbose"]),
    ],
)
def test_so_it_is_in_other_modules(use: Callable[..., Any], arguments: list[str]) -> None:
    for argument in arguments:
        for wrong in (Odd(), b"text", float("nan"), {"a": Odd()}):
            if argument == "env" and isinstance(wrong, dict):
                continue
            with pytest.raises(azent.AzentError) as refused:
                use(**{argument: wrong})
            assert refused.value.hint, f"{argument}: {refused.value}"
