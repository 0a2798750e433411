"""What a call with nested inputs is told: unions, unknown names, formats, and other names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass

import azent
from azent.messages import Call, Problem
from azent.schema.faults import has_format
from azent.schema.references import inlined
from azent.schema.validate import checked
from azent.tools.tool import spec_of

STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


def of(**properties: Any) -> dict[str, Any]:
    """The schema of an object; a name that ends in _ is that of an optional property."""
    parts = {name.rstrip("_"): part for name, part in properties.items()}
    required = [name for name in properties if not name.endswith("_")]
    return {"type": "object", "properties": parts, "required": required}


def judged(parameters: Any, given: Any) -> tuple[Problem | None, Any]:
    """The problem of a call to a function of somebody else's, and its input."""
    spec = spec_of({"name": "f", "parameters": parameters})
    call, _ = checked(Call("f", given), {"f": spec}, trusted=False)
    return call.problem, call.tool_input


def told(parameters: Any, given: Any) -> str:
    problem, _ = judged(parameters, given)
    return problem.message.removeprefix("f: ") if problem else "nothing"


# ---- unions --------------------------------------------------------------------------------------

CAT = of(kind={"const": "cat"}, lives=INTEGER)
DOG = of(kind={"enum": ["dog", "puppy"]}, barks_={"type": "boolean"})
TAGGED = {"anyOf": [CAT, DOG]}
NAMED = {"oneOf": [CAT, DOG], "discriminator": {"propertyName": "kind"}}
WHOLES = {"oneOf": [{"allOf": [of(kind={"const": "cat"}), of(lives=INTEGER)]}, DOG]}
UNTAGGED = {"anyOf": [of(name=STRING, age=INTEGER), of(name=STRING, size=INTEGER)]}
PLACES = {
    "anyOf": [of(city=STRING, country_=STRING), of(latitude=INTEGER, longitude=INTEGER)],
}
SPOT = ("latitude", "longitude")
MAPPED = {
    "oneOf": [
        {**of(kind=STRING, lives=INTEGER), "title": "Cat"},
        {**of(kind=STRING, barks_={"type": "boolean"}), "title": "Dog"},
    ],
    "discriminator": {
        "propertyName": "kind",
        "mapping": {"cat": "#/$defs/Cat", "tom": "Cat", "dog": "#/components/schemas/Dog"},
    },
}


def no(name: str, *known: str) -> str:
    """What a misspelt name is told, at a path that is yet to be filled in."""
    return f"there is no argument {name!r} (it takes {', '.join(map(repr, known))}) at {{}}"


VERSIONS = {
    "anyOf": [of(t={"const": t}, v={"const": v}) for t, v in (("a", 1), ("a", 2), ("b", 3))]
}


