"""Statements as trees: spelled for each engine, and made smaller while something stays true of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

#: The engines, in the order of `Node.spelled`.
OURS, DUCKDB, SQLITE = range(3)


class NotSpelled(Exception):
    """The engine has no such thing."""


@dataclass(frozen=True)
class Node:
    """A part of a statement. `{}` in a spelling stands for the next child, `{0}` for the first."""

    #: What can stand in its place: a type of values, `query`, `clause`, `list`.
    type: str
    ours: str
    children: tuple[Node, ...] = ()
    #: As ours, unless given; `None` where the engine has no such thing.
    duckdb: str | None = ""
    sqlite: str | None = ""
    #: What it is counted as.
    kind: str = ""
    #: May be left out.
    optional: bool = False
    #: Nothing in it may be changed, since the answer would depend on the order of rows.
    fixed: bool = False
    #: The values of its parameters, by name.
    values: tuple[tuple[str, Any], ...] = ()

    def spelled(self, engine: int) -> str:
        template = (self.ours, self.duckdb, self.sqlite)[engine]
        if template is None:
            raise NotSpelled(self.kind or self.ours)
        if self.type == "list":
            return self.ours.join(child.spelled(engine) for child in self.children)
        template = template or self.ours
        if not self.children:
            return template
        return template.format(*(child.spelled(engine) for child in self.children))

    def nodes(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.nodes()

    def kinds(self) -> set[str]:
        return {node.kind for node in self.nodes() if node.kind}

    def parameters(self, engine: int) -> dict[str, Any]:
        """The values of the parameters that the statement names."""
        text = self.spelled(engine)
        return {name: value for node in self.nodes() for name, value in node.values if f"${name}" in text}


#: The simplest of a type.
LEAVES = {
    "int": [Node("int", "1")],
    "float": [Node("float", "0.5e0")],
    "text": [Node("text", "'a'")],
    "bool": [Node("bool", "TRUE"), Node("bool", "FALSE")],
}


def smaller(node: Node) -> Iterator[Node]:
    """The trees that are one step smaller, the greatest steps first."""
    if node.fixed:
        return
    if node.optional and node.ours:
        yield Node(node.type, "", optional=True)
    below = [each for child in node.children for each in child.nodes() if each.type == node.type != "clause"]
    yield from sorted((each for each in below if not each.fixed), key=lambda each: len(list(each.nodes())))
    if node.children:
        yield from LEAVES.get(node.type, [])
    if node.type == "list" and len(node.children) > 1:
        for at in range(len(node.children)):
            yield dataclasses.replace(node, children=node.children[:at] + node.children[at + 1 :])
    for at, child in enumerate(node.children):
        for less in smaller(child):
            yield dataclasses.replace(node, children=(*node.children[:at], less, *node.children[at + 1 :]))


def smallest(node: Node, holds: Callable[[Node], bool], tries: int) -> Node:
    """The smallest tree found by steps of which each leaves `holds` true."""
    seen = {node.spelled(OURS)}
    while tries > 0:
        for less in smaller(node):
            text = less.spelled(OURS)
            if text in seen:
                continue
            seen.add(text)
            tries -= 1
            if holds(less):
                node = less
                break
            if tries <= 0:
                return node
        else:
            return node
    return node
