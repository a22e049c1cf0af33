"""Plans: made of recipes in any form, told, built, verified, extended, dropped, pickled."""

from __future__ import annotations

import json
import pickle
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from epochs import CHATS, CUT, PACKED, Opened, chats, planned, run, texts

import corpusdb
from corpusdb import _native, errors
from corpusdb._progress import Progress


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


def test_a_recipe_may_be_a_path_a_text_or_a_mapping(corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text(PACKED)
    with Opened(corpus, write=True) as writer:
        plans = [writer.plan(given) for given in (file, str(file), PACKED, tomllib.loads(PACKED))]
        assert len({plan.hash for plan in plans}) == 1
        assert len({plan.number for plan in plans}) == 1, "the same plan is stored once"
        assert writer.plan(plans[0].number or 0) == plans[0]
        assert plans[0] in writer.plans()
    one_line = "version = 1"
    with Opened(corpus, write=False) as reader:
        assert reader.plan(one_line).number is None, "a reader stores nothing"
        assert tomllib.loads(reader.plan(one_line).recipe)["pack"]["length"] == 2048


def test_what_is_no_recipe_is_refused(corpus: Path, tmp_path: Path) -> None:
    with Opened(corpus, write=False) as reader:
        with pytest.raises(errors.NotFound, match="no recipe"):
            reader.plan(tmp_path / "none.toml")
        with pytest.raises(errors.BadRecipe, match="unknown field"):
            reader.plan({"version": 1, "sauce": 2})
        with pytest.raises(errors.BadRecipe, match=r"pack\.length of the recipe must be"):
            reader.plan({"version": 1, "pack": {"length": object()}})
        with pytest.raises(errors.NotFound, match="no plan"):
            reader.plan(4711)


def test_strings_of_a_mapping_are_those_of_the_recipe(corpus: Path) -> None:
    where = "key <> 'a \"quoted\"\\ key\twith \U0001f30a \x7f'"
    with Opened(corpus, write=False) as reader:
        recipe = tomllib.loads(reader.plan({"version": 1, "select": {"where": where}}).recipe)
    assert recipe["select"]["where"] == where


def test_a_source_draws_from_all_that_a_pattern_names(corpus: Path) -> None:
    def asked(*sources: dict[str, Any]) -> dict[str, Any]:
        return {"version": 1, "source": list(sources)}

    with Opened(corpus, write=False) as reader:
        plan = reader.plan(asked({"name": "all", "from": ["l*", "tale?"]}))
        (source,) = plan.explain().sources
        assert source.draws_from == ["logs", "tales"]
        assert source.documents == corpusdb.open(corpus).count("kept")
        with pytest.raises(errors.NotFound, match="no source `x\\*`; there are `logs`, `tales`"):
            reader.plan(asked({"name": "all", "from": "x*"}))
        with pytest.raises(errors.BadRecipe, match="both draw from `tales`"):
            reader.plan(asked({"name": "all", "from": "*"}, {"name": "tales"}))
        with pytest.raises(errors.BadRecipe, match="empty list"):
            reader.plan(asked({"name": "all", "from": []}))


def test_a_plan_of_removed_documents_warns_refuses_or_leaves_them_out(tmp_path: Path) -> None:
    corpus = texts(tmp_path)
    recipe: dict[str, Any] = {"version": 1, "snapshot": "then"}
    without = {**recipe, "select": {"exclude_removed": True}}
    with corpusdb.open(corpus, mode="w", memory="128MiB") as writer:
        writer.snapshots.create("then")
        victim = writer.sql("SELECT id FROM documents WHERE kept AND bytes > 40 ORDER BY id").fetchone()
        assert victim is not None
        writer.remove([victim[0]])
        with pytest.raises(errors.Stale, match=r"draws 1 documents .* `then`.*exclude_removed.*nothing was planned"):
            writer.plan(recipe, strict=True)
        assert writer.plans() == []
        with pytest.warns(UserWarning, match="draws 1 documents that were removed"):
            warned = writer.plan(recipe)
        with pytest.raises(errors.Stale):
            writer.plan(warned.number or 0, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert writer.plan(without, strict=True) != warned
    with corpusdb.open(corpus) as reader, pytest.raises(errors.Stale):
        reader.plan(recipe, strict=True)


def test_explain_says_what_an_epoch_will_be(corpus: Path) -> None:
    told = planned(corpus, PACKED).explain()
    assert told.batches * 120 == told.rows
    assert [source["name"] for source in told.to_dict()["sources"]] == ["logs", "tales"]
    assert f"   {told.batches} steps of 120   " in str(told) and max(map(len, str(told).splitlines()[:8])) <= 80


def test_explain_shows_grouping_and_other_multipliers(corpus: Path) -> None:
    grouped = "[pack]\nkind = \"none\"\nlength = 64\n[order]\nkind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 5 }\n"
    plan = planned(corpus, f"version = 1\n[tokenizer]\nname = \"own\"\n{grouped}[batch]\nrows = 4\n")
    plain = plan.explain()
    assert plain.grouping is None and plain.sweep is None and plain.document_padding.to_longest.places > 0
    told = plan.explain(steps=2, sweep=True)
    assert told.grouping is not None and told.sweep is not None
    documents = [int(row.documents[0][0]) for row in plan.rows_at(range(4))]
    assert [mega.rows for mega in told.grouping.mega_batches] == [20, 20]
    assert told.grouping.batches[0].rows.documents == documents
    assert [of.mega_batch_mult for of in told.sweep.multipliers if of.is_of_recipe] == [5]
    page = told._repr_html_()
    assert "1 permuted" in page and "rank correlation" in page and "packing gives" not in page
    for wrong in (0, -1, 65):
        with pytest.raises(ValueError, match="from 1 to 64"):
            plan.explain(steps=wrong)


def test_an_epoch_is_built_and_verified(corpus: Path, tmp_path: Path) -> None:
    plan = planned(corpus, PACKED)
    manifest = plan.build(tmp_path / "epoch-1", epoch=1, threads=1)
    assert (manifest.plan, manifest.epoch) == (plan.hash, 1)
    assert plan.verify(tmp_path / "epoch-1").passed
    with pytest.raises(errors.AlreadyExists):
        plan.build(tmp_path / "epoch-1", epoch=1)
    shard = next((tmp_path / "epoch-1").glob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-9] + b"#" + shard.read_bytes()[-8:])
    verdict = plan.verify(tmp_path / "epoch-1")
    assert not verdict.passed


def test_rows_are_those_of_the_export(corpus: Path, tmp_path: Path) -> None:
    plan = planned(corpus, CUT)
    plan.build(tmp_path / "epoch")
    table = pq.read_table(sorted((tmp_path / "epoch").glob("*.parquet"))).to_pylist()
    assert len(table) == plan.rows()
    # Out of order, twice, near and far.
    numbers = [5, 4, 5, len(table) - 1, 0, 40]
    for number, row in zip(numbers, plan.rows_at(numbers, views=["labels", "position_ids"]), strict=True):
        wanted = table[number]
        assert row.rows.tolist() == [number]
        assert row["input_ids"].tolist() == wanted["input_ids"]
        assert row["labels"].tolist() == wanted["labels"]
        assert row["position_ids"].tolist() == wanted["position_ids"]
        assert row.documents[0].tolist() == wanted["doc_ids"]
        assert row.offsets[0].tolist() == wanted["doc_offsets"]
        assert row.sources == [wanted["source"] or None]
    row = plan.row(3)
    assert row["input_ids"].dtype == np.int64 and row["input_ids"].ndim == 1
    assert [key.split("-")[0] for key in row.document_keys[0]] == row.sources * len(row.document_keys[0])
    with pytest.raises(errors.OutOfRange):
        plan.row(plan.rows())
    with pytest.raises(IndexError):
        plan.row(-1)


def test_rows_are_shown_as_text_with_what_is_trained_on(corpus: Path) -> None:
    plan = planned(corpus, CUT)
    row = plan.row(3)
    text = row.text()
    assert text.report.row == 3 and text.report.parts
    trained = sum(part.length for part in text.report.parts if part.trained)
    assert trained == text.report.trained == int((plan.row(3, views=["labels"])["labels"] != -100).sum())
    assert [segment.key for segment in text.report.segments] == row.document_keys[0]
    # Nothing predicts the first token of a document.
    assert text.startswith(f"{row.document_keys[0][0]}, tokens ") and text.splitlines()[1].startswith("⟦")
    assert "<b>" in text._repr_html_() and "<b>" in row._repr_html_()
    copied = pickle.loads(pickle.dumps(text))
    assert copied == text and copied.report == text.report and copied._repr_html_() == text._repr_html_()
    with plan.loader(rank=0, world=1, as_="numpy") as loader:
        batch = next(iter(loader))
        assert [batch.text(at) for at in range(2)] == [plan.row(int(number)).text() for number in batch.rows[:2]]
        assert all(name in batch._repr_html_() for name in batch.document_keys[1])
        with pytest.raises(IndexError):
            batch.text(len(batch.rows))
    # A batch that left its process knows nobody to ask.
    alone = pickle.loads(pickle.dumps(batch))
    assert "before pickling" in alone._repr_html_()
    with pytest.raises(ValueError, match="text"):
        alone.text()


def test_a_plan_goes_on_from_another(corpus: Path) -> None:
    with Opened(corpus, write=True) as writer:
        plan = writer.plan(PACKED)
        child = plan.extend(consumed=240, recipe=PACKED.replace("weight = 2", "weight = 3"))
        assert child.number != plan.number
        parent = child.to_dict()["parent"]
        assert (parent["plan"], parent["next_row"]) == (plan.hash, 240)
        with pytest.raises(errors.CorpusError, match=str(child.number)):
            plan.drop()
        child.drop()
        assert child not in writer.plans()
        with pytest.raises(errors.NotFound):
            writer.plan(child.number or 0)
    with Opened(corpus, write=False) as reader:
        stored = reader.plan(plan.number or 0)
        with pytest.raises(errors.ReadOnly):
            stored.drop()
        with pytest.raises(errors.CorpusError, match="not stored"):
            reader.plan(PACKED.replace("seed = 7", "seed = 8")).drop()


def test_a_stored_plan_is_pickled_by_path_and_hash(corpus: Path) -> None:
    plan = planned(corpus, PACKED)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and again.number == plan.number and again.rows() == plan.rows()
    assert len(pickle.dumps(plan)) < 2000
    with Opened(corpus, write=False) as reader, pytest.raises(errors.CorpusError, match="not stored"):
        pickle.dumps(reader.plan(PACKED.replace("seed = 7", "seed = 9")))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is opened from now on, in order."""
    seen: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        real = getattr(_native, name)

        def open(*given: Any, **options: Any) -> Any:
            seen.append(name)
            return real(*given, **options)

        return open

    for name in ("Handle", "Reader"):
        monkeypatch.setattr(_native, name, counted(name))
    return seen


def test_a_pickled_plan_opens_its_corpus_when_something_is_asked_of_it_and_once(
    corpus: Path, opened: list[str]
) -> None:
    plan = planned(corpus, PACKED)
    rows, row = plan.rows(), plan.row(3)
    written = pickle.dumps((plan, plan.loader(as_="numpy", rank=0, world=1)))
    opened.clear()
    again, loader = pickle.loads(written)
    assert (again.path, again.hash, again.number) == (plan.path, plan.hash, plan.number)
    assert again == plan and hash(again) == hash(plan) and repr(again) == repr(plan)
    assert pickle.loads(pickle.dumps(again)) == plan
    assert loader.plan == plan.hash and loader.state_dict()["next_batch"] == 0
    assert opened == [], "nothing was asked that the corpus knows"
    assert again.rows() == rows and again.row(3)["input_ids"].tolist() == row["input_ids"].tolist()
    assert opened == ["Reader"], "a worker of rows has a reader and nothing else"
    assert next(loader).rows.tolist() == next(again.loader(as_="numpy", rank=0, world=1)).rows.tolist()
    assert opened == ["Reader"] * 2, "a loader reads by the reader of its plan"
    assert again.recipe == plan.recipe and again.to_dict() == plan.to_dict()
    assert str(again.explain()) == str(plan.explain())
    assert opened == ["Reader"] * 2 + ["Handle"]


def test_a_pickled_plan_that_is_gone_is_missed_when_it_is_used(corpus: Path, tmp_path: Path) -> None:
    with Opened(corpus, write=True) as writer:
        plan = writer.plan(PACKED.replace("seed = 7", "seed = 77"))
        written = pickle.dumps(plan)
        plan.drop()
    gone = pickle.loads(written)
    for ask in (lambda: gone.recipe, gone.explain, gone.rows, lambda: next(gone.loader(rank=0, world=1, as_="numpy"))):
        with pytest.raises(errors.NotFound, match="no plan"):
            ask()
    with pytest.raises(errors.NotFound):
        pickle.loads(written.replace(str(corpus).encode(), b"x" * len(str(corpus)))).explain()


def marks_that_are_new(corpus: Path, number: int | None, epochs: int) -> int:
    """How many of the first epochs of a plan have no marks; they have afterwards."""
    told: int = json.loads(run("epoch", "plan", corpus, number, "--epochs", epochs, "--json"))["marked"]
    return told


def test_marks_are_stored_along_so_many_epochs(corpus: Path) -> None:
    recipes = [PACKED.replace("seed = 7", f"seed = {seed}") for seed in (81, 82, 83, 84)]
    with Opened(corpus, write=True) as writer:
        plans = [writer.plan(recipe, epochs=epochs) for recipe, epochs in zip(recipes, (None, 0, 3, 1), strict=True)]
        # Of a stored plan by its recipe or by its number.
        assert writer.plan(recipes[3], epochs=2) == plans[3]
        assert writer.plan(plans[3].number or 0, epochs=4) == plans[3]
        told: list[Progress] = []
        assert writer.plan(recipes[0], epochs=4, progress=told.append) == plans[0]
        with pytest.raises(errors.Infeasible, match="epoch"):
            writer.plan(PACKED.replace("seed = 7", "seed = 85"), epochs=1000)
        with pytest.raises(errors.NotFound):
            writer.plan(4711, epochs=2)
        with pytest.raises(ValueError, match="-1"):
            writer.plan(recipes[0], epochs=-1)
        assert len([plan for plan in writer.plans() if plan in plans]) == 4
    assert any(progress.total for progress in told)
    assert [marks_that_are_new(corpus, plan.number, 4) for plan in plans] == [0, 4, 1, 0]
    assert [marks_that_are_new(corpus, plan.number, 4) for plan in plans] == [0, 0, 0, 0]
    with Opened(corpus, write=False) as reader, pytest.raises(errors.ReadOnly, match="only a writer stores"):
        reader.plan(recipes[0], epochs=2)


def test_a_closed_corpus_is_named(corpus: Path) -> None:
    reader = Opened(corpus, write=False)
    number = planned(corpus, PACKED).number or 0
    reader.close()
    with pytest.raises(errors.Closed):
        reader.plan(number)


def test_rows_of_chats_are_trained_on_where_their_answers_are(tmp_path: Path) -> None:
    plan = planned(chats(tmp_path), CHATS)
    row = plan.row(0)
    assert set(row) == {"input_ids", "labels", "position_ids"}
    trained = row["labels"] != -100
    assert 0 < trained.sum() < len(trained)
    assert (row["labels"][trained] == row["input_ids"][trained]).all()
    with pytest.raises(errors.BadRecipe, match="have loss masks"):
        plan.row(0, views=["position_ids"])
