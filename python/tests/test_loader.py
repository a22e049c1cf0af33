"""Loaders: every batch once and in order at any world, resumed anywhere, across processes, with signals."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import pickle
import random
import signal
import stat
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from epochs import CHATS, CUT, DEALT, PACKED, Opened, chats, planned, run, texts

import corpusdb
from corpusdb import errors
from corpusdb._loader import Loader
from corpusdb._plan import Plan

ALIGNED = ["labels", "position_ids", "attention_mask", "segment_ids", "seq_idx", "loss_mask", "loss_weights"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(scope="module")
def plans(corpus: Path) -> dict[str, Plan]:
    return {"packed": planned(corpus, PACKED), "cut": planned(corpus, CUT), "dealt": planned(corpus, DEALT)}


@pytest.fixture
def packed(plans: dict[str, Plan]) -> Plan:
    return plans["packed"]


def numpy_loader(plan: Plan, **options: Any) -> Loader:
    return plan.loader(**{"as_": "numpy", "rank": 0, "world": 1, **options})


def given(loader: Loader) -> list[int]:
    """The rows of what is left."""
    return [row for batch in loader for row in batch.rows.tolist()]


# ---- what is measured ----


@pytest.mark.parametrize("name", ["packed", "cut", "dealt"])
@pytest.mark.parametrize("world", [1, 3])
def test_a_benchmark_counts_what_each_rank_has(plans: dict[str, Plan], name: str, world: int) -> None:
    plan = plans[name]
    for steps in [1, 4, 10_000]:
        tokens, places = [], []
        for rank in range(world):
            batches = list(numpy_loader(plan, rank=rank, world=world, views=["attention_mask"]))[:steps]
            tokens.append(sum(int(batch["attention_mask"].sum()) for batch in batches))
            places.append(sum(batch["input_ids"].size for batch in batches))
        rank = world - 1
        found = numpy_loader(plan, rank=rank, world=world, views=["labels"]).benchmark(steps=steps)
        assert (found.steps, found.rank_tokens) == (len(batches), tokens)
        assert (found.tokens, found.fill) == (tokens[rank], tokens[rank] / places[rank])
        assert found.rank_spread == max(tokens) / min(tokens) - 1
        assert (found.tokens_per_second is None) == (found.wait_share is None) == (len(batches) == 1)
        flat = numpy_loader(plan, rank=rank, world=world).benchmark(steps=steps)
        assert (flat.tokens, flat.fill) == (tokens[rank], 1.0)


def test_ranks_of_packed_rows_have_tokens_within_five_percent(packed: Plan) -> None:
    found = numpy_loader(packed, rank=2, world=8).benchmark()
    assert found.rank_spread is not None and found.rank_spread < 0.05 and len(found.rank_tokens) == 8


def test_a_benchmark_leaves_the_loader_where_it_stands(packed: Plan) -> None:
    loader = numpy_loader(packed)
    whole = given(numpy_loader(packed))
    first = [row for _ in range(2) for row in next(loader).rows.tolist()]
    measured = loader.benchmark(steps=3)
    alone = numpy_loader(packed)
    alone.load_state_dict(loader.state_dict())
    assert measured.rank_tokens == alone.benchmark(steps=3).rank_tokens
    assert first + given(loader) == whole
    # Behind the last batch it measures the epoch that the loader began with.
    assert loader.benchmark(steps=1).tokens == numpy_loader(packed).benchmark(steps=1).tokens


@pytest.mark.parametrize("options", [{"as_": "arrow"}, {"views": ["labels"]}, {"ids": "uint16"}, {"endless": True}])
def test_a_benchmark_measures_batches_of_any_form(packed: Plan, options: dict[str, Any]) -> None:
    found = packed.loader(**{"as_": "numpy", "rank": 0, "world": 1, **options}).benchmark(steps=4)
    assert found.steps == 4 and found.fill is not None and 0.5 < found.fill <= 1.0


def test_a_benchmark_says_the_loss_of_a_new_model(packed: Plan) -> None:
    found = numpy_loader(packed).benchmark(steps=2, step_seconds=0.01)
    assert found.vocabulary == packed.to_dict()["tokenizer"]["vocab_size"]
    assert found.expected_loss == math.log(found.vocabulary)
    # The consumer's own time is none that it waited for.
    assert found.seconds >= 0.02 and found.wait_share is not None and found.wait_share <= 1 - 0.02 / found.seconds
    assert "expected_loss" in repr(found) and "expected loss" in found._repr_html_()
    assert corpusdb.reports.LoaderBenchmark(found.to_dict()) == found
    for wrong in [{"steps": 0}, {"step_seconds": -1.0}, {"step_seconds": float("nan")}]:
        with pytest.raises(ValueError, match="steps must be at least 1"):
            numpy_loader(packed).benchmark(**wrong)


# ---- what is given ----


@pytest.mark.parametrize("recipe", [PACKED, CUT, DEALT])
def test_batches_are_the_rows_of_the_export(corpus: Path, tmp_path: Path, recipe: str) -> None:
    columns = ', '.join(f'"{name}"' for name in ALIGNED)
    table = "" if "[output]" in recipe else "[output]\n"
    plan = planned(corpus, f"{recipe}{table}columns = [{columns}]\n")
    plan.build(tmp_path / "epoch")
    rows = pq.read_table(sorted((tmp_path / "epoch").glob("*.parquet"))).to_pylist()
    seen = []
    for batch in numpy_loader(plan, views=ALIGNED):
        for at, number in enumerate(batch.rows.tolist()):
            wanted, width = rows[number], len(rows[number]["input_ids"])
            for name in ["input_ids", *ALIGNED]:
                assert batch[name][at, :width].tolist() == wanted[name], (number, name)
            # What pads rows of one batch to one width is no token to any view.
            assert not batch["attention_mask"][at, width:].any()
            assert (batch["labels"][at, width:] == -100).all()
            assert batch.documents[at].tolist() == wanted["doc_ids"]
            assert batch.offsets[at].tolist() == wanted["doc_offsets"]
            assert (batch.sources[at] or "") == wanted["source"]
            seen.append(number)
    assert seen == list(range(len(rows)))


def test_arrays_own_their_values_in_the_types_of_torch(packed: Plan) -> None:
    with numpy_loader(packed, views=[*ALIGNED, "cu_seqlens", "max_seqlen", "block_causal_mask"]) as loader:
        batch = next(loader)
    kinds = {name: value.dtype.str[1:] for name, value in batch.items() if name != "max_seqlen"}
    assert kinds == {
        "input_ids": "i8", "labels": "i8", "position_ids": "i8", "attention_mask": "i8",
        "segment_ids": "i4", "seq_idx": "i4", "cu_seqlens": "i4",
        "loss_mask": "i1", "loss_weights": "f4", "block_causal_mask": "b1",
    }
    assert isinstance(batch["max_seqlen"], int)
    assert batch["input_ids"].shape == (120, 32) and batch["block_causal_mask"].shape == (120, 32, 32)
    for name, value in batch.items():
        if name != "max_seqlen":
            assert value.flags.writeable and value.flags.c_contiguous
            value[...] = 1
    with numpy_loader(packed, ids="int32", views=["labels", "position_ids"]) as loader:
        kinds = {name: value.dtype.str[1:] for name, value in next(loader).items()}
    assert kinds == {"input_ids": "i4", "labels": "i8", "position_ids": "i8"}, "labels are what a cross entropy takes"


def test_boundaries_are_those_of_the_segments(packed: Plan) -> None:
    views = ["cu_seqlens", "cu_seqlens_padded", "max_seqlen", "doc_lens", "lengths", "segment_ids", "document_id"]
    batch = next(numpy_loader(packed, views=views))
    segments = batch["segment_ids"]
    lengths = [[int((row == number).sum()) for number in range(1, row.max() + 1)] for row in segments]
    flat = [length for row in lengths for length in row]
    assert batch["cu_seqlens"].tolist() == [0, *np.cumsum(flat).tolist()]
    assert batch["max_seqlen"] == max(flat)
    assert [[one for one in row if one] for row in batch["doc_lens"].tolist()] == lengths
    assert batch["lengths"].tolist() == [sum(row) for row in lengths]
    assert batch["cu_seqlens_padded"][-1] == segments.size
    assert (batch["document_id"] == np.where(segments == 0, -1, segments - 1)).all()


@pytest.mark.parametrize("name", ["packed", "cut", "dealt"])
def test_flat_batches_are_the_segments_end_to_end(plans: dict[str, Plan], name: str) -> None:
    views = ["labels", "position_ids", "segment_ids", "cu_seqlens", "max_seqlen", "indices", "cu_seq_lens_q"]
    padded = numpy_loader(plans[name], views=["labels", "position_ids", "attention_mask"])
    for flat, rows in zip(numpy_loader(plans[name], layout="flat", views=views), padded, strict=True):
        kept = rows["attention_mask"] == 1
        assert flat["input_ids"].shape == (1, kept.sum())
        for view in ("input_ids", "labels", "position_ids"):
            assert (flat[view][0] == rows[view][kept]).all()
        assert (np.flatnonzero(kept) == flat["indices"][0]).all()
        starts = np.flatnonzero(flat["position_ids"][0] == 0)
        assert flat["cu_seqlens"].tolist() == [*starts.tolist(), kept.sum()] == flat["cu_seq_lens_q"].tolist()
        assert flat["max_seqlen"] == np.diff(flat["cu_seqlens"]).max()
    with pytest.raises(errors.BadRecipe, match="attention_mask"):
        next(numpy_loader(plans[name], layout="flat", views=["attention_mask"]))


def test_arrow_batches_are_read_as_often_as_asked(packed: Plan) -> None:
    loader = packed.loader(rank=0, world=1, as_="arrow", views=["labels"])
    batches = list(loader)
    loader.close()
    table = pa.Table.from_batches([batch.to_pyarrow() for batch in batches])
    assert table.column("row").to_pylist() == list(range(packed.rows()))
    first = batches[0]
    one, two = pa.record_batch(first), pa.record_batch(first)
    assert one.equals(two) and one.column("input_ids").values.buffers()[1].address == (
        two.column("input_ids").values.buffers()[1].address
    )
    beside = ["seq_lengths", "source", "doc_ids", "doc_offsets"]
    assert one.schema.names == ["row", "batch", "input_ids", "labels", *beside]
    first.__arrow_c_array__()
    assert first.number == 0 and len(first) == 120 and len(first.documents) == 120


def test_masks_of_chats_are_kept_and_cannot_be_lost(tmp_path: Path) -> None:
    plan = planned(chats(tmp_path), CHATS)
    batch = next(numpy_loader(plan))
    assert {"input_ids", "labels", "position_ids"} < set(batch)
    trained = batch["labels"] != -100
    assert 0 < trained.mean() < 1 and (batch["labels"][trained] == batch["input_ids"][trained]).all()
    # A document that begins is not predicted by the one before.
    assert not trained[batch["position_ids"] == 0].any()
    with pytest.raises(errors.BadRecipe, match="labels or loss_mask"):
        next(numpy_loader(plan, views=["position_ids"]))


def test_what_is_asked_wrongly_is_named(packed: Plan) -> None:
    for options, words in [
        ({"views": ["labls"]}, "no view `labls`; there are attention_mask"),
        ({"views": "labels"}, "list of names"),
        ({"as_": "jax"}, "as_ must be"),
        ({"layout": "ragged"}, "layout must be"),
        ({"ids": "int16"}, "ids must be"),
        ({"prefetch": 0}, "prefetch"),
        ({"epoch": -1}, "epoch"),
        ({"rank": 3, "world": 3}, "rank 3 is out of range: world 3 has ranks 0 to 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            numpy_loader(packed, **options)
    with pytest.raises(errors.BadRecipe, match="do not divide evenly among 7"):
        numpy_loader(packed, world=7)


# ---- where it stands ----


def elastic(plan: Plan, worlds: list[int], stops: list[int], **options: Any) -> list[int]:
    """The rows of an epoch that is trained on by one world after the other, each for so many steps."""
    state: dict[str, Any] | None = None
    rows: list[int] = []
    for world, steps in zip(worlds, stops, strict=True):
        states = []
        for rank in range(world):
            with numpy_loader(plan, rank=rank, world=world, views=["labels"], **options) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                for step, batch in enumerate(loader):
                    rows.extend(batch.rows.tolist())
                    if step + 1 == steps:
                        break
                states.append(loader.state_dict())
        assert all(one == states[0] for one in states), "the state is the same on every rank"
        state = states[0]
    return rows


@pytest.mark.parametrize("name", ["packed", "dealt"])
@pytest.mark.parametrize("seed", range(3))
def test_worlds_of_any_size_go_on_from_each_other(plans: dict[str, Plan], name: str, seed: int) -> None:
    plan, worlds = plans[name], [8, 3, 5, 1]
    steps = plan.batches() if name == "packed" else plan.batches() // 8
    chance = random.Random(seed)
    stops = [chance.randint(1, max(1, steps // 4)) for _ in worlds[:-1]]
    rows = elastic(plan, worlds, [*stops, 10**9])
    assert sorted(rows) == list(range(plan.rows())), "each row once"


def test_ranks_that_do_not_divide_a_batch_go_on_too(packed: Plan) -> None:
    rows = elastic(packed, [7, 11, 1], [1, 1, 10**9], uneven=True)
    assert sorted(rows) == list(range(packed.rows()))


def test_two_resumes_in_a_row_lose_and_repeat_nothing(packed: Plan) -> None:
    whole = given(numpy_loader(packed))
    rows: list[int] = []
    state = None
    while True:
        with numpy_loader(packed, prefetch=3) as loader:
            if state is not None:
                loader.load_state_dict(state)
                assert loader.state_dict() == state
            batch = next(loader)
            if batch.epoch > 0:
                break
            rows.extend(batch.rows.tolist())
            state = loader.state_dict()
            assert state == batch.state
            # What is read ahead does not count.
            time.sleep(0.01)
            assert loader.state_dict() == state
    assert rows == whole


def test_len_is_that_of_a_rank(plans: dict[str, Plan]) -> None:
    for world in (1, 3, 8):
        with numpy_loader(plans["dealt"], world=world) as loader:
            # A last step without a batch for every rank is left out.
            assert len(loader) == plans["dealt"].batches() // world == len(list(loader))
    # Where the last step has no batch for a rank, it has one without rows.
    last = [list(numpy_loader(plans["dealt"], rank=rank, world=7, uneven=True, layout="rows"))[-1] for rank in range(7)]
    assert any(not len(batch.rows) and batch["labels"].shape[0] == 0 for batch in last)


def test_other_states_are_refused(plans: dict[str, Plan]) -> None:
    loader = numpy_loader(plans["packed"])
    good, other = loader.state_dict(), plans["cut"]
    for bad, words in [
        (numpy_loader(other).state_dict(), f"to plan {other.hash[:16]}, but this loader reads plan"),
        ({**good, "version": 2}, "version"),
        ({**good, "version": True}, "version"),
        ({**good, "epoch": -1}, "epoch"),
        ({**good, "next_batch": "7"}, "next_batch"),
        ({**good, "next_batch": 1.0}, "next_batch"),
        ({"plan": good["plan"]}, "lacks"),
        (None, r"\(a mapping\), got NoneType"),
        ("state", r"\(a mapping\), got str"),
        ({**good, "plan": None}, "to plan None, but this loader reads plan"),
    ]:
        with pytest.raises(errors.WrongState, match=words):
            loader.load_state_dict(bad)  # type: ignore[arg-type]
        assert loader.state_dict() == good, "what is refused changes nothing"
    loader.load_state_dict({**good, "next_batch": 10**6})
    with pytest.raises(errors.WrongState, match="out of range: epoch 0 has"):
        next(loader)


def test_without_torch_the_loader_says_what_needs_none(plans: dict[str, Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    # An import of what is None there fails as of a package that is not installed.
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match='as_="numpy"` needs no torch') as raised:
        plans["packed"].loader(rank=0, world=1)
    assert raised.value.name == "torch"
    assert next(numpy_loader(plans["packed"])).number == 0


# ---- processes, threads, signals ----


def test_a_loader_is_pickled_where_it_stands(packed: Plan) -> None:
    with numpy_loader(packed, views=["labels"]) as loader:
        next(loader)
        again = pickle.loads(pickle.dumps(loader))
        assert again.state_dict() == loader.state_dict()
        assert next(again).rows.tolist() == next(loader).rows.tolist()
        batch = pickle.loads(pickle.dumps(next(loader)))
    assert batch.number == 2 and batch.state["next_batch"] == 3 and len(batch.documents) == 120
    with pytest.raises(ValueError, match="before pickling"):
        _ = batch.document_keys


def first_rows(loader: Loader) -> list[int]:
    rows: list[int] = next(loader).rows.tolist()
    return rows


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes_open_it_themselves(packed: Plan, method: str) -> None:
    loader = numpy_loader(packed)
    next(loader)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(first_rows, (loader,)) == list(range(120, 240))


def in_child(work: Callable[[], str]) -> str:
    """What `work` says in a fork of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    deadline = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child of a fork hangs")
        time.sleep(0.01)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def test_after_a_fork_an_opened_loader_says_so_and_a_fresh_one_works(corpus: Path, packed: Plan) -> None:
    loader, fresh = numpy_loader(packed), numpy_loader(packed)
    next(loader)
    rows = list(range(packed.rows()))
    assert in_child(lambda: str(next(loader))).startswith("Forked: this loader was opened before a fork")
    assert in_child(lambda: str(loader.close())).startswith("Forked")
    assert in_child(lambda: str(given(fresh) == rows)) == "True"
    # Beside a writer that has threads of its own, too.
    with Opened(corpus, write=True):
        other = numpy_loader(packed)
        assert in_child(lambda: str(first_rows(other) == list(range(120)))) == "True"
    # A copy that is dropped in the child waits for nobody.
    assert in_child(lambda: str(loader.__dict__.clear() or gc.collect() >= 0)) == "True"
    assert next(loader).number == 1, "the parent goes on"


