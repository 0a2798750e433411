"""Replies that begin within reasoning, because the model's template opened it in the prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import azent
from azent.cli import app
from azent.messages import Answer, Chunk, Delta, End, Event, Thinking
from azent.models.reasoning import Opening, named_to_open_reasoning, opens_reasoning
from azent.parsing.answers import WordsReader
from azent.parsing.decoding_schema import read_narrowing
from azent.parsing.reader import Reader
from tests.asking import USER, WEATHER, events, joined
from tests.naming import name_of
from tests.scripted_ollama import Say, ScriptedOllama
from tests.serving import serving

OPEN = "{{- range .Messages }}<|{{ .Role }}|>{{ .Content }}{{ end }}<|assistant|>\n<think>\n"
CLOSED = "{{ .System }}<|user|>{{ .Prompt }}<|assistant|>"
THOUGHT = "A greeting.\nNo tool fits."
ANSWER = "Hello.\n\nWhat can I do?"
REPLY = f"{THOUGHT}\n</think>\n\n{ANSWER}"

IF_OFF = "{% if enable_thinking is defined and enable_thinking is false %}"
ASKED = "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
TEMPLATES = [
    ("Go, at the end", OPEN, True),
    ("Go, within blocks", "{{ if $last }}<|assistant|>\n<think>\n{{ end }}\n{{- end }}", True),
    ("Go, before the response", "<|user|>{{ .Prompt }}<|assistant|><think>\n{{ .Response }}", True),
    ("Go, a bracketed tag", "[INST]{{ .Prompt }}[/INST][THINK]{{- end -}}", True),
    (
        "Go, unless it is switched off",
        "{{ if and $.IsThinkSet (not $.Think) }}<think>\n\n</think>{{ else }}<think>\n{{ end }}",
        True,
    ),
    ("Go, where it was asked for", "{{ if and $.IsThinkSet $.Think }}<think>\n{{ end }}", False),
    ("Go, closed", "{{ if (not $.Think) }}<think>\n\n</think>\n\n{{ end -}}", False),
    ("Go, mentioned", "Think in <think> tags.\n{{ .Prompt }}", False),
    ("Go, for earlier replies", "<think>{{ .Thinking }}</think>{{ .Content }}{{ end }}", False),
    ("Go, none", CLOSED, False),
    ("rendered by the server", "{{ .Prompt }}", False),
    (
        "DeepSeek R1",
        "{% if add_generation_prompt %}{{'<｜Assistant｜><think>\\n'}}{% endif %}",
        True,
    ),
    (
        "MiniMax M2",
        "{%- if add_generation_prompt -%}{{- ']~b]ai' ~ '\\n' ~ '<think>' ~ '\\n' }}{%- endif -%}",
        True,
    ),
    (
        "Qwen 3.5",
        f"{ASKED}{IF_OFF}{{{{ '<think>\\n\\n</think>' }}}}{{% else %}}{{{{ '<think>\\n' }}}}"
        "{% endif %}{% endif %}",
        True,
    ),
    (
        "Qwen 3",
        f"{ASKED}{IF_OFF}{{{{ '<think>\\n\\n</think>' }}}}{{% endif %}}{{% endif %}}",
        False,
    ),
    (
        "DeepSeek V3.1",
        f"{ASKED}{{% if not thinking %}}{{{{'</think>'}}}}{{% else %}}{{{{'<think>'}}}}"
        "{% endif %}{% endif %}",
        False,
    ),
    ("ChatML", ASKED + "{% endif %}", False),
    ("Jinja without a prompt", "{% for m in messages %}{{ '<think>' }}{% endfor %}", False),
]


@pytest.mark.parametrize(("template", "opens"), [row[1:] for row in TEMPLATES], ids=name_of)
def test_a_template_tells_whether_it_opens_reasoning(template: str, opens: bool) -> None:
    assert opens_reasoning(template) is opens


@pytest.mark.parametrize(
    ("name", "opens"),
    [
        *((name, True) for name in ("qwq", "qwq:32b", "Qwen/QwQ-32B", "deepseek-r1:7b")),
        *((name, True) for name in ("DeepSeek-R1-Distill-Qwen-1.5B", "Qwen3-4B-Thinking-2507")),
        ("MiniMaxAI/MiniMax-M2", True),
        *((name, False) for name in ("Qwen/QwQ-32B-Preview", "DeepSeek-R1-0528", "qwen3:8b")),
        *((name, False) for name in ("qwen2.5-coder:1.5b", "rethinking:1b", "")),
    ],
)
def test_a_name_tells_only_of_families_that_always_do(name: str, opens: bool) -> None:
    assert named_to_open_reasoning(name) is opens


# ---- what a model notices ------------------------------------------------------------------------


def marks(opening: Opening, *pieces: Delta, held: bool = False) -> list[bool]:
    """Which pieces of a reply are marked as the beginning of reasoning."""
    reply: tuple[Delta | End, ...] = (*pieces, End())
    given = opening.marked((piece for piece in reply), held)
    return [piece.in_reasoning for piece in given if isinstance(piece, Delta)]


SPLIT = [Delta("Hm.<"), Delta("/thi"), Delta("nk>Hi")]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (SPLIT, True),
        ([Delta("Hm.[/THINK]Hi")], True),
        ([Delta("<think>Hm.</think>Hi")], False),
        ([Delta("<thi"), Delta("nk>Hm.</think>Hi")], False),
        ([Delta("It ends with `</think>`.")], False),
        ([Delta(thinking="Hm."), Delta("a </think> b")], False),
        ([Delta("Hi")], False),
        ([], False),
    ],
)
def test_a_reply_tells_how_the_next_one_begins(first: Sequence[Delta], then: bool) -> None:
    opening = Opening("m")
    assert not any(marks(opening, *first))
    assert marks(opening, Delta("A"), Delta("B")) == [then, False]
    assert marks(opening, Delta("A")) == [False]  # the one before closed nothing


def test_what_is_held_to_a_schema_has_no_reasoning_and_tells_nothing() -> None:
    opening = Opening("m")
    opening.take_template(OPEN)
    assert marks(opening, *SPLIT, held=True) == [False] * 3
    assert marks(opening, Delta("A")) == [True]


def test_a_server_that_tells_reasoning_apart_is_believed() -> None:
    opening = Opening("qwq")
    assert marks(opening, Delta(thinking="Hm."), Delta("Hi")) == [False, False]
    assert marks(opening, Delta("Hm.", "Hm."), Delta("Hi")) == [False, False]


# ---- what a reader makes of it -------------------------------------------------------------------

SPECS = {"f": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALL = '{"tools": [{"tool": "f", "tool_input": {}}]}'


@pytest.mark.parametrize(
    ("text", "reason", "thinking", "words"),
    [
        (REPLY, "stop", THOUGHT, ANSWER),
        (REPLY, "length", THOUGHT, ANSWER),
        (f"Perhaps {CALL}?\n{CALL}\n</think>\nNo.", "stop", None, "No."),
        ("Hello, all of it.", "stop", "", "Hello, all of it."),
        ("First I have to", "length", "First I have to", ""),
        (f"First I call\n{CALL}\nand then", "length", f"First I call\n{CALL}\nand then", ""),
        ("<think>Hm.</think>Hello.", "stop", "Hm.", "Hello."),
        ("<think>Hm.</think>Hello, and", "length", "Hm.", "Hello, and"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_nothing_of_it_is_shown_as_words_before_it_ends(
    text: str, reason: str, thinking: str | None, words: str, size: int
) -> None:
    for reader in (Reader(SPECS), WordsReader()):
        reader.begin_in_reasoning()
        shown = thought = ""
        for at in range(0, len(text), size):
            reader.feed(text[at : at + size])
            shown += reader.words()
            thought += reader.thoughts()
        reply = reader.close(reason)
        assert (reply.text, reply.calls, shown + reader.words()) == (words, (), words)
        assert thinking is None or reply.thinking == thinking
        assert not thinking or thought + reader.thoughts() == thinking
        assert (reply.problem is not None) == (not words)


@pytest.mark.parametrize("before", ["No, wait, it is.</think>\n", "<think>No?</think>"])
def test_a_decision_is_not_narrowed_down_by_thoughts(before: str) -> None:
    assert read_narrowing(before + "yes", "gate", ["f"]).picked is None
    assert read_narrowing(before + "no", "gate", ["f"]).picked == ()
    verdict = '{"asked": "", "functions": {"f": "yes"}}'
    thought = before.replace("N", "{n}? N")
    assert read_narrowing(thought + verdict, "choose", ["f"]).picked == ("f",)


# ---- from the server to a person, in each of the ways --------------------------------------------


def said(events: Sequence[Event]) -> tuple[str, str]:
    """The words and the reasoning that a person was shown."""
    words = "".join(event.text for event in events if isinstance(event, Chunk))
    return words, "".join(event.text for event in events if isinstance(event, Thinking))


async def astreamed(agent: azent.Agent) -> list[Event]:
    return [event async for event in agent.astream("Hi")]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_first_reply_streams_its_answer_alone(size: int, asynchronous: bool) -> None:
    pieces = [REPLY[at : at + size] for at in range(0, len(REPLY), size)]
    with ScriptedOllama(Say(pieces=pieces), about={"template": OPEN}) as server:
        agent = azent.Agent(azent.open_model("scripted", host=server.url), encoder=None)
        events = asyncio.run(astreamed(agent)) if asynchronous else list(agent.stream("Hi"))
    assert said(events) == (ANSWER, THOUGHT)
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert answer.text == ANSWER


@pytest.mark.parametrize("template", [OPEN, CLOSED])
def test_the_answer_is_right_whatever_the_template_tells(template: str) -> None:
    with ScriptedOllama(REPLY, about={"template": template}) as server:
        agent = azent.Agent(azent.open_model("scripted", host=server.url), encoder=None)
        first, second = list(agent.stream("Hi")), list(agent.stream("Hi"))
    assert getattr(first[-1], "text", "") == ANSWER
    assert said(second) == (ANSWER, THOUGHT)  # a new conversation, and the same model


def test_an_answer_without_reasoning_comes_at_its_end() -> None:
    with ScriptedOllama(ANSWER, about={"template": OPEN}) as server:
        agent = azent.Agent(azent.open_model("scripted", host=server.url), encoder=None)
        assert said(list(agent.stream("Hi")))[0] == ANSWER


@pytest.mark.parametrize("options", [[], ["--json"], ["--jsonl"]])
def test_the_command_shows_the_answer_alone(options: list[str]) -> None:
    with ScriptedOllama(REPLY, about={"template": OPEN}) as server:
        asked = ["ask", "Hi", "-m", "scripted", "--no-tools", *options]
        run = CliRunner(env={"OLLAMA_HOST": server.url}).invoke(app, asked)
    lines = [json.loads(line) for line in run.stdout.splitlines()] if options else []
    if options == ["--jsonl"]:
        words = "".join(line["text"] for line in lines if line["event"] == "chunk")
    else:
        words = lines[0]["answer"] if options else run.stdout.strip()
    assert words == ANSWER


@pytest.mark.parametrize("stream", [False, True])
def test_clients_of_the_server_get_the_answer_alone(stream: bool) -> None:
    body: dict[str, Any] = {"model": "m", "messages": [USER], "tools": [WEATHER], "stream": stream}
    with ScriptedOllama(REPLY, about={"template": OPEN}) as server:
        model = azent.open_model("scripted", host=server.url)
        with serving({"m": model}) as url:
            answer = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=20)
    message = joined(events(answer)) if stream else answer.json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"].strip()) == (ANSWER, THOUGHT)
