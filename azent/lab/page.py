"""Write outcomes as one HTML page with charts, which loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from azent.errors import counted
from azent.lab.evaluation import ArmKey, Outcome
from azent.lab.report import COSTS, GROUPS, Row, Share, Verdict, rows

COLOURS = 6
SHOWN = 200  # of the cases on which arms differ
STYLE = Path(__file__).with_name("page.css")


def page(outcomes: Sequence[Outcome], verdicts: Iterable[Verdict] = (), title: str = "") -> str:
    """Make the page for outcomes and the verdicts on their arms."""
    mine = rows(outcomes)
    heading = escape(title or "azent eval")
    cases = len({outcome.case for outcome in outcomes})
    bars = [_bar(row.name, row.all, number, _mark(number)) for number, row in enumerate(mine)]
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title><style>\n{STYLE.read_text('utf-8')}</style></head><body>",
        f"<h1>{heading}</h1>",
        f'<p class="soft">{counted(cases, "case")}, {counted(len(mine), "way")} to ask. '
        "The thin line on a bar is its 95 % interval.</p>",
        "<h2>Right answers, all cases</h2>",
        *bars,
        *_verdicts(list(verdicts)),
        *_charts("By what is due", mine, lambda row: row.groups),
        *_charts("By category", mine, lambda row: row.categories),
        *_costs(mine),
        *_differing(outcomes, mine),
        "</body></html>",
    ]
    return "\n".join(lines)


def _bar(label: str, share: Share, number: int, mark: str = "") -> str:
    low, high = (f"{100 * each:.2f}" for each in share.interval)
    title = escape(f"{label}: {share.right} of {share.count}")
    return (
        f'<div class="bar"><div class="label">{mark}{escape(label)}</div>'
        f'<svg viewBox="0 0 100 16" preserveAspectRatio="none" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        '<rect class="track" width="100" height="16"/>'
        f'<rect width="{100 * share.value:.2f}" height="16" fill="var(--c{number % COLOURS})"/>'
        f'<line class="reach" x1="{low}" x2="{high}" y1="8" y2="8" '
        'vector-effect="non-scaling-stroke"/></svg>'
        f'<div class="figure">{100 * share.value:.0f} % '
        f'<span class="soft">{share.right} of {share.count}</span></div></div>'
    )


def _mark(number: int) -> str:
    """Return a square in the colour of an arm."""
    return f'<span class="k" style="background:var(--c{number % COLOURS})"></span>'


def _verdicts(found: Sequence[Verdict]) -> list[str]:
    items = [
        f'<li class="{"real" if each.comparison.real else ""}">{escape(str(each))}</li>'
        for each in found
    ]
    return ["<h2>Is the difference real?</h2>", "<ul>", *items, "</ul>"] if items else []


def _charts(
    title: str, mine: Sequence[Row], shares: Callable[[Row], Mapping[str, Share]]
) -> list[str]:
    """Make a small chart for each group or category, with a bar for each arm."""
    keys = [
        f'<span class="arm">{_mark(number)}{escape(row.name)}</span> '
        for number, row in enumerate(mine)
    ]
    charts = []
    for name in dict.fromkeys(name for row in mine for name in shares(row)):
        numbered = [(number, shares(row).get(name)) for number, row in enumerate(mine)]
        bars = [_bar(mine[number].name, share, number) for number, share in numbered if share]
        charts += [f"<div><h3>{escape(GROUPS.get(name, name))}</h3>", *bars, "</div>"]
    legend = f'<p class="soft">{"".join(keys)}</p>'
    return [f"<h2>{title}</h2>", legend, '<div class="charts">', *charts, "</div>"]


def _costs(mine: Sequence[Row]) -> list[str]:
    lines = []
    for row in mine:
        figures = [f"{100 * row.mean:.1f} %", *(f"{row.costs[n]:{COSTS[n]}}" for n in COSTS)]
        cells = "".join(f"<td class=n>{figure}</td>" for figure in figures)
        lines.append(f"<td>{escape(row.name)}</td>{cells}")
    head = ["arm", "mean of categories", *(name.replace("_", " ") for name in COSTS)]
    return ["<h2>Means, and what a case costs</h2>", *_table(head, lines)]


def _differing(outcomes: Sequence[Outcome], mine: Sequence[Row]) -> list[str]:
    """List the cases that some arms got right and others wrong: they tell most about the arms."""
    by_case: dict[str, dict[ArmKey, Outcome]] = {}
    for outcome in outcomes:
        by_case.setdefault(outcome.case, {})[outcome.arm] = outcome
    split = {case: some for case, some in by_case.items() if len({o.ok for o in some.values()}) > 1}
    if not split:
        return []
    lines = [
        f"<td>{escape(case)}</td>{''.join(_cell(some.get(row.arm)) for row in mine)}"
        for case, some in list(split.items())[:SHOWN]
    ]
    head = ["case", *(row.name for row in mine)]
    return [f"<h2>Cases on which they differ ({len(split)})</h2>", *_table(head, lines)]


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return "<td></td>"
    if outcome.ok:
        return '<td class="ok">right</td>'
    return f'<td class="no">{escape(outcome.wrong[:160])}</td>'


def _table(head: Sequence[str], lines: Sequence[str]) -> list[str]:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    listed = [f"<tr>{line}</tr>" for line in lines]
    return ['<div class="wide"><table>', f"<tr>{cells}</tr>", *listed, "</table></div>"]
