"""Random statements that mean the same in corpusdb, DuckDB and SQLite, as trees."""

from __future__ import annotations

from judges.draws import SHOWN, TABLES, Scope, Source
from judges.groups import Groups
from judges.rows import COLUMNS, CONDITION
from judges.tables import Tables
from judges.tree import Node


class Maker(Tables, Groups):
    """Makes statements, each by the numbers drawn so far.

    Left out is what the engines mean by different things: a fraction cast to a whole number (DuckDB rounds, SQLite cuts),
    division by zero, how moments are spelled as texts, and orders without NULLS FIRST or LAST.
    """

    # ---- queries ----

    def tail(self, columns: int, limited: bool) -> Node:
        """An order of all columns, so that equal rows alone are without one, and a part of it."""
        places = list(range(1, columns + 1))
        self.random.shuffle(places)
        order = " ORDER BY " + ", ".join(f"{place} {self.order()}" for place in places)
        if not limited:
            return Node("clause", order, optional=True, kind="ORDER BY")
        pick = self.random.random()
        number, offset = self.pick([0, 1, 2, 5, 20]), self.pick([0, 1, 3, 50])
        if pick < 0.5:
            return Node("clause", f"{order} LIMIT {number}", optional=True, kind="LIMIT")
        if pick < 0.7:
            return Node(
                "clause",
                f"{order} OFFSET {offset}",
                sqlite=f"{order} LIMIT -1 OFFSET {offset}",
                optional=True,
                kind="OFFSET",
            )
        return Node("clause", f"{order} LIMIT {number} OFFSET {offset}", optional=True, kind="OFFSET")

    def query(self, shape: list[str], outer: Scope | None, depth: int, inner: bool = False) -> Node:
        """A query with columns of these types, called c0, c1 and so on."""
        pick = self.random.random()
        ordered = self.chance(0.18 if inner else 0.3)
        limited = ordered and self.chance(0.7 if inner else 0.5)
        if (limited or 0.45 < pick < 0.55) and not self.chance(0.06):
            outer = None
        if 0.45 < pick < 0.55:
            return self.sorted(shape, outer, depth)
        if pick < 0.12 and depth > 0:
            core = self.set_of(shape, outer, depth)
        elif pick < 0.34:
            core = self.grouped(shape, outer, depth)
        elif pick < 0.45 and depth > 0:
            core = self.windowed(shape, outer, depth)
        else:
            core = self.simple(shape, outer, depth)
        return Node("query", "{}{}", (core, self.tail(len(shape), limited))) if ordered else core

    def simple(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        sources, scope = self.sources(outer, few=outer is not None)
        listed = self.listing([self.value(kind, self.alone(scope), depth) for kind in shape])
        where = self.where(scope, depth, 0.75)
        unique = scope.unique()
        if unique is not None and self.chance(0.04):
            keys = list(dict.fromkeys(self.pick(scope.names()) for _ in range(self.pick([1, 1, 2]))))
            order = ", ".join(f"{name} {self.order()}" for name in dict.fromkeys([*keys, *unique]))
            text = f"SELECT DISTINCT ON ({', '.join(keys)}) {{}} FROM {{}}{{}} ORDER BY {order}"
            # In brackets, so that an order and a limit may follow.
            return Node(
                "query",
                f"SELECT * FROM ({text}) {self.name('u')}",
                (listed, sources, where),
                sqlite=None,
                kind="DISTINCT ON",
            )
        if self.chance(0.12):
            return Node("query", "SELECT DISTINCT {} FROM {}{}", (listed, sources, where), kind="DISTINCT")
        return Node("query", "SELECT {} FROM {}{}", (listed, sources, where), kind="select")

    def sorted(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        """In the order of something that need not be shown, and of what tells rows apart."""
        sources, scope = self.sources(outer, few=outer is not None)
        scope = self.alone(scope)
        listed = self.listing([self.value(kind, scope, depth) for kind in shape])
        core = Node("query", "SELECT {} FROM {}{}", (listed, sources, self.where(scope, depth, 0.6)), kind="select")
        unique = scope.unique()
        if unique is None:
            return core
        with self.fewer(0.1):
            by = self.value(self.pick(SHOWN), scope, 1)
        # A literal would be the number of a column.
        by = Node(by.type, "coalesce({0}, {0})", (by,))
        order = f" ORDER BY {{}} {self.order()}" + "".join(f", {name} {self.order()}" for name in unique)
        order += self.pick(["", f" LIMIT {self.pick([0, 1, 3, 10])}"])
        return Node("query", "{}{}", (core, Node("clause", order, (by,), optional=True, kind="ORDER BY an expression")))

    def set_of(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        """Two queries and an operator between them, or three with the same one twice: SQLite knows no precedence."""
        operator = self.pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        sqlite = None if operator in ("INTERSECT ALL", "EXCEPT ALL") else ""
        outer = outer if self.chance(0.06) else None
        parts = tuple(self.query(shape, outer, depth - 1) for _ in range(3 if self.chance(0.15) else 2))
        # SQLite has no brackets here.
        names = ", ".join(f"c{at}" for at in range(len(shape)))
        text = f" {operator} ".join(f"SELECT {names} FROM ({{}}) {self.name('u')}" for _ in parts)
        return Node("query", text, parts, sqlite=sqlite, kind=operator)

    def windowed(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        sources, scope = self.sources(outer, few=outer is not None)
        where = self.where(scope, depth, 0.5)
        unique = scope.unique()
        with self.fewer(0.1):
            if unique is not None and self.chance(0.15):
                return self.named_windows(shape, sources, scope, where)
            values = [self.window(kind, scope) if self.chance(0.7) else self.value(kind, scope, 1) for kind in shape]
            parts = (self.listing(values), sources, where)
            if self.chance(0.25):
                return Node(
                    "query",
                    "SELECT {} FROM {}{} QUALIFY {}",
                    (*parts, self.qualified(scope, values)),
                    sqlite=None,
                    kind="QUALIFY",
                )
        return Node("query", "SELECT {} FROM {}{}", parts, kind="windows")

    # ---- statements ----

    def statement(self) -> Node:
        shape = [self.pick(SHOWN) for _ in range(self.random.randrange(1, 4))]
        depth = self.pick([0, 1, 1, 2])
        pick = self.random.random()
        if pick < 0.06:
            return self.with_table(shape)
        if pick < 0.13:
            return self.condition(depth)
        return self.query(shape, None, depth)

    def condition(self, depth: int) -> Node:
        """What `corpus.select` and `corpus.count` are asked."""
        scope = Scope([Source("", dict(COLUMNS["documents"]), ["id"])])
        self.tables = ["documents"]
        condition = self.value("bool", scope, depth + 1)
        self.tables = TABLES
        return Node("query", "SELECT id AS c0 FROM documents WHERE {}", (condition,), kind=CONDITION)