@pytest.mark.parametrize(
    "place",
    [
        lambda union, value: (of(x=union), {"x": value}, "$.x"),
        lambda union, value: (of(x={"type": "array", "items": union}), {"x": [value]}, "$.x[0]"),
        lambda union, value: (of(x={"anyOf": [union, NULL]}), {"x": value}, "$.x"),
        lambda union, value: (of(a=of(b=of(x=union))), {"a": {"b": {"x": value}}}, "$.a.b.x"),
        lambda union, value: (
            {**of(x={"$ref": "#/$defs/u"}), "$defs": {"u": union}},
            {"x": value},
            "$.x",
        ),
        lambda union, value: ({"type": "object", **union}, value, "$"),
    ],
    ids=["parameter", "list", "optional", "deep", "reference", "root"],
)
@pytest.mark.parametrize(
    ("union", "value", "said"),
    [
        (TAGGED, {"kind": "cat"}, "'lives' is missing at {}"),
        (TAGGED, {"kind": "CAT"}, "'lives' is missing at {}"),
        (TAGGED, {"kind": "cat", "lives": "many"}, "'many' is not an integer at {}.lives"),
        (TAGGED, {"kind": "puppy", "barks": 5}, "5 is not a boolean at {}.barks"),
        (TAGGED, {"kind": "cow"}, "'cow' is not one of 'cat', 'dog', 'puppy' at {}.kind"),
        (TAGGED, {"lives": 9}, "'kind' is missing (it is one of 'cat', 'dog', 'puppy') at {}"),
        (
            TAGGED,
            {"kind": "cat", "lives": "9", "age": 3},
            "there is no argument 'age' (it takes 'kind', 'lives') at {}",
        ),
        (NAMED, {"kind": "cat"}, "'lives' is missing at {}"),
        (NAMED, {"kind": "cow"}, "'cow' is not one of 'cat', 'dog', 'puppy' at {}.kind"),
        (WHOLES, {"kind": "cat"}, "'lives' is missing at {}"),
        (WHOLES, {"kind": "cat", "lives": "9"}, "nothing"),
        (UNTAGGED, {"name": "a", "age": "old"}, "'old' is not an integer at {}.age"),
        (UNTAGGED, {"name": "a"}, "'age' is missing, or 'size' is missing at {}"),
        (UNTAGGED, {"name": 5, "size": "3"}, "nothing"),
        (
            UNTAGGED,
            {},
            "'name' is missing and 'age' is missing, or 'name' is missing and "
            "'size' is missing at {}",
        ),
        # the branch whose names were meant, misspelt or cut short
        (UNTAGGED, {"name": "a", "aeg": 3}, f"'age' is missing and {no('aeg', 'name', 'age')}"),
        (
            UNTAGGED,
            {"name": "a", "sizes": 3},
            f"'size' is missing and {no('sizes', 'name', 'size')}",
        ),
        (UNTAGGED, {"nam": "a", "size": 3}, f"'name' is missing and {no('nam', 'name', 'size')}"),
        (PLACES, {"city": "a", "contry": "b"}, no("contry", "city", "country")),
        (PLACES, {"lat": 1, "longitude": 2}, f"'latitude' is missing and {no('lat', *SPOT)}"),
        (
            PLACES,
            {"latitude": 1, "longitud": 2},
            f"'longitude' is missing and {no('longitud', *SPOT)}",
        ),
        (PLACES, {"latitude": 1}, "'longitude' is missing at {}"),
        (PLACES, {"city": "a", "latitude": 1}, f"{no('latitude', 'city', 'country')}"),
        # a discriminator that has its values in the mapping alone
        (MAPPED, {"kind": "cow"}, "'cow' is not one of 'cat', 'tom', 'dog' at {}.kind"),
        (MAPPED, {"kind": "tom"}, "'lives' is missing at {}"),
        (MAPPED, {"kind": "Cat", "lives": "9"}, "nothing"),
        (MAPPED, {"kind": "dog", "lives": 9}, no("lives", "kind", "barks")),
        (MAPPED, {"lives": 9}, "'kind' is missing (it is one of 'cat', 'tom', 'dog') at {}"),
        (VERSIONS, {"t": "a", "v": 4}, "4 is not one of 1, 2 at {}.v"),
        (VERSIONS, {"t": "b", "v": "3"}, "nothing"),
    ],
)
def test_a_union_says_what_is_wrong_with_the_branch_that_was_meant(
    place: Any, union: Any, value: Any, said: str
) -> None:
    parameters, given, path = place(union, value)
    assert told(parameters, given) == said.format(path)


DATE = {**STRING, "format": "date"}


