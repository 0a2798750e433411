"""Read cases: a question, the tools that are offered, and what is right.

A file has one JSON object on each line:

    {"question": "Weather in Oslo and in Rome?", "tools": ["weather"], "category": "weather",
     "calls": [{"tool": "weather", "tool_input": {"city": "Oslo"}},
               {"tool": "weather", "tool_input": {"city": {"one_of": ["Rome", "Roma"]}}}]}
    {"question": "What is 2 + 3?", "answer": {"matches": "\\\\b5\\\\b"}}

`question` is a text, or a list of messages with "role" and "content". `tools` are specs or names:
of the functions in the user's tool files, or of the specs in a JSON file beside the cases
(`cases_tools.json` beside `cases.jsonl`); without `tools`, all of these are offered. `calls` are
those that are due, in any order, [] for none; without it, any calls are right. With `answer` the
tools are run, and the answer is judged: it `contains` a text or each of several, `lacks` them, or
`matches` a regular expression.

Requests in people's own words are judged loosely, and only in what they say for certain:

    {"question": "Dim the lights to half", "tools": ["set_light", "turn_off"], "part": "home",
     "function": "set_light", "inputs": {"brightness": 50}, "said": ["light"]}

`function` is the one that is due, null for none. `inputs` are those that are judged; all others are
free. Each text in `said` has to be in some input. Texts are compared without case and punctuation,
and one may be a part of the other. `part` is the category.

A line that cannot be used is an error that names its file and number, before any model is asked.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from azent.errors import AzentError, CasesError, reason_of
from azent.lab.judging import LooseCall, is_choice, wrong_answer, wrong_calls, wrong_loosely
from azent.messages import Call, Spec
from azent.tools.tool import as_tool, specs_of
from azent.values.arguments import place
from azent.values.files import read_stream

Judge: TypeAlias = Callable[[Sequence[Call], str], str]
Part: TypeAlias = Literal["dev", "final", "all"]
PARTS: tuple[Part, ...] = ("dev", "final", "all")
KEYS = {"id", "question", "tools", "calls", "answer", "category"}
LOOSE_KEYS = {"id", "question", "tools", "function", "inputs", "said", "part", "category"}
CALL_KEYS = {"tool", "tool_input"}
ANSWER_KEYS = {"contains", "lacks", "matches"}
Each = TypeVar("Each")


@dataclass(frozen=True, slots=True)
class Case:
    """One case.

    - `judge` takes the calls and the answer, and returns what is wrong with them, or "".
    - `due` is how many calls are due; None if the case does not say it.
    - `runs` tells whether the tools are run and the question is answered. If not, only the first
      decision of the model is judged.
    - `stamp` is a hash of what the case says, so that outcomes of an older text are not reused.
    - `suite` is the collection that the case belongs to: "bfcl", or the name of its file.
    """

    id: str
    question: str | Sequence[Mapping[str, Any]]
    tools: tuple[Any, ...]
    judge: Judge = field(compare=False, repr=False)
    due: int | None = None
    category: str = "cases"
    runs: bool = False
    stamp: str = ""
    suite: str = ""

    @property
    def group(self) -> str:
        """Return the kind of decision: "one" or "several" calls due, "none", or an "answer"."""
        if self.due is None:
            return "answer"
        return {0: "none", 1: "one"}.get(self.due, "several")

    @property
    def kind(self) -> tuple[str, str]:
        """Return the category and the group: both parts of the cases have some of each kind."""
        return self.category, self.group


def stamp(*values: Any) -> str:
    """Hash values that can be written as JSON, or as text."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def sampled(items: Sequence[Each], most: int | None) -> Sequence[Each]:
    """Return at most so many items, spread evenly; all items if `most` is None."""
    step = max(1, len(items) // most) if most else 1
    return items[::step][:most]


def read_cases(file: str | Path, functions: Iterable[object] = ()) -> list[Case]:
    """Read the cases in a file; a line that is repeated counts once.

    Raises CasesError that names the first line that cannot be used.
    """
    file = place("file", file)
    known = {**_specs_beside(file), **{as_tool(each).name: each for each in functions}}
    by_id: dict[str, tuple[str, Case]] = {}
    for line in read_lines(file):
        case = _case(line, known, file.stem)
        where, first = by_id.setdefault(case.id, (line.place, case))
        if case.stamp != first.stamp:
            raise CasesError(f"{line.place}: the id {case.id!r} stands at {where} too")
    if not by_id:
        raise CasesError(f"{file} has no cases in it")
    return [case for _, case in by_id.values()]


# ---- lines ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """The JSON object on a line of a file, and the place to name in errors."""

    place: str
    number: int
    value: dict[str, Any]


def read_lines(file: Path) -> Iterator[Line]:
    """Read a file with one JSON object on each line. Raises CasesError for any other file."""
    for number, text in enumerate(_text_of(file).split("\n"), start=1):
        if text.strip():
            place = f"{file}:{number}"
            yield Line(place, number, _object(text, place))


def _specs_beside(file: Path) -> dict[str, Any]:
    """Read the specs, by name, in the JSON file beside the cases; none if there is no such file."""
    beside = file.with_name(f"{file.stem}_tools.json")
    return _object(_text_of(beside), str(beside)) if beside.is_file() else {}


def _text_of(file: Path) -> str:
    try:
        return read_stream(file)
    except (OSError, UnicodeDecodeError) as error:
        raise CasesError(f"{file} cannot be read: {reason_of(error)}") from error


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
        json.dumps(given, ensure_ascii=False).encode()  # a lone surrogate cannot be sent
    except (ValueError, RecursionError) as error:
        raise CasesError(f"{place}: this is no JSON: {reason_of(error)}") from error
    if not isinstance(given, dict):
        raise CasesError(f"{place}: this is no JSON object: {text.strip()[:40]}")
    return given


# ---- one case ------------------------------------------------------------------------------------


def _case(line: Line, known: Mapping[str, object], stem: str) -> Case:
    """Make the case of a line. Raises CasesError that names the line."""
    try:
        return _checked_case(line.value, f"{stem}:{line.number}", known, stem)
    except RecursionError as error:
        raise CasesError(f"{line.place}: this is nested too deeply") from error
    except AzentError as error:
        raise CasesError(f"{line.place}: {error}", error.hint) from error


def _checked_case(
    given: Mapping[str, Any], default_id: str, known: Mapping[str, object], stem: str
) -> Case:
    is_loose = "function" in given
    keys = LOOSE_KEYS if is_loose else KEYS
    if unknown := sorted(given.keys() - keys):
        raise CasesError(f"a case has no {unknown[0]!r}", f"It can have {', '.join(sorted(keys))}.")
    tools = _tools(given.get("tools"), known)
    specs = specs_of(tools)
    judge, due = (_loose_judge if is_loose else _exact_judge)(given, specs)
    if given.get("answer") is not None and any(isinstance(tool, dict) for tool in tools):
        hint = "Name functions in `tools`, and their file by --tools."
        raise CasesError("a spec cannot be run, so there is no answer to check", hint)
    return Case(
        id=str(given.get("id") or default_id),
        question=_question(given.get("question")),
        tools=tools,
        judge=judge,
        due=due,
        category=str(given.get("category", given.get("part", stem))),
        runs=given.get("answer") is not None,
        stamp=stamp(given, specs),
        suite=stem,
    )


def _question(given: Any) -> str | list[dict[str, Any]]:
    if isinstance(given, str) and given.strip():
        return given
    if isinstance(given, list) and given and all(map(_is_message, given)):
        return given
    hint = 'It is a text, or a list of {"role": ..., "content": ...}.'
    raise CasesError("there is no question", hint)


def _is_message(given: Any) -> bool:
    is_known = isinstance(given, dict) and given.get("role") in ("system", "user", "assistant")
    return is_known and isinstance(given.get("content"), str)


def _tools(given: Any, known: Mapping[str, object]) -> tuple[Any, ...]:
    """Return the tools of a case: specs, and the tools that are known by the names in it."""
    given = list(known) if given is None else given
    if not isinstance(given, list):
        raise CasesError("tools is a list of specs, or of names of functions")
    for each in given:
        if isinstance(each, str) and each not in known:
            hint = f"Functions there are: {', '.join(known) or 'none; name a file by --tools'}."
            raise CasesError(f"there is no function {each!r}", hint)
    return tuple(known[each] if isinstance(each, str) else each for each in given)


# ---- judges --------------------------------------------------------------------------------------


def _exact_judge(given: Mapping[str, Any], specs: Mapping[str, Spec]) -> tuple[Judge, int | None]:
    """Return the judge of a case with `calls` or `answer`, and how many calls are due."""
    calls, answer = given.get("calls"), given.get("answer")
    if calls is None and answer is None:
        raise CasesError("nothing says what is right", 'Add "calls", "answer", or "function".')
    expected = None if calls is None else _expected_calls(calls, specs)
    wanted = {} if answer is None else _wanted_answer(answer)

    def judge(made: Sequence[Call], text: str) -> str:
        wrong = "" if expected is None else wrong_calls(expected, made)
        return wrong or wrong_answer(wanted, text)

    return judge, None if expected is None else len(expected)


def _loose_judge(given: Mapping[str, Any], specs: Mapping[str, Spec]) -> tuple[Judge, int | None]:
    """Return the judge of a request in people's own words, and how many calls are due."""
    name, inputs, said = given["function"], given.get("inputs", {}), given.get("said", [])
    if not isinstance(inputs, dict) or not isinstance(said, list):
        raise CasesError("inputs is an object, and said is a list")
    tool = None if name is None else str(name).partition("#")[0]
    if tool is not None and tool not in specs:
        raise CasesError(f"{tool!r} is none of the tools", f"They are {', '.join(specs)}.")
    known = specs[tool].get("parameters", {}).get("properties", {}) if tool else {}
    if unknown := next((each for each in inputs if each not in known), None):
        raise CasesError(f"{tool} has no input {unknown!r}", f"It has {', '.join(known)}.")
    _check_choices([inputs, said])
    due = LooseCall(tool, inputs, said)
    return lambda made, text: wrong_loosely(due, made), int(tool is not None)


def _expected_calls(given: Any, specs: Mapping[str, Spec]) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise CasesError("calls is a list of objects, [] where none are due")
    for each in given:
        is_known = each.keys() <= CALL_KEYS and each.get("tool") in list(specs)
        if not is_known or not isinstance(each.get("tool_input", {}), dict):
            hint = f'A call is {{"tool": one of {", ".join(specs)}, "tool_input": {{...}}}}.'
            raise CasesError(f"{json.dumps(each)[:80]} is no call of these tools", hint)
        _check_choices(each.get("tool_input"))
    return given


def _check_choices(expected: Any) -> None:
    """Raise CasesError for a `one_of` at any depth that has no list of values."""
    if is_choice(expected) and not (isinstance(expected["one_of"], list) and expected["one_of"]):
        shown = json.dumps(expected)[:80]
        raise CasesError(f"one_of is a list of values that are right, not {shown}")
    inside = expected.values() if isinstance(expected, dict) else expected
    for each in inside if isinstance(expected, dict | list) else ():
        _check_choices(each)


def _wanted_answer(given: Any) -> dict[str, list[str]]:
    """Return what an answer must be like: lists of texts that it contains, lacks and matches."""
    if not isinstance(given, dict) or not given or given.keys() - ANSWER_KEYS:
        raise CasesError(f"answer is an object with {', '.join(sorted(ANSWER_KEYS))}")
    wanted = {key: [text] if isinstance(text, str) else text for key, text in given.items()}
    for texts in wanted.values():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise CasesError("what an answer must be like is a text, or several")
    for pattern in wanted.get("matches", ()):
        try:
            re.compile(pattern)
        except re.error as error:
            raise CasesError(f"{pattern!r} is no regular expression: {error}") from error
    return wanted
