"""Neighbours of the reported cases: for each kind of reply, the other ways in which it comes."""

from __future__ import annotations

from typing import Any

import pytest

from azent.parsing.reader import read
from tests.reading import Outcome, outcome, specs

OSLO = [["get_weather", {"city": "Oslo"}]]
SUM = [["add", {"a": 1, "b": 2}]]
NOW: list[Any] = [["now", {}]]
CALL = '{"tools":[{"tool":"get_weather","tool_input":{"city":"Oslo"}}]}'
ONE = '{"tool":"get_weather","tool_input":{"city":"Oslo"}}'
NAMED = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'

SHAPES = [
    ("the protocol", CALL, OSLO),
    ("with white space", '\n  {\n "tools" : [ {"tool":"now" , "tool_input" : {} } ] }\n', NOW),
    ("one call without a list", '{"tools": ' + ONE + "}", OSLO),
    ("a bare call", ONE, OSLO),
    ("a bare list", f"[{ONE}]", OSLO),
    ("name and arguments", NAMED, OSLO),
    ("arguments before the name", '{"arguments":{"city":"Oslo"},"name":"get_weather"}', OSLO),
    ("name and parameters", NAMED.replace("arguments", "parameters"), OSLO),
    ("function and parameters", '{"function":"get_weather","parameters":{"city":"Oslo"}}', OSLO),
    ("type beside function", '{"type":"function","name":"now","parameters":{}}', NOW),
    ("tool and args", '{"tool":"get_weather","args":{"city":"Oslo"}}', OSLO),
    ("tool_name and input", '{"tool_name":"get_weather","input":{"city":"Oslo"}}', OSLO),
    ("a list under tool_calls", '{"tool_calls": [' + NAMED + "]}", OSLO),
    ("a list under calls", '{"calls": [' + ONE + "]}", OSLO),
    ("OpenAI's", '{"tool_calls":[{"id":"x","type":"function","function":' + NAMED + "}]}", OSLO),
    (
        "OpenAI's with its message",
        '{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function",'
        '"function":{"name":"get_weather","arguments":"{\\"city\\": \\"Oslo\\"}"}}]}',
        OSLO,
    ),
    ("arguments as a string", '{"tool":"add","tool_input":"{\\"a\\":1,\\"b\\":2}"}', SUM),
    ("arguments as a Python string", '{"tool":"add","tool_input":"{\'a\': 1, \'b\': 2}"}', SUM),
    ("function_call", '{"function_call": ' + NAMED + "}", OSLO),
    ("Anthropic's", '{"type":"tool_use","id":"t","name":"now","input":{}}', NOW),
    ("beside the name", '{"tool":"get_weather","city":"Oslo"}', OSLO),
    ("the name as a key", '{"get_weather": {"city": "Oslo"}}', OSLO),
    ("the name as a key in the list", '{"tools":[{"get_weather": {"city": "Oslo"}}]}', OSLO),
    ("two names as keys", '{"now": {}, "add": {"a": 1, "b": 2}}', NOW + SUM),
    ("objects in a row", ONE + '{"tool":"now","tool_input":{}}', OSLO + NOW),
    ("objects with commas", ONE + ', {"tool":"now","tool_input":{}}', OSLO + NOW),
    ("one object a line", ONE + '\n{"tool":"now","tool_input":{}}\n', OSLO + NOW),
    ("a numbered list", f'1. {ONE}\n2. {{"tool":"now"}}', OSLO + NOW),
    ("doubled", CALL + "\n" + CALL, OSLO),
    ("doubled, fenced once", f"{CALL}\n\n```json\n{CALL}\n```", OSLO),
    ("the same call meant twice", f"[{ONE},{ONE}]", OSLO + OSLO),
    (
        "two calls in one object",
        '{"tool":"now","tool_input":{},"tool":"add","tool_input":{"a":1,"b":2}}',
        NOW + SUM,
    ),
    ("a thought first", '{"thought":"it is cold","tools":[{"tool":"now","tool_input":{}}]}', NOW),
    (
        "a whole reply in quotes",
        '"{\\"tools\\":[{\\"tool\\":\\"now\\",\\"tool_input\\":{}}]}"',
        NOW,
    ),
    ("escaped once too often", '{\\"tools\\":[{\\"tool\\":\\"now\\",\\"tool_input\\":{}}]}', NOW),
    ("keys in capitals", '{"Tools":[{"Tool":"now","Tool_Input":{}}]}', NOW),
    ("no tool is called none", '{"tools":[{"tool":"none","tool_input":{}}]}', "none"),
    ("an empty object", "{}", "none"),
    ("an empty list of calls", '{"tools": []}', "none"),
    ("null for the list", '{"tools": null}', "none"),
    ("null", "null", "none"),
    ("nothing", "", "error:empty"),
    ("white space", " \n\t", "error:empty"),
    ("an answer in disguise", '{"tool":"final_answer","tool_input":{"answer":"42"}}', "none"),
    ("ReAct's answer in disguise", '{"action":"Final Answer","action_input":"42"}', "none"),
    ("a list in place of arguments", '{"tool":"get_weather","tool_input":[{"city":"Oslo"}]}', OSLO),
]

