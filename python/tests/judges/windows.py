"""Windows of random statements."""

from __future__ import annotations

from judges.draws import COMPARISONS, Scope
from judges.subqueries import SubQueries
from judges.tree import Node


class Windows(SubQueries):
    """Makes values over windows that have one answer: in an order of all rows, where the order matters."""

    def window(self, kind: str, scope: Scope) -> Node:
        own = Scope(scope.sources)
        unique = scope.unique()
        partition = Node("clause", "", optional=True)
        if self.chance(0.5):
            partition = Node(
                "clause", "PARTITION BY {} ", (self.column(self.pick(["text", "int", "bool"]), own),), optional=True
            )
        by = self.column(self.pick(["int", "text", "float", "moment"]), own)
        order = f"ORDER BY {by.ours} {self.order()}"
        total = order + "".join(f", {name} {self.order()}" for name in unique or [] if name != by.ours)
        pick = self.random.random()
        if self.chance(0.15) and kind != "age":
            return self.ranged(kind, own, partition)
        if kind == "float" and pick < 0.3:
            ranked = self.pick(["percent_rank()", "cume_dist()"])
            return Node("float", f"{ranked} OVER ({{}}{order})", (partition,), kind=ranked.split("(")[0] + " window")
        if kind == "int" and (pick < 0.35 or unique is None):
            parts_of = f"ntile({self.pick([1, 2, 3, 7, 100])})"
            ranked = self.pick(["rank()", "dense_rank()", "count(*)", "row_number()", parts_of])
            if ranked.startswith(("row_number", "ntile")):
                if unique is None:
                    return Node("int", "rank() OVER ({}" + order + ")", (partition,), kind="rank", fixed=False)
                order = total
            return Node("int", f"{ranked} OVER ({{}}{order})", (partition,), kind=ranked.split("(")[0] + " window")
        if unique is None:
            return Node(
                kind,
                self.pick(["min", "max"]) + "({}) OVER ({})",
                (self.value(kind, own, 0), partition),
                kind="min, max window",
            )
        of = self.value(kind, own, 1)
        if pick < 0.65:
            function = self.pick(["lag", "lead"])
            offset = self.pick(["", "", ", 1", ", 2", ", 3", ", 0"])
            default = Node("clause", "")
            if offset and self.chance(0.4):
                default = Node("clause", ", {}", (self.literal(kind),))
            ignore = self.chance(0.4)
            rest = f"OVER ({{}}{total})"
            return Node(
                kind,
                f"{function}({{}}{offset}{{}}){' IGNORE NULLS' if ignore else ''} {rest}",
                (of, default, partition),
                duckdb=f"{function}({{}}{offset}{{}}{' IGNORE NULLS' if ignore else ''}) {rest}",
                sqlite=None if ignore else "",
                kind=function + (" IGNORE NULLS" if ignore else ""),
            )
        frame = self.frame()
        if pick < 0.85 or kind not in ("int", "float"):
            function = self.pick(["first_value({}", "last_value({}", "nth_value({}, 2", "min({}", "max({}"])
            ignore = function[0] != "m" and self.chance(0.4)
            rest = f"OVER ({{}}{total}{frame})"
            return Node(
                kind,
                f"{function}){' IGNORE NULLS' if ignore else ''} {rest}",
                (of, partition),
                duckdb=f"{function}{' IGNORE NULLS' if ignore else ''}) {rest}",
                sqlite=None if ignore else "",
                kind=function.split("(")[0] + " window" + (" IGNORE NULLS" if ignore else ""),
            )
        halves = [name for name in own.columns("float") if name.split(".")[-1] == "f"]
        if kind == "float":
            of = Node("halves", self.pick(halves)) if halves else Node("halves", "1.5e0")
        function = self.pick(["sum", "count", "sum"]) if kind == "int" else "sum"
        kept = self.kept(own)
        text = f"{function}({{}}){{}} OVER ({{}}{total}{frame})"
        return Node(kind, text, (of, kept, partition), kind=function + " window")

    def kept(self, own: Scope) -> Node:
        """The rows that an aggregate over a window takes."""
        if not self.chance(0.15):
            return Node("clause", "", optional=True)
        condition = (self.value("bool", own, 1),)
        return Node("clause", " FILTER (WHERE {})", condition, kind="FILTER of a window", optional=True)

    def ranged(self, kind: str, own: Scope, partition: Node) -> Node:
        """Over rows whose one key is near, or whose keys are so many apart: equal keys have one answer together."""
        small = [name for name in own.names() if name.split(".")[-1] in ("q", "s", "f", "lid", "iid", "rid")]
        moments = own.columns("moment")
        sqlite: str | None = ""
        unit, near, far = "RANGE", self.pick(["1", "2", "0"]), self.pick(["2", "3", "100"])
        if moments and (not small or self.chance(0.25)):
            by, sqlite = self.pick(moments), None
            near, far = f"INTERVAL '{near} days'", f"INTERVAL '{far}00 days'"
        elif small:
            by = self.pick(small)
        else:
            return Node(kind, "max({}) OVER ({})", (self.value(kind, own, 0), partition), kind="min, max window")
        if self.chance(0.3):
            unit, near, far, sqlite = "GROUPS", "1", self.pick(["1", "2"]), ""
        start = self.pick([f"{far} PRECEDING", f"{near} PRECEDING", "UNBOUNDED PRECEDING", "CURRENT ROW"])
        end = self.pick([f"{near} FOLLOWING", f"{far} FOLLOWING", "UNBOUNDED FOLLOWING", "CURRENT ROW"])
        if self.chance(0.15):
            before, behind = (f"{far} PRECEDING", f"{near} PRECEDING"), (f"{near} FOLLOWING", f"{far} FOLLOWING")
            start, end = self.pick([before, behind])
        over = f"OVER ({{}}ORDER BY {by} {self.order()} {unit} BETWEEN {start} AND {end})"
        if kind == "int" and self.chance(0.6):
            function = self.pick(["count(*)", "count({})", "sum({})"])
            of = Node("small", self.pick([name for name in small if name.split(".")[-1] != "f"] or ["1"]))
            parts = (*((of,) if "{}" in function else ()), self.kept(own), partition)
            return Node("int", f"{function}{{}} {over}", parts, sqlite=sqlite, kind=f"{unit} frame")
        function = self.pick(["min", "max"])
        if kind == "bool":
            function, sqlite = self.pick(["bool_and", "bool_or"]), None
        three = (self.value(kind, own, 1), self.kept(own), partition)
        return Node(kind, f"{function}({{}}){{}} {over}", three, sqlite=sqlite, kind=f"{unit} frame")

    def named_windows(self, shape: list[str], sources: Node, scope: Scope, where: Node) -> Node:
        """Values over a window that is said once, behind the conditions."""
        own, unique = Scope(scope.sources), scope.unique() or []
        by = self.pick(own.names())
        order = "ORDER BY " + ", ".join(f"{name} {self.order()}" for name in dict.fromkeys([by, *unique]))
        partition = f"PARTITION BY {self.pick(own.names())} " if self.chance(0.6) else ""
        values = []
        for kind in shape:
            calls = ["min({}) OVER o", "max({}) OVER p", "last_value({}) OVER o", "lag({}) OVER o"]
            if kind == "int":
                calls += ["row_number() OVER o", "count({}) OVER p", "count(*) OVER o"]
            text = self.pick(calls)
            parts = (self.value(kind, own, 1),) if "{}" in text else ()
            values.append(Node(kind, text, parts, kind="named window", fixed=not parts))
        text = f"SELECT {{}} FROM {{}}{{}} WINDOW p AS ({partition.strip()}), o AS ({partition}{order})"
        return Node("query", text, (self.listing(values), sources, where), kind="WINDOW")

    def qualified(self, scope: Scope, values: list[Node]) -> Node:
        """A condition on windows, also on shown ones: what has their names may be of an outer query in DuckDB."""
        shown = [at for at, value in enumerate(values) if value.type == "int" and " OVER (" in value.ours]
        if shown and self.chance(0.3):
            of = values[self.pick(shown)]
            return Node("bool", f"({{}} {self.pick(['<=', '=', '>'])} {self.pick([0, 1, 2])})", (of,))
        kind = self.pick(["int", "int", "int", "text", "float"])
        two = (self.window(kind, scope), self.literal(kind))
        condition = Node("bool", f"({{}} {self.pick(COMPARISONS)} {{}})", two)
        if self.chance(0.2):
            both = (condition, self.value("bool", Scope(scope.sources), 1))
            return Node("bool", f"({{}} {self.pick(['AND', 'OR'])} {{}})", both)
        return condition

    def frame(self) -> str:
        pick = self.random.random()
        if pick < 0.35:
            return ""
        if pick < 0.45:
            return " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        unit = self.pick(["ROWS", "ROWS", "GROUPS"])
        start = self.pick(["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 PRECEDING"])
        end = self.pick(["UNBOUNDED FOLLOWING", "1 FOLLOWING", "CURRENT ROW", "2 FOLLOWING"])
        if self.chance(0.1):
            start, end = self.pick([("3 PRECEDING", "1 PRECEDING"), ("1 FOLLOWING", "3 FOLLOWING")])
        return f" {unit} BETWEEN {start} AND {end}"
