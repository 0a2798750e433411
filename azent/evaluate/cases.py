"""Cases: a question, the tools that are offered, and what is right.

One JSON object on each line of a file:

    {"question": "Weather in Oslo and in Rome?", "tools": ["weather"], "category": "weather",
     "calls": [{"tool": "weather", "tool_input": {"city": "Oslo"}},
               {"tool": "weather", "tool_input": {"city": {"one_of": ["Rome", "Roma"]}}}]}
    {"question": "What is 2 + 3?", "answer": {"matches": "\\\\b5\\\\b"}}

`question` is words, or messages with "role" and "content". `tools` are specs, or names of
functions out of files of tools; without it, all of these. `calls` are those that are due, in any
order, [] for none; where it is missing, any are right. `answer` has the tools run and says what the
answer must be like: it `contains` a text or each of several, `lacks` them, `matches` a regular
expression.

A line that cannot be used is an error that names file and line, before anything is asked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from azent.arguments import place
from azent.errors import AzentError, CasesError
from azent.files import read_stream
from azent.messages import Call
from azent.tools import as_tool, specs_of
from azent.wording import counted, reason_of

Judge: TypeAlias = Callable[[Sequence[Call], str], str]
KEYS = {"id", "question", "tools", "calls", "answer", "category"}
CALL_KEYS = {"tool", "tool_input"}
ANSWER_KEYS = {"contains", "lacks", "matches"}


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `judge` takes calls and answer, and says what is wrong with them, or nothing.

    `due` is how many calls are due, None where that is not said. `runs`: the tools are run and the
    question is answered; else only the first decision counts. `stamp` changes with what the case
    says, so that an outcome of before is not taken for one of now.
    """

    id: str
    question: str | Sequence[Mapping[str, Any]]
    tools: tuple[Any, ...]
    judge: Judge = field(compare=False, repr=False)
    due: int | None = None
    category: str = "cases"
    runs: bool = False
    stamp: str = ""

    @property
    def group(self) -> str:
        """Which kind of decision it is: one call due, several, none, or the answer alone."""
        if self.due is None:
            return "answer"
        return {0: "none", 1: "one"}.get(self.due, "several")


