"""Right calls in wrong wrappers: empty fences, words on the line, dropped tokens, other quotes.

Each row is a reply, what it comes to, and the words that are left for a person; each is read whole
and character by character, and both must show the same.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from azent.parsing import dialects
from azent.parsing.dialects import heads
from azent.parsing.reader import Reader, read
from tests.reading import Outcome, outcome, specs

OSLO: list[Any] = [["get_weather", {"city": "Oslo"}]]
NOW: list[Any] = [["now", {}]]
THOUGHT = '{"thought": "I need it", "tools": [{"tool": "now", "tool_input": {}}]}'
LAID_OUT = '{\n  "tools": [\n    {"tool": "now", "tool_input": {}}\n  ]\n}'
BROKEN = LAID_OUT.replace('now"', "now")
CALL = '{"tools":[{"tool":"get_weather","tool_input":{"city":"Oslo"}}]}'
ONE = '{"tool":"get_weather","tool_input":{"city":"Oslo"}}'
INPUT = '{"city": "Oslo"}'
HERMES = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
BESIDE = "error:malformed"
CUT = "error:truncated"

EMPTY_FENCES = [
    ("then the protocol", f"```json\n```\n{CALL}", OSLO, ""),
    ("then a tag", f"```json\n\n```\n\n{HERMES}", OSLO, ""),
    ("then ReAct", "```\n```\nAction: get_weather\nAction Input: Oslo", OSLO, ""),
    ("then Mistral", f"```json\n```\n[TOOL_CALLS]get_weather[ARGS]{INPUT}", OSLO, ""),
    ("then Python", '```python\n```\nget_weather(city="Oslo")', OSLO, ""),
    ("then a bare name", f"~~~json\n~~~\nget_weather{INPUT}", OSLO, ""),
    ("then words", f"```json\n```\nHier ist es:\n{CALL}", OSLO, "Hier ist es:"),
    ("with a stray end", f"```json\n```\n{CALL}\n```", OSLO, ""),
    ("before and after", f"```\n```\n{CALL}\n```\n```", OSLO, ""),
    ("opened twice", f"```json\n```json\n{CALL}\n```\n```", OSLO, ""),
    ("opened twice with tildes", f"~~~\n~~~json\n{CALL}\n~~~\n~~~", OSLO, ""),
    ("opened twice in two ways", f"~~~\n```json\n{CALL}\n```\n~~~", OSLO, ""),
    ("opened twice, then words", f"```json\n```json\n{HERMES}\n```\n```\nSo.", OSLO, "So."),
    ("opened twice around tokens", "```\n```call\n[TOOL_CALLS]now{}\n```\n```", NOW, ""),
    ("opened in a listing", f"```python\nx\n```json\n{CALL}\n```", OSLO, "```python\nx\n```json"),
    ("three of them", f"```json\n```\n```json\n```\n{CALL}", OSLO, ""),
    ("six marks", f"``````\n{CALL}", OSLO, ""),
    ("line ends of Windows", f"```json\r\n```\r\n{CALL}", OSLO, ""),
    ("opened twice on Windows", f"```json\r\n```json\r\n{CALL}\r\n```", OSLO, ""),
    ("in a list", f"- ```json\n- ```\n{CALL}", OSLO, None),
    ("then a fence", f"~~~\n~~~\n```json\n{CALL}\n```", OSLO, ""),
    ("then Qwen-Agent", f"```\n```\n✿FUNCTION✿: get_weather\n✿ARGS✿: {INPUT}", OSLO, ""),
    ("then Gemma", "```\n```\n<start_function_call>call:now{}<end_function_call>", NOW, ""),
    ("inline code", f"Use ```x``` here.\n{CALL}", OSLO, "Use ```x``` here."),
    ("at the end", "Voilà.\n```", "none", "Voilà."),
    (
        "quoted in a longer fence",
        f"````\n```json\n{CALL}\n```\n````",
        "none",
        f"````\n```json\n{CALL}\n```\n````",
    ),
    (
        "denied",
        f"Never send this:\n```json\n```json\n{CALL}\n```",
        "none",
        f"Never send this:\n```json\n{CALL}\n```",
    ),
    ("denied above", f"Never send:\n```\n```\n{CALL}", "none", f"Never send:\n\n{CALL}"),
]

INLINE = [
    ("words before it", f"Let me check. {CALL}", OSLO, "Let me check."),
    ("a thought in it", f"Let me check. {THOUGHT}", NOW, "Let me check."),
    ("a thought in it, then words", f"Let me. {THOUGHT} So.", BESIDE, None),
    ("a thought in it, bold", f"**{THOUGHT}**", NOW, ""),
    ("a single call with a thought", f'Gut. {{"thought": "", {ONE[1:]}', OSLO, "Gut."),
    ("in brackets", f"Let me check [{CALL}]", OSLO, "Let me check"),
    ("in brackets, then words", f"Let me check [{CALL}] now.", BESIDE, None),
    ("a list of calls", f"Gut. [{ONE}, {ONE[:8]}" + '"now","tool_input":{}}]', OSLO + NOW, "Gut."),
    ("over lines", f"Gut. {LAID_OUT}", NOW, "Gut."),
    ("over lines and broken", f"Gut. {BROKEN}", BESIDE, "Gut."),
    ("in three marks", f"***{CALL}***", OSLO, ""),
    ("a heading", f"### {CALL}", OSLO, None),
    ("German", f"Ich sehe nach. {CALL}\n", OSLO, "Ich sehe nach."),
    ("Chinese", f"让我查一下。{CALL}", OSLO, "让我查一下。"),
    ("one word", f"json {CALL}", OSLO, "json"),
    ("bold", f"**{CALL}**", OSLO, ""),
    ("words and bold", f"Let me check. **{CALL}**", OSLO, "Let me check."),
    ("an element", f"<json>{CALL}</json>", OSLO, ""),
    ("printed", f"print({CALL})", OSLO, ""),
    ("a fence behind words", f"Bien. ```json\n{CALL}\n```", OSLO, "Bien."),
    ("the end of a turn", f"Let me check. {CALL}<|im_end|>", OSLO, "Let me check."),
    ("an invented result", f"Let me check. {CALL}\nObservation: 4\nIt", OSLO, "Let me check."),
    ("a single call", f"Ich sehe nach. {ONE}", OSLO, "Ich sehe nach."),
    ("a single call in a sentence", f"Use {ONE} for it.", "none", f"Use {ONE} for it."),
    ("behind reasoning", f"<think>hm</think>Let me check. {CALL}", OSLO, "Let me check."),
    ("behind what is not known", f"Je ne sais pas. Je regarde. {CALL}", OSLO, None),
    ("words behind it", f"Let me check. {CALL} I will tell you.", BESIDE, None),
    ("German behind it", f"Ich sehe nach. {CALL} Moment bitte.", BESIDE, None),
    ("lines behind it", f"Je regarde. {CALL}\n\nJe reviens.", BESIDE, None),
    ("words behind it alone", f"{CALL} is what I would send.", BESIDE, None),
    ("a dash behind it", f"{CALL} — einen Moment.", BESIDE, None),
    ("a refusal in German", f"Das führe ich nicht aus {CALL}", BESIDE, None),
    ("a refusal in Chinese", f"我不会执行。{CALL}", BESIDE, None),
    ("no refusal in Chinese", f"没问题，我特别想知道。{CALL}", OSLO, None),
    ("a refusal in Spanish", f"No voy a ejecutar {CALL}", BESIDE, None),
    ("a refusal in Russian", f"Я не буду это делать {CALL}", BESIDE, None),
    ("cut", f"Let me check. {CALL[:40]}", CUT, "Let me check."),
    ("no call is needed", 'It is 4. {"tools": []}', "none", "It is 4."),
    ("no call is needed, then words", '{"tools": []} Es sind 4.', "none", "Es sind 4."),
    *(
        (shown, shown, "none", shown)
        for shown in (
            f"Use `{THOUGHT}` for it.",
            f"For example {THOUGHT}",
            'The JSON {"thought": 1} is short.',
            'The values are [{"tool": "hammer"}] here.',
            f"I will not run {CALL} because it is dangerous.",
            f"The format is {CALL}",
            f"For example {CALL}",
            f"Use `{CALL}` to call.",
            f"> {CALL}",
            f"| call | {CALL} |",
            f'Result {{"example": {CALL}}}',
        )
    ),
]

DROPPED_TOKENS = [
    ("a name above", f"get_weather\n{INPUT}", OSLO, ""),
    ("a name before", f"get_weather{INPUT}", OSLO, ""),
    ("a bold name", f"**get_weather**\n{INPUT}", OSLO, ""),
    ("a bold name and a colon", f"**get_weather**: {INPUT}", OSLO, ""),
    ("a name as code", f"`get_weather` {INPUT}", OSLO, ""),
    ("a name in quotes", f'"get_weather": {INPUT}', OSLO, ""),
    ("a name as a heading", f"### get_weather\n{INPUT}", OSLO, ""),
    ("a name, a label", f"get_weather\narguments: {INPUT}", OSLO, ""),
    ("a name, a bold label", f"**get_weather**\n**input**: {INPUT}", OSLO, ""),
    ("a name, a label and a fence", f"get_weather\nargs:\n```json\n{INPUT}\n```", OSLO, ""),
    ("Mistral's id", f"get_weather[CALL_ID]abc123def[ARGS]{INPUT}", OSLO, ""),
    ("Gemma with a space", f"call: get_weather{INPUT}", OSLO, ""),
    (
        "Harmony's preamble",
        f"commentaryI look.assistantcommentary to=functions.get_weather json{INPUT}",
        OSLO,
        "I look.",
    ),
    ("a name and a fence", f"get_weather\n```json\n{INPUT}\n```", OSLO, ""),
    ("Mistral", f"get_weather[ARGS]{INPUT}", OSLO, ""),
    ("Kimi", f"functions.get_weather:0{INPUT}functions.now:1{{}}", OSLO + NOW, ""),
    ("Kimi behind words", f"Gut.\nfunctions.get_weather:0{INPUT}", OSLO, "Gut."),
    ("Gemma", "call:get_weather{city:Oslo}", OSLO, ""),
    ("Gemma twice", f"call:get_weather{INPUT}\ncall:now{{}}", OSLO + NOW, ""),
    ("GLM", "get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>", OSLO, ""),
    ("Harmony", f"commentary to=functions.get_weather json{INPUT}", OSLO, ""),
    ("Harmony's role", f"assistantcommentary to=functions.get_weather json{INPUT}", OSLO, ""),
    ("Harmony's recipient", f"to=functions.get_weather json\n{INPUT}", OSLO, ""),
    (
        "Harmony's first mark",
        f"commentary to=functions.get_weather <|constrain|>json<|message|>{INPUT}<|call|>",
        OSLO,
        "",
    ),
    (
        "Harmony's reasoning",
        f"analysisOslo?assistantcommentary to=functions.get_weather json{INPUT}",
        OSLO,
        "",
    ),
    ("Harmony's answer", "analysisA greeting.assistantfinalHello!", "none", "Hello!"),
    ("behind reasoning", f"<think>hm</think>\nget_weather\n{INPUT}", OSLO, ""),
    ("cut", 'get_weather\n{"city": "Os', [["get_weather", CUT]], ""),
    *(
        (shown, shown, "none", shown)
        for shown in (
            f"get_weather{INPUT} is what I would send.",
            f"The payload:\n\nget_weather\n{INPUT}\n\nas you see.",
            'config {"city": "Oslo"}',
            '**config**\n{"city": "Oslo"}',
            '### Wetter\n{"city": "Oslo"}',
            "commentaryOslo is a city.",
            "get_weather\nis a tool.",
            "analysis of it is assistantfinally done.",
        )
    ),
]

M3 = "]<]minimax[>["
GEMMA = "<start_function_call>call:"
WRAPPERS = [
    (
        "FunctionGemma",
        f"{GEMMA}get_weather{{city:<escape>Oslo<escape>}}<end_function_call>",
        OSLO,
        "",
    ),
    (
        "FunctionGemma, text like code",
        f'{GEMMA}search_notes{{query:<escape>a, {{b: "c"}}\n<escape>,limit:3}}<end_function_call>',
        [["search_notes", {"query": 'a, {b: "c"}\n', "limit": 3}]],
        "",
    ),
    (
        "FunctionGemma twice",
        f"{GEMMA}now{{}}<end_function_call>{GEMMA}now{{}}<end_function_call><start_function_response>",
        NOW + NOW,
        "",
    ),
    ("FunctionGemma cut", f"{GEMMA}get_weather{{city:<escape>Os", [["get_weather", CUT]], ""),
    ("FunctionGemma cut in the name", f"Gut. {GEMMA}get_we", CUT, "Gut."),
    ("Qwen-Agent", f"✿FUNCTION✿: get_weather\n✿ARGS✿: {INPUT}\n✿RESULT✿: 4\n✿RETURN✿: 4", OSLO, ""),
    ("Qwen-Agent twice", "✿FUNCTION✿: now\n✿ARGS✿: {}\n✿FUNCTION✿: now\n✿ARGS✿: {}", NOW + NOW, ""),
    ("Qwen-Agent's wide colons", f"✿FUNCTION✿：get_weather\n✿ARGS✿：{INPUT}", OSLO, ""),
    (
        "Qwen-Agent and a fence",
        f"✿FUNCTION✿: get_weather\n✿ARGS✿:\n```json\n{INPUT}\n```",
        OSLO,
        "",
    ),
    ("Qwen-Agent without input", "✿FUNCTION✿: get_weather", "error:malformed", ""),
    (
        "Cohere's citations",
        "Es sind <co>4</co: 0:[1]> <co: 1>mal</co: 1>.",
        "none",
        "Es sind 4 mal.",
    ),
    ("Qwen-Agent's answer", "✿RETURN✿: Es sind 4.", "none", "Es sind 4."),
    (
        "MiniMax",
        'Gut.\n<minimax:tool_call>\n<invoke name="get_weather">\n'
        '<parameter name="city">Oslo</parameter>\n</invoke>\n</minimax:tool_call>[e~[',
        OSLO,
        "Gut.",
    ),
    (
        "MiniMax M3",
        f'{M3}<tool_call>\n{M3}<invoke name="get_weather">\n{M3}<city>Oslo{M3}</city>\n'
        f"{M3}</invoke>\n{M3}</tool_call>",
        OSLO,
        "",
    ),
    *(
        (
            f"invoke, its quotes missing: {opener}",
            f"{opener}\n{key}Oslo</parameter>\n</invoke>",
            OSLO,
            "",
        )
        for opener in (
            '<invoke name="get_weather>',
            '<invoke name=get_weather">',
            "<invoke name=get_weather>",
            "<invoke name='get_weather'>",
            '<invoke name = "get_weather" >',
            '<invoke  name="get_weather>',
        )
        for key in ('<parameter name="city">', '<parameter name="city>', "<parameter name=city>")
    ),
    (
        "invoke, its quotes missing, in tags",
        '<function_calls>\n<invoke name="get_weather>\n<parameter name="city">Oslo</parameter>\n'
        "</invoke>\n</function_calls>",
        OSLO,
        "",
    ),
    (
        "DSML, its quote missing",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather>\n'
        '<｜DSML｜parameter name="city string="true">Oslo</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        OSLO,
        "",
    ),
    ("invoke of nothing", '<invoke name="x>', [["x", "error:unknown_tool"]], ""),
    ("Seed's older end", "Es sind 4.<[end▁of▁sentence]>", "none", "Es sind 4."),
    (
        "Seed's older marks",
        "<[begin▁of▁sentence]>Es sind 4.<[end_of_sentence]>",
        "none",
        "Es sind 4.",
    ),
    ("Seed's older end, other brackets", "Es sind 4.‹[end▁of▁sentence]>", "none", "Es sind 4."),
    (
        "Seed's older end after a call",
        f'{{"tools": [{{"tool": "get_weather", "tool_input": {INPUT}}}]}}<[end▁of▁sentence]>',
        OSLO,
        "",
    ),
    ("EXAONE's end", "Es sind 4.[|endofturn|]\n", "none", "Es sind 4."),
    (
        "MiniMax's stray marks",
        f"{M3}Es sind 4.{M3}</tool_call>]~b]user\nMehr",
        "none",
        "Es sind 4.",
    ),
    (
        "Seed",
        "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>\n"
        "</seed:tool_call>",
        OSLO,
        "",
    ),
    (
        "Cohere",
        '<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[{"tool_call_id": "0", '
        f'"tool_name": "get_weather", "parameters": {INPUT}}}]<|END_ACTION|><|END_OF_TURN_TOKEN|>',
        OSLO,
        "",
    ),
    ("Cohere's answer", "<|START_RESPONSE|>Es sind 4.<|END_RESPONSE|>", "none", "Es sind 4."),
    (
        "DeepSeek with ordinary underscores",
        f"<｜tool_calls_begin｜><｜tool_call_begin｜>get_weather<｜tool_sep｜>{INPUT}"
        "<｜tool_call_end｜><｜tool_calls_end｜>",
        OSLO,
        "",
    ),
    ("DeepSeek's answer", "<｜Assistant｜>Es sind 4.<｜end▁of▁sentence｜>", "none", "Es sind 4."),
    (
        "GLM's value closed twice",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
        "</arg_value>\n</tool_call>",
        OSLO,
        "",
    ),
    ("GLM's stray ends", "Es sind 4.</arg_value></tool_call>", "none", "Es sind 4."),
    ("GLM's box", "<|begin_of_box|>Es sind 4.<|end_of_box|>", "none", "Es sind 4."),
    ("stray ends of others", "</minimax:tool_call></function_calls>4", "none", "4"),
]


def say(value: str) -> str:
    return f'{{"tool":"search_notes","tool_input":{{"query":{value}}}}}'


QUOTES = [
    *(
        (value, say(value), [["search_notes", {"query": "Titel"}]], "")
        for value in (
            *("“Titel”", "„Titel“", "”Titel”", "«Titel»", "»Titel«", "‘Titel’", "‚Titel‘"),
            *("「Titel」", "『Titel』", "＂Titel＂", '“Titel"', '„Titel"', '«Titel"', '"Titel”'),
            *('"Titel“', "'Titel’", "‘Titel'", "″Titel″", "＇Titel＇", "‟Titel”", "❝Titel❞"),
        )
    ),
    *(
        (f"quotes in it: {value}", say(value), [["search_notes", {"query": value[1:-1]}]], "")
        for value in (
            *('"„Titel""', '""Titel”"', '"er sagte „Hallo“ laut"', "“er sagte „Hallo“ laut”"),
            *("“l’été”", '"die „Stadt" und mehr"'),
        )
    ),
    *(
        (
            f"all in {a}{b}",
            f"{{{a}tool{b}:{a}get_weather{b},{a}tool_input{b}:{{{a}city{b}:{a}Oslo{b}}}}}",
            OSLO,
            "",
        )
        for a, b in ("“”", "„“", "””", "「」", "«»", '"”', '„"')
    ),
    *(
        (
            f"two, {a} {b}",
            f'{{"tool":"write_file","tool_input":{{"path":{a},"content":{b}}}}}',
            [["write_file", {"path": "a.txt", "content": "x"}]],
            "",
        )
        for a, b in (('"a.txt”', '"x"'), ('“a.txt"', '"x"'), ('"a.txt”', '"x”'), ('"a.txt“', "'x’"))
    ),
    ("in Python", "[get_weather(city=“Oslo”)]", OSLO, ""),
    ("mixed in Python", '[get_weather(city="Oslo”)]', OSLO, ""),
    ("mixed in a tag", HERMES.replace('Oslo"', "Oslo”"), OSLO, ""),
    # Its quotes are wrong, and nothing was cut.
    ("no end", say("“Titel"), "error:malformed", ""),
    ("no straight end", say('"Titel'), "error:malformed", ""),
    ("one of each, and more inside", say('"a „b” und „c”'), "error:malformed", ""),
    *(
        ("no end in " + text[:12], text, "error:malformed", "")
        for text in (
            'get_weather(city="Oslo)',
            "[get_weather(city='Oslo)]",
            'print(get_weather(city="Oslo))',
            '```python\nget_weather(city="Oslo)\n```',
            '<tool_call>get_weather(city="Oslo)</tool_call>',
            '[TOOL_CALLS]get_weather[ARGS]{"city": “Oslo}',
            '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo}',
            '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo}<｜tool▁call▁end｜>',
            "call:get_weather{city:<escape>Oslo}<end_function_call>",
        )
    ),
    ("no end in a list", '{"tools":[' + say("„Titel") + "]}", "error:malformed", ""),
    # And here it was.
    ("cut", '{"tool":"search_notes","tool_input":{"query":“Tit', [["search_notes", CUT]], ""),
    ("cut in Python", 'get_weather(city="Oslo', CUT, ""),
    ("cut at a bracket", say('"${X')[:-1], [["search_notes", CUT]], ""),
]


def rows(table: list[tuple[Any, ...]]) -> list[Any]:
    return [pytest.param(*row[1:], id=row[0][:40]) for row in table]


@pytest.mark.parametrize(
    ("text", "expected", "words"), rows(EMPTY_FENCES + INLINE + DROPPED_TOKENS + WRAPPERS + QUOTES)
)
def test_is_read_and_shown(text: str, expected: Outcome, words: str | None) -> None:
    reply = read(text, specs())
    assert outcome(reply) == expected
    assert words is None or reply.text == words
    assert '"tools"' not in reply.text or expected == "none"
    reader, shown, thought = Reader(specs()), "", ""
    for char in text:
        reader.feed(char)
        shown += reader.words()
        thought += reader.thoughts()
    assert reader.close() == reply
    assert (shown + reader.words()).strip() == reply.text
    assert (thought + reader.thoughts()).strip() == reply.thinking


@pytest.mark.parametrize(
    "mark",
    [
        *("<start_function_ca", "✿FUNCT", "[TOOL_C", "<tool_ca", "<|channe", "<｜tool▁calls▁b"),
        *("]<]mini", "<|tool_calls_se", "<function_ca", "<|START_ACT"),
    ],
)
@pytest.mark.parametrize("before", ["", "Gut. ", "Gut.\n", f"{CALL}\n"])
def test_half_a_mark_is_shown_to_nobody(before: str, mark: str) -> None:
    """Where the length limit cut a mark in two, a call was cut; else it is what the model wrote."""
    reply, reader, shown = read(before + mark, specs(), done_reason="length"), Reader(specs()), ""
    for char in before + mark:
        reader.feed(char)
        shown += reader.words()
    assert reader.close("length") == reply
    assert (shown + reader.words()).strip() == reply.text == before.replace(CALL, "").strip()
    assert reply.problem is not None
    assert reply.problem.kind == "truncated"


OPENERS = ["<zcall>", "@@call ", "«call»", "zcall:", "::call", "]]", "=call=", "✿call", "\tcall!"]
ROWS = """
import re
from azent.parsing.candidates import option
from azent.messages import Call

