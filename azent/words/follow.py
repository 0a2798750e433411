"""What a question is about, where it takes up the one before: "And in Rome?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from azent.messages import Specs
from azent.words.near import nearness
from azent.words.plain import content_words


def subject(questions: Sequence[str], specs: Specs) -> str:
    """The last question, if any; with the one before it, where it alone is near to no function.

    A word of thanks takes nothing up: it has nothing in it that a function could be called with.
    """
    last = questions[-1] if questions else ""
    alone = len(questions) < 2 or not (content_words(last) or re.search(r"\d", last))
    if alone or nearness(last, specs).shared:
        return last
    return f"{questions[-2]}\n{last}"