AROUND = [
    ("prose before", f"Sure!\n{CALL}", OSLO),
    ("prose after", f"{CALL}\n\nLet me know.", OSLO),
    ("prose on both sides", f"Sure!\n\n{CALL}\n\nDone.", OSLO),
    ("a label", f"Tool call: {CALL}", OSLO),
    ("a label in bold", f"**Tool call:** {CALL}", OSLO),
    ("a sentence that leads to it", f"I will look that up: {CALL}", OSLO),
    ("a fence", f"```\n{CALL}\n```", OSLO),
    ("a fence of json", f"```json\n{CALL}\n```", OSLO),
    ("a fence of anything", f"```tool_code\n{CALL}\n```", OSLO),
    ("a fence in capitals", f"```JSON\n{CALL}\n```", OSLO),
    ("a fence on one line", f"```json {CALL} ```", OSLO),
    ("tildes", f"~~~json\n{CALL}\n~~~", OSLO),
    ("a fence that is not closed", f"```json\n{CALL}", OSLO),
    ("a fence with two calls", f'```json\n{ONE}\n{{"tool":"now"}}\n```', OSLO + NOW),
    ("two fences", f'```json\n{ONE}\n```\nand\n```json\n{{"tool":"now"}}\n```', OSLO + NOW),
    (
        "a fence inside a string",
        CALL.replace("Oslo", "```x```"),
        [["get_weather", {"city": "```x```"}]],
    ),
    ("inline code", f"`{CALL}`", OSLO),
    ("a mark of the end", f"{CALL}<|im_end|>", OSLO),
    ("another mark of the end", f"{CALL}</s>", OSLO),
    ("a mark of the beginning", f"<|im_start|>assistant\n{CALL}", OSLO),
    ("a byte order mark", f"\ufeff{CALL}", OSLO),
    ("a stray closing brace", CALL + "}", OSLO),
    ("two stray closing marks", CALL + "]}", OSLO),
    ("a semicolon", CALL + ";", OSLO),
    ("an invented result", f"{CALL}\nTool result: 3\nUser: thanks", OSLO),
    ("an invented second round", f'{ONE}\nObservation: 3\n{{"tool":"now"}}', OSLO),
    ("an invented turn", f"{CALL}<|im_end|>\n<|im_start|>user\n{ONE}", OSLO),
]

MARKED = {
    "hermes": f"<tool_call>{NAMED}</tool_call>",
    "Gemma": "<|tool_call>call:now{}<tool_call|>",
    "Mistral": "[TOOL_CALLS]now{}",
    "Kimi": "<|tool_call_begin|>functions.now:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "DeepSeek": "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
    "Harmony": "<|channel|>commentary to=functions.now<|message|>{}<|call|>",
    "Qwen3-Coder": "<function=now></function>",
    "invoke": '<invoke name="now"></invoke>',
    "a tool's tag": "<now/>",
}

