"""The picture of an `Explanation`: a box for each kernel in the order in which they run, its graph inside."""

from __future__ import annotations

import dataclasses
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quern._fuse import Explanation

# Fill and edge of each kernel's box, in turn.
_COLOURS = (
    ("#dbeafe", "#2563eb"),
    ("#dcfce7", "#16a34a"),
    ("#fef3c7", "#d97706"),
    ("#fce7f3", "#db2777"),
    ("#ede9fe", "#7c3aed"),
    ("#cffafe", "#0891b2"),
)
_CHARACTER, _LINE = 7.2, 15  # of the text, pixels
# The height of a node, and what lies between nodes and around them.
_NODE, _GAP_X, _GAP_Y, _MARGIN = 36, 16, 26, 14


@dataclasses.dataclass
class _Node:
    head: str
    foot: str
    reads: list[_Node]
    depth: int = 0
    x: float = 0.0
    y: float = 0.0
    array: bool = False  # in memory before the kernel or after it, not a step
    whole_row: bool = False  # makes one value for a row

    @property
    def width(self) -> float:
        return max(len(self.head), len(self.foot)) * _CHARACTER + 16


def _nodes(told: Explanation, kernel: dict[str, Any]) -> list[_Node]:
    """A kernel's steps with the arrays that they read and store."""
    values, steps = kernel["values"], kernel["steps"]
    made: dict[int, _Node] = {}
    nodes = []
    for step in steps:
        for value in step["reads"]:
            if value not in made:
                facts = values[value]
                head = "number" if facts["scalar"] else told.name_of(facts["place"])
                made[value] = _Node(head, facts["dtype"], [], array=True)
                nodes.append(made[value])
        reads = [made[value] for value in step["reads"]]
        dtypes = " ".join(values[value]["dtype"] for value in step["makes"])
        foot = dtypes + (f", line {step['line']}" if step["line"] else "")
        node = _Node(step["name"].removeprefix("quern_"), foot, reads, whole_row=step["per_row"])
        node.depth = 1 + max((read.depth for read in reads), default=0)
        nodes.append(node)
        made |= dict.fromkeys(step["makes"], node)
    lowest = 1 + max(node.depth for node in nodes)
    for value, facts in enumerate(values):
        if facts["stored"] and value in made:
            nodes.append(
                _Node(
                    told.name_of(facts["place"]), facts["dtype"], [made[value]], lowest, array=True
                )
            )
    return nodes


def _place(nodes: list[_Node]) -> tuple[float, float]:
    """Puts each node into the row of its depth, near what it reads; width and height of them all."""
    for node in nodes:  # what is read goes just above its first reader
        readers = [other.depth for other in nodes if node in other.reads]
        if node.array and readers:
            node.depth = min(readers) - 1
    rows = [[node for node in nodes if node.depth == k] for k in sorted({n.depth for n in nodes})]
    widest = 0.0
    for k, row in enumerate(rows):
        row.sort(key=lambda node: sum(r.x for r in node.reads) / max(len(node.reads), 1))
        x = 0.0
        for node in row:
            node.x, node.y = x + node.width / 2, k * (_NODE + _GAP_Y) + _NODE / 2
            x += node.width + _GAP_X
        widest = max(widest, x - _GAP_X)
    for row in rows:
        shift = (widest - row[-1].x - row[-1].width / 2) / 2
        for node in row:
            node.x += shift
    return widest, len(rows) * (_NODE + _GAP_Y) - _GAP_Y


def _text(x: float, y: float, text: str, *, size: int = 12, more: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" {more}>{escape(text)}</text>'


def _draw(nodes: list[_Node], edge: str) -> list[str]:
    drawn = []
    for node in nodes:
        for read in node.reads:
            top, bottom = read.y + _NODE / 2, node.y - _NODE / 2
            bend = (top + bottom) / 2
            drawn.append(
                f'<path d="M{read.x:.0f},{top:.0f} C{read.x:.0f},{bend:.0f} {node.x:.0f},{bend:.0f} '
                f'{node.x:.0f},{bottom:.0f}" fill="none" stroke="{edge}"/>'
            )
    for node in nodes:
        left, top = node.x - node.width / 2, node.y - _NODE / 2
        look = (
            'fill="#f1f5f9" stroke="#64748b"' if node.array else f'fill="#ffffff" stroke="{edge}"'
        )
        if node.whole_row:
            look += ' stroke-width="2.5"'
        drawn.append(
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{node.width:.0f}" height="{_NODE}" '
            f'rx="{3 if node.array else 12}" {look}/>'
        )
        drawn.append(_text(node.x, node.y - 2, node.head, more='text-anchor="middle"'))
        drawn.append(
            _text(
                node.x, node.y + 12, node.foot, size=10, more='text-anchor="middle" fill="#475569"'
            )
        )
    return drawn


def svg_of(told: Explanation) -> str:
    """SVG 1.1. Steps are round, arrays square; what makes one value for a row has a thick edge."""
    blocks: list[tuple[list[str], float, float]] = []  # drawn at 0, 0; width, height
    for event in told.events:
        if event["kind"] == "cut":
            note = _text(0, _LINE, told.say(event), more='fill="#b91c1c"')
            blocks.append(([note], len(told.say(event)) * _CHARACTER, _LINE + 4))
            continue
        fill, edge = _COLOURS[(event["number"] - 1) % len(_COLOURS)]
        nodes = _nodes(told, event)
        width, height = _place(nodes)
        title = ", ".join(filter(None, (told.say(event), told.waits(event))))
        width = max(width, len(title) * _CHARACTER)
        drawn = [
            f'<rect x="{-_MARGIN}" y="0" width="{width + 2 * _MARGIN:.0f}" '
            f'height="{height + 2 * _MARGIN + _LINE:.0f}" rx="8" fill="{fill}" stroke="{edge}"/>',
            _text(0, _LINE + 2, title, more=f'fill="{edge}" font-weight="bold"'),
            f'<g transform="translate(0,{_LINE + _MARGIN})">',
            *_draw(nodes, edge),
            "</g>",
        ]
        blocks.append((drawn, width + _MARGIN, height + 2 * _MARGIN + _LINE))
    body, y = [], float(_MARGIN)
    for drawn, _, height in blocks:
        body += [f'<g transform="translate({2 * _MARGIN},{y:.0f})">', *drawn, "</g>"]
        y += height + _MARGIN
    width = 3 * _MARGIN + max((block[1] for block in blocks), default=0.0)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" '
            f'viewBox="0 0 {width:.0f} {y:.0f}" font-family="DejaVu Sans Mono, ui-monospace, monospace">',
            f"<title>{escape(str(told).splitlines()[0])}</title>",
            f'<rect width="{width:.0f}" height="{y:.0f}" fill="#ffffff"/>',
            *body,
            "</svg>",
        ]
    )