@pytest.mark.parametrize(
    ("union", "value", "said"),
    [
        ({"anyOf": [STRING, INTEGER]}, [1, 2], "[1, 2] is not a string or an integer at $.x"),
        ({"anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}, "c", "'c' is not one of 'a', 'b' at $.x"),
        ({"oneOf": [{"const": 1}, {"const": "auto"}]}, "c", "'c' is not one of 1, 'auto' at $.x"),
        ({"anyOf": [{**STRING, "enum": ["a"]}, NULL]}, "c", "'c' is not one of 'a' at $.x"),
        (
            {"anyOf": [{**STRING, "enum": ["a"]}, INTEGER]},
            {},
            "{} is not a string or an integer at $.x",
        ),
        ({"anyOf": [CAT, STRING]}, 2.5, "nothing"),
        (
            {"anyOf": [DATE, {**STRING, "format": "email"}, INTEGER]},
            "tomorrow",
            "'tomorrow' is not a date as YYYY-MM-DD or an email address at $.x",
        ),
        ({"oneOf": [DATE, DATE]}, "now", "'now' is not a date as YYYY-MM-DD at $.x"),
        (False, 5, "5 is not allowed at $.x"),
        ({"anyOf": [False, {"const": 3}]}, 5, "5 is not allowed, or 5 is not 3 at $.x"),
        ({"anyOf": [False, STRING]}, "a", "nothing"),
        (
            {"anyOf": [CAT, {"type": "array", "items": CAT}]},
            [{"kind": "cat"}],
            "'lives' is missing at $.x[0]",
        ),
        (
            {"oneOf": [of(a_=STRING), of(a_=STRING, b_=STRING)]},
            {"a": "x"},
            "it fits more than one of the alternatives at $.x",
        ),
    ],
)
def test_a_union_of_values(union: Any, value: Any, said: str) -> None:
    assert told(of(x=union), {"x": value}) == said


REFERRED = [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
PETS = {
    "Cat": of(kind=STRING, lives=INTEGER),
    "Dog": {"allOf": [of(kind=STRING), of(barks=INTEGER)]},
    "Pet": {
        "oneOf": REFERRED,
        "discriminator": {
            "propertyName": "kind",
            "mapping": {"cat": "#/$defs/Cat", "dog": "Dog"},
        },
    },
}
CHOICES = "'cat', 'dog'"


@pytest.mark.parametrize(
    ("parameters", "pet", "path"),
    [
        (of(x={"$ref": "#/$defs/Pet"}), lambda pet: {"x": pet}, "$.x"),
        (of(x={**PETS["Pet"]}), lambda pet: {"x": pet}, "$.x"),
        (of(x={"type": "array", "items": PETS["Pet"]}), lambda pet: {"x": [pet]}, "$.x[0]"),
        (of(x={"anyOf": [PETS["Pet"], NULL]}), lambda pet: {"x": pet}, "$.x"),
        ({"$ref": "#/$defs/Pet"}, lambda pet: pet, "$"),
        ({"type": "object", **PETS["Pet"]}, lambda pet: pet, "$"),
    ],
)
def test_a_mapping_names_the_kinds_of_what_it_refers_to(
    parameters: Any, pet: Any, path: str
) -> None:
    whole = {**parameters, "$defs": PETS}
    assert told(whole, pet({"kind": "cow"})) == f"'cow' is not one of {CHOICES} at {path}.kind"
    assert told(whole, pet({"kind": "cat"})) == f"'lives' is missing at {path}"
    assert told(whole, pet({"kind": "dog"})) == f"'barks' is missing at {path}"
    assert told(whole, pet({"kind": "dog", "barks": 1})) == "nothing"
    shown = str(inlined(spec_of({"name": "f", "parameters": whole})["parameters"]))
    assert "'enum': ['cat']" in shown


@pytest.mark.parametrize(
    "discriminator",
    [
        {"propertyName": "kind"},
        {"propertyName": "kind", "mapping": {"a": "#/$defs/Nothing"}},
        {"propertyName": "kind", "mapping": {"a": 5}},
        {"propertyName": 5, "mapping": {"a": "#/$defs/Cat"}},
        {"mapping": ["a"]},
        "kind",
    ],
)
def test_a_discriminator_that_names_nothing_changes_nothing(discriminator: Any) -> None:
    plain = {name: PETS[name] for name in ("Cat", "Dog")}
    parameters = {**of(x={"oneOf": REFERRED, "discriminator": discriminator}), "$defs": plain}
    assert told(parameters, {"x": {"kind": "any", "lives": 9}}) == "nothing"


def test_either_of_two_arguments() -> None:
    either = {
        **of(id_=STRING, name_=STRING),
        "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    }
    assert told(either, {}) == "'id' is missing, or 'name' is missing at $"
    assert told(either, {"name": "a"}) == "nothing"
    assert told(either, {"id": "1", "nme": "a"}).startswith("there is no argument 'nme'")


@pytest.mark.parametrize("leaf", [1, "1", "x", {}])
@pytest.mark.parametrize("tag", [{}, {"op": {"const": "a"}}])
def test_unions_inside_of_unions_are_not_exponential(leaf: Any, tag: Any) -> None:
    again = {"$ref": "#/$defs/u"}
    branches = [
        of(left=again, **tag),
        of(left=again, right_=again, **{k: {"const": "b"} for k in tag}),
    ]
    parameters = {**of(x=again), "$defs": {"u": {"anyOf": [*branches, INTEGER]}}}
    value = leaf
    for _ in range(12):
        value = {"left": value, **({"op": "a"} if tag else {})}
    problem, _ = judged(parameters, {"x": value})
    assert (problem is None) == (leaf in (1, "1"))


# ---- names inside --------------------------------------------------------------------------------


class Home(BaseModel):
    street: str
    zip: int = 0


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str = ""


class Tree(BaseModel):
    label: str
    children: list[Tree] = []


def move(
    home: Home | None = None,
    homes: list[Home] | None = None,
    by_name: dict[str, Home] | None = None,
    tree: Tree | None = None,
    free: Anything | None = None,
    bag: dict[str, Any] | None = None,
) -> str:
    """Move."""
    return "moved"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"home": {"street": "a", "zpi": 1}},
            "there is no argument 'zpi' (it takes 'street', 'zip') at $.home",
        ),
        (
            {"home": {"stret": "a"}},
            "'street' is missing and there is no argument 'stret' (it takes 'street', 'zip') "
            "at $.home",
        ),
        (
            {"homes": [{"street": "a"}, {"street": "b", "no": 1}]},
            "no argument 'no' (it takes 'street', 'zip') at $.homes[1]",
        ),
        (
            {"by_name": {"a": {"street": "a", "no": 1}}},
            "no argument 'no' (it takes 'street', 'zip') at $.by_name.a",
        ),
        (
            {"tree": {"label": "a", "children": [{"label": "b", "x": 1}]}},
            "no argument 'x' (it takes 'label', 'children') at $.tree.children[0]",
        ),
        ({"free": {"name": "a", "more": 1}}, ""),
        ({"bag": {"more": {"still": 1}}}, ""),
    ],
)
def test_a_misspelt_name_inside_is_told(given: dict[str, Any], said: str) -> None:
    (result,) = azent.Toolbox([move]).run([Call("move", given)])
    assert result.text == "moved" if not said else said in result.text


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"allOf": [of(a=STRING), of(b=STRING)]}, {"a": "x", "b": "y"}),
        ({**of(a=STRING), "patternProperties": {"^x-": STRING}}, {"a": "x", "x-b": "y"}),
        ({**of(a=STRING), "additionalProperties": True}, {"a": "x", "b": "y"}),
        ({**of(a=STRING), "if": {}, "then": of(b=STRING)}, {"a": "x", "b": "y"}),
        ({"allOf": [{"$ref": "#/$defs/d"}, of(b=STRING)]}, {"a": "x", "b": "y"}),
        ({**of(t=STRING), "oneOf": [of(a=STRING), of(b=STRING)]}, {"t": "a", "a": "x"}),
        ({"type": "object", "properties": {}}, {"b": "y"}),
    ],
)
def test_an_object_that_is_described_in_parts_stays_open(part: Any, value: Any) -> None:
    parameters = {**of(x=part), "$defs": {"d": of(a=STRING)}}
    assert judged(parameters, {"x": value}) == (None, {"x": value})


