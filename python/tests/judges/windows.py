"""Windows of random statements."""

from __future__ import annotations

from judges.draws import Scope
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
        if kind == "int" and (pick < 0.35 or unique is None):
            ranked = self.pick(["rank()", "dense_rank()", "count(*)", "row_number()", "ntile(3)"])
            if ranked in ("row_number()", "ntile(3)"):
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
        return Node(kind, f"{function}({{}}) OVER ({{}}{total}{frame})", (of, partition), kind=function + " window")

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
