"""Tables before a random statement: WITH, and WITH RECURSIVE of a few rows."""

from __future__ import annotations

from judges.draws import SHOWN, Scope, Source
from judges.rows import COLUMNS
from judges.subqueries import SubQueries
from judges.tree import Node


class Tables(SubQueries):
    """Makes statements that begin with WITH."""

    def with_table(self, shape: list[str]) -> Node:
        recursive = self.chance(0.4)
        inner = ["int", "text"] if recursive else [self.pick(SHOWN) for _ in range(2)]
        first = self.steps() if recursive else self.query(inner, None, 1)
        begins = "WITH RECURSIVE" if recursive else "WITH"
        parts: tuple[Node, ...] = (first,)
        kind = begins
        head = f"{begins} w1 AS ({{}})" if self.chance(0.7) else f"{begins} w1(c0, c1) AS ({{}})"
        read, more = "w1 r1", [Source("r1", {f"c{at}": of for at, of in enumerate(inner)}, None)]
        if self.chance(0.2):
            # One that reads the other.
            scope = Scope([Source("r0", dict(more[0].columns), None)])
            shown = self.listing([self.value(of, scope, 1) for of in inner])
            second = Node("query", "SELECT {} FROM w1 r0{}", (shown, self.where(scope, 1, 0.5)))
            head, parts, read, kind = head + ", w2 AS ({})", (*parts, second), "w2 r1", kind + " of several"
        if self.chance(0.25):
            other = self.pick(["w1", "documents"])
            columns = more[0].columns if other == "w1" else COLUMNS["documents"]
            more.append(Source("r3", dict(columns), None))
            column = "c0" if other == "w1" else "id" if inner[0] == "int" else "w"
            condition = f"r3.{column} = r1.c0" if other == "w1" or inner[0] in ("int", "text") else "r3.id = 3"
            read += f" {self.pick(['JOIN', 'LEFT JOIN'])} {other} r3 ON {condition}"
        scope = Scope(more)
        listed = self.listing([self.value(kind, scope, 1) for kind in shape])
        where = self.where(scope, 1, 0.8)
        again = "EXISTS (SELECT 1 FROM w1 r2 WHERE r2.c0 = r1.c0 AND r2.c1 IS NULL)"
        rest = f" SELECT {{}} FROM {read}{{}}{' AND ' + again if where.ours and self.chance(0.3) else ''}"
        return Node("query", head + rest, (*parts, listed, where), kind=kind)

    def steps(self) -> Node:
        """A number and a text, from row to row until there is no further one."""
        pick = self.random.random()
        if pick < 0.3:
            most = self.pick([0, 3, 6])
            text = f"SELECT 1 AS c0, 'a' AS c1 UNION ALL SELECT c0 + 1, c1 || 'b' FROM w1 WHERE c0 < {most}"
            return Node("query", text, fixed=True)
        if pick < 0.55:
            # In a circle, which ends since UNION keeps what is new.
            step, length = self.pick([1, 2, 3]), self.pick([4, 5, 7])
            text = f"SELECT 0 AS c0, 'a' AS c1 UNION SELECT (c0 + {step}) % {length}, c1 FROM w1"
            return Node("query", text, fixed=True)
        source = Source("d", dict(COLUMNS["documents"]), ["id"])
        before = Source("w1", {"c0": "int", "c1": "text"}, None)
        step = self.pick([3, 7, 19])
        # A sub-query would name the table once more, which no engine takes.
        with self.fewer(0):
            condition = self.value("bool", Scope([source, before]), 1)
            value = self.value("text", Scope([source, before]), 1)
        text = (
            f"SELECT id AS c0, w AS c1 FROM documents WHERE id < {self.pick([1, 3, 5])}"
            f" {self.pick(['UNION', 'UNION ALL'])}"
            f" SELECT d.id, {{}} FROM w1 JOIN documents d ON d.id = w1.c0 + {step} WHERE {{}}"
        )
        return Node("query", text, (value, condition))
