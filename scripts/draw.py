#!/usr/bin/env python3
"""Draws a picture from a text: groups, boxes and arrows, as the head of the text says. Needs Python alone.

scripts/draw.py docs/explanation/architecture.txt    writes architecture.svg beside it
"""
import html
import pathlib
import sys

STYLE = """text { font: 12px sans-serif; fill: #1f2328; } .title { font-weight: bold; } .group { fill: none; stroke: #8c959f;
stroke-dasharray: 4 3; } .box { fill: #f6f8fa; stroke: #57606a; } .arrow { stroke: #0969da; fill: none; }
.label { font-size: 11px; fill: #0969da; } .ground { fill: #ffffff; }"""


def text(x, y, words, kind, middle=True):
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{anchor}>{html.escape(words)}</text>'


def ends(a, b):
    """Where an arrow from one box to another leaves and arrives."""
    (ax, ay, aw, ah), (bx, by, bw, bh) = a, b
    if ax + aw <= bx or bx + bw <= ax:
        if ay < by + bh and by < ay + ah:
            middle = (max(ay, by) + min(ay + ah, by + bh)) / 2
            return (ax + aw, middle, bx, middle) if ax < bx else (ax, middle, bx + bw, middle)
    down = ay < by
    return (ax + aw / 2, ay + ah if down else ay, bx + bw / 2, by if down else by + bh)


def draw(source):
    size, boxes, shapes, arrows = (960, 560), {}, [], []
    for line in source.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        head, *words = (part.strip() for part in line.split("|"))
        kind, *rest = head.split()
        if kind == "size":
            size = tuple(map(int, rest))
        elif kind == "group":
            x, y, w, h = map(int, rest)
            shapes.append(f'<rect class="group" x="{x}" y="{y}" width="{w}" height="{h}" rx="6"/>')
            shapes.append(text(x + 12, y + 22, words[0], "title", middle=False))
        elif kind == "box":
            x, y, w, h = boxes[rest[0]] = tuple(map(int, rest[1:]))
            shapes.append(f'<rect class="box" x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>')
            top = y + h / 2 - 8 * (len(words) - 1) + 5
            for number, line_ in enumerate(words):
                shapes.append(text(x + w / 2, top + 17 * number, line_, "" if number else "title"))
        elif kind == "arrow":
            x1, y1, x2, y2 = ends(boxes[rest[0]], boxes[rest[1]])
            arrows.append(f'<path class="arrow" marker-end="url(#head)" d="M{x1:g},{y1:g} L{x2:g},{y2:g}"/>')
            if words:
                arrows.append(text((x1 + x2) / 2 + 8, (y1 + y2) / 2 + 12, words[0], "label", middle=False))
        else:
            raise SystemExit(f"unknown: {line}")
    width, height = size
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#0969da"/></marker></defs>',
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *shapes, *arrows, "</svg>", "",
    ])


for name in sys.argv[1:]:
    path = pathlib.Path(name)
    path.with_suffix(".svg").write_text(draw(path.read_text(encoding="utf-8")), encoding="utf-8")