def stamp(*said: Any) -> str:
    """A name for what is said now: JSON values, or what has a text of its own."""
    text = json.dumps(said, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def read_cases(file: str | Path, functions: Iterable[object] = ()) -> list[Case]:
    """The cases in a file. Raises CasesError that names the first line that cannot be used."""
    file = place("file", file)
    try:
        lines = read_stream(file).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CasesError(f"{file} cannot be read: {reason_of(error)}") from error
    known = {as_tool(function).name: function for function in functions}
    numbered = [(n, line) for n, line in enumerate(lines, start=1) if line.strip()]
    cases = [_case(line, known, file.stem, f"{file}:{n}") for n, line in numbered]
    if not cases:
        raise CasesError(f"{file} has no cases in it")
    _check_ids(cases, [f"{file}:{n}" for n, _ in numbered])
    return cases


def _check_ids(cases: Iterable[Case], places: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for case, where in zip(cases, places, strict=True):
        if case.id in seen:
            raise CasesError(f"{where}: the id {case.id!r} stands at {seen[case.id]} too")
        seen[case.id] = where


def _case(line: str, known: Mapping[str, object], stem: str, place: str) -> Case:
    given = _object(line, place)
    if unknown := sorted(given.keys() - KEYS):
        hint = f"It can have {', '.join(sorted(KEYS))}."
        raise CasesError(f"{place}: a case has no {unknown[0]!r}", hint)
    calls, answer = given.get("calls"), given.get("answer")
    if calls is None and answer is None:
        raise CasesError(f"{place}: nothing says what is right", 'Add "calls", or "answer".')
    tools = _tools(given.get("tools"), known, place)
    expected = None if calls is None else _expected(calls, tools, place)
    wanted = None if answer is None else _wanted(answer, tools, place)
    return Case(
        id=str(given.get("id") or f"{stem}:{place.rpartition(':')[2]}"),
        question=_question(given.get("question"), place),
        tools=tools,
        judge=lambda made, text: _judged(expected, wanted, made, text),
        due=None if expected is None else len(expected),
        category=str(given.get("category", stem)),
        runs=wanted is not None,
        stamp=stamp(given, specs_of(tools)),
    )


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        given = json.loads(line)
        json.dumps(given, ensure_ascii=False).encode()  # half a character cannot be asked
    except (ValueError, RecursionError) as error:
        raise CasesError(f"{place}: this is no JSON: {reason_of(error)}") from error
    if not isinstance(given, dict):
        raise CasesError(f"{place}: a case is a JSON object, not {line.strip()[:40]}")
    return given


def _question(given: Any, place: str) -> str | list[dict[str, Any]]:
    if isinstance(given, str) and given.strip():
        return given
    roles = {"system", "user", "assistant"}
    if isinstance(given, list) and given and all(_is_message(each, roles) for each in given):
        return given
    hint = 'It is a text, or a list of {"role": ..., "content": ...}.'
    raise CasesError(f"{place}: there is no question", hint)


def _is_message(given: Any, roles: set[str]) -> bool:
    return (
        isinstance(given, dict)
        and given.get("role") in roles
        and isinstance(given.get("content"), str)
    )


def _tools(given: Any, known: Mapping[str, object], place: str) -> tuple[Any, ...]:
    if given is None:
        return tuple(known.values())
    if not isinstance(given, list):
        raise CasesError(f"{place}: tools is a list of specs, or of names of functions")
    for each in given:
        if isinstance(each, str) and each not in known:
            hint = f"Functions there are: {', '.join(known) or 'none; name a file by --tools'}."
            raise CasesError(f"{place}: there is no function {each!r}", hint)
    tools = tuple(known[each] if isinstance(each, str) else each for each in given)
    try:
        specs_of(tools)
    except AzentError as error:
        raise CasesError(f"{place}: {error}", error.hint) from error
    return tools


def _expected(given: Any, tools: Sequence[Any], place: str) -> list[dict[str, Any]]:
    names = specs_of(tools)
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise CasesError(f"{place}: calls is a list of objects, [] where none are due")
    for each in given:
        if not _is_call(each, list(names)):
            hint = f'A call is {{"tool": one of {", ".join(names)}, "tool_input": {{...}}}}.'
            raise CasesError(f"{place}: {json.dumps(each)[:80]} is no call of these tools", hint)
        _check_choices(each.get("tool_input"), place)
    return given


def _is_call(given: Mapping[str, Any], names: Sequence[str]) -> bool:
    is_known = given.keys() <= CALL_KEYS and given.get("tool") in names
    return is_known and isinstance(given.get("tool_input", {}), dict)


def _check_choices(expected: Any, place: str) -> None:
    """Raise CasesError for a `one_of`, however deep, that is no choice among values."""
    if _is_choice(expected) and not (isinstance(expected["one_of"], list) and expected["one_of"]):
        shown = json.dumps(expected)[:80]
        raise CasesError(f"{place}: one_of is a list of values that are right, not {shown}")
    inside = expected.values() if isinstance(expected, dict) else expected
    for each in inside if isinstance(expected, dict | list) else ():
        _check_choices(each, place)


def _wanted(given: Any, tools: Sequence[Any], place: str) -> dict[str, list[str]]:
    if not isinstance(given, dict) or not given or given.keys() - ANSWER_KEYS:
        raise CasesError(f"{place}: answer is an object with {', '.join(sorted(ANSWER_KEYS))}")
    if any(isinstance(tool, dict) for tool in tools):
        hint = "Name functions in `tools`, and their file by --tools."
        raise CasesError(f"{place}: a spec cannot be run, so there is no answer to check", hint)
    wanted = {key: [text] if isinstance(text, str) else text for key, text in given.items()}
    for texts in wanted.values():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise CasesError(f"{place}: what an answer must be like is a text, or several")
    for pattern in wanted.get("matches", ()):
        _compiled(pattern, place)
    return wanted


def _compiled(pattern: str, place: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise CasesError(f"{place}: {pattern!r} is no regular expression: {error}") from error


# ---- judging -------------------------------------------------------------------------------------


def _judged(
    expected: list[dict[str, Any]] | None,
    wanted: Mapping[str, list[str]] | None,
    made: Sequence[Call],
    text: str,
) -> str:
    """What is wrong with the calls or the answer; nothing where all is right."""
    wrong = "" if expected is None else _wrong_calls(expected, made)
    return wrong or ("" if wanted is None else _wrong_answer(wanted, text))


def _wrong_calls(expected: list[dict[str, Any]], made: Sequence[Call]) -> str:
    if len(made) != len(expected):
        return f"{counted(len(made), 'call')}, {len(expected)} due"
    left = list(expected)
    for call in made:
        found = next((each for each in left if _fits(call, each)), None)
        if found is None:
            shown = json.dumps(call.tool_input, ensure_ascii=False)
            return f"{call.tool}({shown}) is not among the calls due"
        left.remove(found)
    return ""


def _fits(call: Call, expected: Mapping[str, Any]) -> bool:
    return call.tool == expected["tool"] and _equal(call.tool_input, expected.get("tool_input", {}))


def _equal(value: Any, expected: Any) -> bool:
    """Is a value the expected one? {"one_of": [...]} stands for any of several."""
    if _is_choice(expected):
        return any(_equal(value, each) for each in expected["one_of"])
    if isinstance(expected, dict):
        same = isinstance(value, dict) and value.keys() == expected.keys()
        return same and all(_equal(value[key], each) for key, each in expected.items())
    if isinstance(expected, list):
        same = isinstance(value, list) and len(value) == len(expected)
        return same and all(map(_equal, value, expected))
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return bool(value == expected)


def _is_choice(expected: Any) -> bool:
    return isinstance(expected, dict) and expected.keys() == {"one_of"}


def _wrong_answer(wanted: Mapping[str, list[str]], text: str) -> str:
    for part in wanted.get("contains", ()):
        if part not in text:
            return f"the answer lacks {part!r}"
    for part in wanted.get("lacks", ()):
        if part in text:
            return f"the answer contains {part!r}"
    for pattern in wanted.get("matches", ()):
        if not re.search(pattern, text):
            return f"the answer does not match {pattern!r}"
    return ""