NOT_MEANT = [
    ("inside a sentence", f"I will not run {CALL} because it is dangerous."),
    ("a plain example in a sentence", f"Use {ONE} for that."),
    ("denied on the line before", f"I will not send this:\n{CALL}"),
    ("denied before a fence", f"You should never send this:\n```json\n{CALL}\n```"),
    ("denied by a label", f"I won't call: {CALL}"),
    ("a block quote", f"You wrote:\n\n> {CALL}\n\nShall I?"),
    ("a fence in a block quote", f"> ```json\n> {CALL}\n> ```"),
    ("reasoning", f"<think>{CALL}</think>It is cold."),
    ("reasoning that is not closed", f"It is cold.\n<think>\n{CALL}"),
    ("reasoning that the prompt opened", f"Maybe\n{CALL}\n</think>\nIt is cold."),
    ("other reasoning", f"[THINK]\n{CALL}\n[/THINK]It is cold."),
    ("inside another object", '{"example": ' + CALL + "}"),
    ("inside a listing", f"```python\nx = {CALL}\n```"),
    ("a listing of code", "```python\nfrom tools import add\nadd(a=1, b=2)\n```"),
    ("somebody's data", '{"name": "add", "version": "1.0.0"}'),
    ("a person", '{"name": "Ann", "age": 3}'),
    ("a list of names", '["now", "add"]'),
    ("actions that have a tool's name", '{"actions": ["add"]}'),
    ("a list of tools to buy", '{"tools": ["hammer", "saw"]}'),
    (
        "a schema",
        '{"name":"now","description":"The time.","parameters":{"type":"object","properties":{}}}',
    ),
    (
        "a schema's properties",
        '{"name":"add","description":"Adds.","parameters":{"a":{"type":"integer"},'
        '"b":{"type":"integer"}},"required":["a","b"]}',
    ),
    ("an answer", '{"answer": "Paris"}'),
    ("a sentence about a tag", "Write `<tool_call>` around calls."),
    ("a tag in a sentence", "Models write <tool_call> and </tool_call> around calls."),
    *(
        (f"{name} in {marks} in a sentence", f"Write {marks[0]}{call}{marks[1]} to call it.")
        for name, call in MARKED.items()
        for marks in ("``", '""', "“”")
    ),
    ("an element in the run of a sentence", "Write <function=now></function> to call it."),
    ("a tool's tag in the run of a sentence", "The tag <now/> stands for a call."),
    ("an action that a sentence goes on with", "Action: add(1, 2) and so on"),
    ("brackets in prose", "See [now] and {x} and f(x)."),
    ("a name in prose", "I would use add(1, 2) here."),
    ("html", "<div>\n<b>now</b>\n</div>"),
    ("an example on its line", f"For example: {CALL}"),
    ("an example in a fence", f"For example:\n```json\n{CALL}\n```"),
    ("numbered examples", f"Example 1:\n{ONE}\nExample 2:\n{ONE}"),
    ("an example in Python", "For instance:\nnow()"),
    ("such as", f"You can send calls such as:\n\n{CALL}"),
    ("suppose", f"Suppose I sent this:\n{CALL}\nThen it would rain."),
    ("if", f"If you wanted to know, it would be:\n{CALL}"),
    ("what somebody said", f"The user said: {CALL}"),
    ("what you wrote", f"You wrote:\n{CALL}"),
    ("asking for leave", f"Would you like me to run this?\n{CALL}"),
    ("in a table", f"| call | {CALL} |"),
    ("an example's element", f"<example>\n{CALL}\n</example>"),
    ("a comment", f"<!-- {CALL} -->"),
    ("a changed line", f"```diff\n- {CALL}\n+ {CALL}\n```"),
    ("a denial with its reason", f"I will not run this, so do not ask:\n{CALL}"),
    ("denied in Python", "I would not call:\nnow()"),
    ("a tag in a block quote", f"> {MARKED['hermes']}"),
    ("a tag after a denial", f"I will not call {MARKED['hermes']}"),
    ("a tag under a denial", f"Do not run this:\n{MARKED['hermes']}"),
    ("a tag as an example", f"For example: {MARKED['hermes']}"),
    ("a tool's tag under a denial", "I cannot send this:\n<now/>"),
    ("two ways to think", f"<Think>{CALL}</Think>\n<scratchpad>\n{CALL}\n</scratchpad>It is cold."),
    ("reasoning closed by another name", f"<think>{CALL}</thinking>It is cold."),
]

