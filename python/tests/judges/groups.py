"""Groups of random statements, with the sets that GROUPING SETS, ROLLUP and CUBE make of them."""

from __future__ import annotations

from judges.draws import COMPARISONS, Scope
from judges.sources import Sources
from judges.tree import Node


class Groups(Sources):
    """Makes queries with GROUP BY, or with aggregates of all rows."""

    def grouped(self, shape: list[str], outer: Scope | None, depth: int) -> Node:
        sources, scope = self.sources(outer, few=outer is not None)
        own = Scope(scope.sources)
        where = self.where(scope, depth, 0.6)
        if self.chance(0.12 if outer is None else 0.01):
            return self.by_sets(shape, sources, scope, where)
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
        return Node(
            "query", f"SELECT {{}} FROM {{}}{{}}{by}{{}}", (self.listing(values), sources, where, having), kind=kind
        )

    def by_sets(self, shape: list[str], sources: Node, scope: Scope, where: Node) -> Node:
        """Groups by several sets of columns at once; which of them a row is of is what GROUPING says."""
        own = Scope(scope.sources)
        many = range(self.random.randrange(1, 4))
        drawn = [self.column(self.pick(["text", "int", "bool", "moment"]), own) for _ in many]
        keys = {node.ours: node.type for node in drawn if node.ours in own.names()}
        names = list(keys) or [self.pick(own.names())]
        values = [self.of_set(kind, names, keys, scope) for kind in shape]
        having = Node("clause", "", optional=True)
        if self.chance(0.3):
            two = (Node("int", f"GROUPING({self.pick(names)})"), Node("int", self.pick(["0", "1"])))
            if self.chance(0.5):
                two = (self.aggregate("int", scope, 0), self.literal("int"))
            condition = Node("bool", f"({{}} {self.pick(COMPARISONS)} {{}})", two)
            having = Node("clause", " HAVING {}", (condition,), kind="HAVING", optional=True)
        text = f"SELECT {{}} FROM {{}}{{}} GROUP BY {self.sets(names)}{{}}"
        return Node("query", text, (self.listing(values), sources, where, having), sqlite=None, kind="GROUPING SETS")

    def of_set(self, kind: str, names: list[str], keys: dict[str, str], scope: Scope) -> Node:
        """A key, what is computed of one, the number of a set, or an aggregate."""
        alike = [name for name in names if keys.get(name) == kind]
        if alike and self.chance(0.5):
            key = Node(kind, self.pick(alike))
            return key if self.chance(0.7) else Node(kind, "coalesce({}, {})", (key, self.literal(kind)))
        if kind == "int" and self.chance(0.4):
            of = self.random.sample(names, self.random.randrange(1, len(names) + 1))
            return Node("int", f"GROUPING({', '.join(of)})", kind="GROUPING")
        return self.aggregate(kind, scope, 1)

    def sets(self, names: list[str]) -> str:
        listed = ", ".join(names)
        pick = self.random.random()
        if pick < 0.3:
            return f"ROLLUP ({listed})"
        if pick < 0.5:
            return f"CUBE ({listed})"
        if pick < 0.65 and len(names) > 1:
            return f"{names[0]}, {self.pick(['ROLLUP', 'CUBE'])} ({', '.join(names[1:])})"
        many = range(self.random.randrange(1, 4))
        some = [self.random.sample(names, self.random.randrange(0, len(names) + 1)) for _ in many]
        return f"GROUPING SETS ({', '.join('(' + ', '.join(each) + ')' for each in [names, *some])})"
