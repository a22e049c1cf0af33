"""Sub-queries of random statements, and the aggregates that stand in them."""

from __future__ import annotations

from judges.draws import COMPARISONS, SHOWN, Scope
from judges.rows import SMALL
from judges.tree import Node
from judges.values import Values


class SubQueries(Values):
    """Makes sub-queries, most of them correlated."""

    def scalar(self, kind: str, scope: Scope, depth: int) -> Node:
        """A sub-query with one value, or none."""
        sources, inner = self.sources(scope, few=True)
        correlated = self.where(inner, depth - 1, 0.85)
        if kind in ("int", "float", "text", "moment") and self.chance(0.65):
            body = Node("clause", "SELECT {} FROM {}{}", (self.aggregate(kind, inner, depth - 1), sources, correlated))
            label = "scalar sub-query, aggregate"
            if self.chance(0.12):
                body = Node(
                    "clause", "{}" + f" HAVING count(*) {self.pick(['>', '<', '='])} {self.pick(SMALL)}", (body,)
                )
                label = "scalar sub-query, HAVING"
        else:
            unique, inner = inner.unique(), self.alone(inner)
            of, correlated = self.value(kind, inner, depth - 1), self.where(inner, depth - 1, 0.7)
            if unique is None:
                return self.column(kind, scope)
            order = ", ".join(f"{name} {self.order()}" for name in unique)
            offset = self.pick(["", "", " OFFSET 1", " OFFSET 3"])
            body = Node(
                "clause", f"SELECT {{}} FROM {{}}{{}} ORDER BY {order} LIMIT 1{offset}", (of, sources, correlated)
            )
            label = "scalar sub-query, LIMIT"
        return Node(kind, "({})", (body,), kind=label)

    def of_subquery(self, scope: Scope, depth: int) -> Node:
        pick = self.random.random()
        negated = self.pick(["", "NOT "])
        if pick < 0.4:
            return self.exists(scope, depth, negated)
        kind = self.pick(["int", "int", "text", "float", "bool", "moment"])
        of = self.value(kind, scope, min(depth, 1))
        query = self.query([kind], scope, min(depth, 1), inner=True)
        if pick < 0.8:
            return Node("bool", f"({{}} {negated}IN ({{}}))", (of, query), kind=f"{negated}IN sub-query")
        operator, quantifier = self.pick(COMPARISONS), self.pick(["ANY", "ALL"])
        same = {("=", "ANY"): "({} IN ({}))", ("<>", "ALL"): "({} NOT IN ({}))"}
        sqlite = same.get((operator, quantifier))
        return Node(
            "bool", f"({{}} {operator} {quantifier} ({{}}))", (of, query), sqlite=sqlite, kind=f"{quantifier} sub-query"
        )

    def exists(self, scope: Scope, depth: int, negated: str) -> Node:
        sources, inner = self.sources(scope, few=True)
        kind, tail, shown = f"{negated}EXISTS", "", "1"
        pick = self.random.random()
        if 0.15 <= pick < 0.4 or 0.5 <= pick < 0.6:
            inner = self.alone(inner)
        correlated = self.where(inner, depth - 1, 0.9)
        parts = (sources, correlated)
        sqlite_tail = ""
        if pick < 0.15:
            shown, kind = self.pick(["count(*)", "max(1)", "sum(1)"]), kind + " of an aggregate"
            if self.chance(0.3):
                tail = f" HAVING count(*) {self.pick(['>', '=', '<'])} {self.pick([0, 1, 2])}"
        elif pick < 0.3:
            number, kind = self.pick([0, 1, 2, 5]), kind + " with OFFSET"
            tail, sqlite_tail = f" OFFSET {number}", f" LIMIT -1 OFFSET {number}"
        elif pick < 0.4:
            tail, kind = f" LIMIT {self.pick([0, 1, 2])}" + self.pick(["", " OFFSET 1"]), kind + " with LIMIT"
        elif pick < 0.5 and inner.columns("text", own=True):
            key = self.pick(inner.columns("text", own=True))
            shown, kind = key, kind + " with GROUP BY"
            tail = f" GROUP BY {key} HAVING count(*) > {self.pick([0, 1, 2])}"
        elif pick < 0.6:
            other, operator = (
                self.query(["int"], None, 0, inner=True),
                self.pick(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]),
            )
            text = f"({negated}EXISTS (SELECT 1 FROM {{}}{{}} {operator} {{}}))"
            return Node("bool", text, (sources, correlated, other), kind=kind + " of a set")
        return Node(
            "bool",
            f"({negated}EXISTS (SELECT {shown} FROM {{}}{{}}{tail}))",
            parts,
            sqlite=f"({negated}EXISTS (SELECT {shown} FROM {{}}{{}}{sqlite_tail or tail}))",
            kind=kind,
        )

    def aggregate(self, kind: str, scope: Scope, depth: int) -> Node:
        """An aggregate of that type. It takes columns of its own query: those of one outside would aggregate there."""
        with self.fewer(0.1):
            return self.aggregated(kind, Scope(scope.sources), depth)

    def aggregated(self, kind: str, own: Scope, depth: int) -> Node:
        filtered = Node("clause", "", optional=True)
        if self.chance(0.12):
            filtered = Node("clause", " FILTER (WHERE {})", (self.value("bool", own, 1),), kind="FILTER", optional=True)
        if kind == "int":
            pick = self.random.randrange(7)
            if pick == 6:
                function = self.pick(["bit_and", "bit_or", "bit_xor"])
                of = (self.column("int", own), filtered)
                return Node("int", function + "({}){}", of, sqlite=None, kind="bit aggregate")
            if pick == 0:
                return Node("int", "count(*){}", (filtered,), kind="aggregate")
            if pick == 1:
                return Node(
                    "int", "count({}){}", (self.value(self.pick(SHOWN), own, depth), filtered), kind="aggregate"
                )
            if pick == 2:
                return Node(
                    "int",
                    "count(DISTINCT {}){}",
                    (self.value(self.pick(SHOWN), own, depth), filtered),
                    kind="DISTINCT aggregate",
                )
            if pick == 3:
                distinct = self.pick(["", "", "DISTINCT "])
                return Node("int", f"sum({distinct}{{}}){{}}", (self.value("int", own, depth), filtered), kind="sum")
        if kind == "float" and self.chance(0.5):
            if self.chance(0.5) or not any(name.endswith("f") for name in own.columns("float")):
                small = [
                    name
                    for name in own.columns("int")
                    if name.split(".")[-1] in ("id", "q", "bytes", "rid", "s", "lid")
                ]
                return Node(
                    "float", "avg({}){}", (Node("small", self.pick(small or ["1"])), filtered), kind="aggregate"
                )
            halves = [name for name in own.columns("float") if name.split(".")[-1] == "f"]
            return Node("float", "sum({}){}", (Node("halves", self.pick(halves)), filtered), kind="sum")
        unique = own.unique()
        if unique is not None and kind in SHOWN and self.chance(0.1):
            order = ", ".join(f"{name} {self.order()}" for name in unique)
            call = self.pick(["first", "last"])
            text = f"{call}_value({{}} ORDER BY {order}){{}}"
            theirs = f"{call}({{}} ORDER BY {order}){{}}"
            of = (self.value(kind, own, 1), filtered)
            return Node(kind, text, of, duckdb=theirs, sqlite=None, kind="first, last in an order")
        if kind == "text" and unique is not None and self.chance(0.15):
            order = ", ".join(f"{name} {self.order()}" for name in unique)
            text = f"string_agg({{}}, '+' ORDER BY {order}){{}}"
            return Node("text", text, (self.column("text", own), filtered), sqlite=None, kind="string_agg")
        if kind == "bool":
            function = self.pick(["bool_and", "bool_or"])
            return Node(
                "bool", function + "({}){}", (self.value("bool", own, depth), filtered), sqlite=None, kind="aggregate"
            )
        return Node(
            kind, self.pick(["min", "max"]) + "({}){}", (self.value(kind, own, depth), filtered), kind="aggregate"
        )

    def where(self, scope: Scope, depth: int, share: float) -> Node:
        """A condition; inside another query one that the rows outside are compared in, most often."""
        if not self.chance(share):
            return Node("clause", "", optional=True)
        condition = self.value("bool", scope, max(depth, 0) + 1)
        if scope.outer is not None and self.chance(0.7):
            link = self.link(scope)
            if link is not None:
                condition = link if self.chance(0.4) else Node("bool", "({} AND {})", (link, condition))
        return Node("clause", " WHERE {}", (condition,), optional=True)

    def link(self, scope: Scope) -> Node | None:
        """Compares a column of a query with one outside it."""
        kinds = ["int", "text", "bool", "moment", "float"]
        self.random.shuffle(kinds)
        for kind in kinds:
            own, all_of = scope.columns(kind, own=True), scope.columns(kind)
            outer = all_of[len(own) :]
            if own and outer:
                two = (Node(kind, self.pick(own)), Node(kind, self.pick(outer)))
                return Node(
                    "bool", f"({{}} {self.pick(['=', '=', '=', '<', '<>', '>='])} {{}})", two, kind="correlated"
                )
        return None
