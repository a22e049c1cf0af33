"""What stands behind FROM in random statements: tables, files, sub-queries, rows of values, and joins of them."""

from __future__ import annotations

from judges.draws import SHOWN, Scope, Source
from judges.rows import COLUMNS
from judges.tree import Node
from judges.windows import Windows


class Sources(Windows):
    """Makes tables, and scopes with their columns."""

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
        for at in range(joins):
            node = self.join(node, scope, at == joins - 1)
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
            return self.listed_rows()
        if pick < 0.21:
            alias, first, many = self.name("g"), self.pick([0, 1, -3]), self.pick([0, 1, 4, 9])
            call = f"generate_series({first}, {first + many - 1}) {alias}(step)"
            return Node("source", call, sqlite=None, kind="generate_series"), Source(alias, {"step": "int"}, ["step"])
        table = self.pick(self.tables)
        alias = self.name("d")
        kinds = COLUMNS[table.strip("@")]
        return Node("source", f"{table} {alias}", kind=self.kind_of(table)), Source(
            alias, dict(kinds), [next(iter(kinds))]
        )

    def listed_rows(self) -> tuple[Node, Source]:
        alias = self.name("x")
        kinds = [self.pick(SHOWN) for _ in range(self.random.randrange(1, 4))] if self.chance(0.5) else ["int", "text"]
        rows = [[self.literal(kind) for kind in kinds] for _ in range(self.random.randrange(1, 5))]
        if len(rows) > 1 and self.chance(0.3):
            rows[1][0] = Node(kinds[0], "NULL")
        names = [f"c{at}" for at in range(len(kinds))]
        union = " UNION ALL ".join("SELECT " + ", ".join(f"{{}} AS {name}" for name in names) for _ in rows)
        values = ", ".join("(" + ", ".join("{}" for _ in names) + ")" for _ in rows)
        ours = f"(VALUES {values}) {alias}({', '.join(names)})"
        children = tuple(value for row in rows for value in row)
        source = Source(alias, dict(zip(names, kinds)), None)
        return Node("source", ours, children, sqlite=f"({union}) {alias}", kind="VALUES"), source

    def lateral(self, left: Node, scope: Scope, last: bool) -> Node:
        """A table that is computed for each row of those before it."""
        alias, kinds = self.name("l"), [self.pick(SHOWN) for _ in range(self.random.randrange(1, 3))]
        outer = Scope(scope.sources, scope.outer if self.chance(0.1) else None)
        with self.fewer(0.2):
            sources, inner = self.sources(outer, few=True)
            where = self.where(inner, 0, 0.95)
            pick, unique, tail, label = self.random.random(), inner.unique(), "", "LATERAL"
            if pick < 0.3:
                values, label = [self.aggregate(kind, inner, 0) for kind in kinds], "LATERAL aggregate"
            elif pick < 0.5:
                key = self.column(kinds[0], Scope(inner.sources))
                values = [key, *(self.aggregate(kind, inner, 0) for kind in kinds[1:])]
                tail, label = " GROUP BY 1", "LATERAL GROUP BY"
            else:
                near = Scope(inner.sources) if self.chance(0.7) else inner
                values = [self.value(kind, near, 1) for kind in kinds]
                if unique is not None and pick < 0.8:
                    names = dict.fromkeys([self.pick(inner.names()), *unique])
                    order = ", ".join(f"{name} {self.order()}" for name in names)
                    tail = f" ORDER BY {order} LIMIT {self.pick([1, 2, 3])}" + self.pick(["", "", " OFFSET 1"])
                    label = "LATERAL with LIMIT"
        body = Node("query", "SELECT {} FROM {}{}" + tail, (self.listing(values), sources, where))
        scope.sources.append(Source(alias, {f"c{at}": kind for at, kind in enumerate(kinds)}, None))
        ways = [("CROSS JOIN", ""), ("JOIN", " ON TRUE"), ("LEFT JOIN", " ON TRUE"), (",", "")]
        # Behind a comma a join would not see what stands before it.
        how = self.pick(ways if last else ways[:3])
        text = f"{{}} {how[0]} LATERAL ({{}}) {alias}{how[1]}".replace(" ,", ",")
        return Node("source", text, (left, body), sqlite=None, kind=label)

    def join(self, left: Node, scope: Scope, last: bool) -> Node:
        if self.chance(0.09):
            return self.lateral(left, scope, last)
        right, source = self.source(scope.outer)
        both = Scope([*scope.sources, source], scope.outer)
        pick = self.random.random()
        if pick < 0.06:
            scope.sources.append(source)
            text = self.pick(["{} CROSS JOIN {}", "{}, {}"]) if last else "{} CROSS JOIN {}"
            return Node("source", text, (left, right), kind="CROSS JOIN" if "CROSS" in text else "tables with a comma")
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
