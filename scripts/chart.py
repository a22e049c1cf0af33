#!/usr/bin/env python3
"""Draws what benches measured, and rows of an epoch, as SVG. Needs Python alone; nothing is drawn that is not in the file.

scripts/chart.py race SPEED.json INPUT CONFIG > near-dedup.svg    benches/peers/speed.py --json SPEED.json
scripts/chart.py rows ROWS.jsonl > rows.svg                       corpusdb epoch row CORPUS PLAN --step 0 --json
"""

import html
import json
import sys
from pathlib import Path

# Text and ground follow the reader's theme; series have the same colours in both.
STYLE = """text { font: 13px sans-serif; fill: #1f2328; } .small { font-size: 11px; fill: #59636e; } .end { text-anchor: end; }
.title { font-weight: bold; } .a { fill: #2563b8; } .b { fill: #b5500b; } .c { fill: #1d7f4e; } .d { fill: #7a3fb0; }
.other { fill: #8c959f; } .bad { fill: #cf222e; } .pad { fill: #8c959f; fill-opacity: .25; } .odd { fill-opacity: .6; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .small { fill: #9198a1; } }"""


def svg(width, height, label, shapes):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
    return "\n".join([f"{head}>", f"<title>{html.escape(label)}</title>", f"<style>{STYLE}</style>", *shapes, "</svg>", ""])


def text(x, y, words, kind=""):
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{html.escape(words)}</text>'


def bar(x, y, width, height, kind, says=""):
    told = f"<title>{html.escape(says)}</title>" if says else ""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}">{told}</rect>'


def race(speed, name, config):
    """CPU seconds of each tool beside what it removed wrongly and what it left."""
    facts = speed["inputs"][name]
    runs = [run for run in speed["runs"] if (run["input"], run["config"]) == (name, config)]
    runs.sort(key=lambda run: (run["tool"] != "corpusdb", run["cpu"]))
    longest = max(run["cpu"] for run in runs)
    wrong = lambda run: (run["judged"]["without_kept_witness"], run["judged"]["pairs_both_kept"])
    most = max(max(wrong(run)) for run in runs) or 1
    shapes = [text(120, 20, "CPU seconds", "title"), text(430, 20, "wrong removals", "title"),
              text(640, 20, "pairs left", "title")]
    y = 32
    for run in runs:
        without, left = wrong(run)
        shapes += [
            text(112, y + 16, run["tool"], "end"),
            bar(120, y + 3, max(run["cpu"] / longest * 230, 1), 18, "a" if run["tool"] == "corpusdb" else "other"),
            text(126 + run["cpu"] / longest * 230, y + 16, f"{run['cpu']:.1f}"),
            bar(430, y + 3, without / most * 130, 18, "bad"), text(436 + without / most * 130, y + 16, f"{without:,}"),
            bar(640, y + 3, left / most * 130, 18, "bad"), text(646 + left / most * 130, y + 16, f"{left:,}"),
        ]
        y += 27
    size = f"{name}: {facts['documents']:,} documents, {facts['bytes'] / 1e6:.1f} MB, {facts['pairs']:,} pairs at 0.8"
    told = "5-word shingles, all else as the tool has it" if config == "default" else "256 hashes in 32 bands of 8 for all"
    shapes.append(text(120, y + 16, f"{size}; {told}; one core, median of {speed['repeats']}", "small"))
    return svg(820, y + 28, f"Near duplicates of {name}: CPU time beside wrong removals, by tool", shapes)


def rows(lines):
    """Rows as bands: a colour a source, a shade a document, pads pale."""
    sources = sorted({line["source"] for line in lines})
    kinds = dict(zip(sources, "abcd" * len(sources)))
    shapes, y, x0, wide = [], 30, 60, 640
    for at, source in enumerate(sources):
        shapes += [bar(x0 + at * 110, 8, 12, 12, kinds[source]), text(x0 + 18 + at * 110, 19, source)]
    for line in lines:
        shapes.append(text(x0 - 8, y + 12, str(line["row"]), "small end"))
        end = 0
        for number, part in enumerate(line["segments"]):
            scale = wide / line["width"]
            kind = kinds[line["source"]] + (" odd" if number % 2 else "")
            says = f"{part['key']}: {part['length']} of {part['document_length']} tokens"
            shapes.append(bar(x0 + part["start"] * scale, y, max(part["length"] * scale - 1, 0.5), 15, kind, says))
            end = part["start"] + part["length"]
        if end < line["width"]:
            shapes.append(bar(x0 + end * scale, y, (line["width"] - end) * scale, 15, "pad", f"{line['width'] - end} pads"))
        y += 19
    parts = sum(len(line["segments"]) for line in lines)
    shapes.append(text(x0, y + 12, f"{len(lines)} rows of {lines[0]['width']} tokens, {parts} documents or parts of one", "small"))
    return svg(720, y + 22, "Rows of a step: documents packed into rows, by source", shapes)


def main():
    match sys.argv[1:]:
        case ["race", file, name, config]:
            print(race(json.loads(Path(file).read_text()), name, config), end="")
        case ["rows", file]:
            print(rows([json.loads(line) for line in Path(file).read_text().splitlines()]), end="")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
