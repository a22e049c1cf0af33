"""Making, opening, closing and showing corpora."""

from __future__ import annotations

import gc
import inspect
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
import textwrap
from pathlib import Path
from typing import Any

import corpora
import pytest

import corpusdb
from corpusdb._dedup import Dedup


def test_a_corpus_is_made_with_its_policy_and_fields(tmp_path: Path) -> None:
    with corpusdb.create(
        tmp_path / "c", profile="code", threshold=0.6, keep="longest", scope="per-source",
        fields={"quality": float, "year": int, "domain": "keyword", "site": str},
    ) as db:
        info = db.info()
        assert info.policy_settings.profile == "code"
        assert info.policy_settings.threshold == 0.6
        assert [(field.name, field.kind) for field in info.fields] == [
            ("quality", "float"), ("year", "int"), ("domain", "keyword"), ("site", "keyword"),
        ]
        assert len(db) == 0


def test_settings_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    for settings, kind, words in [
        ({"profile": "wbe"}, corpusdb.BadInput, "`profile`: \"wbe\" is not one of web, code"),
        ({"mode": "near"}, corpusdb.BadInput, "`mode`: \"near\" is not one of witness"),
        ({"threshold": 80.0}, corpusdb.BadPolicy, "for 80 percent write 0.8"),
        ({"bands": 3}, corpusdb.BadInput, "`rows` is needed"),
        ({"bands": 300, "rows": 4}, corpusdb.BadPolicy, "300 bands of 4 rows"),
        ({"keep": "newest"}, corpusdb.BadInput, "`newest` is not a keep order"),
        ({"keep": "source-priority:a,a"}, corpusdb.BadInput, "named twice"),
        ({"hashes": 128}, corpusdb.BadPolicy, "the sketch of profile web always has 256 hashes"),
    ]:
        with pytest.raises(kind, match=words):
            corpusdb.create(tmp_path / "c", **settings)  # type: ignore[arg-type]
        assert not (tmp_path / "c").exists()
    for options in [{"memory": "bogus"}, {"memory": -1}, {"threads": -1}, {"threads": 0}, {"threads": 1 << 16}]:
        with pytest.raises(corpusdb.BadInput, match=f"`{next(iter(options))}=`"):
            corpusdb.create(tmp_path / "c", **options)  # type: ignore[arg-type]
        assert not (tmp_path / "c").exists()
    with pytest.raises(corpusdb.BadInput, match="`fields`.*text"):
        corpusdb.create(tmp_path / "c", fields={"title": "text"})  # type: ignore[dict-item]


def test_a_profile_with_other_hashes_gets_bands_for_them(tmp_path: Path) -> None:
    with corpusdb.create(tmp_path / "c", profile="bigcode", hashes=128, normaliser="web", shingle=7) as db:
        policy = db.info().policy_settings
        assert (policy.hashes, policy.normaliser, policy.shingle) == (128, "web@2", 7)


def test_the_words_of_earlier_releases_are_asked_for_by_their_version(tmp_path: Path) -> None:
    for number, (settings, normaliser) in enumerate([
        ({}, "web@2"), ({"profile": "web@1"}, "web"), ({"profile": "chat"}, "web@2"), ({"profile": "chat@1"}, "web"),
        ({"normaliser": "web@1"}, "web"),
    ]):
        with corpusdb.create(tmp_path / str(number), **settings) as db:  # type: ignore[arg-type]
            assert db.info().policy_settings.normaliser == normaliser
    with corpusdb.open(tmp_path / "1", mode="w") as writer:
        report = writer.dedup.redo(normaliser="web")
        assert "normaliser web@1" in report.before
        assert "normaliser web@2" in report.policy
    with corpusdb.open(tmp_path / "1") as db:
        assert db.info().policy_settings.normaliser == "web@2"


def test_where_something_is_no_corpus_is_made(crawl_path: Path) -> None:
    with pytest.raises(corpusdb.AlreadyExists) as refused:
        corpusdb.create(crawl_path)
    assert isinstance(refused.value, FileExistsError)


def test_what_is_no_corpus_is_not_found(tmp_path: Path) -> None:
    for mode in ("r", "w"):
        with pytest.raises(corpusdb.NotFound, match="make one") as missing:
            corpusdb.open(tmp_path / "nothing", mode=mode)  # type: ignore[call-overload]
        assert isinstance(missing.value, LookupError)
    with pytest.raises(ValueError, match='mode must be "r"'):
        corpusdb.open(tmp_path, mode="a")  # type: ignore[call-overload]