def test_what_may_be_null_by_openapi() -> None:
    parameters = of(
        p=of(kind={**STRING, "nullable": True}, size={**INTEGER, "enum": [1], "nullable": True})
    )
    given = {"p": {"kind": None, "size": None}}
    assert judged(parameters, given) == (None, given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"a": {"b": {"cc": "x"}}},
            "'c' is missing and there is no argument 'cc' (it takes 'c') at $.a.b",
        ),
        ({"a": {"b": {"c": 5, "d": 1}}}, "there is no argument 'd' (it takes 'c') at $.a.b"),
        ({"a": {"b": {"c": [1, 2]}}}, "[1, 2] is not a string at $.a.b.c"),
        ({"a": {"bb": 1}}, "'b' is missing and there is no argument 'bb' (it takes 'b') at $.a"),
        (
            {"a": {"b": {"c": {}}}, "z": 1},
            "there is no argument 'z' (it takes 'a') at $; {} is not a string at $.a.b.c",
        ),
        ({"b": {"c": "x"}}, "'a' is missing and there is no argument 'b' (it takes 'a') at $"),
    ],
)
def test_a_path_is_written_once(given: Any, said: str) -> None:
    assert told(of(a=of(b=of(c=STRING))), given) == said


@pytest.mark.parametrize("yes", [True, "true", "True"])
@pytest.mark.parametrize("key", ["nullable", "x-nullable"])
@pytest.mark.parametrize(
    "part",
    [
        STRING,
        {"type": "array", "items": STRING},
        of(b=STRING),
        {"$ref": "#/components/schemas/C"},
        {"oneOf": [STRING, INTEGER]},
        {"enum": ["a", "b"]},
        {"allOf": [of(b=STRING)]},
    ],
)
def test_any_form_of_nullable_takes_null_inside(part: Any, key: str, yes: Any) -> None:
    parameters = {
        **of(p=of(x={**part, key: yes}), q=of(y={"$ref": "#/components/schemas/N"})),
        "components": {"schemas": {"C": of(b=STRING), "N": {**STRING, key: yes}}},
    }
    given = {"p": {"x": None}, "q": {"y": None}}
    assert judged(parameters, given) == (None, given)


