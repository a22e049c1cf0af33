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
    # The row of an aggregate of all rows, from a condition that loses its columns on the way down.
    "SELECT lid FROM lines WHERE TRUE NOT IN (SELECT FALSE AS c0 FROM (SELECT c0 FROM (SELECT min(id) AS c0 FROM documents) u UNION"
    " SELECT c0 FROM (SELECT i AS c0 FROM rows) v) s)",
    "SELECT id FROM documents WHERE TRUE IN (SELECT FALSE AS c0 FROM (SELECT min(t) AS c1 FROM documents) s GROUP BY 1)",
    # LIMIT behind a window over all rows.
    "SELECT sum(count(*)) OVER () AS c0, id AS c1 FROM documents GROUP BY 2 ORDER BY 1 NULLS LAST, 2 NULLS LAST LIMIT 5 OFFSET 1",
    # Infinities, and a null for a sum.
    "SELECT iid, min(g * 3.25e0) AS c0, max(g * 3.25e0) AS c1 FROM items GROUP BY iid",
    "SELECT sum(NULL) AS c0, sum(DISTINCT NULL) AS c1, avg(NULL) AS c2 FROM documents",
    # Ids have no sign.
    "SELECT -id AS c0, - -id AS c1, -(id) * 2 AS c2 FROM documents",
    "SELECT row_number FROM (SELECT -row_number() OVER (ORDER BY lid) AS row_number FROM lines) s",
    # A count that is asked for null, of rows outside without a row within.
    "SELECT id, (SELECT count(*) IS NOT NULL FROM items i WHERE i.iid = d.bytes) AS c0,"
    " (SELECT coalesce(count(*), 7) FROM items i WHERE i.iid = d.bytes) AS c1 FROM documents d",
    # Several values at once.
    "SELECT id FROM documents WHERE (q, w) = (q + 0, v)",
    # Names of IN under OR, a constant below a join, two columns that are one.
    "SELECT id FROM documents WHERE (b OR (id IN (SELECT rid AS c0 FROM rows ORDER BY 1 DESC NULLS FIRST LIMIT 4)))",
    "SELECT n, c FROM (SELECT (3.25e0) AS c, d.n FROM rows d LEFT JOIN (SELECT 8 AS e FROM items) s ON d.n < s.e ORDER BY 2 DESC NULLS LAST, 1"
    " LIMIT 400 OFFSET 3) u",
    "SELECT (SELECT l.f FROM documents d WHERE d.id = l.lid ORDER BY d.id LIMIT 1 OFFSET 1) AS c0 FROM lines l",
    # Nulls that the engine counted otherwise in two plans.
    "SELECT (id IN (SELECT i FROM rows)) IS NOT FALSE AS c0, count(*) AS c1 FROM documents GROUP BY 1",
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
    # ROLLUP has a row without rows, too.
    "SELECT DISTINCT NULL AS c FROM (SELECT GROUPING(key) AS c2 FROM documents GROUP BY ROLLUP (key)) s WHERE NOT EXISTS (SELECT 1 FROM documents OFFSET 0)",
    # Moments of one day were one moment.
    "SELECT * FROM (SELECT t AS c0, row_number() OVER (ORDER BY t DESC, id) AS r FROM documents WHERE CAST(t AS DATE) = DATE '2024-03-10') s",
    # Frames that lose rows.
    "SELECT bool_and(b) OVER (ORDER BY rid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS c0,"
    " bool_or(b) OVER (ORDER BY rid ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS c1 FROM rows",
    # LATERAL sides with LIMIT, aggregates, other sides of that kind, beneath EXISTS.
    "SELECT d.id, l.c FROM documents d, LATERAL (SELECT e.id AS c FROM documents e WHERE e.q < d.q ORDER BY e.id DESC LIMIT 2 OFFSET 1) l",
    "SELECT d.id, l.c, l.e FROM documents d LEFT JOIN LATERAL (SELECT count(*) AS c, d.q AS e FROM documents e WHERE e.q < d.q AND e.w = d.w) l ON l.c > 1",
    "SELECT d.id, l.c FROM documents d CROSS JOIN LATERAL (SELECT max(e.n) AS c FROM rows e WHERE e.w <> d.w HAVING count(*) > 3) l",
    "SELECT l.c FROM documents d LEFT JOIN LATERAL (SELECT e.w AS c FROM documents e CROSS JOIN LATERAL (SELECT f.rid FROM rows f WHERE f.n < e.n) k"
    " WHERE e.q = d.q UNION SELECT d.v) l ON TRUE",
    "SELECT v FROM documents d WHERE NOT EXISTS (SELECT 1 FROM lines l CROSS JOIN LATERAL (SELECT w FROM rows WHERE n = l.n) k OFFSET 5)",
    "SELECT iid FROM items i WHERE i.q IN (SELECT k.c FROM lines l CROSS JOIN LATERAL (SELECT max(r.s) AS c FROM rows r WHERE r.s < l.q) k WHERE l.q <> i.q)",
    "SELECT l.c FROM (SELECT DISTINCT ON (b) q AS c0 FROM documents ORDER BY b NULLS FIRST, id) s CROSS JOIN LATERAL"
    " (SELECT lid AS c FROM lines WHERE q = s.c0 ORDER BY lid DESC LIMIT 1) l",
]  # fmt: skip

#: Ours, and as DuckDB spells them.
SPELLED = [
    ("SELECT (q + id) / -3 AS c, (bytes * id) / 7 AS d FROM documents", "SELECT (q + id) // -3 AS c, (bytes * id) // 7 AS d FROM documents"),
    (
        "SELECT d.id FROM documents d LEFT JOIN lines l ON TRUE WHERE l.f NOT IN (SELECT 0.5e0 AS c0 FROM items i WHERE i.iid = d.bytes"
        " HAVING count(DISTINCT i.q) IS NOT NULL)",
        "SELECT d.id FROM documents d LEFT JOIN lines l ON TRUE WHERE l.f NOT IN (SELECT 0.5e0 AS c0 FROM items i WHERE i.iid = d.bytes"
        " HAVING count(DISTINCT i.q) IS NOT NULL)",
    ),
    # DuckDB's are structures, whose nulls are equal.
    (
        "SELECT id FROM documents WHERE (q, w) NOT IN ((1, 'a'), (2, NULL)) AND (q, b) <> (3, NULL)",
        "SELECT id FROM documents WHERE NOT (q = 1 AND w = 'a' OR q = 2 AND w = NULL) AND NOT (q = 3 AND b = NULL)",
    ),
    (
        "SELECT source, first_value(w ORDER BY id DESC) AS c, last_value(q ORDER BY v NULLS FIRST, id) AS d FROM documents GROUP BY source",
        "SELECT source, first(w ORDER BY id DESC) AS c, last(q ORDER BY v NULLS FIRST, id) AS d FROM documents GROUP BY source",
    ),
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
