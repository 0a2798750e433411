"""Replies as real models wrote them in free text, each with its right reading, judged by eye.

Asked at temperature 0 in nine ways: with azent's own prompt sets, in the words of other families
(Hermes, Qwen3-Coder, ReAct, Python), and with hardly a word on the format. What is right is what
the reply says, not what would have answered the question.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from azent.messages import Specs
from azent.parsing.reader import Reader, read
from tests.reading import CASES
from tests.test_parse_cases import means

TOOLS: Specs = json.loads((CASES / "reply_tools.json").read_text("utf-8"))
LINES = (CASES / "replies.jsonl").read_text("utf-8").splitlines()
ALL = [pytest.param(case, id=case["case"]) for case in map(json.loads, LINES)]


@pytest.mark.parametrize("case", ALL)
def test_reply(case: dict[str, Any]) -> None:
    text, reason = case["text"], case["done_reason"]
    tools = {name: TOOLS[name] for name in case["tools"]}
    reply = read(text, tools, done_reason=reason)
    assert means(reply, case["expect"]), reply
    if case["expect"] == "none":
        assert reply.text == text.strip()  # every word of it is the answer

    reader, shown = Reader(tools), ""
    for char in text:
        assert reader.feed(char) == []
        shown += reader.words()
    assert reader.close(reason) == reply
    assert (shown + reader.words()).strip() == reply.text
