"""What the words of a question tell of the calls that it takes, before any model is asked. Pure.

    nearness(question, specs)    which functions it shares words with, and how strongly
    in_order(question, specs)    functions in the order in which it speaks of them
    spoken_of(question, specs)   functions of which it has a word that no other one has
    subject(questions, specs)    what a question is about that takes up the one before
    wanted(question, ...)        how many calls it asks for, by its joining words
    said(value, text)            whether a value can be found in a text
    grounded, without_invented, brings_news, says_nothing_else
                                 the inputs of a call, held against the text

Small models decline badly and count badly, but both show in the words. Words are compared by how
they begin, which suits languages that write spaces and endings; a question in another script is
left to the model (`is_foreign`).
"""

from __future__ import annotations

from azent.words.follow import subject
from azent.words.ground import grounded, without_invented
from azent.words.near import Near, in_order, nearness, spoken_of
from azent.words.news import brings_news, says_nothing_else
from azent.words.plain import is_foreign, is_in_another_language
from azent.words.said import said
from azent.words.want import Wanted, wanted

__all__ = [
    "Near",
    "Wanted",
    "brings_news",
    "grounded",
    "in_order",
    "is_foreign",
    "is_in_another_language",
    "nearness",
    "said",
    "says_nothing_else",
    "spoken_of",
    "subject",
    "wanted",
    "without_invented",
]