def test_arrow_batches_of_a_fresh_loader_come_after_a_fork(packed: Plan) -> None:
    """Their columns were made by threads that the parent had and a child does not: it waited for ever."""

    def arrow_loader() -> Loader:
        return packed.loader(rank=0, world=1, as_="arrow", views=["labels", "position_ids"])

    def first_batch(loader: Loader) -> str:
        return str(pa.record_batch(next(loader)).column("row").to_pylist()[:2])

    opened, fresh = arrow_loader(), arrow_loader()
    assert first_batch(opened) == "[0, 1]"
    assert in_child(lambda: first_batch(fresh)) == "[0, 1]"


def test_batches_outlive_everything(corpus: Path) -> None:
    reader = Opened(corpus, write=False)
    plan = reader.plan(planned(corpus, PACKED).number or 0)
    loader = plan.loader(rank=0, world=1, as_="numpy")
    batch = next(loader)
    keys = batch.document_keys
    kept = batch["input_ids"].copy()
    loader.close()
    reader.close()
    del loader, reader, plan
    gc.collect()
    assert (batch["input_ids"] == kept).all() and len(batch.documents) == len(keys) == 120
    with pytest.raises(errors.Closed):
        _ = batch.document_keys


def test_closing_while_iterating_ends_it(packed: Plan) -> None:
    loader = numpy_loader(packed)
    with pytest.raises(errors.Closed):
        for _ in loader:
            loader.close()
    loader.close()
    assert loader.state_dict()["next_batch"] == 1
    before = threading.active_count()
    for _ in range(20):
        with numpy_loader(packed) as short:
            next(short)
    assert threading.active_count() == before