MEANT = [
    ("a tag behind what is not known", f"I do not know. {MARKED['hermes']}", OSLO),
    ("a tag behind what cannot be", f"I cannot tell without data: {MARKED['hermes']}", OSLO),
    ("a tag amid words", f"One moment. {MARKED['hermes']} There.", OSLO),
    ("an example two sentences before", f"An example of a city is Oslo. Here is it:\n{ONE}", OSLO),
    ("an example's address", f"The weather for example.com:\n{ONE}", OSLO),
    ("a question before", f"What is the weather?\n{ONE}", OSLO),
    ("not knowing, so calling", f"I don't know the weather, so I will call:\n{ONE}", OSLO),
    ("not seeing, but looking", f"I can't see it myself. Let me look:\n{ONE}", OSLO),
    ("the same before a tag", f"I don't know it, so I'll call:\n{MARKED['hermes']}", OSLO),
    ("what was not called before", f"I could not call it before.\n{MARKED['hermes']}", OSLO),
    ("a label", f"Tool call: {ONE}", OSLO),
    ("behind the end of a turn", f"<|im_end|>{ONE}", OSLO),
    ("behind the begin of a turn", f"<|start_header_id|>assistant<|end_header_id|>{ONE}", OSLO),
    ("behind a stray tag", f"</tool_call>{ONE}", OSLO),
    *(
        (f"behind {ord(char):#x}", f"{char}{ONE}{char}", OSLO)
        for char in "\0\x01\t\x7f\xa0\u200b\u2060\u3000\ufeff\r"
    ),
    ("tool for an object", '{"tool": ' + NAMED.replace("arguments", "input") + "}", OSLO),
    ("input in input", '{"tool":"get_weather","tool_input":{"input":{"city":"Oslo"}}}', OSLO),
    ("Python behind Mistral's mark", "[TOOL_CALLS] now()", NOW),
    ("a function's name as an attribute", '<function name="now">{}</function>', NOW),
    *(
        (f"no tool: {text}", text, "none")
        for text in (
            *('{"tool": "none", "tool_input": {}}', '{"tool": "None"}', "[{}]", '{"tools": false}'),
            *(
                "<tool_call>{}</tool_call>",
                "<tool_call>[]</tool_call>",
                "<tool_call>none</tool_call>",
            ),
        )
    ),
]

DAMAGE = [
    ("a trailing comma", '{"tool":"add","tool_input":{"a":1,"b":2,},}', SUM),
    ("commas missing", '{"tool":"add" "tool_input":{"a":1 "b":2}}', SUM),
    ("commas missing at line ends", '{"tool":"add"\n"tool_input":{"a":1\n"b":2}}', SUM),
    ("single quotes", "{'tool':'add','tool_input':{'a':1,'b':2}}", SUM),
    ("smart quotes", "{“tool”:“add”,“tool_input”:{“a”:1,“b”:2}}", SUM),
    ("full-width punctuation", '｛"tool"：“add”，"tool_input"：｛"a"：1，"b"：2｝｝', SUM),
    ("line comments", '{"tool":"add", // which\n"tool_input":{"a":1, # one\n"b":2}}', SUM),
    ("block comments", '{"tool":"add", /* it */ "tool_input":{"a":1,"b":2}}', SUM),
    ("keys without quotes", '{tool: "add", tool_input: {a: 1, b: 2}}', SUM),
    ("names without quotes", "{tool: add, tool_input: {a: 1, b: 2}}", SUM),
    (
        "Python literals",
        "{'tool':'set_light','tool_input':{'room':'hall','on':True,'level':None}}",
        [["set_light", {"room": "hall", "on": True}]],
    ),
    ("undefined", '{"tool":"get_weather","tool_input":{"city":"Oslo","unit":undefined}}', OSLO),
    (
        "a raw line break",
        '{"tool":"search_notes","tool_input":{"query":"a\nb"}}',
        [["search_notes", {"query": "a\nb"}]],
    ),
    (
        "a raw tab",
        '{"tool":"search_notes","tool_input":{"query":"a\tb"}}',
        [["search_notes", {"query": "a\tb"}]],
    ),
    (
        "quotes inside",
        '{"tool":"search_notes","tool_input":{"query":"the "old" one"}}',
        [["search_notes", {"query": 'the "old" one'}]],
    ),
    (
        "quotes before a comma",
        '{"tool":"search_notes","tool_input":{"query":"say "hi", now","limit":2}}',
        [["search_notes", {"query": 'say "hi", now', "limit": 2}]],
    ),
    (
        "an apostrophe",
        "{'tool':'search_notes','tool_input':{'query':'Martha's garden'}}",
        [["search_notes", {"query": "Martha's garden"}]],
    ),
    (
        "a path",
        r'{"tool":"read_file","tool_input":{"path":"C:\Users\new\table.txt"}}',
        [["read_file", {"path": r"C:\Users\new\table.txt"}]],
    ),
    (
        "a relative path",
        r'{"tool":"read_file","tool_input":{"path":"src\Main\test.py"}}',
        [["read_file", {"path": r"src\Main\test.py"}]],
    ),
    (
        "a regular expression",
        r'{"tool":"grep","tool_input":{"pattern":"\d+\s*\w"}}',
        [["grep", {"pattern": r"\d+\s*\w"}]],
    ),
    (
        "a word boundary",
        r'{"tool":"grep","tool_input":{"pattern":"\bfoo\d"}}',
        [["grep", {"pattern": r"\bfoo\d"}]],
    ),
    (
        "LaTeX",
        r'{"tool":"search_notes","tool_input":{"query":"\frac{\alpha}{2} \times \theta"}}',
        [["search_notes", {"query": r"\frac{\alpha}{2} \times \theta"}]],
    ),
    (
        "an escaped apostrophe",
        r'{"tool":"search_notes","tool_input":{"query":"Martha\'s"}}',
        [["search_notes", {"query": "Martha's"}]],
    ),
    (
        "triple quotes",
        '{"tool":"search_notes","tool_input":{"query":"""a "b" c"""}}',
        [["search_notes", {"query": 'a "b" c'}]],
    ),
    ("a closing brace missing", '{"tools":[{"tool":"add","tool_input":{"a":1,"b":2}}]', SUM),
    ("closing marks missing", '{"tools":[{"tool":"add","tool_input":{"a":1,"b":2}', SUM),
    ("a brace missing in the middle", '{"tools":[{"tool":"add","tool_input":{"a":1,"b":2}]}', SUM),
    (
        "a mark missing inside a tag",
        '<tool_call>{"name":"add","arguments":{"a":1,"b":2}</tool_call>',
        SUM,
    ),
    (
        "zeros before a code",
        '{"tool":"lookup_order","tool_input":{"order_id":00789}}',
        [["lookup_order", {"order_id": "00789"}]],
    ),
    (
        "a fraction as a string",
        '{"tool":"lookup_order","tool_input":{"order_id":1.50}}',
        [["lookup_order", {"order_id": "1.50"}]],
    ),
]

