"""Statements that were once answered wrongly, without an error: each is kept as it was found."""

from __future__ import annotations

from judges.tree import Node

ALIKE = [
    # What wraps, and unsigned ids.
    "SELECT n + n, n - 1, - n FROM documents WHERE abs(n) < 4611686018427387904",
    "SELECT n * n AS c FROM documents",
    "SELECT i + i AS c FROM rows",
    "SELECT - n AS c FROM documents",
    "SELECT sum(n) AS c FROM documents",
    "SELECT w FROM rows GROUP BY w HAVING sum(n) <= 2",
    "SELECT sum(n) OVER (ORDER BY lid ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS c FROM lines",
    "SELECT d.id - e.id AS c FROM documents d JOIN documents e ON TRUE",
    # NOT IN and IN as values, with constants, correlated.
    "SELECT id FROM documents WHERE (id NOT IN (SELECT q FROM lines)) IS NOT NULL",
    "SELECT id FROM documents WHERE (kept OR bytes NOT IN (SELECT max(rid) FROM rows WHERE FALSE)) AND b",
    "SELECT id FROM documents d WHERE coalesce((d.b IN (SELECT b FROM rows GROUP BY 1)), d.kept)",
    "SELECT rid FROM rows WHERE (n NOT IN (SELECT lid FROM lines)) OR n < f",
    "SELECT id FROM documents WHERE CASE WHEN (f NOT IN (SELECT g FROM documents)) THEN TRUE END",
    "SELECT f FROM rows WHERE TIMESTAMP '2038-01-19 03:14:08' NOT IN (SELECT t FROM rows)",
    "SELECT id FROM documents WHERE 65536 NOT IN (SELECT CAST(b AS BIGINT) FROM documents)",
    "SELECT rid FROM rows d WHERE d.i NOT IN (SELECT q FROM documents WHERE g >= d.f GROUP BY 1)",
    "SELECT lid FROM lines d WHERE d.w NOT IN (SELECT e.w FROM rows e WHERE e.f < d.f)",
    "SELECT id FROM documents d WHERE 1 NOT IN (SELECT 1 FROM documents WHERE b = d.b)",
    # EXISTS over counts and with OFFSET.
    "SELECT id FROM documents r WHERE EXISTS (SELECT sum(1) FROM documents e WHERE e.b = r.b)",
    "SELECT id FROM documents d WHERE NOT EXISTS (SELECT count(*) FROM documents e WHERE e.f = d.g HAVING count(*) < 2)",
    "SELECT id FROM documents WHERE (SELECT FALSE FROM documents HAVING count(*) < 0) IS NULL",
    # Scalar sub-queries without a row.
    "SELECT count(*) AS c FROM documents WHERE (SELECT id FROM documents e WHERE id > 100) IS NULL",
    "SELECT CASE WHEN (SELECT id FROM documents e WHERE id > 100) IS NULL THEN 1 ELSE 2 END AS c FROM documents",
    "SELECT count(*) AS c FROM documents WHERE coalesce((SELECT kept FROM documents e WHERE id > 100), TRUE)",
    "SELECT d.id, (SELECT 7 FROM documents e WHERE FALSE) AS c FROM documents d GROUP BY 1, 2",
    "SELECT coalesce((SELECT 7 FROM documents e WHERE id > 100), 2) AS c FROM documents d",
    "SELECT (SELECT 1 FROM lines e WHERE e.w = d.w GROUP BY e.w HAVING count(*) = 0) AS c FROM lines d",
    # A filter that names no column, above an aggregate of all rows.
    "SELECT count(*) AS c FROM documents HAVING (SELECT FALSE FROM documents LIMIT 1)",
    "SELECT 1 AS c FROM (SELECT count(*) AS c FROM documents) r WHERE (SELECT FALSE FROM documents LIMIT 1)",
    # Zeros with a sign.
    "SELECT nullif(-0.25e0 * f, f) AS c FROM rows",
    "SELECT lid FROM lines WHERE ceil(f) NOT IN (-1e308, 0.0e0)",
    "SELECT CASE - CAST(q AS DOUBLE) WHEN 0.0e0 THEN 1 ELSE 2 END AS c FROM documents",
    # Two tables with a column of the same name in a sub-query.
    "SELECT lid FROM lines l WHERE EXISTS (SELECT 1 FROM documents d RIGHT JOIN documents e ON TRUE WHERE e.bytes = l.lid AND e.b)",
    "SELECT lid FROM lines l WHERE EXISTS (SELECT 1 FROM documents d RIGHT JOIN documents e ON d.q = e.n WHERE e.bytes = l.lid)",
    "SELECT id FROM documents x WHERE x.q IN (SELECT d.q FROM documents d JOIN documents e ON d.n = e.n WHERE e.q = x.bytes - 20)",
    # An equality over three tables, lost between joins.
    "SELECT i.iid, l.lid FROM items i CROSS JOIN lines l LEFT JOIN (SELECT 1 AS v, rid FROM rows) r ON r.rid = i.iid"
    " WHERE (l.lid + i.q) = r.v",
    "SELECT i.iid, l.lid FROM items i CROSS JOIN lines l WHERE (l.lid + i.q) = (SELECT max(1) AS c FROM documents d WHERE i.b)",
    # Sub-queries that were refused.
    "SELECT id, (NOT EXISTS (SELECT 1 FROM rows e WHERE d.kept)) AS c FROM documents d",
    "SELECT id, (SELECT count(*) FROM documents e WHERE e.q < d.q) AS c FROM documents d",
    "SELECT id FROM documents d WHERE d.q IN (SELECT row_number() OVER (ORDER BY e.id) FROM documents e WHERE e.w = d.w)",
    "SELECT id FROM documents d WHERE d.q IN (SELECT e.q FROM documents e WHERE e.w < d.w ORDER BY e.id LIMIT 2)",
    "SELECT id FROM documents d WHERE d.q NOT IN (SELECT e.q FROM documents e LEFT JOIN (SELECT * FROM documents f WHERE f.w = d.w) g"
    " ON e.id = g.id WHERE g.id IS NULL AND e.q <> d.q)",
    "SELECT id FROM documents d WHERE EXISTS (SELECT 1 FROM documents e WHERE e.q = d.q - 1 UNION ALL SELECT 2 FROM lines l WHERE l.q > d.n)",
    "SELECT w, count(*) AS c FROM documents d GROUP BY w HAVING count(*) > (SELECT count(*) FROM rows r WHERE r.w < d.w) - 20",
    "SELECT id FROM documents d WHERE EXISTS (SELECT 1 FROM lines l WHERE d.kept NOT IN (SELECT b FROM documents))",
    "SELECT id FROM documents d WHERE (d.q NOT IN (SELECT s FROM rows)) IN (SELECT b FROM items i WHERE i.q < d.q)",
    "SELECT iid FROM items i WHERE i.v NOT IN (SELECT 'a%b' AS c0 FROM (VALUES (255, ''), (0, 'NULL')) x(c0, c1) WHERE x.c0 < i.iid)",
    "SELECT rid FROM rows r WHERE r.n IN (SELECT d.n FROM documents d WHERE EXISTS (SELECT 1 FROM lines l WHERE l.q < r.s AND l.w <> d.w))",
    # Whole numbers with and without a sign.
    "SELECT id & -2 AS c, id % -7 AS e FROM documents",
    # Sorts by a column that is constant below an outer join, behind the rank over groups, behind two orders in a join.
    "SELECT s.c, d.id FROM documents d LEFT JOIN (SELECT id, 1 AS c FROM documents WHERE id BETWEEN 5 AND 8 ORDER BY id LIMIT 3) s"
    " ON d.id = s.id ORDER BY s.c ASC NULLS LAST, d.id LIMIT 3",
    "SELECT rank() OVER (ORDER BY c DESC) AS c0, q FROM (SELECT q, count(*) % 2 AS c FROM documents GROUP BY q) s"
    " ORDER BY 1, 2 DESC NULLS LAST LIMIT 3",
    "SELECT v, c FROM (SELECT d.id AS v, s.c, row_number() OVER (ORDER BY s.c NULLS LAST, d.id) AS r FROM documents d"
    " LEFT JOIN (SELECT id, 1 AS c FROM documents ORDER BY id DESC LIMIT 30) s ON s.id = d.id) u WHERE r <= 3",
    "SELECT a.q, a.id, b.id AS c FROM (SELECT q, id FROM documents WHERE q IS NOT NULL ORDER BY q, id LIMIT 30) a"
    " JOIN (SELECT q, id FROM documents ORDER BY q DESC NULLS LAST, id DESC LIMIT 50) b ON a.q = b.q ORDER BY a.q, b.id, a.id LIMIT 9",
    # Keys of groups behind a join.
    "SELECT d.source AS c FROM documents d WHERE EXISTS (SELECT e.w FROM documents e WHERE e.t <> d.t GROUP BY e.w HAVING count(*) > 1)",
    "SELECT DISTINCT q FROM (SELECT e.w, d.q, count(*) AS c FROM documents e CROSS JOIN (SELECT DISTINCT q FROM documents) d GROUP BY e.w, d.q) x",
    "SELECT w, q, count(*) AS c FROM (SELECT e.w, d.q, count(*) AS n FROM documents e CROSS JOIN (SELECT DISTINCT q FROM documents) d"
    " GROUP BY e.w, d.q) x GROUP BY w, q",
    "SELECT d.q, d.n, count(*) AS c FROM documents e LEFT JOIN (SELECT q, count(*) AS n FROM documents GROUP BY q) d ON e.q = d.q GROUP BY d.q, d.n",
]  # fmt: skip