def test_threads_share_a_loader(packed: Plan) -> None:
    loader = numpy_loader(packed, epochs=3)
    rows: list[tuple[int, int]] = []

    def take() -> None:
        for batch in loader:
            rows.extend((batch.epoch, row) for row in batch.rows.tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [(epoch, row) for epoch in range(3) for row in range(packed.rows(epoch))]
    assert sorted(rows) == wanted


WAITING = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
from epochs import Opened
loader = Opened({path!r}, write=False).plan({number}).loader(rank=0, world=1, as_="numpy", endless=True)
for seconds in (0.3, 0.4, 0.5):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        while True:
            next(loader)
    except KeyboardInterrupt:
        state = loader.state_dict()
        batch = next(loader)
        # Nothing is left out, whatever was under way.
        wanted = (state["epoch"], state["next_batch"])
        print((batch.epoch, batch.number) in (wanted, (wanted[0] + 1, 0)))
"""


def test_ctrl_c_stops_a_loop_and_leaves_the_loader_whole(corpus: Path) -> None:
    number = planned(corpus, PACKED.replace("max_repeats = 8", "max_repeats = 1000000")).number
    script = WAITING.format(tests=str(Path(__file__).parent), path=str(corpus), number=number)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True\n" * 3, done.stderr


def test_a_mount_without_writing_and_little_memory_will_do(corpus: Path, packed: Plan) -> None:
    folders = [corpus, *(path for path in corpus.rglob("*") if path.is_dir())]
    modes = {path: path.stat().st_mode for path in [*folders, *corpus.rglob("*")]}
    for path in modes:
        path.chmod(stat.S_IMODE(modes[path]) & ~0o222)
    try:
        assert len(given(numpy_loader(packed, memory=8 << 20, threads=1))) == packed.rows()
    finally:
        for path, mode in modes.items():
            path.chmod(stat.S_IMODE(mode))


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_ten_thousand_batches_take_no_more_memory_than_a_thousand(corpus: Path) -> None:
    recipe = PACKED.replace("rows = 120", "rows = 8")
    plan = planned(corpus, recipe.replace("max_repeats = 8", "max_repeats = 1000"))
    loader = numpy_loader(plan, endless=True, views=["labels", "position_ids", "cu_seqlens"])
    before = 0
    for number, _ in enumerate(batches := iter_of(loader)):
        if number == 2000:
            before = resident()
        if number == 10_000:
            break
    batches.close()
    assert resident() - before < 16 << 20
    loader.close()


def iter_of(loader: Loader) -> Any:
    def every() -> Iterator[Any]:
        yield from loader

    return every()


def test_ranks_are_those_of_the_launcher(packed: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    loader = packed.loader(as_="numpy")
    assert (loader.rank, loader.world) == (2, 3)
    assert next(loader).rows.tolist() == list(range(80, 120))
    assert packed.loader(as_="numpy", rank=0, world=1).world == 1


class Group:
    """As much of torch.distributed as a loader asks."""

    rank, world = 1, 3
    is_begun = False

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return self.is_begun

    def get_rank(self) -> int:
        return self.rank

    def get_world_size(self) -> int:
        return self.world


def test_ranks_are_those_that_a_trainer_begins_after_the_loader_was_made(
    packed: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = Group()
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    loader, given = packed.loader(as_="numpy"), numpy_loader(packed, rank=0, world=1)
    # As a launcher does that tells the number of processes alone.
    monkeypatch.setenv("WORLD_SIZE", "3")
    other = packed.loader(as_="numpy")
    with pytest.raises(ValueError, match="WORLD_SIZE says 3 processes, but RANK is not set"):
        next(other)
    group.is_begun = True
    for late in (loader, other):
        assert next(late).rows.tolist() == list(range(40, 80)) and (late.rank, late.world) == (1, 3)
    assert next(given).rows.tolist() == list(range(120))
    # What gets it pickled is a worker of this rank, or another rank if its own process group says so.
    written = pickle.dumps(loader)
    group.is_begun = False
    assert next(pickle.loads(written)).rows.tolist() == list(range(160, 200))
    group.is_begun, group.rank = True, 2
    assert next(pickle.loads(written)).rows.tolist() == list(range(200, 240))


class Met(Group):
    """A process group whose ranks share a store of texts."""

    is_begun = True

    def __init__(self, rank: int, told: dict[str, bytes]) -> None:
        self.rank, self.told = rank, told
        self.distributed_c10d = self

    def _get_default_store(self) -> Met:
        return self

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        assert expected == ""
        return self.told.setdefault(key, desired.encode())


def test_ranks_with_two_plans_of_one_recipe_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank planned the recipe by itself, a commit came between them, and rows came twice or never."""
    path = texts(tmp_path)
    first = Opened(path, write=False).plan(PACKED)
    (tmp_path / "more.jsonl").write_text('{"id": "logs-more", "text": "one more of the logs"}\n', encoding="utf-8")
    run("ingest", path, tmp_path / "more.jsonl", "--source", "logs", "--id-field", "id")
    second = Opened(path, write=False).plan(PACKED)
    assert first.number is None and first.hash != second.hash
    told: dict[str, bytes] = {}
    monkeypatch.setattr("corpusdb._ranks._planned_here", {})

    def of_rank(rank: int, plan: Plan) -> Loader:
        monkeypatch.setitem(sys.modules, "torch.distributed", Met(rank, told))
        return plan.loader(as_="numpy")

    next(of_rank(0, first))
    monkeypatch.setattr("corpusdb._ranks._planned_here", {})
    next(of_rank(1, first))
    monkeypatch.setattr("corpusdb._ranks._planned_here", {})
    words = f"rank 2 has plan {second.hash[:12]} .* another rank has {first.hash[:12]}"
    with pytest.raises(errors.BadInput, match=words):
        next(of_rank(2, second))
    # Without a process group nobody can compare.
    monkeypatch.delitem(sys.modules, "torch.distributed")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(errors.BadInput, match="store the plan before the run"):
        next(second.loader(as_="numpy"))
    # Who names rank and world, or asks for a stored plan, has said which.
    next(planned(path, PACKED).loader(as_="numpy"))
    next(second.loader(as_="numpy", rank=2, world=3))
    next(of_rank(2, planned(path, PACKED)))


class State:
    """As much of accelerate's GradientState as a loader tells."""

    def __init__(self) -> None:
        self.dataloader_references: list[Any] = [None]

    def _add_dataloader(self, loader: Loader) -> None:
        self.dataloader_references.append(loader)

    def _remove_dataloader(self, loader: Loader) -> None:
        self.dataloader_references.remove(loader)


def test_accelerate_is_shown_the_end_of_an_epoch(packed: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """It steps at the end of a loader that it knows: of another one the last batches never reached the weights."""
    state = State()
    monkeypatch.setitem(sys.modules, "accelerate.state", types.SimpleNamespace(GradientState=lambda: state))
    loader = numpy_loader(packed, epochs=2)
    held_out = numpy_loader(packed, evaluation=True)
    steps = [len(numpy_loader(packed, epoch=epoch)) for epoch in (0, 1)]
    ends = []
    for number, _ in enumerate(loader):
        assert state.dataloader_references == [None, loader]
        ends.append(loader.end_of_dataloader)
        if number == 1:
            assert sum(held_out.end_of_dataloader for _ in held_out) == 1
    assert [at + 1 for at, is_end in enumerate(ends) if is_end] == [steps[0], sum(steps)]
    assert state.dataloader_references == [None] and loader.remainder == 0
