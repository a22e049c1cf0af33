"""Tokenizers: register in every form, train, extend, encode, compare, check, analyse, export, drop."""

from __future__ import annotations

import json
from pathlib import Path

import corpora
import numpy as np
import pytest
from test_ingest import corpora_tokenizer

import corpusdb


def test_a_tokenizer_encodes_and_decodes(db: corpusdb.Corpus) -> None:
    own = db.tokenizer("own")
    ids = own.encode("amber bridge")
    assert ids.dtype == np.uint32 and own.decode(ids) == own.decode(ids.tolist()) == "amber bridge"
    assert (own.name, own.vocab_size, len(own)) == ("own", 400, 400)
    assert own.specials == {"<|endoftext|>": own.token_to_id("<|endoftext|>")}
    assert own.token_to_id("nothing at all") is None
    marked = "one<|endoftext|>"
    assert own.encode(marked, specials=True)[-1] == own.specials["<|endoftext|>"]
    assert len(own.encode(marked)) > len(own.encode(marked, specials=True))
    texts = [corpora.prose(n) for n in range(50)]
    assert [a.tolist() for a in own.encode_batch(texts)] == [own.encode(text).tolist() for text in texts]
    ids, offsets = own.encode_with_offsets("amber äther")
    assert offsets[-1][1] == len("amber äther".encode()) and len(offsets) == len(ids)
    with pytest.raises(corpusdb.BadTokenizer):
        own.decode([10**6])
    assert repr(own).splitlines()[0] == "<corpusdb.Tokenizer 'own': 400 ids>"


def test_tokenizers_are_listed_and_asked_by_name(db: corpusdb.Corpus) -> None:
    known = db.tokenizers
    assert (list(known), len(known), "own" in known, known.names()) == (["own"], 1, True, ["own"])
    assert known["own"].name == "own"
    assert known.decode("own", known.encode("own", "river")) == "river"
    assert "".join(text for _, text in known.pieces("own", "quiet river")) == "quiet river"
    record = known.show("own")
    assert record.decisions.options.vocab_size == 400 and record.complete
    with pytest.raises(corpusdb.NotFound, match="own"):
        db.tokenizer("other")
    assert "own" in repr(known)


def test_segmentations_are_listed_and_drawn(w: corpusdb.Writer) -> None:
    w.ingest(corpora.pages(20), source="web")
    for model in ("unigram", "bpe"):
        w.tokenizers.train(model, model=model, vocab_size=500)
    known, text = w.tokenizers, "quiet rivers <|endoftext|>"
    best = known.nbest("unigram", text, 8)
    assert len(best) == 8 and best[0].ids.tolist() == known.encode("unigram", text).tolist()
    assert [one.log_probability for one in best] == sorted((one.log_probability for one in best), reverse=True)
    assert {"".join(one.pieces) for one in best} == {"".join(best[0].pieces)}
    assert 0 < sum(one.probability for one in best) <= 1.0000001
    assert known["unigram"].entropy(text) < known["unigram"].entropy(text, alpha=0.0)
    plain = known.encode("unigram", text).tolist()
    draws = [known.encode("unigram", text, alpha=0.1, segmentation_seed=seed).tolist() for seed in range(20)]
    assert len({tuple(ids) for ids in draws}) > 5
    assert {known.decode("unigram", ids) for ids in draws} == {known.decode("unigram", plain)}
    assert known.encode("unigram", text, alpha=1e6, segmentation_seed=3).tolist() == plain
    tokenizer = known["bpe"]
    texts = [text, "a river", ""]
    batch = tokenizer.encode_batch(texts, dropout=0.5, segmentation_seed=4)
    assert [a.tolist() for a in batch] == [
        tokenizer.encode(each, dropout=0.5, segmentation_seed=4).tolist() for each in texts
    ]
    assert tokenizer.encode(text, dropout=0.0, segmentation_seed=4).tolist() == tokenizer.encode(text).tolist()
    assert len(tokenizer.encode(text, dropout=1.0, segmentation_seed=4)) == len(text)
    pieces = known.pieces("bpe", text, dropout=0.5, segmentation_seed=4)
    assert [number for number, _ in pieces] == batch[0].tolist()
    with pytest.raises(corpusdb.BadTokenizer, match="is a BPE") as refused:
        known.nbest("bpe", text, 3)
    assert "dropout=" in str(refused.value)
    with pytest.raises(corpusdb.BadInput, match="segmentation_seed="):
        tokenizer.encode(text, dropout=0.1)
    with pytest.raises(corpusdb.BadInput, match="from 1 to 1024"):
        known.nbest("unigram", text, 2000)


