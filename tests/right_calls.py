"""A model that always writes the right calls, and cases with the calls that are right.

The model says yes to a gate. Of its calls it writes those that the schema of the request allows.
Whatever is missing in a decision was lost by azent: a function was not offered, no call was asked
for, the schema forbids what is right, or a call was left out.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema

import azent
from azent.lab.bfcl import bfcl_cases
from azent.messages import Delta, End, Request, Usage
from azent.models.encoder import Encoder, Kind, Vector
from azent.runtime.decision import Words

CASES = Path(__file__).parent / "cases"
CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple",
              "live_multiple")  # fmt: skip
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WireCall: TypeAlias = dict[str, Any]  # {"tool", "tool_input"}


@dataclass(frozen=True, slots=True)
class RightCase:
    """A question, the functions that are offered for it, and the calls that are right."""

    id: str
    part: str
    question: Words
    tools: tuple[Mapping[str, Any], ...]
    calls: tuple[WireCall, ...]


@dataclass
class RightModel:
    """A model that always writes these calls, all at once, or as few as it may at first."""

    calls: Sequence[WireCall]
    hasty: bool = False
    name: str = "right"
    num_ctx: int | None = None
    forbidden: list[str] = field(default_factory=list)

    def stream(self, request: Request) -> Iterator[Delta | End]:
        """Say yes to a gate; else write the calls."""
        is_gate = request.format is None and (request.options or {}).get("num_predict") == 8
        yield Delta("yes" if is_gate else self._written(request.format))
        yield End(usage=Usage(requests=1))

    def _written(self, schema: dict[str, Any] | None) -> str:
        if schema is None:
            return json.dumps({"tools": self.calls})
        tools = schema.get("anyOf", [schema])[0]["properties"]["tools"]
        allowed = [call for call in self.calls if self._is_allowed(call, tools.get("items", False))]
        least, most = tools.get("minItems", 0), tools.get("maxItems", len(allowed))
        written = allowed[: max(least, 1)] if self.hasty else allowed[:most]
        return json.dumps({"tools": [*written, *(allowed[-1:] * (least - len(written)))]})

    def _is_allowed(self, call: WireCall, schema: Any) -> bool:
        if f'"{call["tool"]}"' not in json.dumps(schema):
            self.forbidden.append(f"{call['tool']} is not offered")
            return False
        error = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schema).iter_errors(call)
        )
        if error:
            self.forbidden.append(error.message)
        return error is None


@dataclass
class KeptVectors:
    """An encoder that remembers every vector for the length of a test."""

    encoder: Encoder
    name: str = "kept"
    vectors: dict[tuple[str, Kind], Vector] = field(default_factory=dict)

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """A vector for each text."""
        unknown = [text for text in dict.fromkeys(texts) if (text, kind) not in self.vectors]
        for text in unknown:
            self.vectors[text, kind] = self.encoder.encode([text], kind)[0]
        return [self.vectors[text, kind] for text in texts]


def lost(
    case: RightCase, prompts: Any, encoder: Encoder | None = None, *, hasty: bool = False
) -> str:
    """Why the right calls did not come through, "" where they did."""
    model = RightModel(case.calls, hasty)
    reply = azent.select(case.question, case.tools, model, prompts=prompts, encoder=encoder)
    made = [{"tool": c.tool, "tool_input": c.tool_input} for c in reply.calls if not c.problem]
    if made == list(case.calls):
        return ""
    if model.forbidden:
        return model.forbidden[0][:200]
    if not reply.calls:
        return "declined"
    return f"{len(made)} of {len(case.calls)} calls are left"


# ---- cases ---------------------------------------------------------------------------------------


def everyday_cases() -> list[RightCase]:
    """The everyday requests for which a function is due."""
    tools = json.loads((CASES / "everyday_tools.json").read_text("utf-8"))
    lines = (CASES / "everyday.jsonl").read_text("utf-8").splitlines()
    return [_everyday(row, tools) for row in map(json.loads, lines) if row["function"]]


def _everyday(row: Mapping[str, Any], tools: Mapping[str, Any]) -> RightCase:
    tool = tools[row["function"]]
    call = {"tool": tool["name"], "tool_input": _legal(row, tool["parameters"])}
    offered = tuple(tools[name] for name in row["tools"])
    return RightCase(row["id"], row["part"], row["question"], offered, (call,))


def _legal(row: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that are right, in the types of the schema; any text for others that it needs."""
    needed = dict.fromkeys(parameters.get("required", ()), row["question"])
    given = {**needed, **row.get("inputs", {})}
    types = {name: about.get("type") for name, about in parameters["properties"].items()}
    return {
        name: _number(value) if types[name] in ("integer", "number") else value
        for name, value in given.items()
    }


def _number(said: Any) -> int:
    """The number that a text says in figures or as an English word; 1 where it says none."""
    if str(said).isdecimal():
        return int(said)
    return NUMBERS.index(said) if said in NUMBERS else 1


def bfcl_right_cases() -> list[RightCase]:
    """BFCL's development cases that have calls which their own functions allow."""
    made = (_bfcl(case, answers) for name in CATEGORIES for case, answers in _with_answers(name))
    return [case for case in made if case is not None]


def _with_answers(category: str) -> Iterator[tuple[Any, list[Any]]]:
    found = importlib.util.find_spec("bfcl_eval")
    assert found is not None
    assert found.origin is not None
    file = max(Path(found.origin).parent.glob(f"data/possible_answer/BFCL_v?_{category}.json"))
    rows = map(json.loads, file.read_text("utf-8").splitlines())
    answers = {row["id"]: row["ground_truth"] for row in rows}
    return ((case, answers[case.id]) for case in bfcl_cases(category, part="dev"))


def _bfcl(case: Any, answers: list[Any]) -> RightCase | None:
    """The case with the first of the values that each input may have."""
    specs = {tool["name"]: tool["parameters"] for tool in case.tools}
    calls = []
    for answer in answers:
        [(name, values)] = answer.items()
        tool = name.replace(".", "_")
        given = _first_of_each(values)
        if tool not in specs or not jsonschema.Draft202012Validator(specs[tool]).is_valid(given):
            return None
        calls.append({"tool": tool, "tool_input": given})
    return RightCase(case.id, case.category, case.question, case.tools, tuple(calls))


def _first_of_each(values: Mapping[str, Any]) -> dict[str, Any]:
    """The first value of each input; one with "" among its values may be left out, and is."""
    return {
        name: _plain(options[0] if isinstance(options, list) and options else options)
        for name, options in values.items()
        if not (isinstance(options, list) and "" in options)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _first_of_each(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value
