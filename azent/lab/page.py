"""Outcomes as one HTML page with charts. It loads nothing and runs no script.

Labels are text, and bars are drawings that stretch, so that the page can be read on a phone and on
a wide screen, in light and in dark colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

from azent.lab.evaluation import Outcome
from azent.lab.report import GROUPS, Row, Share, Verdict, rows
from azent.wording import counted

COLOURS = 6
SHOWN = 200  # of the cases on which arms differ
STYLE = """
:root { color-scheme: light dark; --paper: #fbfbf9; --ink: #22252a; --soft: #6b7078;
  --line: #dcdcd6; --track: #ecece6; --c0: #2f6fb2; --c1: #d9822b; --c2: #3a8f5c; --c3: #8a5bb5;
  --c4: #b8434e; --c5: #5d7f8c; --good: #2b7d4b; --bad: #b23a45; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #17191d; --ink: #e6e6e1; --soft: #9aa0a8; --line: #34383f; --track: #262a30;
    --c0: #6ea8e5; --c1: #f0a75a; --c2: #6cc08c; --c3: #b893de; --c4: #e5808a; --c5: #93b4c1;
    --good: #6cc08c; --bad: #e5808a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: .95rem; margin: 1rem 0 .2rem; font-weight: 600; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
.bar { display: grid; grid-template-columns: minmax(8rem, 17rem) 1fr 9.5rem; gap: .75rem;
  align-items: center; margin: .15rem 0; }
.bar .label { overflow-wrap: anywhere; line-height: 1.25; }
.bar .figure { font-variant-numeric: tabular-nums; white-space: nowrap; text-align: right; }
.bar svg { width: 100%; height: 1.05rem; display: block; }
.track { fill: var(--track); } .reach { stroke: var(--ink); stroke-width: 1.5; opacity: .75; }
.k { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .4rem; }
.arm { display: inline-block; margin-right: 1rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr));
  gap: 0 2.5rem; }
