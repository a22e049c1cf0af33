"""What Spark decides is what a corpus decides that ingests the same documents, row for row."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import corpora
import pytest
from families import KEEPS, family, ingested, told

import corpusdb

FIELDS = "number long, key string, source string, text string, year long"


def frame(session: Any, documents: list[dict[str, Any]], partitions: int, seed: int = 0) -> Any:
    """The documents in a random order, in so many partitions."""
    mixed = random.Random(seed).sample(documents, len(documents))
    rows = [tuple(d[name] for name in ("number", "key", "source", "text", "year")) for d in mixed]
    return session.createDataFrame(rows, FIELDS).repartition(partitions)


def decided(df: Any, policy: dict[str, Any], checkpoint: Path, **more: Any) -> list[tuple[Any, ...]]:
    """Key, standing, witness, similarity and cluster of each document, in order."""
    from corpusdb import spark

    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=str(checkpoint), **more)
    assert done.stages[-1].name == "result"
    return told(done.rows)


def template(count: int, ends: int = 1) -> list[dict[str, Any]]:
    """Documents that are one text but for their ends: their buckets are crowded."""
    draw = random.Random(count)
    stem = corpora.prose(5, 60)
    texts = [f"{corpora.prose(n % 7, 3)} {stem} " + " ".join(f"e{draw.randrange(40)}" for _ in range(draw.randrange(ends * 3)))
             for n in range(count)]
    return [{"number": n, "key": f"t{n}", "source": "web" if n < count // 2 else "books", "text": text, "year": None}
            for n, text in enumerate(texts)]


def chain(count: int) -> list[dict[str, Any]]:
    """Documents of which each is similar to the next, and to none that is further away."""
    words = corpora.prose(9, 40 + 4 * count).split()
    words = [f"{word}{n}" for n, word in enumerate(words)]
    return [{"number": n, "key": f"c{n}", "source": "web" if n < count // 2 else "books",
             "text": " ".join(words[4 * n:4 * n + 40]), "year": None} for n in range(count)]


@pytest.mark.parametrize("mode", ["witness", "components", "lsh", "exact", "none"])
def test_modes_and_keep_orders_are_those_of_a_corpus(session: Any, mode: str, tmp_path: Path) -> None:
    for at, keep in enumerate(KEEPS):
        policy = {"mode": mode, "threshold": 0.5, "keep": keep, "scope": ("global", "per-source")[at % 2]}
        documents = family(len(mode) * 10 + at, 120)
        expected = ingested(tmp_path / f"corpus-{at}", documents, policy)
        assert decided(frame(session, documents, 1 + at, at), policy, tmp_path / f"job-{at}") == expected, policy


@pytest.mark.parametrize("mode", ["witness", "components"])
@pytest.mark.parametrize(("ends", "threshold"), [(1, 0.8), (6, 0.85)])
def test_crowded_buckets_are_looked_at_in_rounds(session: Any, mode: str, ends: int, threshold: float, tmp_path: Path) -> None:
    from corpusdb import spark

    policy = {"mode": mode, "threshold": threshold}
    documents = template(300, ends)
    expected = ingested(tmp_path / "corpus", documents, policy)
    df = frame(session, documents, 3)
    assert decided(df, policy, tmp_path / "job") == expected
    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"))
    assert done.largest_buckets[0] > 64
    assert all(stage.resumed for stage in done.stages)
    pairs = sum(stage.rows for stage in done.stages if stage.name.startswith("pairs-"))
    # Half of the pairs that there are would be more than what the rounds look at.
    assert pairs < 300 * 299 // 4


def below(count: int) -> list[dict[str, Any]]:
    """Documents that are all similar to the last one, and to each other just not so that sketches could tell."""
    draw, words = random.Random(count), [f"word{n}" for n in range(400)]

    def other(number: int) -> str:
        places = set(draw.sample(range(400), 9))
        return " ".join(f"own{number}x{at}" if at in places else word for at, word in enumerate(words))

    texts = [*(other(number) for number in range(count - 1)), " ".join(words)]
    return [{"number": n, "key": f"b{n}", "source": "web" if n < count // 2 else "books", "text": text, "year": n % 7}
            for n, text in enumerate(texts)]


@pytest.mark.parametrize(("mode", "keep"), [("witness", "first"), ("witness", "field:year"), ("components", "first")])
def test_texts_are_joined_where_sketches_do_not_tell_them_apart(session: Any, mode: str, keep: str, tmp_path: Path) -> None:
    from corpusdb import spark

    policy = {"mode": mode, "keep": keep, "threshold": 0.73}
    documents = below(300)
    expected = ingested(tmp_path / "corpus", documents, policy)
    df = frame(session, documents, 3)
    assert decided(df, policy, tmp_path / "job") == expected
    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"))
    rows = {stage.name: stage.rows for stage in done.stages}
    assert "crowd-texts-1" in rows and "crowd-1" not in rows, rows
    # Of 44,850 pairs few are compared one by one.
    assert rows["pairs-0"] < 6000


@pytest.mark.parametrize("mode", ["witness", "components"])
def test_what_one_task_cannot_hold_goes_through_rounds(session: Any, mode: str, tmp_path: Path) -> None:
    policy = {"mode": mode, "threshold": 0.6}
    documents = chain(24)
    expected = ingested(tmp_path / "corpus", documents, policy)
    assert {row[1] for row in expected} == {"kept", "near"}
    assert decided(frame(session, documents, 2), policy, tmp_path / "job", task_rows=10) == expected


def test_rounds_are_as_many_as_full_tasks_not_as_links_of_a_chain(session: Any, tmp_path: Path) -> None:
    from corpusdb import spark

    policy, documents = {"threshold": 0.6}, chain(120)
    expected = ingested(tmp_path / "corpus", documents, policy)
    df = frame(session, documents, 2)
    assert decided(df, policy, tmp_path / "job", task_rows=40) == expected
    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"), task_rows=40)
    rounds = [stage for stage in done.stages if stage.name.startswith("0-round-")]
    # 237 edges in tasks of 40, and the first rounds; by links alone it would be 40 rounds.
    assert 4 <= len(rounds) <= 9


def test_a_job_goes_on_behind_its_last_whole_stage(session: Any, tmp_path: Path) -> None:
    import shutil

    from corpusdb import spark

    documents, policy = family(7, 60), {"threshold": 0.5}
    df = frame(session, documents, 2)
    first = decided(df, policy, tmp_path / "job")
    # As a task that died leaves a stage: rows of it, and nothing that says that it is whole.
    for name in ("edges-0", "0-components", "0-outcomes", "0-large", "result"):
        shutil.rmtree(tmp_path / "job" / f"{name}.done")
    done = spark.dedup(df, policy, order="number", key="key", source="source", checkpoint=str(tmp_path / "job"))
    assert [stage.name for stage in done.stages if not stage.resumed] == ["edges-0", "0-components", "0-large", "0-outcomes", "result"]
    assert decided(df, policy, tmp_path / "job") == first
    with pytest.raises(corpusdb.WrongState, match="stages of a job with other settings"):
        decided(df, {"threshold": 0.6}, tmp_path / "job")


def test_documents_that_cannot_be_told_apart_are_refused(session: Any, tmp_path: Path) -> None:
    documents = family(3, 12)
    documents[5]["number"] = 4
    with pytest.raises(corpusdb.BadInput, match="2 documents have the order 4"):
        decided(frame(session, documents, 2), {}, tmp_path / "orders")
    documents[5].update(number=5, key="k1")
    with pytest.raises(corpusdb.BadInput, match="2 documents have the key 'k1'"):
        decided(frame(session, documents, 2), {}, tmp_path / "keys")
    df = frame(session, documents, 1).drop("source")
    with pytest.raises(corpusdb.BadPolicy, match="name the column"):
        from corpusdb import spark

        spark.dedup(df, {"scope": "per-source"}, order="number", checkpoint=str(tmp_path / "scope"))


def test_no_documents_come_to_no_rows(session: Any, tmp_path: Path) -> None:
    df = session.createDataFrame([], FIELDS)
    assert decided(df, {}, tmp_path / "job") == []
