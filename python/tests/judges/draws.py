"""What random statements are drawn from: tables in reach, columns, literals."""

from __future__ import annotations

import contextlib
import datetime
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judges.rows import COLUMNS, FLOATS, HALVES, INTS, MOMENTS, SMALL, TEXTS
from judges.tree import Node

COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]
#: Types that a column of an answer can have.
SHOWN = ["int", "int", "text", "text", "float", "bool", "moment"]
#: The others are files: their names are spelled as a call that reads them.
TABLES = ["documents", "documents", "documents", "@rows", "@lines", "@items"]


@dataclass
class Source:
    """A table after FROM, by the name that its columns are called by."""

    name: str
    columns: dict[str, str]
    #: Columns that together tell its rows apart; none where rows may be equal.
    unique: list[str] | None

    def column(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name


@dataclass
class Scope:
    sources: list[Source]
    outer: Scope | None = None

    def columns(self, kind: str, own: bool = False) -> list[str]:
        found = [source.column(name) for source in self.sources for name, of in source.columns.items() if of == kind]
        if own or self.outer is None:
            return found
        # A table without a name hides the columns of the same name outside it.
        outer = [name for name in self.outer.columns(kind) if "." in name]
        return found + outer

    def names(self) -> list[str]:
        """All columns of its own tables."""
        return [source.column(name) for source in self.sources for name in source.columns]

    def unique(self) -> list[str] | None:
        if any(source.unique is None for source in self.sources):
            return None
        return [source.column(name) for source in self.sources for name in source.unique or []]


def text_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def moment_literal(value: str, kind: str = "") -> Node:
    spelled = datetime.datetime.fromisoformat(value).isoformat(" ", "microseconds")
    return Node("moment", f"TIMESTAMP '{spelled}'", sqlite=f"'{spelled}'", kind=kind)


class Draws:
    """Draws by a seed; what is made of other parts is made by the classes below it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.named = 0
        self.tables = TABLES
        #: How often a sub-query stands where one may, of what is usual in a condition.
        self.share = 1.0

    # ---- made elsewhere ----

    def value(self, kind: str, scope: Scope, depth: int) -> Node:
        """An expression of the type."""
        raise NotImplementedError

    def truth(self, scope: Scope, depth: int) -> Node:
        """A condition."""
        raise NotImplementedError

    def scalar(self, kind: str, scope: Scope, depth: int) -> Node:
        """A sub-query with one value, or none."""
        raise NotImplementedError

    def of_subquery(self, scope: Scope, depth: int) -> Node:
        """A condition on the rows of a sub-query."""
        raise NotImplementedError

    def sources(self, outer: Scope | None, few: bool = False) -> tuple[Node, Scope]:
        """What stands behind FROM."""
        raise NotImplementedError

    def query(self, shape: list[str], outer: Scope | None, depth: int, inner: bool = False) -> Node:
        """A query with columns of these types, called c0, c1 and so on."""
        raise NotImplementedError

    # ---- drawn ----

    @contextlib.contextmanager
    def fewer(self, share: float) -> Iterator[None]:
        """Fewer sub-queries in what is made meanwhile: people hardly put them there."""
        before, self.share = self.share, self.share * share
        yield
        self.share = before

    def alone(self, scope: Scope) -> Scope:
        """Its own tables, and seldom those outside: what is cut, ordered or combined with a set hardly names them."""
        return scope if self.chance(0.06) else Scope(scope.sources)

    def near(self, outer: Scope | None) -> Scope | None:
        """What a query sees outside it: seldom more than the next one."""
        return outer if outer is None or self.chance(0.05) else Scope(outer.sources)

    def pick(self, values: list[Any]) -> Any:
        return self.random.choice(values)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self, letter: str) -> str:
        self.named += 1
        return f"{letter}{self.named}"

    def order(self) -> str:
        return f"{self.pick(['ASC', 'DESC'])} NULLS {self.pick(['FIRST', 'LAST'])}"

    def listing(self, values: list[Node]) -> Node:
        return Node("list", ", ", tuple(Node("shown", f"{{}} AS c{at}", (value,)) for at, value in enumerate(values)))

    def literal(self, kind: str) -> Node:
        if kind == "int":
            value: Any = self.pick(SMALL if self.chance(0.6) else INTS)
            text = str(value) if value >= 0 else f"({value})"
        elif kind == "float":
            value = self.pick(HALVES if self.chance(0.7) else FLOATS)
            text = f"({value!r})" if "e" in repr(value) else f"({value!r}e0)"
        elif kind == "text":
            value = self.pick(TEXTS)
            text = text_literal(value)
        elif kind == "moment":
            value = self.pick(MOMENTS)
            return moment_literal(value)
        elif kind == "age":
            number, unit = self.random.randrange(-3, 400), self.pick(["days", "hours", "minutes", "seconds", "days"])
            return Node("age", f"INTERVAL '{number} {unit}'", sqlite=None)
        else:
            value = self.pick([True, False])
            text = str(value).upper()
        if kind in ("int", "float", "text", "bool") and self.chance(0.12):
            name = self.name("p")
            return Node(kind, f"${name}", kind="parameter", values=((name, value),))
        return Node(kind, text)

    def column(self, kind: str, scope: Scope) -> Node:
        """A column of the type; a literal where there is none."""
        near, all_of = scope.columns(kind, own=True), scope.columns(kind)
        if near and (self.chance(0.75) or not all_of):
            return Node(kind, self.pick(near))
        if all_of:
            return Node(kind, self.pick(all_of))
        return self.literal(kind)
