"""Random statements that mean the same in corpusdb, DuckDB and SQLite, as trees."""

from __future__ import annotations

from judges.draws import COMPARISONS, SHOWN, TABLES, Scope, Source
from judges.rows import COLUMNS, CONDITION
from judges.tree import Node
from judges.windows import Windows


class Maker(Windows):
    """Makes statements, each by the numbers drawn so far.

    Left out is what the engines mean by different things: a fraction cast to a whole number (DuckDB rounds, SQLite cuts),
    division by zero, how moments are spelled as texts, and orders without NULLS FIRST or LAST.
    """

    # ---- tables ----

    def sources(self, outer: Scope | None, few: bool = False) -> tuple[Node, Scope]:
        """What stands behind FROM."""
        if self.chance(0.15 if few else 0.2):
            table = self.pick(self.tables)
            plain = Source("", dict(COLUMNS[table.strip("@")]), [next(iter(COLUMNS[table.strip("@")]))])
            return Node("source", table, kind=self.kind_of(table)), Scope([plain], outer)
        outer = self.near(outer)
        first = self.source(outer)
        scope = Scope([first[1]], outer)
        node = first[0]
        joins = 0 if self.chance(0.85 if few else 0.55) else (1 if self.chance(0.8) else 2)
        for _ in range(joins):
            node = self.join(node, scope)
        return node, scope

    @staticmethod
    def kind_of(table: str) -> str:
        return {"@rows": "read_parquet", "@lines": "read_csv", "@items": "read_json"}.get(table, "")

    def source(self, outer: Scope | None) -> tuple[Node, Source]:
        pick = self.random.random()
        if pick < 0.15:
            shape = [self.pick(SHOWN) for _ in range(self.random.randrange(1, 4))]
            alias = self.name("s")
            node = Node("source", f"({{}}) {alias}", (self.query(shape, None, 1),), kind="sub-query in FROM")
            return node, Source(alias, {f"c{at}": kind for at, kind in enumerate(shape)}, None)
        if pick < 0.19:
            alias = self.name("x")
            rows = [(self.literal("int"), self.literal("text")) for _ in range(self.random.randrange(1, 4))]
            union = " UNION ALL ".join("SELECT {} AS c0, {} AS c1" for _ in rows)
            values = ", ".join("({}, {})" for _ in rows)
            children = tuple(value for row in rows for value in row)
            ours = f"(VALUES {values}) {alias}(c0, c1)"
            return Node("source", ours, children, sqlite=f"({union}) {alias}", kind="VALUES"), Source(
                alias, {"c0": "int", "c1": "text"}, None
            )
        table = self.pick(self.tables)
        alias = self.name("d")
        kinds = COLUMNS[table.strip("@")]
        return Node("source", f"{table} {alias}", kind=self.kind_of(table)), Source(
            alias, dict(kinds), [next(iter(kinds))]
        )

    def join(self, left: Node, scope: Scope) -> Node:
        right, source = self.source(scope.outer)
        both = Scope([*scope.sources, source], scope.outer)
        pick = self.random.random()
        if pick < 0.06:
            scope.sources.append(source)
            return Node("source", "{} CROSS JOIN {}", (left, right), kind="CROSS JOIN")
        kind = self.pick(
            ["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
        )
        condition = self.equal(scope, source)
        shared = sorted(dict(scope.sources[0].columns.items() & source.columns.items()).keys() - {"id", "meta"})
        if len(scope.sources) == 1 and shared and "SEMI" not in kind and "ANTI" not in kind and self.chance(0.15):
            scope.sources.append(source)
            return Node("source", f"{{}} {kind} {{}} USING ({self.pick(shared)})", (left, right), kind="USING")
        if self.chance(0.3):
            with self.fewer(0.02):
                more = self.value("bool", Scope([source]) if self.chance(0.5) else both, 1)
            condition = Node("bool", f"({{}} {self.pick(['AND', 'AND', 'AND', 'OR'])} {{}})", (condition, more))
        theirs = kind.replace("LEFT SEMI", "SEMI").replace("LEFT ANTI", "ANTI")
        half = theirs != kind
        if not half:
            scope.sources.append(source)
        return Node(
            "source",
            f"{{}} {kind} {{}} ON {{}}",
            (left, right, condition),
            duckdb=f"{{}} {theirs} {{}} ON {{}}",
            sqlite=None if half else "",
            kind=kind,
        )

    def equal(self, scope: Scope, source: Source) -> Node:
        kinds = [kind for kind in ("int", "int", "text", "bool", "float", "moment") if scope.columns(kind, own=True)]
        self.random.shuffle(kinds)
        for kind in kinds:
            theirs = Scope([source]).columns(kind)
            if theirs:
                left = Node(kind, self.pick(scope.columns(kind, own=True)))
                operator = self.pick(["=", "=", "=", "=", "<", "IS NOT DISTINCT FROM"])
                sqlite = "IS" if operator.startswith("IS") else operator
                two = (left, Node(kind, self.pick(theirs)))
                return Node("bool", f"({{}} {operator} {{}})", two, sqlite=f"({{}} {sqlite} {{}})")
        return Node("bool", "(1 = 1)")

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

    def listing(self, values: list[Node]) -> Node:
        return Node("list", ", ", tuple(Node("shown", f"{{}} AS c{at}", (value,)) for at, value in enumerate(values)))

    def simple(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        sources, scope = self.sources(outer, few=outer is not None)
        listed = self.listing([self.value(kind, self.alone(scope), depth) for kind in shape])
        where = self.where(scope, depth, 0.75)
        unique = scope.unique()
        if unique is not None and self.chance(0.04):
            of = self.column(self.pick(["text", "int", "bool"]), Scope(scope.sources)).ours
            order = ", ".join(f"{name} {self.order()}" for name in [of, *(name for name in unique if name != of)])
            text = f"SELECT DISTINCT ON ({of}) {{}} FROM {{}}{{}} ORDER BY {order}"
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

    def grouped(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        sources, scope = self.sources(outer, few=outer is not None)
        own = Scope(scope.sources)
        where = self.where(scope, depth, 0.6)
        values, keys = [], []
        for at, kind in enumerate(shape):
            if self.chance(0.5):
                with self.fewer(0.1):
                    values.append(self.value(kind, own, 1 if self.chance(0.3) else 0))
                keys.append(str(at + 1))
            elif kind == "int" and self.chance(0.12):
                window = self.pick(
                    ["sum(count(*)) OVER ()", "rank() OVER (ORDER BY count(*) DESC)", "max(count(*)) OVER ()"]
                )
                values.append(Node("int", window, kind="window over groups"))
            else:
                values.append(self.aggregate(kind, scope, 1))
        having = Node("clause", "", optional=True)
        if self.chance(0.3):
            aggregate = self.pick(["int", "int", "text", "float"])
            two = (self.aggregate(aggregate, scope, 0), self.literal(aggregate))
            if self.chance(0.2):
                two = (two[0], self.scalar(aggregate, Scope([]), 0))
            condition = Node("bool", f"({{}} {self.pick(COMPARISONS)} {{}})", two)
            if self.chance(0.25):
                condition = Node("bool", "({} IS NOT NULL)", (self.aggregate(self.pick(["int", "text"]), scope, 1),))
            having = Node("clause", " HAVING {}", (condition,), kind="HAVING", optional=True)
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        kind = "GROUP BY" + (" of several keys" if len(keys) > 1 else "") if keys else "aggregate of all"
        columns = [values[int(key) - 1].ours for key in keys]
        windows = any(value.kind == "window over groups" for value in values)
        if (
            len(set(columns)) == len(keys) > 1
            and set(columns) <= self.all_columns(own)
            and not windows
            and self.chance(0.3)
        ):
            sets = self.pick([f"ROLLUP ({', '.join(columns)})", f"CUBE ({', '.join(columns)})"])
            if self.chance(0.3):
                sets = f"GROUPING SETS (({columns[0]}), ({', '.join(columns)}), ())"
            text = f"SELECT {{}} FROM {{}}{{}} GROUP BY {sets}{{}}"
            return Node(
                "query", text, (self.listing(values), sources, where, having), sqlite=None, kind="GROUPING SETS"
            )
        return Node(
            "query", f"SELECT {{}} FROM {{}}{{}}{by}{{}}", (self.listing(values), sources, where, having), kind=kind
        )

    @staticmethod
    def all_columns(scope: Scope) -> set[str]:
        return {source.column(name) for source in scope.sources for name in source.columns}

    def set_of(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        operator = self.pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        sqlite = None if operator in ("INTERSECT ALL", "EXCEPT ALL") else ""
        outer = outer if self.chance(0.06) else None
        two = (self.query(shape, outer, depth - 1), self.query(shape, outer, depth - 1))
        # SQLite has no brackets here.
        names = ", ".join(f"c{at}" for at in range(len(shape)))
        one, other = self.name("u"), self.name("u")
        text = f"SELECT {names} FROM ({{}}) {one} {operator} SELECT {names} FROM ({{}}) {other}"
        return Node("query", text, two, sqlite=sqlite, kind=operator)

    def windowed(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        sources, scope = self.sources(outer, few=outer is not None)
        where = self.where(scope, depth, 0.5)
        with self.fewer(0.1):
            values = [self.window(kind, scope) if self.chance(0.7) else self.value(kind, scope, 1) for kind in shape]
        unique = scope.unique()
        if unique is not None and self.chance(0.2):
            of = self.column(self.pick(["text", "int", "bool"]), Scope(scope.sources)).ours
            order = ", ".join(f"{name} {self.order()}" for name in unique)
            text = f"SELECT {{}} FROM {{}}{{}} QUALIFY row_number() OVER (PARTITION BY {of} ORDER BY {order}) <= 2"
            return Node("query", text, (self.listing(values), sources, where), sqlite=None, kind="QUALIFY")
        return Node("query", "SELECT {} FROM {}{}", (self.listing(values), sources, where), kind="windows")

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

    def with_table(self, shape: list[str]) -> Node:
        recursive = self.chance(0.2)
        inner = ["int", "text"] if recursive else [self.pick(SHOWN) for _ in range(2)]
        source = Source("r1", {f"c{at}": kind for at, kind in enumerate(inner)}, None)
        scope = Scope([source])
        listed = self.listing([self.value(kind, scope, 1) for kind in shape])
        where = self.where(scope, 1, 0.8)
        again = "EXISTS (SELECT 1 FROM w1 r2 WHERE r2.c0 = r1.c0 AND r2.c1 IS NULL)"
        rest = f" SELECT {{}} FROM w1 r1{{}}{' AND ' + again if where.ours and self.chance(0.3) else ''}"
        if recursive:
            steps = "SELECT 1 AS c0, 'a' AS c1 UNION ALL SELECT c0 + 1, c1 || 'b' FROM w1 WHERE c0 < 6"
            return Node("query", f"WITH RECURSIVE w1 AS ({steps}){rest}", (listed, where), kind="WITH RECURSIVE")
        return Node("query", f"WITH w1 AS ({{}}){rest}", (self.query(inner, None, 1), listed, where), kind="WITH")
