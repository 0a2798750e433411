"""Which words embedding models want before a query and before a passage.

Models that search are trained with such words, and are worse without them. A model is known by its
name, as Ollama's library and Hugging Face have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ENGLISH = "Represent this sentence for searching relevant passages: "
CHINESE = "为这个句子生成表示以用于检索相关文章："
TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What stands before a query, and before a passage."""

    query: str = ""
    passage: str = ""


# The model card of each family is the source, on huggingface.co: nomic-ai/nomic-embed-text-v1.5,
# google/embeddinggemma-300m, Snowflake/snowflake-arctic-embed-l-v2.0 and -m, BAAI/bge-large-zh-v1.5
# and -en-v1.5, mixedbread-ai/mxbai-embed-large-v1, Qwen/Qwen3-Embedding-0.6B,
# intfloat/multilingual-e5-large-instruct and -small. The first pattern that a name has counts.
# Others want no words: all-minilm, paraphrase-multilingual, bge-m3, granite-embedding.
FAMILIES: tuple[tuple[re.Pattern[str], Prefixes], ...] = (
    (re.compile(r"nomic-embed"), Prefixes("search_query: ", "search_document: ")),
    (
        re.compile(r"embedding-?gemma"),
        Prefixes("task: search result | query: ", "title: none | text: "),
    ),
    (re.compile(r"arctic-embed(2|.*v2)"), Prefixes("query: ")),
    (re.compile(r"bge-(small|base|large)-zh"), Prefixes(CHINESE)),
    (re.compile(r"arctic-embed|mxbai-embed|bge-(small|base|large)"), Prefixes(ENGLISH)),
    (re.compile(r"qwen3-embed"), Prefixes(f"{TASK}Query:")),
    (re.compile(r"\be5\b.*(mistral|instruct)"), Prefixes(f"{TASK}Query: ")),
    (re.compile(r"\be5\b"), Prefixes("query: ", "passage: ")),
)
EMBEDS = re.compile(r"embed|minilm|paraphrase|\bbge\b|\bgte\b|\be5\b")


def prefixes_of(model: str) -> Prefixes:
    """What a model wants before its texts; nothing, where its family is not known."""
    own_name = model.lower().rpartition("/")[2]
    return next((found for mark, found in FAMILIES if mark.search(own_name)), Prefixes())


def is_embedding_model(model: str, family: str = "") -> bool:
    """Is a model of an Ollama server made for vectors, by its name or by its architecture?"""
    return bool(EMBEDS.search(model.lower())) or "bert" in family.lower()