LACKING = "error:missing_argument"
REFUSED = [
    ("no comma in Python", '[get_weather(city="Oslo"\n unit="celsius")]', "error:malformed"),
    ("not even a space in Python", '[get_weather(city="Oslo"unit="celsius")]', "error:malformed"),
    (
        "more than ReAct's input by name",
        "Action: get_weather\nAction Input: city: Oslo} and more",
        "error:malformed",
    ),
    (
        "ReAct's input by name that is no literal",  # and not the text "command=ls" either
        "Action: run_command\nAction Input: command=ls",
        "error:malformed",
    ),
    ("names alone", '{"tools": ["add", "now"]}', [["add", LACKING], ["now", {}]]),
    ("a name alone", '{"tools": "add"}', [["add", LACKING]]),
    (
        "an argument behind a damaged tag",  # no part of the value before it
        "<function=grep>\n<parameter=pattern>x</parameter>\n<parameter path>.</parameter>\n</function>",
        "error:malformed",
    ),
    (
        "ReAct with two inputs",
        'Action: add(1, 2)\nAction Input: {"a": 1, "b": 3}',
        "error:malformed",
    ),
    ("a string that only code knows", "[grep(pattern=f'{x}')]", "error:malformed"),
    (
        "thousands",
        '{"tool":"transfer","tool_input":{"account":"A","amount":1,250.50}}',
        "error:malformed",
    ),
    (
        "a unit",
        '{"tool":"transfer","tool_input":{"account":"A","amount":5 EUR}}',
        [["transfer", "error:invalid_argument"]],
    ),
    (
        "arithmetic",
        '{"tool":"add","tool_input":{"a":1+2,"b":2}}',
        [["add", "error:invalid_argument"]],
    ),
    (
        "an ellipsis",
        '{"tool":"run_commands","tool_input":{"commands":["a", ...]}}',
        "error:malformed",
    ),
    (
        "strings to be joined",
        '{"tool":"read_file","tool_input":{"path":"a" + "b"}}',
        "error:malformed",
    ),
    ("an odd quote", '{"tool":"read_file","tool_input":{"path":"a "b"}}', "error:malformed"),
    ("both ways", r'{"tool":"grep","tool_input":{"pattern":"\d\nx \s"}}', "error:malformed"),
    (
        "not a number",
        '{"tool":"transfer","tool_input":{"account":"A","amount":NaN}}',
        [["transfer", "error:invalid_argument"]],
    ),
    (
        "no end",
        '{"tool":"transfer","tool_input":{"account":"A","amount":Infinity}}',
        [["transfer", "error:invalid_argument"]],
    ),
    (
        "too large",
        '{"tool":"transfer","tool_input":{"account":"A","amount":1e999}}',
        [["transfer", "error:invalid_argument"]],
    ),
    ("two values", '{"tool":"add","tool_input":{"a":1,"b":2,"b":3}}', [["add", "error:malformed"]]),
    (
        "half a character",
        '{"tool":"read_file","tool_input":{"path":"\\ud800"}}',
        [["read_file", "error:invalid_argument"]],
    ),
    (
        "too deep",
        '{"tool":"read_file","tool_input":{"path":' + "[" * 80 + "]" * 80 + "}}",
        "error:too_deep",
    ),
    ("an unknown tool", '{"tool":"fly","tool_input":{}}', [["fly", "error:unknown_tool"]]),
    (
        "a misspelt tool",
        '{"tool":"get_wether","tool_input":{"city":"Oslo"}}',
        [["get_wether", "error:unknown_tool"]],
    ),
    ("code", '[get_weather(city=open("x").read())]', "error:malformed"),
    ("a variable", "[get_weather(city=here)]", "error:malformed"),
    ("an f-string", '[get_weather(city=f"{x}")]', "error:malformed"),
]