#: SQLite has not what they name, or spells it otherwise.
OF_DUCKDB = [
    "SELECT b FROM rows EXCEPT ALL SELECT 'ä' < w FROM rows",
    "SELECT w FROM lines INTERSECT ALL SELECT v FROM documents WHERE b",
    "SELECT count(*) AS c FROM documents d JOIN documents e ON (d.w IS NOT DISTINCT FROM e.v) JOIN documents c ON e.id = c.id",
    "SELECT count(*) AS c FROM (SELECT CAST(b AS VARCHAR) AS c0 FROM rows) s LEFT JOIN rows e ON (s.c0 = e.w)"
    " JOIN lines f ON (e.w IS NOT DISTINCT FROM f.w) WHERE e.b",
    "SELECT rid FROM rows WHERE 1 > TRY_CAST(n AS SMALLINT)",
    "SELECT rid FROM rows d WHERE d.i >= ANY (SELECT count(DISTINCT t) FROM rows WHERE w = d.w)",
    "SELECT rid FROM rows d WHERE NOT (d.w <> ANY (SELECT min('a') FROM rows e WHERE e.b = d.b))",
    "SELECT id FROM documents d WHERE -0.25e0 = ALL (SELECT min(1e308) FROM rows e WHERE e.f = d.g)",
    "SELECT id FROM documents WHERE q = ANY (SELECT q FROM documents WHERE q < 3)",
    "SELECT id FROM documents WHERE INTERVAL '220 days' > (TIMESTAMP '2038-01-19 03:14:08' - t)",
    "SELECT id FROM documents WHERE INTERVAL '265 hours' > INTERVAL '8 days'",
    "SELECT rid FROM rows WHERE (t - TIMESTAMP '2024-02-29 23:59:59') NOT BETWEEN INTERVAL '264 minutes' AND INTERVAL '318 days'",
    "SELECT id FROM documents d WHERE EXISTS (SELECT 1 FROM documents e WHERE e.q = d.q OFFSET 2)",
    # A sort below OFFSET without LIMIT, by a column that is not shown.
    "SELECT sum(id) AS c FROM (SELECT id FROM documents ORDER BY q NULLS FIRST, id OFFSET 30) s",
]  # fmt: skip