# ---- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (
            "date",
            ["2026-02-28", "2024-02-29"],
            ["tomorrow", "2026-02-30", "28.02.2026", "20260228", "2026-2-3"],
        ),
        ("time", ["10:00", "23:59:60Z", "10:00:00.5+02:00"], ["noon", "25:00", "10", "10:00 am"]),
        (
            "date-time",
            ["2026-02-28T10:00:00Z", "2026-02-28 10:00", "2026-02-28t10:00:00.123-05:30"],
            ["now", "2026-02-28", "2026-13-01T10:00:00Z"],
        ),
        (
            "email",
            ["kim@example.com", "a.b+c@mail.example.org", "ü@ö.de"],
            ["kim", "kim@", "@b.de", "a b@c.de", "Kim <k@c.de>", "a@b..de"],
        ),
        (
            "uuid",
            ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
            ["123", "123e4567e89b12d3a456426614174000"],
        ),
        (
            "uri",
            [
                "https://example.com/a?b=c#d",
                "mailto:a@b.de",
                "urn:isbn:1",
                "file:///a",
                "https://de.wikipedia.org/wiki/Köln",
            ],
            ["example.com", "/a/b", "http://", "https://exa mple.com", "https:"],
        ),
    ],
)
def test_formats(name: str, right: list[str], wrong: list[str]) -> None:
    assert [text for text in right if not has_format(name, text)] == []
    assert [text for text in wrong if has_format(name, text)] == []
    part = {**STRING, "format": name}
    assert told(of(x=part), {"x": right[0]}) == "nothing"
    assert told(of(x={"type": "array", "items": part}), {"x": wrong[:1]}).endswith("at $.x[0]")
    assert judged(of(x_=part), {"x": ""}) == (None, {})


# ---- other names ---------------------------------------------------------------------------------


class Choices(BaseModel):
    name: Annotated[str, "who it is"] = Field(
        validation_alias=AliasChoices("name", "userName", "login")
    )


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    first_name: str


class ByName(BaseModel):
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=False)
    first_name: str = Field(alias="firstName")


class Alias(BaseModel):
    from_: str = Field(validation_alias="from", serialization_alias="sender")


class Paths(BaseModel):
    first: str = Field(validation_alias=AliasChoices("first", AliasPath("names", 0)))
    last: str = Field(validation_alias=AliasPath("names", -1))


class Node(BaseModel):
    value: str = Field(validation_alias=AliasChoices("value", "val"))
    nodes: list[Node] = Field(default=[], validation_alias=AliasChoices("nodes", "children"))


@dataclass
class Data:
    name: str = Field(validation_alias=AliasChoices("name", "alpha"))