CUT = [
    ("in a string", '{"tool":"run_command","tool_input":{"command":"rm -rf /srv', "stop"),
    (
        "in a string, by the limit",
        '{"tool":"run_command","tool_input":{"command":"rm -rf /srv',
        "length",
    ),
    ("between items", '{"tool":"run_commands","tool_input":{"commands":["a","b"', "length"),
    ("after an item", '{"tool":"run_commands","tool_input":{"commands":["a","b"]', "length"),
    ("before the last brace", '{"tool":"add","tool_input":{"a":1,"b":2}', "length"),
    ("in a number", '{"tool":"add","tool_input":{"a":1,"b":2', "length"),
    ("after a comma", '{"tool":"add","tool_input":{"a":1,', "stop"),
    ("after a colon", '{"tool":"add","tool_input":{"a":', "stop"),
    ("in a key", '{"tool":"add","tool_in', "stop"),
    ("in a name", '{"tools":[{"tool":"ad', "length"),
    ("in a fence", '```json\n{"tool":"run_command","tool_input":{"command":"rm', "stop"),
    ("in a tag", '<tool_call>\n{"name":"run_command","arguments":{"command":"rm', "stop"),
    (
        "before the closing tag",
        "<tool_call>\n<function=run_command>\n<parameter=command>\nrm",
        "stop",
    ),
    ("in Python", '[run_command(command="rm -rf /srv', "stop"),
    ("in ReAct", 'Action: run_command\nAction Input: {"command": "rm', "stop"),
    ("in ReAct's plain input", "Action: run_command\nAction Input: rm -rf /srv", "length"),
    ("in Mistral's", '[TOOL_CALLS]run_command[ARGS]{"command": "rm', "length"),
    (
        "in Harmony",
        '<|channel|>commentary to=functions.run_command<|message|>{"command":"rm',
        "length",
    ),
    ("at the opening tag", "I will check.\n<tool_call>", "length"),
]

KIMI = "<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>"
# Nothing is cut here, so what is said must be what is wrong.
WHOLE = [
    (name, text, "error:malformed")
    for name, text in (
        ("a missing value", '<function=add>{"a": 1, "b": }</function>'),
        ("words for arguments", "<function=add>\nsome words\n</function>"),
        ("arguments as Python", "<function=add>a=1, b=2</function>"),
        ("elements of another kind", "<function=add>\n<param=a>1</param>\n</function>"),
        ("a stray element in a tag", "<tool_call><function=add><x></function></tool_call>"),
        ("a damaged parameter", '<invoke name="add"><parameter a>1</parameter></invoke>'),
        ("GLM's key without its value", "<tool_call>add\n<arg_key>a</arg_key>\n1\n</tool_call>"),
        ("no colons", '<tool_call>{"name": "add" "arguments" {"a": 1}}</tool_call>'),
        ("Mistral's input without braces", "[TOOL_CALLS]add[ARGS]a=1, b=2"),
        ("Kimi's without braces", f"{KIMI}a=1<|tool_call_end|>"),
        ("Kimi's without an input", "<|tool_call_begin|>functions.add:0<|tool_call_end|>"),
        ("Gemma's without an input", "<|tool_call>call:add<tool_call|>"),
        ("DeepSeek's", "<｜tool▁call▁begin｜>add<｜tool▁sep｜>a=1<｜tool▁call▁end｜>"),
        ("Harmony's without a message", "<|channel|>commentary to=functions.add<|call|>"),
        ("Python without a value", "[add(a=1, b=)]"),
        ("code in a string", '{"tool": "add(a=1, b=2)"}'),
        ("code in a list", '{"tools": ["add(1, 2)"]}'),
        ("no name but an input", '{"tool": "", "tool_input": {"a": 1}}'),
        ("a list in a string's place", '{"tool":"read_file","tool_input":{"path":"a", "b"}}'),
        ("two calls to choose from", f'{ONE}\nor\n{{"tool":"now","tool_input":{{}}}}'),
        ("a choice in fences", f"Either\n```\n{ONE}\n```\nor:\n```\n[now()]\n```"),
    )
] + [
    (
        "a bracket missing before the end of a call",
        '<tool_call>{"name":"add","arguments":{"a":1,"b":2</tool_call>',
        [["add", "error:malformed"]],
    ),
    (
        "a pair instead of a value",
        '{"tool":"get_weather","tool_input":"city=Oslo"}',
        [["get_weather", "error:invalid_argument"]],
    ),
]