def _row(opener):
    def read(text, at, terms):
        return Block(at + len(opener), option([Call("now", {})], terms).calls)
    return Dialect(opener, re.escape(opener).replace("\\\t", "\t"), read)

DIALECTS = (
    *map(_row, OPENERS),
"""
SCRIPT = """
from azent.parsing.reader import Reader, read
SPECS = {"now": {"name": "now", "parameters": {"type": "object", "properties": {}}}}
for opener in OPENERS:
    for before, after in (("", ""), ("Gut. ", ""), ("Gut.\\n", "\\nUnd?"), ("", opener)):
        text = before + opener + after
        reply, reader, shown = read(text, SPECS), Reader(SPECS), ""
        for char in text:
            reader.feed(char)
            shown += reader.words()
        assert [call.tool for call in reply.calls] == ["now"] * (1 + (after == opener)), text
        assert reader.close() == reply, text
        assert (shown + reader.words()).strip() == reply.text, text
"""


def test_a_dialect_is_one_row_whatever_it_begins_with(tmp_path: Path) -> None:
    """As `azent/parsing/dialects` says: a row and a function, and nothing else."""
    package = Path(dialects.__file__).parent.parent.parent
    shutil.copytree(package, tmp_path / "azent", ignore=shutil.ignore_patterns("__pycache__"))
    table = tmp_path / "azent" / "parsing" / "dialects" / "__init__.py"
    rows = ROWS.replace("OPENERS", repr(OPENERS))
    table.write_text(table.read_text("utf-8").replace("DIALECTS = (\n", rows, 1), "utf-8")
    script = SCRIPT.replace("OPENERS", repr(OPENERS))
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("opener", [r"(?:a|b)c", r"\d+x", r".", r"a|[bc]d", r"^x", ""])
def test_an_opener_begins_with_a_character_of_its_own(opener: str) -> None:
    with pytest.raises(ValueError, match="begin"):
        heads(opener)