def test_a_second_writer_learns_who_holds_the_lock(empty: Path) -> None:
    with corpusdb.open(empty, mode="w"):
        with pytest.raises(corpusdb.Locked) as locked:
            corpusdb.open(empty, mode="w")
        assert str(os.getpid()) in locked.value.holder
        assert "this very process" in str(locked.value) and "close that first" in str(locked.value)
        with corpusdb.open(empty) as reader:
            assert reader.count() == 0
    corpusdb.open(empty, mode="w").close()


def test_a_reader_shows_its_moment_and_a_writer_what_it_has_committed(empty: Path) -> None:
    with corpusdb.open(empty, mode="w") as w, corpusdb.open(empty) as before:
        w.ingest(corpora.pages(3), source="web")
        assert (w.count("kept"), before.count("kept")) == (3, 0)
        with corpusdb.open(empty) as after:
            assert after.count("kept") == 3


def test_a_closed_corpus_says_so(crawl_path: Path) -> None:
    db = corpusdb.open(crawl_path)
    assert not db.is_closed
    db.close()
    db.close()
    assert db.is_closed
    assert "closed" in repr(db) and "closed" in db._repr_html_()
    with pytest.raises(corpusdb.Closed, match="open it again"):
        db.count()


def test_a_reader_does_not_write(db: corpusdb.Corpus) -> None:
    with pytest.raises(corpusdb.ReadOnly, match='mode="w"'):
        corpusdb.Writer.ingest(db, [], source="web")  # type: ignore[arg-type]


def test_another_process_that_writes_is_named(empty: Path) -> None:
    script = "import corpusdb, sys; w = corpusdb.open(sys.argv[1], mode='w'); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(empty)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        with pytest.raises(corpusdb.Locked, match=f"by process {other.pid}; wait for it to end") as locked:
            corpusdb.open(empty, mode="w")
        assert locked.value.holder == f"process {other.pid}"
        other.communicate()
    corpusdb.open(empty, mode="w").close()


def held_by(w: corpusdb.Writer) -> Iterator[tuple[str, Any]]:
    """What a notebook may hold of a corpus, read in part or not at all."""
    statement = "SELECT a.id, b.text FROM documents a CROSS JOIN documents b"
    yield "an unread table", w.sql(statement)
    shown = w.sql(statement)
    yield "a table that was shown", (shown, repr(shown), shown._repr_html_())
    begun = iter(w.sql(statement))
    yield "rows in the middle", (begun, next(begun))
    reader = w.sql(statement).to_reader()
    yield "a stream in the middle", (reader, reader.read_next_batch())
    yield "a stream that nobody took", w.sql(statement).__arrow_c_stream__()
    yield "duplicates", w.duplicates()
    pairs = w.duplicates()
    yield "duplicates in the middle", (pairs, next(pairs))
    yield "changes", w.snapshots.changes("first")
    yield "documents", (w.documents(), next(iter(w)), w.sample(2), w.document(0))
    yield "handles", (w.fields, w.tokenizers, w.dedup, w.duplicates_matrix())
    yield "an exception", pytest.raises(corpusdb.BadQuery, w.sql, "SELECT 1 / 0 FROM nothing")


def test_a_corpus_that_was_closed_is_free_whatever_is_held(empty: Path) -> None:
    with corpusdb.open(empty, mode="w") as w:
        w.ingest([*corpora.pages(30), {"url": "copy", "text": corpora.nearly(0)}], source="web", id_field="url")
        w.snapshots.create("first")
        w.remove(3)
        count = sum(1 for _ in held_by(w))
    for at in range(count):
        w = corpusdb.open(empty, mode="w")
        what, held = next(itertools.islice(held_by(w), at, None))
        w.close()
        with corpusdb.open(empty, mode="w") as again:
            assert again.count("kept") == 29, what
        del held


def test_a_corpus_that_nobody_holds_is_free(empty: Path) -> None:
    def ask() -> Any:
        w = corpusdb.open(empty, mode="w")
        w.ingest(corpora.pages(3), source="web", id_field="url")
        return w.sql("SELECT id FROM documents"), w.sql("SELECT id FROM documents").to_reader()

    table, reader = ask()
    gc.collect()
    corpusdb.open(empty, mode="w").close()
    assert table.fetchall() == [(0,), (1,), (2,)]
    with pytest.raises(Exception, match="closed before these rows were read"):
        reader.read_all()


