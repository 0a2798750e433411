"""Write what a function returned as text that a model can read.

A string stays as it is, and anything else becomes JSON as far as possible. Writing stops at a
limit, so that a huge value is never built whole, and the text says what is missing.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import fractions
import inspect
import io
import itertools
import json
import math
import pathlib
import re
import textwrap
import types
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from decimal import Decimal
from typing import Any, Literal

_MOST = 1_000_000  # characters that are written at most, whatever the limit is
_DEEPEST = 40
_MOST_SORTED = 10_000
_MOST_BITS = 10_000
_MOST_CAUSES = 5  # shown of an exception group, and notes of an exception
_LONGEST_CAUSE = 1_000
_DEEPEST_GROUP = 5
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TEXTS = (datetime.timedelta, uuid.UUID, pathlib.PurePath, fractions.Fraction, complex)
_BYTES = (bytes, bytearray, memoryview)
_LISTS = (Set, Sequence, collections.deque, Iterator, ValuesView)

# The JSON form of a value: a string, a literal, pairs of key and value, or items.
_Form = tuple[Literal["text", "literal"], str] | tuple[Literal["object", "array"], Iterable[Any]]


def text_of(value: Any, limit: int | None = None) -> str:
    """Return a value as text of at most `limit` characters.

    A text that is cut keeps its beginning and its end, and says how many characters were omitted.
    Of a value too large to be written out, only the beginning is kept.
    """
    if issubclass(type(value), str):
        return _legible(_cut(str.__str__(value), limit))
    return _legible(_written(value, limit))


def _written(value: Any, limit: int | None) -> str:
    pieces, length = [], 0
    for piece in _pieces(value, ()):
        pieces.append(piece)
        length += len(piece)
        if length > _MOST:
            return _head("".join(pieces), _MOST // 2 if limit is None else limit)
    return _cut("".join(pieces), limit)


def _head(text: str, limit: int) -> str:
    room = max(limit - len(f"\n... more than {len(text):,} characters omitted ..."), 0)
    return f"{text[:room]}\n... more than {len(text) - room:,} characters omitted ..."


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    room = max(limit - len(f"\n... {len(text):,} characters omitted ...\n"), 0)
    tail = room // 3
    omitted = f"... {len(text) - room:,} characters omitted ..."
    return "\n".join(filter(None, (text[: room - tail], omitted, text[len(text) - tail :])))


def _legible(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ---- JSON, piece by piece ------------------------------------------------------------------------


def _pieces(value: Any, around: tuple[int, ...]) -> Iterator[str]:
    """Yield the JSON text of a value in pieces. A string at the top level is not quoted.

    `around` has the ids of the values that contain this one, to find cycles.
    """
    if around and (write := _COMMON.get(type(value))):
        yield write(value)
        return
    try:
        form = _form(value, around)
    except Exception as error:  # objects of other programs can raise anything
        form = "text", f"({type(value).__name__}: cannot be shown, {type(error).__name__})"
    match form:
        case "text", str(text):
            yield _quoted(text) if around else text
        case "literal", str(text):
            yield text
        case "object", pairs:
            yield from _object(pairs, (*around, id(value)))
        case _, items:
            yield from _array(items, (*around, id(value)))


def _object(pairs: Iterable[Any], around: tuple[int, ...]) -> Iterator[str]:
    yield "{"
    for index, (key, value) in enumerate(_each_pair(pairs)):
        text = key if type(key) is str else "".join(itertools.islice(_pieces(key, ()), 100))
        yield f"{', ' if index else ''}{_quoted(text)}: "
        yield from _pieces(value, around)
    yield "}"


def _array(items: Iterable[Any], around: tuple[int, ...]) -> Iterator[str]:
    yield "["
    for index, item in enumerate(_each(items)):
        yield ", " if index else ""
        yield from _pieces(item, around)
    yield "]"


def _each(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items, those of sets sorted; if iterating raises, end with a note on the error."""
    try:
        yield from _sorted(items) if isinstance(items, Set) else items
    except Exception as error:
        yield f"(it stopped here: {_described_error(error)})"


def _each_pair(pairs: Iterable[Any]) -> Iterator[Any]:
    """Yield the keys and values; if reading one raises, end with a note on the error."""
    try:
        yield from pairs
    except Exception as error:
        yield "(it stopped here)", _described_error(error)


def _sorted(items: Set[Any]) -> Iterable[Any]:
    if len(items) > _MOST_SORTED:
        return items
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)


def _quoted(text: str) -> str:
    # A longer string exceeds the limit anyway, so the rest need not be quoted.
    return json.encoder.encode_basestring(text[: _MOST + 1])


