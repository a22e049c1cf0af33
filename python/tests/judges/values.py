"""Expressions and conditions of random statements."""

from __future__ import annotations

from judges.draws import COMPARISONS, SHOWN, Draws, Scope, text_literal
from judges.rows import MOMENTS, SMALL
from judges.tree import Node


class Values(Draws):
    """Makes expressions of each type."""

    def value(self, kind: str, scope: Scope, depth: int) -> Node:
        if depth <= 0 or self.chance(0.35):
            return self.literal(kind) if self.chance(0.2) else self.column(kind, scope)
        if kind == "bool":
            return self.truth(scope, depth - 1) if self.chance(0.8) else self.computed(kind, scope, depth)
        with self.fewer(0.5):
            return self.computed(kind, scope, depth)

    def computed(self, kind: str, scope: Scope, depth: int) -> Node:
        shared = self.random.random()
        if shared < 0.06:
            return self.case(kind, scope, depth)
        if shared < 0.11 and kind != "age":
            others = Node(
                "list", ", ", tuple(self.value(kind, scope, depth - 1) for _ in range(self.random.randrange(2, 4)))
            )
            return Node(kind, "coalesce({})", (others,), kind="coalesce")
        if shared < 0.14 and kind != "age":
            return Node(
                kind, "nullif({}, {})", (self.value(kind, scope, depth - 1), self.value(kind, scope, 0)), kind="nullif"
            )
        if shared < 0.16 and kind not in ("age", "bool"):
            two = (self.value(kind, scope, depth - 1), self.value(kind, scope, 0))
            return Node(kind, self.pick(["greatest", "least"]) + "({}, {})", two, sqlite=None, kind="greatest, least")
        if shared < 0.2 and kind != "age" and self.chance(self.share):
            return self.scalar(kind, scope, depth)
        of_kind = {
            "int": self.whole, "float": self.fraction, "text": self.words, "moment": self.moment, "age": self.age, "bool": self.truth,
        }  # fmt: skip
        return of_kind[kind](scope, depth - 1)

    def case(self, kind: str, scope: Scope, depth: int) -> Node:
        arms = self.random.randrange(1, 3)
        if self.chance(0.3):
            of = self.pick(["int", "text", "bool"])
            parts = [self.value(of, scope, depth - 1)]
            text = "CASE {}"
            for _ in range(arms):
                parts += [self.value(of, scope, 0), self.value(kind, scope, depth - 1)]
                text += " WHEN {} THEN {}"
        else:
            parts, text = [], "CASE"
            for _ in range(arms):
                parts += [self.value("bool", scope, depth - 1), self.value(kind, scope, depth - 1)]
                text += " WHEN {} THEN {}"
        if self.chance(0.7):
            parts.append(self.value(kind, scope, depth - 1))
            text += " ELSE {}"
        return Node(kind, text + " END", tuple(parts), kind="CASE")

    def whole(self, scope: Scope, depth: int) -> Node:
        one = self.value("int", scope, depth)
        pick = self.random.randrange(19)
        if pick == 17:
            call = self.pick(["strpos({}, 'b')", "octet_length({})", "bit_length({})"])
            theirs = call.replace("octet_length", "strlen")
            return Node("int", call, (self.value("text", scope, depth),), duckdb=theirs, sqlite=None, kind="texts")
        if pick == 18:
            of = (self.value("bool", scope, depth),)
            return Node("int", "{}::BIGINT", of, sqlite="CAST({} AS INTEGER)", kind="CAST")
        if pick == 14:
            return Node(
                "int", "TRY_CAST({} AS BIGINT)", (self.value("text", scope, depth),), sqlite=None, kind="TRY_CAST"
            )
        if pick == 15:
            return Node(
                "int", f"({{}} {self.pick(['&', '|'])} {{}})", (one, self.literal("int")), kind="arithmetic of ints"
            )
        if pick == 16:
            # Of a fraction DuckDB rounds and SQLite cuts; a column alone fits.
            narrow = self.narrow(scope)
            to = self.pick(["SMALLINT", "INTEGER", "DOUBLE"])
            if narrow and to != "DOUBLE":
                return Node("int", f"CAST({self.pick(narrow)} AS {to})", kind="CAST")
        if pick < 5:
            operator = self.pick(["+", "-", "*"])
            return Node(
                "int", f"({{}} {operator} {{}})", (one, self.value("int", scope, depth)), kind="arithmetic of ints"
            )
        if pick == 5:
            by = self.pick([1, 2, 3, -3, 7, 1000])
            return Node("int", f"({{}} / ({by}))", (one,), duckdb=f"({{}} // ({by}))", kind="division of ints")
        if pick == 6:
            return Node("int", f"({{}} % ({self.pick([2, 3, 7, -4])}))", (one,), kind="division of ints")
        if pick == 7:
            return Node("int", "abs({})", (one,), kind="arithmetic of ints")
        if pick == 8:
            return Node("int", "(- {})", (one,), kind="arithmetic of ints")
        if pick == 9:
            return Node("int", "length({})", (self.value("text", scope, depth),), kind="texts")
        if pick == 10:
            return Node("int", "CAST({} AS BIGINT)", (self.value("bool", scope, depth),), kind="CAST")
        if pick == 11:
            bits, least, most = self.pick(
                [("TINYINT", -128, 127), ("SMALLINT", -(2**15), 2**15 - 1), ("INTEGER", -(2**31), 2**31 - 1)]
            )
            plain = f"CASE WHEN {{0}} BETWEEN {least} AND {most} THEN {{0}} END"
            return Node("int", f"TRY_CAST({{0}} AS {bits})", (one,), sqlite=plain, kind="TRY_CAST")
        if pick == 12:
            part = self.pick(["year", "month", "day", "hour", "minute"])
            start = {"year": 1, "month": 6, "day": 9, "hour": 12, "minute": 15}[part]
            plain = f"CAST(substr({{}}, {start}, {4 if part == 'year' else 2}) AS INTEGER)"
            of = (self.value("moment", scope, depth),)
            return Node("int", f"CAST(extract({part} FROM {{}}) AS BIGINT)", of, sqlite=plain, kind="moments")
        return Node("int", "CAST(floor({}) AS BIGINT)", (Node("float", self.column("float", scope).ours),), kind="CAST")

    @staticmethod
    def narrow(scope: Scope) -> list[str]:
        """Columns of small numbers."""
        return [name for name in scope.columns("int") if name.split(".")[-1] in ("q", "s", "lid", "rid", "iid")]

    def fraction(self, scope: Scope, depth: int) -> Node:
        one = self.value("float", scope, depth)
        pick = self.random.randrange(9)
        if pick == 8:
            digits = self.pick(["10, 2", "38, 4"])
            text = f"CAST(CAST({self.pick(self.narrow(scope) or ['7'])} AS DECIMAL({digits})) AS DOUBLE)"
            return Node("float", text, sqlite=None, kind="CAST")
        if pick == 7:
            return Node(
                "float", "TRY_CAST({} AS DOUBLE)", (self.value("text", scope, depth),), sqlite=None, kind="TRY_CAST"
            )
        if pick < 3:
            operator = self.pick(["+", "-", "*"])
            return Node(
                "float",
                f"({{}} {operator} {{}})",
                (one, self.value("float", scope, depth)),
                kind="arithmetic of floats",
            )
        if pick == 3:
            return Node("float", f"({{}} / ({self.pick([2.0, -0.5, 4.0])!r}e0))", (one,), kind="arithmetic of floats")
        if pick == 4:
            return Node("float", self.pick(["floor", "ceil", "abs"]) + "({})", (one,), kind="arithmetic of floats")
        return Node("float", "CAST({} AS DOUBLE)", (self.value("int", scope, depth),), kind="CAST")

    def words(self, scope: Scope, depth: int) -> Node:
        one = self.value("text", scope, depth)
        pick = self.random.randrange(9)
        if pick == 8:
            number = self.random.randrange(0, 4)
            calls = [
                f"left({{}}, {number})", f"right({{}}, {number})", f"repeat({{}}, {number})", "reverse({})", "ltrim({})",
                f"lpad({{}}, {number + 2}, '*')", "split_part({}, '_', 2)", "translate({}, 'ab', 'x')",
            ]  # fmt: skip
            return Node("text", self.pick(calls), (one,), sqlite=None, kind="texts")
        if pick == 0:
            return Node("text", "({} || {})", (one, self.value("text", scope, depth)), kind="texts")
        if pick == 1:
            return Node("text", self.pick(["upper", "lower", "trim"]) + "({})", (one,), kind="texts")
        if pick == 2:
            start, many = self.random.randrange(1, 4), self.random.randrange(0, 4)
            return Node("text", f"substr({{}}, {start}, {many})", (one,), kind="texts")
        if pick == 3:
            return Node(
                "text", f"replace({{}}, {text_literal(self.pick(['a', '_', 'b!']))}, '+')", (one,), kind="texts"
            )
        if pick == 4:
            return Node("text", "CAST({} AS VARCHAR)", (self.value("int", scope, depth),), kind="CAST")
        if pick == 5:
            return Node("text", "CAST({} AS VARCHAR)", (self.value("bool", scope, depth),), sqlite=None, kind="CAST")
        if pick == 6 and scope.columns("json"):
            name = self.pick(scope.columns("json"))
            spelled = {"duckdb": f"json_extract_string({name}, '$.note')", "sqlite": f"json_extract({name}, '$.note')"}
            return Node("text", f"({name} ->> 'note')", kind="JSON", **spelled)  # type: ignore[arg-type]
        return Node("text", "concat({}, {})", (one, self.value("text", scope, depth)), sqlite=None, kind="texts")

    def moment(self, scope: Scope, depth: int) -> Node:
        one = self.value("moment", scope, depth)
        pick = self.random.randrange(4)
        if pick == 0:
            unit = self.pick(["year", "month", "day", "hour", "week"])
            return Node("moment", f"date_trunc('{unit}', {{}})", (one,), sqlite=None, kind="moments")
        if pick == 1:
            units = ["days", "hours", "minutes", "months", "years"]
            interval = f"INTERVAL '{self.random.randrange(-3, 40)} {self.pick(units)}'"
            return Node(
                "moment",
                f"({{}} {self.pick(['+', '-'])} {interval})",
                (one,),
                sqlite=None,
                kind="moments and intervals",
            )
        if pick == 2:
            return Node(
                "moment",
                f"({{}} {self.pick(['+', '-'])} {{}})",
                (one, self.value("age", scope, depth)),
                sqlite=None,
                kind="ages",
            )
        return one

    def age(self, scope: Scope, depth: int) -> Node:
        if self.chance(0.25):
            return self.literal("age")
        two = (self.value("moment", scope, depth - 1), self.value("moment", scope, 0))
        return Node("age", "({} - {})", two, sqlite=None, kind="ages")

    # ---- conditions ----

    def truth(self, scope: Scope, depth: int) -> Node:
        pick = self.random.random()
        if depth > 0 and pick < 0.28:
            two = (self.value("bool", scope, depth), self.truth(scope, depth - 1))
            return Node("bool", f"({{}} {self.pick(['AND', 'OR'])} {{}})", two)
        if pick < 0.33:
            return Node("bool", "(NOT {})", (self.truth(scope, depth - 1),))
        if pick < 0.37:
            truth = self.pick(["TRUE", "FALSE", "NULL", "NOT TRUE", "NOT FALSE", "NOT NULL"])
            return Node("bool", f"({{}} IS {truth})", (self.truth(scope, depth - 1),), kind="IS TRUE")
        if pick < 0.42:
            return Node(
                "bool", f"({{}} IS {self.pick(['', 'NOT '])}NULL)", (self.value(self.pick(SHOWN), scope, depth),)
            )
        if pick < 0.49:
            return self.listed(scope, depth)
        if pick < 0.53:
            kind = self.pick(["int", "text", "float", "moment", "age"])
            three = tuple(self.value(kind, scope, at) for at in (depth, 0, 0))
            return Node("bool", f"({{}} {self.pick(['', 'NOT '])}BETWEEN {{}} AND {{}})", three, kind="BETWEEN")
        if pick < 0.60:
            return self.like(scope, depth)
        if pick < 0.63:
            kind = self.pick(["int", "text", "bool", "float", "moment"])
            two = (self.value(kind, scope, depth), self.value(kind, scope, depth))
            negated = self.pick(["", "NOT "])
            other = "IS NOT" if not negated else "IS"
            return Node(
                "bool",
                f"({{}} IS {negated}DISTINCT FROM {{}})",
                two,
                sqlite=f"({{}} {other} {{}})",
                kind="IS DISTINCT FROM",
            )
        if pick < 0.80 and self.chance(self.share):
            return self.of_subquery(scope, depth)
        if pick < 0.84:
            two = (self.value("age", scope, depth), self.value("age", scope, 1))
            if self.chance(0.2):
                # No moment of the rows is so near that a second matters.
                two = (Node("age", "(now() - {})", (self.column("moment", scope),), fixed=True), self.literal("age"))
            return Node("bool", f"({{}} {self.pick(COMPARISONS)} {{}})", two, sqlite=None, kind="ages")
        if pick < 0.845:
            return self.rows_of_values(scope)
        if pick < 0.855:
            day = self.pick(MOMENTS)[:10]
            operator = self.pick(COMPARISONS)
            plain = f"(substr({{}}, 1, 10) {operator} '{day}')"
            of = (self.value("moment", scope, depth),)
            return Node("bool", f"(CAST({{}} AS DATE) {operator} DATE '{day}')", of, sqlite=plain, kind="dates")
        if pick < 0.88:
            two = (self.column("int", scope), self.column("float", scope))
            return Node("bool", f"({{}} {self.pick(COMPARISONS)} {{}})", two, kind="ints beside floats")
        kind = self.pick(["int", "int", "text", "text", "float", "moment", "bool"])
        two = (self.value(kind, scope, depth), self.value(kind, scope, depth))
        return Node("bool", f"({{}} {self.pick(COMPARISONS)} {{}})", two, kind="comparison")

    def rows_of_values(self, scope: Scope) -> Node:
        """Several values against as many: DuckDB's are structures, whose nulls are equal."""
        kinds = self.random.sample(["int", "text", "bool", "float"], 2)
        left = tuple(self.column(kind, scope) for kind in kinds)
        if self.chance(0.4):
            right = tuple(self.value(kind, scope, 1) for kind in kinds)
            operator, negated = self.pick([("=", ""), ("<>", "NOT ")])
            theirs = f"({negated}({{0}} = {{2}} AND {{1}} = {{3}}))"
            text = f"(({{}}, {{}}) {operator} ({{}}, {{}}))"
            return Node("bool", text, (*left, *right), duckdb=theirs, kind="(a, b) = (c, d)")
        many, negated = self.random.randrange(1, 4), self.pick(["", "NOT "])
        members = tuple(self.literal(kind) for _ in range(many) for kind in kinds)
        rows = ", ".join("({}, {})" for _ in range(many))
        each = " OR ".join(f"({{0}} = {{{at}}} AND {{1}} = {{{at + 1}}})" for at in range(2, 2 * many + 2, 2))
        return Node(
            "bool",
            f"(({{}}, {{}}) {negated}IN ({rows}))",
            (*left, *members),
            duckdb=f"({negated}({each}))",
            sqlite=f"(({{}}, {{}}) {negated}IN (VALUES {rows}))",
            kind="(a, b) IN",
        )

    def listed(self, scope: Scope, depth: int) -> Node:
        kind = self.pick(["int", "text", "float", "moment", "bool"])
        members = [self.literal(kind) for _ in range(self.random.randrange(1, 5))]
        if self.chance(0.2):
            members.append(Node(kind, "NULL"))
        if self.chance(0.2):
            members.append(self.value(kind, scope, 1))
        negated = self.pick(["", "NOT "])
        of = self.value(kind, scope, depth)
        if kind == "int" and self.chance(0.2):
            name, values = self.name("p"), [self.pick(SMALL) for _ in range(3)]
            inline = ", ".join(str(value) for value in values)
            theirs = f"({{}} {negated}IN ({inline}))"
            return Node(
                "bool", f"({{}} {negated}IN (${name}))", (of,), theirs, theirs, "parameter", values=((name, values),)
            )
        return Node("bool", f"({{}} {negated}IN ({{}}))", (of, Node("list", ", ", tuple(members))), kind="IN list")

    def like(self, scope: Scope, depth: int) -> Node:
        pattern = "".join(
            self.pick(["%", "_", "a", "b", "A", "!", "", "ä", "1"]) for _ in range(self.random.randrange(1, 5))
        )
        negated = self.pick(["", "NOT "])
        of = (self.value("text", scope, depth),)
        pick = self.random.random()
        if pick < 0.25:
            escape = self.pick(["!", "#", "^"])
            pattern = pattern.replace("!", "") + escape + self.pick(["%", "_", escape]) + self.pick(["", "%", "b"])
            return Node(
                "bool", f"({{}} {negated}LIKE {text_literal(pattern)} ESCAPE '{escape}')", of, kind="LIKE ESCAPE"
            )
        if pick < 0.35:
            return Node("bool", f"({{}} {negated}ILIKE {text_literal(pattern)})", of, sqlite=None, kind="ILIKE")
        if pick < 0.42:
            # Ours takes a backslash for the escape, the others for itself.
            ours, theirs = f"({{}} {negated}LIKE replace({{}}, '\\', '\\\\'))", f"({{}} {negated}LIKE {{}})"
            return Node("bool", ours, (*of, self.column("text", scope)), theirs, theirs, kind="LIKE a column")
        return Node("bool", f"({{}} {negated}LIKE {text_literal(pattern)})", of, kind="LIKE")