def test_closing_waits_for_threads_that_read(empty: Path) -> None:
    w = corpusdb.open(empty, mode="w")
    w.ingest(corpora.pages(40), source="web", id_field="url")
    statement = "SELECT sum(length(a.text || b.text || c.text)) FROM documents a, documents b, documents c"
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(w.count, "id IN (SELECT a.id FROM documents a, documents b, documents c WHERE a.id < b.id)")
        reading = w.sql(statement)
        w.close()
        corpusdb.open(empty, mode="w").close()
        assert asked.exception() is None or isinstance(asked.exception(), corpusdb.Closed)
        assert len(reading.columns) == 1


def test_a_corpus_is_shown_with_what_to_ask_next(db: corpusdb.Corpus, tmp_path: Path) -> None:
    shown = repr(db).splitlines()
    assert "44 documents, 40 kept" in shown[0] and len(shown) < 10
    assert "web (40 kept), mirror (0 kept)" in repr(db) and "quality float" in repr(db)
    assert shown[-1].startswith("  next: .info()")
    for thing, words in [
        (db.fields, "site                  keyword, 40 documents have a value"), (db.tokenizers, "own"),
        (db.tokenizer("own"), "next: .encode(text)"), (db.snapshots, "commit"), (db.signals, "absent"),
        (db.contamination, "no suite"), (db.duplicates(), "for pair in duplicates"), (db.info(), "to_dict() gives"),
        (db.stats(), "help(corpusdb.reports.Stats)"), (db.sql("SELECT id FROM documents"), "the first 20 rows"),
    ]:
        text = repr(thing)
        assert words in text and len(text.splitlines()) <= 45, text
    with corpusdb.create(tmp_path / "c") as new:
        assert 'open it with mode="w"' in repr(new)
    assert "closed" in repr(new.fields) and "closed" in repr(new.tokenizers)


def test_names_of_users_are_never_attributes(w: corpusdb.Writer) -> None:
    w.ingest(corpora.pages(5), source="web", id_field="url")
    for name in ("type", "to_dict", "__class__", "own"):
        w.tokenizers.train(name, vocab_size=300)
    info = w.info()
    tokens = info.sources[0].tokens
    assert list(tokens) == ["type", "to_dict", "__class__", "own"] and all(count > 0 for count in tokens.values())
    assert info.to_dict()["sources"][0]["tokens"] == tokens and "to_dict" in repr(info.sources[0])
    assert w.document(0).tokens == w.document(0).to_dict()["tokens"]
    assert [tokenizer.name for tokenizer in info.tokenizers] == list(tokens)


def test_what_is_shown_cannot_act_on_a_terminal(w: corpusdb.Writer) -> None:
    w.ingest([{"url": "a\x1b[2Jb\u202e", "text": "words \x1b]0;title\x07 of \x9b31m a page"}], source="web",
             id_field="url")
    table = w.sql("SELECT key, text, source FROM documents")
    for shown in (repr(w), repr(table), repr(w.document(0)), repr(w.sample(1)), repr(w.info()), repr(w.stats())):
        assert not set("\x1b\x07\x9b\u202e") & set(shown), shown


def test_a_corpus_is_gone_through_counted_and_looked_up(db: corpusdb.Corpus) -> None:
    documents = list(db)
    assert len(documents) == len(db) == db.count("kept") == 40
    assert all(document.is_kept for document in documents)
    assert [document.id for document in documents] == sorted(document.id for document in documents)
    assert "https://a.example/3" in db and "copy-0" in db and 43 in db
    assert "nothing" not in db and 44 not in db and None not in db
    for asked in (db.document, db.document_duplicates, db.tokens):
        with pytest.raises(TypeError, match="expected an id.*not a key: corpus\\['copy-0'\\] finds"):
            asked("copy-0")  # type: ignore[operator]
    with pytest.raises(corpusdb.NotFound, match="-1 is out of range: ids start at 0"):
        db.document(-1)


def test_a_corpus_is_shown_with_its_counts(db: corpusdb.Corpus) -> None:
    assert "44 documents, 40 kept" in repr(db)
    page = db._repr_html_()
    assert re.search(r">mirror</th><td[^>]*>4</td><td[^>]*>0</td>", page) and "kept tokens own" in page
    assert re.search(r">total</th><td[^>]*>44</td><td[^>]*>40</td>", page)


