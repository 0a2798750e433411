"""The kinds of replies that people report, one case each: what they mean, whole and streamed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from azent.messages import Reply
from azent.parsing.reader import Reader, read
from tests.reading import CASES, kinds, legal, specs

LINES = (CASES / "parse.jsonl").read_text("utf-8").splitlines()
ALL = [pytest.param(case, id=case["case"]) for case in map(json.loads, LINES)]


def text_of(case: dict[str, Any]) -> str:
    return str(eval(case["built"]) if "built" in case else case["text"])


def expected_of(case: dict[str, Any]) -> Any:
    return eval(case["expect_built"]) if "expect_built" in case else case["expect"]


def means(reply: Reply, expected: Any) -> bool:
    """Did a reply come to what is expected: calls, names of calls, "none", or "error:KIND"?"""
    if expected == "none":
        return not (reply.calls or reply.problem)
    if isinstance(expected, str):
        return expected.removeprefix("error:") in kinds(reply) and not legal(reply)
    if all(isinstance(item, str) for item in expected):
        return bool(legal(reply) == expected)
    got = [
        {"tool": call.tool, "error": call.problem.kind}
        if call.problem
        else {"tool": call.tool, "tool_input": call.tool_input}
        for call in reply.calls
    ]
    return bool(got == expected)


@pytest.mark.parametrize("case", ALL)
def test_case(case: dict[str, Any]) -> None:
    text = text_of(case)
    reply = read(text, specs(*case["tools"]), done_reason=case.get("done_reason", "stop"))
    accepted = [expected_of(case), *case.get("accept", ())]
    assert any(means(reply, expected) for expected in accepted), reply
    assert case.get("answer", reply.text) == reply.text
    assert case.get("answer_contains", "") in reply.text
    if case.get("prose_kept"):
        prose = [line for line in text.splitlines() if not set(line) & set("{}`")]
        assert all(line in reply.text for line in prose)


@pytest.mark.parametrize("case", ALL)
def test_case_in_pieces(case: dict[str, Any]) -> None:
    text, reason = text_of(case), case.get("done_reason", "stop")
    tools = specs(*case["tools"])
    rng = random.Random(case["case"])
    marks = sorted(rng.randrange(len(text) + 1) for _ in range(8))
    pieces = list(text) if len(text) < 2000 else []
    for cut in (pieces, [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]):
        reader = Reader(tools)
        shown = ""
        for piece in cut:
            reader.feed(piece)
            shown += reader.words()
        if cut:
            reply = reader.close(reason)
            assert reply == read(text, tools, done_reason=reason)
            assert (shown + reader.words()).strip() == reply.text
