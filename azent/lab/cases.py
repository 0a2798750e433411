"""Cases: a question, the tools that are offered, and what is right.

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from azent.arguments import place
from azent.errors import AzentError, CasesError
from azent.files import read_stream
from azent.lab.judging import LooseCall, is_choice, wrong_answer, wrong_calls, wrong_loosely
from azent.messages import Call
from azent.tools import as_tool, specs_of
from azent.wording import reason_of

Judge: TypeAlias = Callable[[Sequence[Call], str], str]
KEYS = {"id", "question", "tools", "calls", "answer", "category"}
LOOSE_KEYS = {"id", "question", "tools", "function", "inputs", "said", "part", "category"}
CALL_KEYS = {"tool", "tool_input"}
ANSWER_KEYS = {"contains", "lacks", "matches"}

Part: TypeAlias = Literal["dev", "final", "all"]
PARTS: tuple[Part, ...] = ("dev", "final", "all")
Kind: TypeAlias = tuple[str, str]
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
        """The kind of decision: "one" call is due, "several", "none", or only the "answer"."""
        if self.due is None:
            return "answer"
        return {0: "none", 1: "one"}.get(self.due, "several")

    @property
    def kind(self) -> Kind:
        """The category and the group: both parts of the cases have some of each kind."""
        return self.category, self.group


def stamp(*values: Any) -> str:
    """Hash values that can be written as JSON, or as text."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


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


def _text_of(file: Path) -> str:
    try:
        return read_stream(file)
    except (OSError, UnicodeDecodeError) as error:
        raise CasesError(f"{file} cannot be read: {reason_of(error)}") from error


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
        json.dumps(given, ensure_ascii=False).encode()  # half a character cannot be asked
    except (ValueError, RecursionError) as error:
        raise CasesError(f"{place}: this is no JSON: {reason_of(error)}") from error
    if not isinstance(given, dict):
        raise CasesError(f"{place}: this is no JSON object: {text.strip()[:40]}")
    return given


def _specs_beside(file: Path) -> dict[str, Any]:
    """The specs, by name, in the JSON file beside the cases; none if there is no such file."""
    beside = file.with_name(f"{file.stem}_tools.json")
    return _object(_text_of(beside), str(beside)) if beside.is_file() else {}


def _case(line: Line, known: Mapping[str, object], stem: str) -> Case:
    try:
        return _made_case(line, known, stem)
    except RecursionError as error:
        raise CasesError(f"{line.place}: this is nested too deeply") from error


def _made_case(line: Line, known: Mapping[str, object], stem: str) -> Case:
    given, place = line.value, line.place
    is_loose = "function" in given
    keys = LOOSE_KEYS if is_loose else KEYS
    if unknown := sorted(given.keys() - keys):
        hint = f"It can have {', '.join(sorted(keys))}."
        raise CasesError(f"{place}: a case has no {unknown[0]!r}", hint)
    tools = _tools(given.get("tools"), known, place)
    judge, due = (_loose_judge if is_loose else _exact_judge)(given, tools, place)
    return Case(
        id=str(given.get("id") or f"{stem}:{line.number}"),
        question=_question(given.get("question"), place),
        tools=tools,
        judge=judge,
        due=due,
        category=str(given.get("category", given.get("part", stem))),
        runs=given.get("answer") is not None,
        stamp=stamp(given, specs_of(tools)),
        suite=stem,
    )


def _exact_judge(
    given: Mapping[str, Any], tools: Sequence[Any], place: str
) -> tuple[Judge, int | None]:
    """The judge of a case with `calls` or `answer`, and how many calls are due."""
    calls, answer = given.get("calls"), given.get("answer")
    if calls is None and answer is None:
        hint = 'Add "calls", "answer", or "function".'
        raise CasesError(f"{place}: nothing says what is right", hint)
    expected = None if calls is None else _expected(calls, tools, place)
    wanted = {} if answer is None else _wanted(answer, tools, place)

    def judge(made: Sequence[Call], text: str) -> str:
        wrong = "" if expected is None else wrong_calls(expected, made)
        return wrong or wrong_answer(wanted, text)

    return judge, None if expected is None else len(expected)


def _loose_judge(
    given: Mapping[str, Any], tools: Sequence[Any], place: str
) -> tuple[Judge, int | None]:
    """The judge of a request in people's own words, and how many calls are due: one or none."""
    name, inputs, said = given["function"], given.get("inputs", {}), given.get("said", [])
    if not isinstance(inputs, dict) or not isinstance(said, list):
        raise CasesError(f"{place}: inputs is an object, and said is a list")
    tool = None if name is None else str(name).partition("#")[0]
    specs = specs_of(tools)
    if tool is not None and tool not in specs:
        raise CasesError(f"{place}: {tool!r} is none of the tools", f"They are {', '.join(specs)}.")
    known = specs[tool].get("parameters", {}).get("properties", {}) if tool else {}
    if unknown := next((each for each in inputs if each not in known), None):
        raise CasesError(f"{place}: {tool} has no input {unknown!r}", f"It has {', '.join(known)}.")
    _check_choices([inputs, said], place)
    due = LooseCall(tool, inputs, said)
    return lambda made, text: wrong_loosely(due, made), int(tool is not None)


def _question(given: Any, place: str) -> str | list[dict[str, Any]]:
    if isinstance(given, str) and given.strip():
        return given
    if isinstance(given, list) and given and all(map(_is_message, given)):
        return given
    hint = 'It is a text, or a list of {"role": ..., "content": ...}.'
    raise CasesError(f"{place}: there is no question", hint)


def _is_message(given: Any) -> bool:
    is_known = isinstance(given, dict) and given.get("role") in ("system", "user", "assistant")
    return is_known and isinstance(given.get("content"), str)


def _tools(given: Any, known: Mapping[str, object], place: str) -> tuple[Any, ...]:
    given = list(known) if given is None else given
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
    """Raise CasesError for a `one_of` at any depth that has no list of values."""
    if is_choice(expected) and not (isinstance(expected["one_of"], list) and expected["one_of"]):
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


# ---- parts ---------------------------------------------------------------------------------------


def in_part(cases: Sequence[Case], part: Part) -> list[Case]:
    """The cases of a part: "dev" to look at while developing, "final" to measure with at the end.

    Every second case of each kind belongs to "final", in the order of the file, whatever a model
    makes of it. So lines that are added at the end of a file do not move those before them.
    """
    if part == "all":
        return list(cases)
    aside = _set_aside(cases)
    return [case for case, out in zip(cases, aside, strict=True) if out is (part == "final")]


def sampled(items: Sequence[Each], most: int | None) -> Sequence[Each]:
    """At most so many items, spread evenly; all items if `most` is None."""
    step = max(1, len(items) // most) if most else 1
    return items[::step][:most]


def _set_aside(cases: Sequence[Case]) -> list[bool]:
    """Tell of each case whether it is set aside.

    Kinds take turns in whether their first case is set aside, so that both parts are alike even if
    there are few cases of each kind.
    """
    counts: Counter[Kind] = Counter()
    first: dict[Kind, int] = {}
    aside = []
    for case in cases:
        if case.kind not in first:
            first[case.kind] = _turn_of(case.kind, list(first))
        aside.append((first[case.kind] + counts[case.kind]) % 2 == 1)
        counts[case.kind] += 1
    return aside


def _turn_of(kind: Kind, before: Sequence[Kind]) -> int:
    """The number of a new kind's category plus the number of the kind in its category."""
    categories = list(dict.fromkeys([*(category for category, _ in before), kind[0]]))
    return categories.index(kind[0]) + sum(category == kind[0] for category, _ in before)