.charts .bar { grid-template-columns: 1fr 7.5rem; } .charts .label { display: none; }
ul { padding-left: 1.1rem; } li { margin: .3rem 0; } .real { font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; min-width: 44rem; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
td:first-child { min-width: 10rem; }
th { font-weight: 600; color: var(--soft); } td.n { font-variant-numeric: tabular-nums; }
.ok { color: var(--good); } .no { color: var(--bad); }
@media (max-width: 40rem) {
  .bar { grid-template-columns: 1fr 8.5rem; gap: .1rem .6rem; margin: .5rem 0; }
  .bar .label { grid-column: 1 / -1; } }
"""


def page(outcomes: Sequence[Outcome], verdicts: Iterable[Verdict] = (), title: str = "") -> str:
    """Make the page for outcomes and the verdicts on their arms."""
    mine = rows(outcomes)
    heading = title or "azent eval"
    cases = len({outcome.case for outcome in outcomes})
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(heading)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(heading)}</h1>",
            f'<p class="soft">{counted(cases, "case")}, {counted(len(mine), "way")} to ask. '
            "The thin line on a bar is its 95 % interval.</p>",
            *_accuracy(mine),
            *_verdicts(list(verdicts)),
            *_parts("By what is due", mine, lambda row: row.groups),
            *_parts("By category", mine, lambda row: row.categories),
            *_costs(mine),
            *_differing(outcomes, mine),
            "</body></html>",
        ]
    )


def _accuracy(mine: Sequence[Row]) -> list[str]:
    bars = [_bar(row.name, row.all, number, key=True) for number, row in enumerate(mine)]
    return ["<h2>Right answers, all cases</h2>", *bars]


def _bar(label: str, share: Share, number: int, *, key: bool = False) -> str:
    low, high = share.interval
    mark = f'<span class="k" style="background:var(--c{number % COLOURS})"></span>' if key else ""
    said = f"{label}: {share.right} of {share.count}"
    return (
        f'<div class="bar"><div class="label">{mark}{escape(label)}</div>'
        f'<svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(said, quote=True)}"><title>{escape(said)}</title>'
        '<rect class="track" width="100" height="16"/>'
        f'<rect width="{_percent(share.value)}" height="16" fill="var(--c{number % COLOURS})"/>'
        f'<line class="reach" x1="{_percent(low)}" x2="{_percent(high)}" y1="8" y2="8" '
        'vector-effect="non-scaling-stroke"/></svg>'
        f'<div class="figure">{100 * share.value:.0f} % '
        f'<span class="soft">{share.right} of {share.count}</span></div></div>'
    )


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _verdicts(found: Sequence[Verdict]) -> list[str]:
    if not found:
        return []
    items = [
        f'<li class="{"real" if each.comparison.real else ""}">{escape(str(each))}</li>'
        for each in found
    ]
    return ["<h2>Is the difference real?</h2>", "<ul>", *items, "</ul>"]


def _parts(
    title: str, mine: Sequence[Row], shares: Callable[[Row], Mapping[str, Share]]
) -> list[str]:
    """A small chart for each group or category, with a bar for each arm."""
    charts = []
    for name in dict.fromkeys(name for row in mine for name in shares(row)):
        numbered = [(number, shares(row).get(name)) for number, row in enumerate(mine)]
        bars = [_bar(mine[number].name, share, number) for number, share in numbered if share]
        charts += [f"<div><h3>{escape(GROUPS.get(name, name))}</h3>", *bars, "</div>"]
    return [f"<h2>{title}</h2>", _legend(mine), '<div class="charts">', *charts, "</div>"]


def _legend(mine: Sequence[Row]) -> str:
    keys = (
        f'<span class="arm"><span class="k" style="background:var(--c{number % COLOURS})"></span>'
        f"{escape(row.name)}</span> "
        for number, row in enumerate(mine)
    )
    return f'<p class="soft">{"".join(keys)}</p>'


def _costs(mine: Sequence[Row]) -> list[str]:
    head = ["arm", "mean of categories", "prompt tokens", "reply tokens", "requests", "seconds"]
    lines = [
        f"<tr><td>{escape(row.name)}</td><td class=n>{100 * row.mean:.1f} %</td>"
        f"<td class=n>{row.prompt_tokens:.0f}</td>"
        f"<td class=n>{row.reply_tokens:.0f}</td><td class=n>{row.requests:.2f}</td>"
        f"<td class=n>{row.seconds:.1f}</td></tr>"
        for row in mine
    ]
    return ["<h2>Means, and what a case costs</h2>", *_table(head, lines)]


def _differing(outcomes: Sequence[Outcome], mine: Sequence[Row]) -> list[str]:
    """The cases that some arms got right and others wrong, which tell most about the arms."""
    by_case: dict[str, dict[str, Outcome]] = {}
    for outcome in outcomes:
        by_case.setdefault(outcome.case, {})[f"{outcome.model}, {outcome.prompts}"] = outcome
    split = [each for each in by_case.values() if len({o.ok for o in each.values()}) == 2]
    if not split:
        return []
    lines = [_case_line(each, mine) for each in split[:SHOWN]]
    head = ["case", *(row.name for row in mine)]
    return [f"<h2>Cases on which they differ ({len(split)})</h2>", *_table(head, lines)]


def _case_line(outcomes: dict[str, Outcome], mine: Sequence[Row]) -> str:
    case = next(iter(outcomes.values())).case
    cells = [_cell(outcomes.get(row.name)) for row in mine]
    return f"<tr><td>{escape(case)}</td>{''.join(cells)}</tr>"


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "<td></td>"
    if outcome.ok:
        return '<td class="ok">right</td>'
    return f'<td class="no">{escape(outcome.wrong[:160])}</td>'


def _table(head: Sequence[str], lines: Sequence[str]) -> list[str]:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    return ['<div class="wide"><table>', f"<tr>{cells}</tr>", *lines, "</table></div>"]