# Most nested values are of these types, and are written without further checks.
_COMMON: dict[type, Callable[[Any], str]] = {
    str: _quoted,
    bool: json.dumps,
    types.NoneType: json.dumps,
}


# ---- the JSON form of each type ------------------------------------------------------------------


def _form(value: Any, around: tuple[int, ...]) -> _Form:
    if (form := _scalar(value)) is not None:
        return form
    if id(value) in around:
        return "text", "(this contains itself)"
    if len(around) > _DEEPEST:
        return "text", "(nested too deeply to be shown)"
    if (pairs := _pairs(value)) is not None:
        return "object", pairs
    return ("array", value) if _is_list(value) else ("text", _described(value))


def _scalar(value: Any) -> _Form | None:
    """Return the form of a value without parts; None for other values."""
    if isinstance(value, enum.Enum):
        return _scalar(value.value) or ("text", str(value))
    if isinstance(value, str):
        return "text", str.__str__(value)
    if value is None or isinstance(value, bool):
        return "literal", json.dumps(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return "literal" if math.isfinite(value) else "text", float.__repr__(value)
    if isinstance(value, Decimal):
        return "literal" if value.is_finite() else "text", str(value)
    if isinstance(value, datetime.date | datetime.time):
        return "text", value.isoformat()
    if isinstance(value, _BYTES):
        return "text", f"({type(value).__name__}, {memoryview(value).nbytes:,} bytes)"
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # as numpy's scalars are
        return _scalar(value.item())
    return ("text", str(value)) if isinstance(value, _TEXTS) else None


def _integer(value: int) -> _Form:
    bits = value.bit_length()
    if bits > _MOST_BITS:  # Python refuses to write these out
        return "text", f"(an integer of {bits:,} bits)"
    return "literal", int.__repr__(value)


def _pairs(value: Any) -> Iterable[Any] | None:
    """Return the named parts of a mapping or an object with fields; None for other values."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, type | BaseException):
        return None
    if hasattr(value, "model_dump"):  # a pydantic model, without importing pydantic
        return dict(value.model_dump(warnings=False)).items()
    names = _field_names(value)
    return None if names is None else ((name, getattr(value, name)) for name in names)


def _field_names(value: Any) -> Iterable[str] | None:
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return getattr(value, "_fields", None)
    if hasattr(value, "__attrs_attrs__"):
        return [attribute.name for attribute in value.__attrs_attrs__]
    has_words = any("__repr__" in vars(kind) for kind in type(value).__mro__[:-1])
    if has_words or callable(value) or not hasattr(value, "__dict__"):
        return None
    return [name for name in vars(value) if not name.startswith("_")] or None


def _is_list(value: Any) -> bool:
    """Return whether to show a value item by item; true for arrays, false for open files."""
    if isinstance(value, io.IOBase | type):
        return False
    is_array = hasattr(value, "dtype") and bool(getattr(value, "shape", None))
    return is_array or isinstance(value, _LISTS)


def _described(value: Any) -> str:
    """Return a short description of a value that has no JSON form."""
    if isinstance(value, BaseException):
        return _described_error(value)
    if inspect.iscoroutine(value):
        value.close()  # or Python would warn that it was never awaited
        return "(a coroutine that was not awaited)"
    if inspect.isasyncgen(value):
        return "(an async generator that was not consumed)"
    if isinstance(value, type | types.ModuleType) or inspect.isroutine(value):
        return f"({'class' if isinstance(value, type) else type(value).__name__} {value.__name__})"
    return _ADDRESS.sub("", str(value))


# ---- exceptions ----------------------------------------------------------------------------------


def _described_error(error: BaseException, depth: int = 0) -> str:
    """Return the type and message of an exception, with its causes."""
    try:
        head = ": ".join(filter(None, (type(error).__name__, _message(error))))
        return "\n".join([head, *_causes(error, depth)])
    except Exception:
        return type(error).__name__


def _message(error: BaseException) -> str:
    """Return the message of an exception; of a group, without Python's count."""
    return str(error.message if isinstance(error, BaseExceptionGroup) else error)


def _causes(error: BaseException, depth: int) -> Iterator[str]:
    """Yield the exceptions of a group, the output of a failed command, and the notes."""
    if isinstance(error, BaseExceptionGroup):
        yield from _members(error.exceptions, depth)
    yield from _written_by_command(error)
    yield from _notes(getattr(error, "__notes__", None) or ())


def _notes(given: Any) -> Iterator[str]:
    """Yield the notes of an exception, of which only a list or a tuple of texts is usual."""
    listed = given if isinstance(given, list | tuple) else [given]
    notes = [text for text in map(str, listed) if text.strip()]
    for note in notes[:_MOST_CAUSES]:
        yield _cut(note, _LONGEST_CAUSE)
    if len(notes) > _MOST_CAUSES:
        yield f"and {len(notes) - _MOST_CAUSES} more notes"


def _members(errors: Sequence[BaseException], depth: int) -> Iterator[str]:
    shown = errors[:_MOST_CAUSES] if depth < _DEEPEST_GROUP else ()
    for each in shown:
        yield textwrap.indent(f"- {_cut(_described_error(each, depth + 1), _LONGEST_CAUSE)}", "  ")
    if more := len(errors) - len(shown):
        yield f"  - and {more} more"


def _written_by_command(error: BaseException) -> Iterator[str]:
    """Yield what a failed command wrote to standard error, or else to its output."""
    for name in ("stderr", "output") if hasattr(error, "stderr") else ():
        output = getattr(error, name, None)
        text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
        if isinstance(text, str) and text.strip():
            yield f"{name}: {_cut(text.strip(), _LONGEST_CAUSE)}"
            return


# ---- the markers of chat templates, escaped ------------------------------------------------------
# A tokenizer reads such text as a special token anywhere, so a tool's result that contains one
# could end the result and begin a message of the system or the user.

# The markers of each family of templates; where all are written with bars, the bars suffice.
FAMILIES: dict[str, tuple[str, ...]] = {
    "ChatML, Llama 3 and 4, Phi, gpt-oss, Kimi, Granite, Cohere, Gemma 4": ("<|", "</|", "|>"),
    "DeepSeek": ("<｜", "</｜", "｜>"),
    "sentence ends": ("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<sep>"),
    "Llama 2": ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"),
    "Mistral": (
        *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        *("[TOOL_CALLS]", "[/TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]"),
        *("[MODEL_SETTINGS]", "[/MODEL_SETTINGS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]"),
        *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"),
        *("[AUDIO]", "[BEGIN_AUDIO]"),
    ),
    "Gemma": (
        *("<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>"),
        *("<image_soft_token>", "<audio_soft_token>", "<unused", "<escape>"),
        *("<start_function_", "<end_function_"),
    ),
    "Qwen, Hermes, GLM, LFM": (
        *("<think>", "</think>", "<tools>", "</tools>", "<tool_call>", "</tool_call>"),
        *("<tool_response>", "</tool_response>", "<arg_key>", "</arg_key>"),
        *(
            "<arg_value>",
            "</arg_value>",
            "<function=",
            "</function>",
            "<parameter=",
            "</parameter>",
        ),
        *("<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>"),
        *("<function_results>", "</function_results>", "<invoke ", "</invoke>", "<parameter "),
    ),
    "GLM": ("[gMASK]", "[sMASK]", "<sop>", "<eop>"),
    "MiniMax": (
        *("]~b]", "]~!b[", "[e~[", "]<]", "<minimax:", "</minimax:", "<response>", "</response>"),
        *("<beginning_of_", "<begin_of_", "<end_of_sentence>", "<end_of_document>"),
    ),
    "Seed": ("<seed:", "</seed:", "<[begin▁of▁", "<[end▁of▁"),
    "Nemotron": (
        *("<SPECIAL_", "<AVAILABLE_TOOLS>", "</AVAILABLE_TOOLS>", "<TOOLCALL>", "</TOOLCALL>"),
        *("<TOOL_RESPONSE>", "</TOOL_RESPONSE>", "<extra_id_"),
    ),
    "Qwen-Agent": ("✿",),
    "Kimi, thinking aloud": ("◁",),
    "Apriel": ("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<thinking>", "</thinking>"),
    "EXAONE": ("[|", "|]", "<tool_result>", "</tool_result>"),
    "Cohere": ("<BOS_TOKEN>", "<EOS_TOKEN>", "<EOP_TOKEN>"),
    "InternLM, Baichuan, StarCoder": ("[UNUSED_TOKEN_", "<reserved_", "<fim_"),
}
_MARKER = re.compile("|".join(re.escape(each) for family in FAMILIES.values() for each in family))


def escape_markers(json_text: str) -> str:
    """Return equivalent JSON text in which no special token of a chat template is left."""
    return _MARKER.sub(_escaped, json_text)


def _escaped(marker: re.Match[str]) -> str:
    return f"\\u{ord(marker[0][0]):04x}{marker[0][1:]}"