class Keys(TypedDict):
    name: Annotated[str, Field(validation_alias=AliasChoices("name", "alpha"))]


class Upper(BaseModel):
    model_config = ConfigDict(alias_generator=str.upper, validate_by_name=True)
    name: str = Field(validation_alias=AliasChoices("NAME", "alias-name", "n"))


class Inner(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    zip_code: str = Field(alias="zipCode")


class Outer(BaseModel):
    homes: list[Inner] = Field(validation_alias=AliasChoices("homes", "houses"))
    first: Inner | None = Field(None, validation_alias=AliasChoices("first", AliasPath("all", 0)))


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str = Field(alias="dogName")


@pytest.mark.parametrize(
    ("kind", "shown", "ways"),
    [
        (Choices, {"name": "a"}, [{"userName": "a"}, {"login": "a"}, {"username": "a"}]),
        (list[Choices], [{"name": "a"}], [[{"login": "a"}]]),
        (Choices | int, {"name": "a"}, [{"login": "a"}]),
        (Camel, {"firstName": "a"}, [{"first_name": "a"}]),
        (ByName, {"first_name": "a"}, [{"firstName": "a"}]),
        (Alias, {"from": "a"}, [{"from_": "a"}]),
        (
            Paths,
            {"first": "a", "last": "b"},
            [{"names": ["a", "b"]}, {"first": "a", "names": ["b"]}],
        ),
        (
            Node,
            {"value": "a", "nodes": [{"value": "b"}]},
            [{"val": "a", "children": [{"val": "b"}]}],
        ),
        (Upper, {"NAME": "a"}, [{"alias-name": "a"}, {"alias_name": "a"}, {"n": "a"}]),
        (Inner, {"zipCode": "1"}, [{"zip_code": "1"}, {"zipcode": "1"}, {"zip_code": 1}]),
        (
            Outer,
            {"homes": [{"zipCode": "1"}], "first": None},
            [{"houses": [{"zip_code": "1"}]}, {"homes": [{"zip_code": 1}], "first": None}],
        ),
        (
            Outer,
            {"homes": [], "first": {"zipCode": "1"}},
            [{"houses": [], "all": [{"zip_code": "1"}]}],
        ),
        (dict[str, Choices], {"k": {"name": "a"}}, [{"k": {"login": "a"}}]),
        (Choices | list[Choices], [{"name": "a"}], [[{"userName": "a"}]]),
        (Data, {"name": "a"}, [{"alpha": "a"}]),
        (Keys, {"name": "a"}, [{"alpha": "a"}]),
        (Dog | Choices, {"kind": "dog", "dogName": "a"}, [{"kind": "dog", "name": "a"}]),
    ],
)
def test_aliases_are_all_accepted_and_one_is_shown(kind: Any, shown: Any, ways: list[Any]) -> None:
    def take(it: Any) -> str:
        """Take it."""
        return repr(it)

    take.__annotations__ = {"it": kind, "return": str}
    told_model = str(azent.function_to_json(take)) + str(
        azent.Toolbox([take])["take"].spec["parameters"]
    )
    assert [
        name for name in ("login", "val'", "alpha", "children", "aliases") if name in told_model
    ] == []
    results = azent.Toolbox([take]).run([Call("take", {"it": each}) for each in (shown, *ways)])
    assert [result.ok for result in results] == [True] * len(results)
    assert {result.text for result in results[: len(ways)]} == {results[0].text} or kind is Paths


def test_aliases_of_parameters_and_their_problems() -> None:
    def greet(
        name: Annotated[str, Field(alias="userName")],
        count: Annotated[int, Field(validation_alias=AliasChoices("count", "n"))] = 1,
    ) -> str:
        """Greet."""
        return name * count

    given: list[dict[str, Any]] = [
        {"userName": "a", "n": "3"},
        {"name": "a", "userName": "b"},
        {"n": 1},
    ]
    texts = [
        result.text for result in azent.Toolbox([greet]).run([Call("greet", g) for g in given])
    ]
    assert texts[0] == "aaa"
    assert "no argument 'userName' (it takes 'name', 'count')" in texts[1]
    assert "'name' is missing" in texts[2]