QWEN = "<function=add>\n<parameter=a>1</parameter>\n{}\n</function>"
DIALECTS = [
    ("an argument's tag closed early", QWEN.format("<parameter>b>2</parameter>"), SUM),
    ("an argument's tag as others have it", QWEN.format('<parameter name="b">2</parameter>'), SUM),
    ("ReAct as Python", 'Action: get_weather(city="Oslo")', OSLO),
    ("ReAct as Python in backticks", "Action: `get_weather('Oslo')`\nObservation: 4", OSLO),
    (
        "ReAct as Python that says it twice",
        'Action: add(1, 2)\nAction Input: {"a": 1, "b": 2}',
        SUM,
    ),
    (
        "a name in Python's quotes",
        "[get_weather('L'Aquila')]",
        [["get_weather", {"city": "L'Aquila"}]],
    ),
    (
        "a name in Python's quotes, and more",
        "[get_weather('L'Aquila', unit='celsius'), now()]",
        [["get_weather", {"city": "L'Aquila", "unit": "celsius"}], ["now", {}]],
    ),
    ("ReAct as Python over two lines", "Action: add(a=1,\n  b=2)\nObservation: 3", SUM),
    ("ReAct's input as Python", "Action: add\nAction Input: add(a=1, b=2)", SUM),
    ("ReAct's input by name", "Action: add\nAction Input: a=1, b=2", SUM),
    ("ReAct's input by name and colon", "Action: get_weather\nAction Input: city: Oslo", OSLO),
    ("ReAct's input in quotes", "Action: get_weather\nAction Input: `Oslo`", OSLO),
    (
        "ReAct's input that ends in a quote",
        'Action: grep\nAction Input: say "x"',
        [["grep", {"pattern": 'say "x"'}]],
    ),
    (
        "ReAct with the schema as its arguments",
        'Action: add({"a": {"type": "integer"}})\nAction Input: {"a": 1, "b": 2}\nObservation: 4',
        SUM,
    ),
    ("a raw string in Python", "[grep(pattern=r'\\d+\\'s')]", [["grep", {"pattern": r"\d+\'s"}]]),
    (
        "a raw string in JSON",
        '{"tool":"grep","tool_input":{"pattern":r"\\bn\\d"}}',
        [["grep", {"pattern": r"\bn\d"}]],
    ),
    (
        "raw strings in a list",
        'run_commands(commands=["ls", r"\\n", u"x"])',
        [["run_commands", {"commands": ["ls", r"\n", "x"]}]],
    ),
    *(
        (f"{name} behind words in quotes", f'It said "no"{call}', NOW)
        for name, call in MARKED.items()
        if name != "hermes"  # its tags are words that a model may speak of: in doubt it is prose
    ),
    ("tokens behind words on their line", "I look at the clock now [TOOL_CALLS]now{}", NOW),
    ("an element behind words on its line", "I look at the clock. <function=now></function>", NOW),
    ("hermes", f"<tool_call>\n{NAMED}\n</tool_call>", OSLO),
    ("hermes without an end", f"<tool_call>\n{NAMED}", OSLO),
    ("hermes with our keys", f"<tool_call>{ONE}</tool_call>", OSLO),
    ("hermes in a fence", f"```xml\n<tool_call>\n{NAMED}\n</tool_call>\n```", OSLO),
    ("hermes around a fence", f"<tool_call>\n```json\n{NAMED}\n```\n</tool_call>", OSLO),
    (
        "hermes twice in a tag",
        f'<tool_call>\n{NAMED}\n{{"name":"now","arguments":{{}}}}\n</tool_call>',
        OSLO + NOW,
    ),
    ("a list in a tag", f"<tool_calls>[{NAMED}]</tool_calls>", OSLO),
    ("function_call", f"<function_call> {NAMED}", OSLO),
    ("tools", f"<tools>{NAMED}</tools>", OSLO),
    ("a name before JSON", '<tool_call>get_weather\n{"city": "Oslo"}\n</tool_call>', OSLO),
    ("Python in a tag", '<tool_call>get_weather(city="Oslo")</tool_call>', OSLO),
    (
        "qwen",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
        OSLO,
    ),
    (
        "qwen without its tag",
        "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>",
        OSLO,
    ),
    ("llama's function tag", '<function=get_weather>{"city": "Oslo"}</function>', OSLO),
    ("llama's python tag", f"<|python_tag|>{NAMED}", OSLO),
    ("pythonic", '[get_weather(city="Oslo"), now()]', OSLO + NOW),
    ("pythonic on a line", 'get_weather(city="Oslo")', OSLO),
    ("pythonic in a fence", '```python\nget_weather(city="Oslo")\n```', OSLO),
    ("pythonic in print", '```tool_code\nprint(default_api.get_weather(city="Oslo"))\n```', OSLO),
    ("pythonic by position", "[get_weather('Oslo')]", OSLO),
    ("mistral's list", f"[TOOL_CALLS] [{NAMED}]", OSLO),
    ("mistral's name", '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}', OSLO),
    ("mistral's id", '[TOOL_CALLS]get_weather[CALL_ID]abc123def[ARGS]{"city": "Oslo"}', OSLO),
    (
        "deepseek",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Oslo"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        OSLO,
    ),
    (
        "dsml",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
        OSLO,
    ),
    (
        "invoke",
        '<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n</invoke>\n</function_calls>',
        OSLO,
    ),
    (
        "kimi",
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>',
        OSLO,
    ),
    (
        "glm",
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
        OSLO,
    ),
    (
        "harmony",
        '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>',
        OSLO,
    ),
    ("gemma", '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>', OSLO),
    ("granite", f"<|tool_call|>[{NAMED}]", OSLO),
    ("phi", f"functools[{NAMED}]", OSLO),
    ("lfm", '<|tool_call_start|>[get_weather(city="Oslo")]<|tool_call_end|>', OSLO),
    ("lm studio", f"[TOOL_REQUEST]{NAMED}[END_TOOL_REQUEST]", OSLO),
    ("the name as a tag", "<get_weather>\n<city>Oslo</city>\n</get_weather>", OSLO),
    ("ReAct", 'Thought: hm\nAction: get_weather\nAction Input: {"city": "Oslo"}', OSLO),
    ("ReAct in bold", '**Action:** get_weather\n**Action Input:** {"city": "Oslo"}', OSLO),
    ("ReAct with plain input", "Action: get_weather\nAction Input: Oslo\n", OSLO),
    (
        "ReAct and an invented result",
        "Action: now\nAction Input: {}\nObservation: 3\nAction: now\nAction Input: {}",
        NOW,
    ),
    (
        "ReAct's blob",
        'Action:\n```json\n{"action":"get_weather","action_input":{"city":"Oslo"}}\n```',
        OSLO,
    ),
]


def named(rows: list[tuple[Any, ...]]) -> list[Any]:
    return [pytest.param(*row[1:], id=row[0]) for row in rows]


@pytest.mark.parametrize(
    ("text", "expected"), named(SHAPES + AROUND + DAMAGE + DIALECTS + REFUSED + MEANT + WHOLE)
)
def test_is_read_as(text: str, expected: Outcome) -> None:
    assert outcome(read(text, specs())) == expected


@pytest.mark.parametrize("text", named(NOT_MEANT))
def test_is_not_a_call(text: str) -> None:
    reply = read(text, specs())
    assert outcome(reply) == "none"
    assert reply.text or reply.thinking


@pytest.mark.parametrize(("text", "reason"), named(CUT))
def test_what_is_cut_does_not_run(text: str, reason: str) -> None:
    reply = read(text, specs(), done_reason=reason)
    kinds = {
        reply.problem and reply.problem.kind,
        *(c.problem and c.problem.kind for c in reply.calls),
    }
    assert kinds - {None} == {"truncated"}
    assert all(call.problem for call in reply.calls)
    assert "{" not in reply.text
