"""Ingest of files: options, reports, rejects, errors with their places."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path

import corpora
import pytest

import corpusdb


def write(path: Path, records: list[object]) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def test_files_patterns_and_lists_of_them_are_ingested(w: corpusdb.Writer, tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", list(corpora.pages(3)))
    write(tmp_path / "b.jsonl", [corpora.page(n) for n in range(3, 6)])
    report = w.ingest(tmp_path / "*.jsonl", source="web", id_field="url")
    assert (report.read, report.kept, report.commits > 0, report.source) == (6, 6, True, "web")
    again = w.ingest([first, str(tmp_path / "b.jsonl")], source="web", id_field="url")
    assert (again.read, again.added) == (0, 0)
    reread = w.ingest(first, source="web", id_field="url", reread=True)
    assert (reread.read, reread.unchanged) == (3, 3)


def test_reports_have_attributes_and_plain_values(w: corpusdb.Writer, tmp_path: Path) -> None:
    w.tokenizers.add("bytes", corpora_tokenizer(tmp_path), backfill=True)
    report = w.ingest([corpora.page(1)], source="web")
    assert report.tokens["bytes"] > 0
    assert report.stages.read >= 0
    assert report.to_dict()["kept"] == 1
    shown = repr(report).splitlines()
    assert shown[0] == "IngestReport" and shown[1].split() == ["source", "'web'"] and len(shown) <= 42
    assert shown[-1].startswith("help(corpusdb.reports.IngestReport)") and all(len(line) <= 124 for line in shown)
    html = report._repr_html_()
    assert ">kept</th>" in html and ">exact duplicates</th>" not in html
    assert "exact duplicates" in html[html.index("0, None, False or empty"):], "what is 0 is named at the end"
    assert report == corpusdb.IngestReport(report.to_dict())


def corpora_tokenizer(tmp_path: Path) -> Path:
    path = tmp_path / "tokenizer.json"
    vocabulary = {chr(code): at for at, code in enumerate(byte_characters())}
    path.write_text(json.dumps({
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }))
    return path


def byte_characters() -> list[int]:
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [256 + at for at in range(256 - len(plain))]
    return plain + others


def test_what_cannot_be_read_is_set_aside(w: corpusdb.Writer, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [corpora.page(0), "{not json", {"text": None}, corpora.page(1)])
    report = w.ingest(path, source="web")
    assert (report.kept, report.rejected) == (2, 2)
    first, second = w.rejects()
    assert (first.number, first.raw, first.path) == (1, b"{not json", str(path))
    assert second.reason.startswith("no text")
    assert len(w.rejects(1)) == 1


def test_rejects_are_settled_dropped_and_may_stop_an_ingest(w: corpusdb.Writer, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [corpora.page(n) for n in range(150)])
    report = w.ingest(path, source="web", id_field="idd")
    assert (report.read, report.rejected, report.rejected_before) == (150, 150, 0)
    with pytest.raises(corpusdb.CorpusError, match="id field `idd` is missing in 150 of 150 records"):
        w.ingest(path, source="web", id_field="idd", max_rejected=0.5)
    report = w.ingest(path, source="web")
    assert (report.added, report.rejects_settled, report.unchanged_unread) == (150, 150, 0)
    assert w.rejects() == []
    other = write(tmp_path / "b.jsonl", ["{bad", "{worse"])
    w.ingest(other, source="web")
    tried = w.drop_rejects(path=other, dry_run=True)
    assert (tried.dropped, tried.left, tried.dry_run, len(w.rejects())) == (2, 0, True, 2)
    with pytest.raises(corpusdb.NotFound, match="no source `wbe`; did you mean `web`"):
        w.drop_rejects(source="wbe")
    report = w.drop_rejects(source="web")
    assert (report.dropped, report.bytes, report.left, w.rejects()) == (2, 10, 0, [])


@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_record_is_told_with_file_record_byte_and_line(
    w: corpusdb.Writer, tmp_path: Path, packed: bool
) -> None:
    path = write(tmp_path / "a.jsonl", [corpora.page(0), corpora.page(1), "{not json"])
    if packed:
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    with pytest.raises(corpusdb.BadInput, match="record 2 .*repair it") as bad:
        w.ingest(path, source="web", on_error="fail")
    assert (bad.value.file, bad.value.record, bad.value.line) == (str(path), 2, 3)
    assert bad.value.byte == sum(len(json.dumps(corpora.page(n))) + 1 for n in range(2))
    path.unlink()
    assert bad.value.line is None


def test_inputs_that_are_not_there_are_told(w: corpusdb.Writer, tmp_path: Path) -> None:
    with pytest.raises(corpusdb.NotFound):
        w.ingest(tmp_path / "none.jsonl", source="web")
    with pytest.raises(corpusdb.NotFound):
        w.ingest(str(tmp_path / "*.none"), source="web")
    with pytest.raises(corpusdb.BadInput, match="`format`: \"xml\" is not one of auto, "):
        w.ingest(tmp_path, source="web", format="xml")
    with pytest.raises(corpusdb.BadInput, match="`max_removed`: 2 is not between 0 and 1"):
        w.ingest(tmp_path, source="web", max_removed=2)
    with pytest.raises(corpusdb.BadInput, match="`max_rejected`: -1 is not between 0 and 1"):
        w.ingest(tmp_path, source="web", max_rejected=-1)
    with pytest.raises(corpusdb.NotFound, match="nope"):
        w.ingest([corpora.page(0)], source="web", tokenizer="nope")
    assert w.count() == 0


def test_a_dry_run_changes_nothing(w: corpusdb.Writer, tmp_path: Path) -> None:
    w.ingest([corpora.page(0)], source="web")
    before = w.digest()
    path = write(tmp_path / "a.jsonl", [{"text": corpora.nearly(0)}, corpora.page(1)])
    report = w.ingest(path, source="web", dry_run=True)
    assert (report.dry_run, report.kept, report.near_duplicates) == (True, 1, 1)
    assert w.digest() == before
    assert w.ingest([corpora.page(2)], source="web", dry_run=True).kept == 1
    assert w.ingest(path, source="web").kept == 1


def test_decisions_are_written(w: corpusdb.Writer, tmp_path: Path) -> None:
    w.ingest([corpora.page(0), {"url": "copy", "text": corpora.nearly(0)}], source="web", id_field="url",
             decisions=tmp_path / "decisions.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "decisions.jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == ["https://a.example/0", "copy"]


def test_texts_and_limits(w: corpusdb.Writer, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(corpora.prose(1))
    assert w.ingest(tmp_path / "note.txt", source="notes", format="text").kept == 1
    report = w.ingest([{"body": corpora.prose(2)}, {"body": "short enough"}], source="notes", max_doc_bytes=100)
    assert (report.kept, report.rejected) == (1, 1)


def test_an_ingest_of_which_nothing_could_be_read_is_told(
    w: corpusdb.Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.jsonl", ["nonsense"] * 3)
    with caplog.at_level(logging.WARNING, logger="corpusdb"):
        report = w.ingest(path, source="web", text_field="text")
    assert report.rejected == 3 and report.alarms
    assert "alarm of the ingest of web" in caplog.text


TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{% generation %}{{ m.content }}{% endgeneration %}\n{% endfor %}"


def test_conversations_are_written_by_their_template(w: corpusdb.Writer, tmp_path: Path) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    chat = [{"messages": [{"role": "user", "content": corpora.prose(1)},
                          {"role": "assistant", "content": corpora.prose(2)}]}]
    report = w.ingest(chat, source="chats", chat="messages", chat_template=template, chat_set={"flag": True})
    assert report.kept == 1
    assert w.document(0).text.startswith("user: ")
    template.write_text("{{ v is string }} {{ v }} {% for m in messages %}{{ m.content }}{% endfor %}")
    for value, shown in [("5", "true 5"), (5, "false 5"), ("true", "true true"), (None, "false none")]:
        w.ingest(chat, source=f"as {value!r}", chat="messages", chat_template=template, chat_set={"v": value})
        assert w.document(w.count() - 1).text.lower().startswith(f"{shown} "), value
    with pytest.raises(corpusdb.BadInput, match="a name cannot have `=` in it"):
        w.ingest(chat, source="chats", chat="messages", chat_template=template, chat_set={"a=b": 1})
    with pytest.raises(corpusdb.BadInput, match="need.*chat_template"):
        w.ingest(chat, source="chats", chat="messages")
    with pytest.raises(corpusdb.BadInput, match="chat"):
        w.ingest(chat, source="chats", chat_template=template)
    with pytest.raises(corpusdb.BadInput, match="`chat`: \"other\" is not one of"):
        w.ingest(chat, source="chats", chat="other")
    alpaca = [{"instruction": corpora.prose(3), "input": "", "output": corpora.prose(4)}]
    assert w.ingest(alpaca, source="alpaca", chat="alpaca").kept == 1


def test_token_ids_are_stored_as_they_are(w: corpusdb.Writer, tmp_path: Path) -> None:
    import numpy as np

    w.tokenizers.add("bytes", corpora_tokenizer(tmp_path))
    ids = w.tokenizer("bytes").encode(corpora.prose(1))
    report = w.ingest([{"input_ids": ids}], source="ids", pretokenized="bytes")
    assert report.kept == 1
    assert np.array_equal(w.tokens(0, "bytes"), ids)
    assert w.document(0).text == corpora.prose(1)


def test_tables_lists_and_archives_are_ingested_with_the_options_of_the_command(
    w: corpusdb.Writer, tmp_path: Path
) -> None:
    table = tmp_path / "a.txt"
    table.write_text("body;lang;from\n\"one; two\";en;web\n\"a \"\"b\"\"\";de;\n")
    report = w.ingest(
        table, source="rest", format="csv", delimiter=";", map={"text": "body", "language": "lang", "source": "from"}
    )
    assert (report.kept, report.passed) == (2, None)
    rows = w.sql("SELECT text, language, source FROM documents ORDER BY id").to_dicts()
    assert rows == [
        {"text": "one; two", "language": "en", "source": "web"},
        {"text": 'a "b"', "language": "de", "source": "rest"},
    ]
    table.write_text("id,text,n\n1e3,\"say \\\"so\\\" or \"\"so\"\"\",1.10\n")
    assert w.ingest(table, source="escaped", format="csv", escape="\\", id_field="id").added == 1
    rows = w.sql("SELECT key, text, meta FROM documents WHERE source = 'escaped'").to_dicts()
    assert rows == [{"key": "1e3", "text": 'say "so" or "so"', "meta": '{"n":"1.10"}'}]
    lines = tmp_path / "b.txt"
    lines.write_text("first\n\nsecond\nof two\n")
    assert w.ingest(lines, source="lines", text_by="line").kept == 3
    assert w.ingest(lines, source="paragraphs", text_by="paragraph").added == 2
    assert w.ingest([{"text": "more", "at": "web"}], source="rest", source_from="at").kept == 1
    assert w.count("source = 'web'") == 2
    archive = Path(__file__).parents[2] / "tests/corpora/inputs/pages.warc.gz"
    passed = w.ingest(archive, source="archive").passed
    assert passed is not None and (passed.html, passed.gone, passed.other) == (1, 1, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "ü"}, "one ASCII character"),
        ({"text_by": "word"}, "text_by"),
        ({"text_field": "a", "map": {"text": "b"}}, "already"),
    ],
)
def test_options_of_inputs_that_cannot_be_are_refused(
    w: corpusdb.Writer, tmp_path: Path, options: dict[str, object], words: str
) -> None:
    path = write(tmp_path / "a.jsonl", [corpora.page(1)])
    with pytest.raises(corpusdb.BadInput, match=words):
        w.ingest(path, source="web", **options)


def test_only_records_for_which_a_condition_is_true_come_in(w: corpusdb.Writer, tmp_path: Path) -> None:
    records = [{"text": f"page {n} of ten", "score": n / 10, "lang": "de" if n % 2 else "en"} for n in range(10)]
    where = "score > 0.5 AND lang = 'de'"
    report = w.ingest(write(tmp_path / "a.jsonl", records), source="web", where=where)
    assert (report.read, report.added, report.filtered, report.rejected) == (10, 2, 8, 0)
    given = w.ingest(records, source="given", name="given", where=where)
    assert (given.added, given.filtered) == (2, 8)
    with pytest.raises(corpusdb.BadQuery, match="cannot use the condition"):
        w.ingest(records, source="given", where="score >")


def test_a_value_of_the_wrong_type_is_named_by_its_place(w: corpusdb.Writer, tmp_path: Path) -> None:
    pages = [corpora.page(0)]
    for keywords, words in [
        ({"source": 5}, r"source: expected text, got 5"),
        ({"source": "web", "chat": True}, r"chat: expected text, got true"),
        ({"source": "web", "drop_fields": ["a", 7]}, r"drop_fields\[1\]: expected text, got 7"),
        ({"source": "web", "reread": "yes"}, r"reread: expected True or False, got \"yes\""),
        ({"source": "web", "max_doc_bytes": "much"}, r"`max_doc_bytes`.*much"),
        ({"source": "web", "max_cluster": 1.5}, r"max_cluster: expected a whole number, got 1.5"),
        ({"source": "web", "on_error": "rejct"}, r"`on_error`: \"rejct\" is not one of .*; did you mean `reject`\?"),
        ({"source": "web", "map": {"text": 3}, "text_field": b"x"}, r"text_field: a value of type bytes is not supported"),
    ]:
        with pytest.raises((corpusdb.BadInput, TypeError), match=words):
            w.ingest(pages, **keywords)  # type: ignore[arg-type]
    for call, words in [
        (lambda: w.export(tmp_path / "x.jsonl", columns=["id", 5]), r"columns\[1\]: expected text, got 5"),
        (lambda: w.export(tmp_path / "x.jsonl", compression="zst"), "did you mean `zstd`"),
        (lambda: w.fields.add("edu", "flot"), "flot"),
        (lambda: w.fields.compute("n", 5), "expression: expected text, got 5"),
        (lambda: w.stats(where=5), "where: expected text, got 5"),
        (lambda: w.drop_rejects(source=5), "source: expected text, got 5"),
    ]:
        with pytest.raises(corpusdb.BadInput, match=words):
            call()  # type: ignore[no-untyped-call]
    assert w.count() == 0 and not list(tmp_path.glob("x*"))


def test_an_alarm_is_logged_in_words(w: corpusdb.Writer, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(corpusdb.CorpusError):
        w.ingest([{"text": 5}] * 200, source="web", on_error="fail")
    w.ingest([{"text": 5}] * 200, source="web")
    alarms = [record.message for record in caplog.records if "alarm of the ingest of web" in record.message]
    assert alarms and not any("Report(" in alarm or "{" in alarm for alarm in alarms), alarms
