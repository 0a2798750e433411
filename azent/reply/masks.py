"""The form that a mask in a description gives to a text, as a pattern for decoding. Pure.

Descriptions in every language say "YYYY-MM-DD", "DD/MM/YYYY" or "HH:MM", and small models write
"April 15" and "7 PM" all the same. Held to the mask, they write figures in its order. Where a
description has several masks, or a default has another form, the model is free.

The patterns are of the simplest sort, as the converters of servers want them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONGEST = 1000  # characters of a description that are looked at
DATE = r"YYYY([-/.])MM\1DD|MM([-/.])DD\2YYYY|DD([-/.])MM\3YYYY"
TIME = r"HH:MM(?::SS)?"
# A mask stands alone: no letter, figure or separator goes on before or behind it, nor does "AM".
MASK = re.compile(
    rf"(?<![\w/:.-])(?:(?:{DATE})(?:[T ]{TIME}Z?)?|{TIME}Z?)(?![\w/:-]|\.\w| ?[AP]\.?M\b)",
    re.IGNORECASE | re.ASCII,
)
FIGURES = re.compile("Y+|M+|D+|H+|S+")


def mask_pattern(schema: Mapping[str, Any]) -> str | None:
    """The pattern of the mask in the description of a text; None where it has none, or several."""
    description = str(schema.get("description") or "")[:LONGEST]
    masks = [match[0].upper() for match in MASK.finditer(description)]
    if len(masks) != 1:
        return None
    pattern = _in_figures(masks[0])
    default = schema.get("default")
    return pattern if default is None or re.fullmatch(pattern, str(default)) else None


def _in_figures(mask: str) -> str:
    """The pattern of a mask: each of its letters stands for a figure, T and Z for themselves."""
    digits = FIGURES.sub(lambda run: f"[0-9]{{{len(run[0])}}}", mask.replace(".", "[.]"))
    return f"^{digits}$"