def test_what_a_notebook_shows_of_texts_does_nothing_there(db: corpusdb.Corpus) -> None:
    page = db.sql("SELECT '<b>' || chr(8238) || chr(27) AS words, 1.0 / 3 AS number")._repr_html_()
    assert "&lt;b&gt;\ufffd\ufffd<" in page and ">0.333333<" in page and " style=" not in page
    assert "no rows" in db.sql("SELECT 1 AS one WHERE 1 = 0")._repr_html_()
    info = db.info()._repr_html_()
    assert "<summary>sources " in info and "Report(" not in info.split("<summary>")[1]


def test_sizes_are_written_as_people_do(crawl_path: Path) -> None:
    for memory in (64_000_000, "64MB", "64 MiB", "1g"):
        corpusdb.open(crawl_path, memory=memory, threads=1).close()
    with pytest.raises(ValueError, match="`memory=`: `much` is not a size"):
        corpusdb.open(crawl_path, memory="much")


def test_a_policy_is_explained_before_it_is_chosen() -> None:
    told = corpusdb.explain_dedup(profile="fineweb")
    assert told.policy_settings.bands == 14
    assert [line.jaccard for line in told.detection] == sorted(line.jaccard for line in told.detection)


def test_keywords_that_calls_share_are_in_the_signature_of_each(tmp_path: Path) -> None:
    def keywords(call: Any) -> list[str]:
        kinds = inspect.signature(call).parameters.values()
        assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in kinds), call
        return [one.name for one in kinds if one.kind is inspect.Parameter.KEYWORD_ONLY]

    explained = keywords(corpusdb.explain_dedup)
    whole, swept = explained[:11], explained[11:]
    assert whole[:7] == ["profile", "mode", "threshold", "bands", "rows", "keep", "scope"]
    assert swept == [
        "sweep", "html", "thresholds", "shingles", "where", "source", "snapshot", "documents", "bytes_each",
    ]
    assert keywords(corpusdb.create) == [*whole, "fields", "memory", "threads"]
    assert keywords(corpusdb.Corpus.explain_dedup) == [*explained, "progress"]
    assert keywords(Dedup.redo) == [*whole[1:9], "dry_run", "progress"]
    for name in whole[1:9]:
        assert f"* `{name}`: " in (Dedup.redo.__doc__ or ""), name
    assert keywords(corpusdb.Plan.loader) == keywords(corpusdb.Loader) and "world" in keywords(corpusdb.Loader)
    with pytest.raises(TypeError, match=r"create\(\): no option `treshold`; did you mean `threshold`\?"):
        corpusdb.create(tmp_path / "c", treshold=0.7)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"redo\(\): no option `profile`$"):
        Dedup.redo(None, profile="web")  # type: ignore[arg-type, call-arg]
    assert not (tmp_path / "c").exists()


def test_more_tables_than_the_soft_limit_of_open_files_are_opened(tmp_path: Path) -> None:
    """The command raised the limit, the package did not: it could not open what the command opens."""
    fields = {f"field{number}": int for number in range(8)}
    corpusdb.create(tmp_path / "c", fields=fields).close()
    with corpusdb.open(tmp_path / "c", mode="w") as w:
        for part in range(3):
            record = {"id": f"{part}", "text": f"a page of part {part}, with words of its own", "field1": part}
            w.ingest([record], source="web", id_field="id")
            w.compact()
    tables = len(list((tmp_path / "c" / "db").glob("*.sst")))
    script = """
        import resource, sys
        import corpusdb
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        opened = len(__import__("os").listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened + int(sys.argv[2]) // 2, hard))
        print(corpusdb.open(sys.argv[1]).count())
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "c"), str(tables)]
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("open files are not to be seen here")
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert answer.stdout == "3\n", answer.stderr


def test_an_error_is_of_the_class_of_its_kind_and_names_keywords(tmp_path: Path) -> None:
    with pytest.raises(corpusdb.NotFound, match="is not a corpus"):
        corpusdb.open(tmp_path / "nowhere")
    corpusdb.create(tmp_path / "c").close()
    with corpusdb.open(tmp_path / "c", mode="w") as db:
        with pytest.raises(corpusdb.Locked) as locked:
            corpusdb.open(tmp_path / "c", mode="w")
        assert locked.value.holder and locked.value.holder in str(locked.value)
        with pytest.raises(corpusdb.BadQuery, match="is not a column"):
            db.count("qualty > 1")
        with pytest.raises(corpusdb.BadInput) as refused:
            records = [{"id": "a", "text": "one"}, {"id": "b", "text": None}]
            db.ingest(records, source="web", id_field="id", on_error="fail")
        # Flags are of the command.
        assert "--" not in str(refused.value), str(refused.value)
        assert (refused.value.file, refused.value.record) == ("records", 1)
