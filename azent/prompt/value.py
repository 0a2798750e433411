"""What a prompt set is: texts, and settings that a `set.toml` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NewType, TypeAlias

from azent.prompt.examples import Kind
from azent.prompt.text import Text
from azent.schema.render import Style

Score = NewType("Score", float)  # of a function: it may be less than 0
Narrowing: TypeAlias = Literal["gate", "choose", "list"]
NO_SETTINGS = {"name", "texts", "folder", "bank"}  # the fields of a set that no setting gives


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """What is decided before the model is asked for calls; the table `[selection]`.

    `shown`: at most so many functions are shown, those nearest to the question in meaning; 0 for
    all. `within`: at the first decision only those are shown whose score is at most so much below
    the best score; 0 for all. `relevance`: meaning decides whether a function is called. No call is
    made where the best score is below `none_below`, and at least one where it is `call_above` or
    more (`azent.selection` has the scale: 0 is the score of the nearest function of a bank of
    unrelated ones). In between the set's gate is asked, or the model decides. All three need an
    encoder; without one, all functions are shown and the model decides.

    `more`: where values of the question (numbers, names, quotations) are in no call, the model is
    asked for further calls, because small models write one call and stop.
    """

    shown: int = 0
    within: float = 0.0
    relevance: bool = False
    none_below: Score = Score(0.0)
    call_above: Score = Score(0.0)
    more: bool = False


NO_RULES = SelectionRules()


@dataclass(frozen=True, slots=True)
class GateExample:
    """An example for the gate: functions, a request, and the answer "yes" or "no"."""

    functions: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The texts and settings by which a model is asked.

    - `turn`: "decide-answer" (calls are asked for first, then plain words) or "single" (both in
      one reply).
    - `decide`: what is asked before the calls are, in requests of their own. "gate": is any
      function meant at all, after the examples in `gate`; "choose": yes or no for each function;
      "list": the separate things asked for.
    - `answers`: where the answer is given: in a request of its own ("apart"), or in place of calls,
      as {"answer": "..."}, in a decision after results ("after results") or in any ("always").
    - `held`: the server holds decisions to a JSON Schema.
    - `functions`: how tools are shown.
    - `thought`: a thought is asked for before the calls.
    - `examples`: which kinds of examples are made of the user's own tools: "one" call, "two",
      "none", "near" (a near miss); `language` is the one they are written in.
    - `models`: patterns of the names of models that the set suits.
    - `sizes`: the set suits models with at least the first and less than the second number of
      billions of parameters.
    - `selection`: what is decided before the model is asked.
    - `bank`: functions that have nothing to do with the program at hand, a line each, with which
      those that are offered are compared.
    - `folder`: where the set was read.
    """

    name: str
    texts: Mapping[str, Text]
    description: str = ""
    turn: Literal["decide-answer", "single"] = "decide-answer"
    decide: tuple[Narrowing, ...] = ()
    held: bool = True
    functions: Style = "python"
    thought: bool = False
    examples: tuple[Kind, ...] = ()
    language: str = "en"
    models: tuple[str, ...] = ()
    sizes: tuple[float, ...] = ()
    selection: SelectionRules = NO_RULES
    answers: Literal["apart", "after results", "always"] = "apart"
    gate: tuple[GateExample, ...] = ()
    bank: tuple[str, ...] = ()
    folder: Path | None = field(default=None, compare=False)
