"""Batches of trainers: their keys, types and values, against the documents of the rows put together by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from epochs import CHATS, DEALT, PACKED, chats, planned, texts

from corpusdb import _native, errors
from corpusdb._batch import Batch
from corpusdb._collator import row_columns
from corpusdb._plan import Plan

#: Rows of two sources with pads at their ends.
PADDED = PACKED.replace("rows = 120", "rows = 6\ntail = \"pad\"")

#: A token of a row: id, label where it stands, number of its document in the row.
Token = tuple[int, int, int]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    corpus = texts(tmp_path_factory.mktemp("texts"))
    made = {name: planned(corpus, recipe) for name, recipe in (("padded", PADDED), ("dealt", DEALT))}
    return {**made, "chats": planned(chats(tmp_path_factory.mktemp("chats")), CHATS)}


def first(plan: Plan, **options: Any) -> tuple[Any, list[list[Token]]]:
    """The second batch of a loader, and the documents of its rows: all tokens but pads."""
    with plan.loader(rank=0, world=1, as_="numpy", **options) as loader:
        next(loader)
        batch = next(loader)
    numbers = (batch[0] if isinstance(batch, tuple) else batch).rows.tolist()
    rows = []
    for row in plan.rows_at(numbers, views=["labels", "segment_ids"]):
        values = zip(*(row[name].tolist() for name in ("input_ids", "labels", "segment_ids")), strict=True)
        rows.append([value for value in values if value[2] > 0])
    return batch, rows


def documents(row: list[Token]) -> list[list[Token]]:
    """The tokens of each document of a row."""
    return [[token for token in row if token[2] == number] for number in sorted({token[2] for token in row})]


def checked(batch: dict[str, Any], wanted: dict[str, tuple[Any, Any]]) -> None:
    """Whether a batch has these keys alone, with these types and values."""
    assert sorted(batch) == sorted(wanted)
    for name, (kind, value) in wanted.items():
        if isinstance(kind, type) and issubclass(kind, np.generic):
            assert batch[name].dtype == kind, name
            assert batch[name].tolist() == value, name
        else:
            assert type(batch[name]) is kind and batch[name] == value, name


def flat(rows: list[list[Token]]) -> dict[str, tuple[Any, Any]]:
    """What transformers' and TRL's collators make of the documents."""
    every = [document for row in rows for document in documents(row)]
    ends = np.cumsum([0, *map(len, every)]).tolist()
    longest = max(map(len, every))
    return {
        "input_ids": (np.int64, [[token[0] for one in every for token in one]]),
        "labels": (np.int64, [[label for one in every for label in [-100, *(token[1] for token in one[1:])]]]),
        "position_ids": (np.int64, [[at for one in every for at in range(len(one))]]),
        "seq_idx": (np.int32, [[number for number, one in enumerate(every) for _ in one]]),
        **{name: (np.int32, ends) for name in ("cu_seq_lens_q", "cu_seq_lens_k")},
        **{name: (int, longest) for name in ("max_length_q", "max_length_k")},
    }


@pytest.mark.parametrize("name", ["padded", "dealt", "chats"])
def test_the_default_is_the_batch_of_transformers(plans: dict[str, Plan], name: str) -> None:
    for options in ({}, {"contract": "transformers"}):
        batch, rows = first(plans[name], **options)
        checked(batch, {**flat(rows), "use_cache": (bool, False)})
        assert isinstance(batch, Batch) and batch.documents


def test_trl_gets_the_same_keys_and_turns_the_cache_off_itself(plans: dict[str, Plan]) -> None:
    batch, rows = first(plans["chats"], contract="trl")
    checked(batch, flat(rows))


@pytest.mark.parametrize("name", ["padded", "chats"])
def test_rows_have_boundaries_that_cover_their_pads(plans: dict[str, Plan], name: str) -> None:
    batch, rows = first(plans[name], layout="rows")
    count, width = batch["input_ids"].shape
    assert sorted(batch) == sorted([*flat(rows), "use_cache"]) and batch["use_cache"] is False
    wanted = [0]
    for number, row in enumerate(rows):
        lengths = [len(one) for one in documents(row)]
        lengths += [width - sum(lengths)] if sum(lengths) < width else []
        wanted += (number * width + np.cumsum(lengths)).tolist()
        at = 0
        for document, one in enumerate(documents(row)):
            assert batch["position_ids"][number, at : at + len(one)].tolist() == list(range(len(one)))
            assert set(batch["seq_idx"][number, at : at + len(one)].tolist()) == {document}
            at += len(one)
        assert (batch["labels"][number, at:] == -100).all() and (batch["seq_idx"][number, at:] == -1).all()
    assert batch["cu_seq_lens_q"].tolist() == batch["cu_seq_lens_k"].tolist() == wanted
    assert wanted[-1] == count * width
    assert batch["max_length_q"] == batch["max_length_k"] == max(np.diff(wanted))


@pytest.mark.parametrize("name", ["padded", "chats"])
def test_megatron_gets_shifted_labels_and_filled_boundaries(plans: dict[str, Plan], name: str) -> None:
    batch, rows = first(plans[name], contract="megatron")
    width = batch["tokens"].shape[1]
    ids, labels, masks, positions, ends, longest = [], [], [], [], [], []
    for row in rows:
        fill = [0] * (width - len(row))
        ids.append([token[0] for token in row] + fill)
        labels.append([token[0] for token in row[1:]] + [0] + fill)
        masks.append([float(token[1] != -100) for token in row[1:]] + [0.0] + [0.0] * len(fill))
        own = [len(one) for one in documents(row)]
        positions.append([at for length in [*own[:-1], own[-1] + len(fill)] for at in range(length)])
        starts = np.cumsum([0, *(len(one) for one in documents(row))]).tolist()
        ends.append((starts[:-1] + [width] * (width + 1))[: width + 1])
        longest.append(int(np.diff([*starts[:-1], width]).max()))
    checked(
        batch,
        {
            "tokens": (np.int64, ids),
            "labels": (np.int64, labels),
            "loss_mask": (np.float32, masks),
            "position_ids": (np.int64, positions),
            "cu_seqlens": (np.int32, ends),
            "max_seqlen": (np.int32, longest),
        },
    )


def test_torchtitan_gets_a_pair_of_inputs_and_labels(plans: dict[str, Plan]) -> None:
    (inputs, labels), rows = first(plans["padded"], contract="torchtitan")
    assert sorted(inputs) == ["input", "positions"] and inputs["input"].shape == labels.shape
    assert labels.dtype == inputs["positions"].dtype == np.int64
    for at, row in enumerate(rows):
        shifted = [token[1] for token in row[1:]]
        assert labels[at].tolist() == shifted + [-100] * (len(labels[at]) - len(shifted))
        assert inputs["positions"][at, : len(row)].tolist() == [
            place for one in documents(row) for place in range(len(one))
        ]
        pads = inputs["positions"][at, len(row) :].tolist()
        assert pads == list(range(len(pads))), "pads are a document of their own"
    assert inputs.state is not None and inputs.documents


@pytest.mark.parametrize("name", ["padded", "chats"])
def test_olmo_core_gets_lengths_that_cover_the_row(plans: dict[str, Plan], name: str) -> None:
    batch, rows = first(plans[name], contract="olmo-core")
    width = batch["input_ids"].shape[1]
    lengths = []
    for row in rows:
        own = [len(one) for one in documents(row)]
        lengths.append(own + ([width - len(row)] if len(row) < width else []))
    columns = max(map(len, lengths))
    labels = [[token[1] != -100 for token in row] + [False] * (width - len(row)) for row in rows]
    checked(
        batch,
        {
            "input_ids": (np.int64, batch["input_ids"].tolist()),
            "label_mask": (np.bool_, labels),
            "doc_lens": (np.int32, [row + [0] * (columns - len(row)) for row in lengths]),
            "max_doc_lens": (list, [max(row) for row in lengths]),
        },
    )
    for at, row in enumerate(rows):
        assert batch["input_ids"][at, : len(row)].tolist() == [token[0] for token in row]


@pytest.mark.parametrize(("ids", "kind"), [("int64", np.int64), ("int32", np.int32), ("uint16", np.uint16)])
@pytest.mark.parametrize("layout", ["rows", "flat"])
def test_the_type_of_ids_is_that_of_ids_alone(plans: dict[str, Plan], ids: Any, kind: Any, layout: Any) -> None:
    batch, _ = first(plans["padded"], ids=ids, layout=layout)
    wide, _ = first(plans["padded"], layout=layout)
    assert batch["input_ids"].dtype == kind and batch["input_ids"].tolist() == wide["input_ids"].tolist()
    assert batch["labels"].dtype == batch["position_ids"].dtype == np.int64


def test_views_of_ones_own_come_as_rows(plans: dict[str, Plan]) -> None:
    batch, _ = first(plans["padded"], views=["attention_mask", "label_mask"])
    assert sorted(batch) == ["attention_mask", "input_ids", "label_mask"]
    assert batch["input_ids"].shape == (6, 32)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"contract": "nemo"}, "transformers, trl, megatron, torchtitan, olmo-core"),
        ({"contract": "trl", "layout": "rows"}, "leave layout='rows' out"),
        ({"contract": "trl", "views": ["labels"]}, "leave views=\\['labels'\\] out"),
        ({"contract": "trl", "as_": "arrow"}, "as_=\"arrow\""),
        ({"ids": "uint32"}, "int64, int32, uint16"),
        ({"rows": 0}, "rows must be at least 1"),
    ],
)
def test_what_no_trainer_reads_is_refused_when_the_loader_is_made(
    plans: dict[str, Plan], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        plans["padded"].loader(rank=0, world=1, **{"as_": "numpy", **options})


def test_rows_of_documents_have_no_contract_of_one_length(plans: dict[str, Plan]) -> None:
    with pytest.raises(errors.CorpusError, match="pack them with `length`"):
        plans["dealt"].loader(rank=0, world=1, as_="numpy", contract="megatron")


# ---- built files ----


def rows_of_files(directory: Path) -> list[dict[str, Any]]:
    """The rows of built files in Parquet, or in Arrow as `datasets` has it."""
    tables = []
    for file in sorted(directory.iterdir()):
        if file.suffix == ".parquet":
            tables.append(pq.read_table(file))
        elif file.suffix == ".arrow":
            tables.append(pa.ipc.open_stream(file).read_all())
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
    return rows


@pytest.mark.parametrize("name", ["padded", "dealt", "chats"])
def test_rows_of_files_make_the_batches_of_the_plan(plans: dict[str, Plan], name: str, tmp_path: Path) -> None:
    plan = plans[name]
    plan.build(tmp_path / "built")
    rows = rows_of_files(tmp_path / "built")
    contracts: list[Any] = ["transformers", "trl"]
    if name != "dealt":
        contracts += ["megatron", "torchtitan", "olmo-core"]
    for contract in contracts:
        collator = _native.Collator(_native.manifest_text(tmp_path / "built"), contract)
        at = 0
        for wanted in plan.loader(rank=0, world=1, as_="numpy", contract=contract):
            if contract == "torchtitan":
                inputs, labels = wanted
                wanted = inputs._with({**inputs, "labels": labels})
            of_batch = rows[at : at + len(wanted.rows)]
            at += len(of_batch)
            given = collator.batch([row_columns(row) for row in of_batch])
            assert sorted(given) == sorted(wanted)
            for key, value in wanted.items():
                assert type(given[key]) is type(value), key
                if isinstance(value, np.ndarray):
                    assert given[key].dtype == value.dtype and np.array_equal(given[key], value), key
                else:
                    assert given[key] == value, key
        assert at == len(rows)


def test_what_is_no_built_row_is_refused_with_its_column(plans: dict[str, Plan], tmp_path: Path) -> None:
    plans["dealt"].build(tmp_path / "built")
    manifest = _native.manifest_text(tmp_path / "built")
    with pytest.raises(errors.CorpusError, match="pack them with `length`"):
        _native.Collator(manifest, "megatron")
    with pytest.raises(ValueError, match="no contract `nemo`"):
        _native.Collator(manifest, "nemo")
    with pytest.raises(errors.CorpusError, match="no epoch was built here"):
        _native.manifest_text(tmp_path)
    collator, row = _native.Collator(manifest, "trl"), rows_of_files(tmp_path / "built")[0]
    with pytest.raises(ValueError, match="a row has no `seq_lengths`"):
        row_columns({"input_ids": [1, 2]})
    with pytest.raises(ValueError, match="`input_ids` has -3"):
        collator.batch([row_columns({**row, "input_ids": [-3] * len(row["input_ids"])})])
    with pytest.raises(errors.CorpusError, match="row 0 of the batch has no `labels`"):
        collator.batch([row_columns({name: value for name, value in row.items() if name != "labels"})])


# ---- ranks ----


@pytest.mark.parametrize("world", [1, 2, 3, 6])
@pytest.mark.parametrize("contract", [None, "megatron"])
def test_pads_lose_no_row_and_give_no_label(plans: dict[str, Plan], world: int, contract: Any) -> None:
    """Six rows a batch and pads in the last one: a step with fewer rows than ranks was left out, every epoch."""
    plan = plans["padded"]
    loaders = [plan.loader(rank=rank, world=world, as_="numpy", contract=contract) for rank in range(world)]
    count, left_out = len(loaders[0]), loaders[0].rows_left_out
    steps = [list(loader) for loader in loaders]
    assert {len(of) for of in steps} == {count} and left_out == 0
    given, lone = [], 0
    for ranks in zip(*steps, strict=True):
        real = [sum(source is not None for source in batch.sources) for batch in ranks]
        assert max(real) - min(real) <= 1 and all(len(batch.rows) for batch in ranks)
        given += [row for batch in ranks for row, of in zip(batch.rows, batch.sources, strict=True) if of is not None]
        for batch, rows in zip(ranks, real, strict=True):
            if contract is None:
                has_label = bool((batch["labels"] != -100).any())
                # The loss of a model of transformers is the mean over labels: over none it is no number.
                assert batch.get("num_items_in_batch") == (None if has_label else 1)
                assert batch["input_ids"].size > 0 and (rows > 0 or not has_label)
            elif not rows:
                assert not batch["loss_mask"].any()
            lone += not rows
    with plan.loader(rank=0, world=1, as_="numpy") as whole:
        every = [
            row for batch in whole for row, of in zip(batch.rows, batch.sources, strict=True) if of is not None
        ]
    assert sorted(given) == every
    assert lone == 0 or world > 1


def test_without_batches_a_step_has_eight_rows_of_each_rank(tmp_path: Path) -> None:
    plan = planned(texts(tmp_path), PACKED.split("[batch]")[0])
    total = plan.rows(0)
    for world in (1, 2, 3):
        ranks = [list(plan.loader(rank=rank, world=world, as_="numpy")) for rank in range(world)]
        assert {len(batch.rows) for rank in ranks for batch in rank[:-1]} == {8}
        given = sorted(row for rank in ranks for batch in rank for row in batch.rows.tolist())
        left_out = plan.loader(rank=0, world=world, as_="numpy").rows_left_out
        assert given == list(range(total - left_out)) and left_out < world
    # A state counts rows, so that another number of ranks goes on at the same row.
    with plan.loader(rank=0, world=3, as_="numpy") as loader:
        next(loader)
        state = loader.state_dict()
    with plan.loader(rank=0, world=1, as_="numpy", rows=5) as loader:
        loader.load_state_dict(state)
        assert next(loader).rows.tolist() == [24, 25, 26, 27, 28]
