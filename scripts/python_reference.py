#!/usr/bin/env python3
"""Prints docs/reference/python.md: every public name of the Python package, from its own signatures and docstrings.

Usage: scripts/python_reference.py > docs/reference/python.md, with the package installed.
"""

import ast
import inspect
import re
import textwrap
from pathlib import Path

import corpusdb
from corpusdb import _options, _reports, errors, kernel, reports

COLUMNS = 118

#: The page that has the texts of options, whose headings are the verbs.
OF_VERBS = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"

HEAD = """# Python

For those who call corpusdb from Python and look a call up: every public name, as the package itself says it
(`help(corpusdb)` says the same). [From Python](../how-to/from-python.md) shows them at work.
"""


def parameter(found):
    """A parameter as it is written: annotations are text here, and stand without quotes."""
    mark = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(found.kind, "")
    typed = "" if found.annotation is found.empty else f": {plain(found.annotation)}"
    equals = " = " if typed else "="
    return f"{mark}{found.name}{typed}" + ("" if found.default is found.empty else f"{equals}{found.default!r}")


def signature(name, what, owner=""):
    """A call as it is written, folded between its parameters where it is long."""
    try:
        found = inspect.signature(what)
    except (TypeError, ValueError):
        return f"{owner}{name}"
    parameters = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    kinds = [p.kind for p in parameters]
    written = [parameter(p) for p in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        written.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        written.insert(kinds.count(inspect.Parameter.POSITIONAL_ONLY), "/")
    returns = found.return_annotation
    answer = "" if returns in (inspect.Signature.empty, None, "None") else f" -> {plain(returns)}"
    line = f"{owner}{name}({', '.join(written)}){answer}"
    if len(line) <= COLUMNS:
        return line
    rows = [""]
    for one in written:
        longer = f"{rows[-1]}{one}, "
        if len(longer) > COLUMNS - 6 and rows[-1]:
            rows.append(f"{one}, ")
        else:
            rows[-1] = longer
    inner = "\n".join(f"    {row.rstrip()}" for row in rows)
    return f"{owner}{name}(\n{inner.rstrip(',')}\n){answer}"


def plain(annotation):
    # Annotations of a named tuple are references to text.
    annotation = getattr(annotation, "__forward_arg__", annotation)
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def option_texts():
    """By the texts of the options of a verb, as docstrings end with them, a line that leads to the page of verbs."""
    verbs = {"".join(map(str.capitalize, re.split("[ -]", verb))): verb
             for verb in re.findall("^#+ `corpusdb (.+)`$", OF_VERBS.read_text(), re.MULTILINE)}
    found = {}
    for name, what in vars(_options).items():
        if name.endswith("Options"):
            verb = verbs[name.removesuffix("Options")]
            _, _, texts = inspect.getdoc(what).partition("\n\n")
            found[texts] = f"The options of the verb are those of [`corpusdb {verb}`](cli.md#corpusdb-{verb.replace(' ', '-')})."
    return found


OPTION_TEXTS = option_texts()


def prose(what):
    """A docstring, its paragraphs folded and what is indented left as it is; options are told by the page of verbs."""
    told = inspect.getdoc(what) or ""
    for texts, line in OPTION_TEXTS.items():
        if told.endswith(f"\n\n{texts}"):
            told = told.removesuffix(texts) + line
    parts = []
    for part in told.split("\n\n"):
        lines = part.splitlines()
        if any(line.startswith((" ", "*", "-", "|", ">>>", "```")) for line in lines):
            parts.append("\n".join(lines))
        else:
            parts.append(textwrap.fill(" ".join(lines), COLUMNS, break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(parts)


def of_class(name, what):
    made = "__init__" in vars(what) and name in corpusdb.__all__ and not issubclass(what, Exception)
    yield f"## {name}\n"
    if made:
        yield f"```python\n{signature(name, what)}\n```\n"
    yield prose(what) + "\n"
    for member in dir(what):
        found = inspect.getattr_static(what, member)
        if member.startswith("_") or not (owner := [c for c in what.__mro__ if member in vars(c)]):
            continue
        # What a base class has is told there.
        if owner[0] is not what and getattr(corpusdb, owner[0].__name__, None) is owner[0]:
            continue
        if owner[0].__module__.partition(".")[0] != "corpusdb":
            continue
        if isinstance(found, (property,)) or inspect.isgetsetdescriptor(found) or type(found).__name__ == "cached_property":
            told = f"`{name}.{member}` (a property): {' '.join(prose(found).split())}"
            yield textwrap.fill(told, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n"
        elif callable(found) or isinstance(found, (classmethod, staticmethod)):
            yield f"```python\n{signature(member, getattr(what, member), '.')}\n```\n"
            yield prose(getattr(what, member)) + "\n"


def report_fields():
    """By class of `_reports.py` and `reports.py`, its fields: name, type, text."""
    found = {}
    for part in [part for module in (_reports, reports) for part in ast.parse(inspect.getsource(module)).body]:
        if isinstance(part, ast.ClassDef):
            for one, behind in zip(part.body, [*part.body[1:], None]):
                if isinstance(one, ast.AnnAssign):
                    says = behind.value.value if isinstance(behind, ast.Expr) else ""
                    field = one.target.id, ast.unparse(one.annotation), " ".join(says.split())
                    found.setdefault(part.name, []).append(field)
    return found


def of_report(name, what, fields):
    """A report as a table of its fields."""
    yield f"### {name}\n"
    yield prose(what) + "\n"
    rows = fields.get(name) or [(field, kind, "") for field, kind in inspect.get_annotations(what).items()]
    yield "| field | type | |\n|---|---|---|"
    for field, kind, says in rows:
        kind = getattr(kind, "__forward_arg__", kind).replace("|", "\\|")
        yield f"| `{field}` | `{kind}` | {says.replace('|', chr(92) + '|')} |"
    yield ""


def main():
    print(HEAD)
    print("## Functions\n")
    names = list(corpusdb.__all__)
    for name in names:
        what = getattr(corpusdb, name)
        if inspect.isfunction(what) or inspect.isbuiltin(what):
            print(f"```python\ncorpusdb.{signature(name, what)}\n```\n\n{prose(what)}\n")
    classes = [name for name in names if inspect.isclass(getattr(corpusdb, name))]
    reports = [name for name in classes if name in corpusdb.reports.__all__]
    for name in classes:
        what = getattr(corpusdb, name)
        if name not in reports and not issubclass(what, Exception):
            print("\n".join(of_class(name, what)))
    print("## Reports\n")
    print("What calls answer; these and all others are in `corpusdb.reports`. A field that the library leaves out is\n"
          "empty: `None`, `[]`, `{}`, 0 or `False`, as its type says.\n")
    fields = report_fields()
    for name in reports:
        print("\n".join(of_report(name, getattr(corpusdb, name), fields)))
    print("## Kernel\n")
    # The example is indented, and stands in the how-to page.
    print("\n\n".join(part for part in prose(kernel).split("\n\n") if not part.startswith(" ")) + "\n")
    for name in kernel.__all__:
        what = getattr(kernel, name)
        print(f"```python\ncorpusdb.kernel.{signature(name, what)}\n```\n\n{prose(what)}\n")
    print("## Errors\n")
    print("All are in `corpusdb.errors`, and messages are those of the command.\n")
    for name in errors.__all__:
        what = getattr(errors, name)
        depth = [c.__name__ for c in what.__mro__[1:-2] if c.__name__ not in ("Exception", "BaseException")]
        told = f"* `{name}` ({', '.join(depth) or 'Exception'}): {' '.join(prose(what).split())}"
        print(textwrap.fill(told, COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    main()