#: Ours, and as DuckDB spells them.
SPELLED = [
    ("SELECT id / 7 AS c FROM documents", "SELECT id // 7 AS c FROM documents"),
    ("SELECT id / -3 AS c FROM documents", "SELECT id // -3 AS c FROM documents"),
    ("SELECT nullif(bytes, id) / 3 AS c FROM documents", "SELECT nullif(bytes, id) // 3 AS c FROM documents"),
    (
        "SELECT CASE WHEN b THEN id ELSE bytes END / 3 AS c FROM documents",
        "SELECT CASE WHEN b THEN id ELSE bytes END // 3 AS c FROM documents",
    ),
    (
        "SELECT id FROM documents d WHERE d.q IN (SELECT * FROM (SELECT DISTINCT ON (e.w) e.q FROM documents e WHERE e.n > d.q"
        " ORDER BY e.w NULLS FIRST, e.id) u)",
        "SELECT id FROM documents d WHERE d.q IN (SELECT * FROM (SELECT DISTINCT ON (e.w) e.q FROM documents e WHERE e.n > d.q"
        " ORDER BY e.w NULLS FIRST, e.id) u)",
    ),
    (
        "SELECT lead(g, 2) IGNORE NULLS OVER (ORDER BY t DESC NULLS FIRST, id) AS c FROM documents",
        "SELECT lead(g, 2 IGNORE NULLS) OVER (ORDER BY t DESC NULLS FIRST, id) AS c FROM documents",
    ),
    (
        "SELECT lag(v, 2, 'ä') IGNORE NULLS OVER (ORDER BY q NULLS FIRST, id) AS c FROM documents",
        "SELECT lag(v, 2, 'ä' IGNORE NULLS) OVER (ORDER BY q NULLS FIRST, id) AS c FROM documents",
    ),
]


def statements() -> list[Node]:
    ours = [(text, text, text) for text in ALIKE] + [(text, text, None) for text in OF_DUCKDB]
    return [
        Node("query", read(text), (), duckdb, sqlite)
        for text, duckdb, sqlite in [*ours, *((a, b, None) for a, b in SPELLED)]
    ]


def read(text: str) -> str:
    """Files in the place of their tables."""
    for table in ("rows", "lines", "items"):
        text = text.replace(f"FROM {table}", f"FROM @{table}").replace(f"JOIN {table}", f"JOIN @{table}")
    return text
