"""canitoolcall's probe of a live server: nine questions, streamed and not, and both alike."""

from __future__ import annotations

import pytest

from tests.rightly import rightly
from tests.serving import serving

probing = pytest.importorskip("canitoolcall.probe", reason="needs the group `dev`")


def test_every_outcome_is_a_pass() -> None:
    with serving({"rightly": rightly()}) as url:
        report = probing.probe(f"{url}/v1", "rightly", timeout_s=30)
    bad = [
        (o.scenario_id, o.stream, o.check, o.detail) for o in report.outcomes if o.status != "pass"
    ]
    assert bad == []
    assert len(report.outcomes) == 27
    assert not any(outcome.warnings for outcome in report.outcomes)
