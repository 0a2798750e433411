"""Models with their settings, kept as JSON in a file or an environment variable.

    [{"model": "qwen3:8b", "host": "http://box:11434", "tags": ["large"]},
     {"model": "qwen2.5-coder:1.5b", "num_ctx": 16384, "tags": ["small", "local"]}]

`model` is an address for `open_model`; the keys that its kind has as settings are given to it; any
other key can be filtered by. An `api_key` is sent as a bearer token and never shown. With a
`base_url`, as AutoGen has it, the model is one of that server, in OpenAI's protocol.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from azent import config
from azent.errors import SettingsError, reason_of
from azent.models.fallback import Fallback, Tell, log_failure
from azent.models.model import SETTINGS, Model, open_model, settings_of
from azent.values.arguments import named
from azent.values.arguments import place as place_of

EXAMPLE = 'Such as [{"model": "qwen2.5-coder:1.5b", "tags": ["small"]}].'

Filter = Mapping[str, str | Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Profile:
    """A model's address, and its whole entry, which may have secrets and is not shown."""

    model: str
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the words that it can be chosen by."""
        return tuple(self.values.get("tags", ()))


def profiles_from_json(source: str | Path, filter: Filter | None = None) -> tuple[Profile, ...]:
    """Return the profiles of a source that match a filter, in their order.

    `source` is JSON, the name of an environment variable that holds JSON or a path, or a path. A
    profile matches when, for each key of the filter, it has one of the values that are named there;
    a list, such as its tags, has each of its items. Raises SettingsError where the source cannot be
    read or is not such a list, and where nothing in it matches.
    """
    found = tuple(_profile(item, place) for place, item in enumerate(_items(source), 1))
    matching = tuple(each for each in found if _matches(each, filter or {}))
    if not matching:
        there = "; ".join(_in_words(each) for each in found)
        raise SettingsError(f"no profile matches {dict(filter or {})}", f"There is: {there}.")
    return matching


def open_profiles(profiles: Iterable[Profile], *, tell: Tell = log_failure) -> Model:
    """Open the models of some profiles as one: where the first fails, the next is asked.

    `tell` is called with a sentence for each failure. Raises UsageError for an address or a setting
    that does not exist.
    """
    models = [_opened(profile) for profile in profiles]
    return models[0] if len(models) == 1 else Fallback(models, tell=tell)


def filter_from(words: Iterable[str]) -> dict[str, list[str]]:
    """Return a filter made of words: a tag, or KEY=VALUE. Values of one key are alternatives."""
    made: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        made.setdefault(key if equals else "tags", []).append(value if equals else word)
    return made


def _opened(profile: Profile) -> Model:
    values = profile.values
    address = profile.model
    if base_url := values.get("base_url"):
        address = f"openai:{base_url}#{address}"
    given = {name: value for name, value in values.items() if name in SETTINGS}
    given |= settings_of(address, values)
    if key := values.get("api_key"):
        given |= _with_key(address, key, named("headers", values.get("headers")))
    return open_model(address, **given)


def _with_key(address: str, key: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings by which a model's kind sends a key."""
    if settings_of(address, {"api_key": key}):
        return {"api_key": key}
    return {"headers": {"Authorization": f"Bearer {key}", **headers}}


# ---- reading -------------------------------------------------------------------------------------


def _items(source: str | Path) -> list[Any]:
    text, place = _text(source)
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(
            f"{place}: the profiles are not JSON: {reason_of(error)}", EXAMPLE
        ) from None
    if not isinstance(items, list) or not items:
        raise SettingsError(f"{place}: the profiles are not a list of objects", EXAMPLE)
    return items


def _text(source: str | Path) -> tuple[str, str]:
    """Return the JSON text, and where it was found, for error messages."""
    if _is_json(source):
        return str(source), "profiles"
    where = place_of("profiles", source)
    if (held := config.variable(str(source))) is not None:
        return (held, f"${source}") if _is_json(held) else _text_of(Path(held))
    return _text_of(where)


def _text_of(file: Path) -> tuple[str, str]:
    try:
        return file.expanduser().read_text("utf-8-sig"), str(file)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the profiles in {file} cannot be read: {reason_of(error)}", EXAMPLE
        ) from error


def _is_json(source: str | Path) -> bool:
    return isinstance(source, str) and source.lstrip()[:1] in ("[", "{")


def _profile(item: Any, place: int) -> Profile:
    if not isinstance(item, dict) or not isinstance(item.get("model"), str) or not item["model"]:
        raise SettingsError(f"profile {place} names no model", EXAMPLE)
    tags = item.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise SettingsError(f"profile {place}: its tags are no list of texts", EXAMPLE)
    return Profile(item["model"], item)


# ---- filtering -----------------------------------------------------------------------------------


def _matches(profile: Profile, filter: Filter) -> bool:
    return all(_has(profile.values.get(key), _several(values)) for key, values in filter.items())


def _has(value: Any, wanted: Sequence[Any]) -> bool:
    """Return whether a value has one of those that are wanted; a number may be wanted as text."""
    return any(_same(one, another) for one in _several(value) for another in wanted)


def _same(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) or (isinstance(wanted, str) and _text_form(value) == wanted)


def _text_form(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _in_words(profile: Profile) -> str:
    """Return a profile for people, without its secrets."""
    tags = f" ({', '.join(profile.tags)})" if profile.tags else ""
    return f"{profile.model}{tags}"