def test_a_tokenizer_is_registered_from_files(w: corpusdb.Writer, tmp_path: Path) -> None:
    w.ingest(corpora.pages(5), source="web")
    path = corpora_tokenizer(tmp_path)
    record = w.tokenizers.add("json", path)
    assert (record.name, record.complete, record.lineage) == ("json", True, str(path))
    assert record.encoded_documents == 5 and record.encoded_tokens > 0
    later = w.tokenizers.add("later", str(path), backfill=False)
    assert not later.complete
    assert w.tokenizers.backfill("later").complete
    vocab = json.loads(path.read_text())["model"]["vocab"]
    (tmp_path / "vocab.json").write_text(json.dumps({**vocab, "<|endoftext|>": 256}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    w.tokenizers.add("gpt2", vocab=tmp_path / "vocab.json", merges=tmp_path / "merges.txt")
    assert w.tokens(0, "gpt2").tolist() == w.tokens(0, "json").tolist()
    import base64

    ranks = "".join(f"{base64.b64encode(bytes([n])).decode()} {n}\n" for n in range(256))
    (tmp_path / "r.tiktoken").write_text(ranks)
    w.tokenizers.add("tik", tmp_path / "r.tiktoken", pattern="cl100k", specials={"<|end|>": 256})
    assert w.tokens(0, "tik").tolist() == list(corpora.prose(0).encode())
    assert w.tokenizer("tik").specials == {"<|end|>": 256}


def test_what_is_no_tokenizer_is_refused(w: corpusdb.Writer, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(corpusdb.BadTokenizer):
        w.tokenizers.add("bad", tmp_path / "bad.json")
    with pytest.raises(corpusdb.NotFound, match="none.json"):
        w.tokenizers.add("bad", tmp_path / "none.json")
    with pytest.raises(corpusdb.BadInput, match="`file` is needed|`vocab`"):
        w.tokenizers.add("bad")
    with pytest.raises(corpusdb.BadInput, match="`pattern` is needed"):
        w.tokenizers.add("bad", tmp_path / "bad.json", specials={"a": 1})
    with pytest.raises(corpusdb.BadName):
        w.tokenizers.add("a name/of", corpora_tokenizer(tmp_path))
    assert w.tokenizers.names() == []


def test_a_tokenizer_is_trained_extended_compared_and_dropped(w: corpusdb.Writer, tmp_path: Path) -> None:
    w.ingest(corpora.pages(30), source="web")
    first = w.tokenizers.train("first", vocab_size=300, specials=["<|end|>"], reserve=2)
    assert first.complete and first.decisions.options.reserve == 2
    second = w.tokenizers.train("second", vocab_size=300, specials=["<|end|>"], reserve=2, backfill=False)
    assert second.hash == first.hash and not second.complete
    unigram = w.tokenizers.train("unigram", model="unigram", vocab_size=400, byte_fallback=True, by="source", alpha=0.5)
    assert unigram.complete
    # An empty list was the default before: one special token.
    bare = w.tokenizers.train("bare", vocab_size=300, specials=[])
    assert bare.decisions.options.specials == []
    w.tokenizers.export("unigram", tmp_path / "unigram.model")
    w.tokenizers.add("piece", tmp_path / "unigram.model")
    assert w.tokens(0, "piece").tolist() == w.tokens(0, "unigram").tolist()

    extended = w.tokenizers.extend("first", "more", terms=["zyzzyva", "quokka"], out=tmp_path / "more")
    assert isinstance(extended, corpusdb.reports.ExtendReport) and extended.copied_documents == 30
    assert [term.term for term in extended.terms] == ["zyzzyva", "quokka"]
    assert sorted(p.name for p in (tmp_path / "more").iterdir()) == [
        "embedding_map.jsonl", "embedding_map.safetensors", "tokenizer.json",
    ]
    assert len(w.tokenizer("more").encode("zyzzyva")) == 1
    assert not w.tokenizers.extend("more", "same", terms=["quokka"], out=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(corpusdb.AlreadyExists):
        w.tokenizers.extend("first", "again", terms=["x"], out=tmp_path / "more")
    grown = w.tokenizers.extend("first", "grown", grow=20, where="id < 10")
    assert isinstance(grown, corpusdb.reports.ExtendReport) and grown.vocab_size > first.vocab_size
    decisions = w.tokenizers.show("grown").decisions
    assert isinstance(decisions, corpusdb.reports.ExtensionRecord) and decisions.base_hash == first.hash
    assert (decisions.kind, decisions.base, decisions.grow, decisions.where, decisions.min_frequency) == (
        "extended", "first", 20, "id < 10", 2,
    )
    diff = w.tokenizers.diff("first", "more")
    assert diff.keeps_old_ids and diff.kept == first.vocab_size and len(diff.added) > 0
    assert w.tokenizers.drop("second").broken_plans == []
    assert "second" not in w.tokenizers

    candidate = w.tokenizers.train(out=tmp_path / "candidate.json", vocab_size=300, specials=["<|end|>"], reserve=2)
    assert candidate.decisions.hash == second.decisions.hash and "candidate" not in w.tokenizers
    beside = w.tokenizers.analyse("first", files=[tmp_path / "candidate.json"])
    assert beside.tokenizers[0].total.tokens == beside.tokenizers[1].total.tokens
    with pytest.raises(corpusdb.BadTokenizer):
        w.tokenizers.train("small", vocab_size=10)
    with pytest.raises(corpusdb.BadInput, match="`model`: \"lstm\" is not one of bpe"):
        w.tokenizers.train("other", model="lstm")
    with pytest.raises(corpusdb.NotFound):
        w.tokenizers.train("none", where="id > 1000")
    with pytest.raises(corpusdb.BadInput, match="`terms`"):
        w.tokenizers.extend("first", "x")


def test_a_tokenizer_is_checked_analysed_and_exported(db: corpusdb.Corpus, tmp_path: Path) -> None:
    check = db.tokenizers.check("own")
    assert check and check.other_ids is None and len(check.check.cases) > 5
    report = db.tokenizers.analyse("own", by="source", html=tmp_path / "own.html", sample_bytes="1MiB")
    assert report.documents == 40 and report.tokenizers[0].name == "own"
    assert [one.name for one in report.baselines] == ["words", "characters", "bytes"]
    assert report.baselines[2].tokens == report.bytes
    terms = db.tokenizers.terms("own", top=3, out=tmp_path / "terms.txt")
    words = [term.word for term in terms.groups[0].terms]
    assert (tmp_path / "terms.txt").read_text().split() == words and len(words) <= 3
    assert (tmp_path / "own.html").read_text().startswith("<!")
    db.tokenizers.export("own", tmp_path / "tokenizer.json")
    assert json.loads((tmp_path / "tokenizer.json").read_text())["model"]["type"] == "BPE"
    db.tokenizers.export("own", tmp_path / "files", originals=True)
    assert (tmp_path / "files" / "tokenizer.json").exists()
    with pytest.raises(corpusdb.BadTokenizer):
        db.tokenizers.export("own", tmp_path / "own.model")


def test_a_directory_for_transformers_has_special_tokens_and_template(db: corpusdb.Corpus, tmp_path: Path) -> None:
    (tmp_path / "chat.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    with pytest.raises(corpusdb.NotFound, match="no special token `<pad>`"):
        db.tokenizers.export("own", tmp_path / "own", pretrained=True, pad="<pad>")
    with pytest.raises(corpusdb.BadInput, match="pretrained"):
        db.tokenizers.export("own", tmp_path / "own", eos="a")
    assert not (tmp_path / "own").exists()
    db.tokenizers.export("own", tmp_path / "own", pretrained=True, eos="a", chat_template=tmp_path / "chat.jinja")
    config = json.loads((tmp_path / "own" / "tokenizer_config.json").read_text())
    assert config == {
        "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, "eos_token": "a"
    }
    db.tokenizers.export("own", tmp_path / "tokenizer.json")
    assert (tmp_path / "own" / "tokenizer.json").read_bytes() == (tmp_path / "tokenizer.json").read_bytes()
    assert (tmp_path / "own" / "chat_template.jinja").read_text() == (tmp_path / "chat.jinja").read_text()
