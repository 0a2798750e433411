"""Encoders behind servers: embedding models of Ollama, and of servers with OpenAI's protocol.

How a server is reached, and what its failures mean, is the business of the models in
`azent.models.ollama` and `azent.models.openai`. Here texts are prepared for an embedding model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from azent.errors import ModelRefused
from azent.models import open_model
from azent.models.encoder import Kind, Vector, encoder_errors, texts_of, unit
from azent.models.prefixes import prefixes_of
from azent.models.trouble import may_pass

TEXTS_IN_A_REQUEST = 16
SECONDS = 60.0  # for one request, in which the server may load the model
TOO_LONG = {400, 413, 422, 500}  # what servers say to a text that their model has no room for
SHORTEST = 100  # characters: a text that is refused when it is shorter is refused for what it is


class Embedder(Protocol):
    """A server's model that can give vectors."""

    name: str
    reply_timeout: float | None

    def embed(self, texts: Sequence[str], timeout: float) -> list[Sequence[float]]: ...


class ServerEncoder:
    """An embedding model of a server."""

    def __init__(self, name: str, model: Embedder) -> None:
        self.name = name
        self._model = model
        self._prefixes = prefixes_of(model.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def encode(self, texts: Sequence[str], kind: Kind) -> list[Vector]:
        """A vector for each text, in the order of the texts. Raises EncoderFailed."""
        prefix = self._prefixes.query if kind == "query" else self._prefixes.passage
        # Ollama refuses an empty text.
        given = [prefix + each if each.strip() else f"{prefix}." for each in texts_of(texts, kind)]
        with encoder_errors(self.name):
            return [vector for some in _in_requests(given) for vector in self._vectors(some)]

    def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        """The vectors of some texts; a text that is too long for the model is made shorter.

        Ollama cut such texts itself until 0.13.4, and has refused them ever since; vLLM and
        llama-server refuse them too. The refusal does not say which text is meant.
        """
        try:
            return self._asked(texts)
        except ModelRefused as error:
            if error.status not in TOO_LONG or may_pass(error):
                raise
            if len(texts) > 1:
                middle = len(texts) // 2
                return self._vectors(texts[:middle]) + self._vectors(texts[middle:])
            if len(texts[0]) < SHORTEST:
                raise
            return self._vectors([texts[0][: len(texts[0]) // 2]])

    def _asked(self, texts: Sequence[str]) -> list[Vector]:
        vectors = self._model.embed(texts, self._model.reply_timeout or SECONDS)
        if len(vectors) != len(texts):
            raise ModelRefused(f"{len(vectors)} vectors came for {len(texts)} texts")
        return [unit(vector, self.name) for vector in vectors]


class OllamaEncoder(ServerEncoder):
    """An embedding model of an Ollama server, by /api/embed; settings as for a model of Ollama."""

    def __init__(self, model: str, **settings: Any) -> None:
        opened: Any = open_model(f"ollama:{model}", **settings)
        super().__init__(f"ollama:{model}", opened)
        self._ollama = opened

    def version(self) -> str:
        """What tells the model's weights from others of its name. Raises EncoderFailed."""
        with encoder_errors(self.name):
            return str(self._ollama.digest())


class OpenAIEncoder(ServerEncoder):
    """An embedding model of a server that has OpenAI's /v1/embeddings; settings as for a model."""

    def __init__(self, address: str, **settings: Any) -> None:
        opened: Any = open_model(f"openai:{address}", **settings)
        super().__init__(f"openai:{opened.url}#{opened.name}", opened)


def _in_requests(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), TEXTS_IN_A_REQUEST):
        yield texts[start : start + TEXTS_IN_A_REQUEST]
