"""Ranks under torchrun: each row once, as many steps for every rank, a run that goes on with other ranks, one loss."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from epochs import CHATS, PACKED, chats, planned, texts

from corpusdb._plan import Plan

#: One rank: trains through the epochs that are left, and writes the rows and the loss of each step.
RANK = """
import json, os, sys
import corpusdb, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

corpus, number, out, state, stop, options = sys.argv[1:]
dist.init_process_group("gloo")
torch.set_num_threads(1)
torch.manual_seed(0)
model = DistributedDataParallel(LlamaForCausalLM(LlamaConfig(
    vocab_size=512, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, eos_token_id=1,
)))
loader = corpusdb.open(corpus).plan(int(number)).loader(**json.loads(options))
if state != "-":
    loader.load_state_dict(json.loads(state))
steps, left = [], int(stop)
while loader.epoch < 2 and left:
    for batch in loader:
        loss = model(**batch).loss
        if not bool(torch.isfinite(loss)):
            raise SystemExit("the loss of a rank is no number")
        loss.backward()
        model.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        real = [row for row, source in zip(batch.rows.tolist(), batch.sources) if source is not None]
        steps.append([batch.epoch, real, float(total) / dist.get_world_size()])
        left -= 1
        if not left:
            break
with open(f"{out}/{dist.get_rank()}.json", "w") as file:
    json.dump({"steps": steps, "state": loader.state_dict(), "rank": [loader.rank, loader.world]}, file)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    corpus = texts(tmp_path_factory.mktemp("texts"))
    source = "max_repeats = 2"
    recipe = PACKED.replace("weight = 2\nmax_repeats = 8", source).replace("weight = 1\nmax_repeats = 8", source)
    recipe = recipe.replace("[mix]\ntokens = 60000\n", "")
    return {
        "pads": planned(corpus, recipe.replace("rows = 120", "rows = 60\ntail = \"pad\"")),
        "single": planned(corpus, recipe.split("[batch]")[0]),
        "chats": planned(
            chats(tmp_path_factory.mktemp("chats")),
            {**CHATS, "source": [{"name": "chats", "max_repeats": 2}], "batch": {"rows": 6, "tail": "pad"},
             "tokenizer": {"name": "own", "specials": {"pad": "<|im_end|>"}}},
        ),
    }


def ran(plan: Plan, processes: int, directory: Path, state: Any = None, stop: int = -1, **options: Any) -> list[Any]:
    """What each rank wrote."""
    directory.mkdir()
    script = directory / "rank.py"
    script.write_text(RANK, encoding="utf-8")
    told = "-" if state is None else json.dumps(state)
    arguments = [plan._path, str(plan.number), str(directory), told, str(stop), json.dumps(options)]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    done = subprocess.run([*command, str(script), *arguments], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((directory / f"{rank}.json").read_text()) for rank in range(processes)]


def rows(ranks: list[Any], epoch: int) -> list[int]:
    return [row for rank in ranks for of, own, _ in rank["steps"] if of == epoch for row in own]


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("name", ["pads", "single", "chats"])
def test_ranks_have_every_row_once_and_as_many_steps(
    plans: dict[str, Plan], tmp_path: Path, name: str, world: int
) -> None:
    plan = plans[name]
    ranks = ran(plan, world, tmp_path / "run")
    assert [rank["rank"] for rank in ranks] == [[at, world] for at in range(world)]
    assert len({len(rank["steps"]) for rank in ranks}) == 1
    assert all(rank["state"] == ranks[0]["state"] for rank in ranks)
    for steps in zip(*(rank["steps"] for rank in ranks), strict=True):
        assert name != "single" or all(own for _, own, _ in steps), "every rank has a row of documents"
        assert len({loss for _, _, loss in steps}) == 1 and all(loss == loss for _, _, loss in steps)
    for epoch in (0, 1):
        with plan.loader(rank=0, world=1, as_="numpy", epoch=epoch) as whole:
            every = [
                row for batch in whole
                for row, source in zip(batch.rows.tolist(), batch.sources, strict=True) if source is not None
            ]
        with plan.loader(rank=0, world=world, as_="numpy", epoch=epoch) as one:
            left_out = one.rows_left_out
        given = rows(ranks, epoch)
        assert len(given) == len(set(given)) == len(every) - left_out and set(given) <= set(every)
        assert left_out < world


@pytest.mark.parametrize("name", ["pads", "chats"])
def test_a_run_of_two_ranks_goes_on_with_three(plans: dict[str, Plan], tmp_path: Path, name: str) -> None:
    plan = plans[name]
    with plan.loader(rank=0, world=2, as_="numpy") as one:
        half = len(one) + len(one) // 2
    before = ran(plan, 2, tmp_path / "before", stop=half)
    assert before[0]["state"] == before[1]["state"] and before[0]["state"]["epoch"] == 1
    behind = ran(plan, 3, tmp_path / "behind", state=before[0]["state"])
    given = rows(before, 1) + rows(behind, 1)
    assert len(given) == len(set(given)) and rows(behind, 0) == []
    with plan.loader(rank=0, world=1, as_="numpy", epoch=1) as whole:
        every = sum(source is not None for batch in whole for source in batch.sources)
    assert every - 3 < len(given) <= every


def test_ranks_of_a_mesh_are_given_by_hand(plans: dict[str, Plan], tmp_path: Path) -> None:
    """With tensor parallelism two processes have the same rows: rank and world are those of data parallelism."""
    ranks = ran(plans["pads"], 2, tmp_path / "run", rank=0, world=1)
    assert [rank["rank"] for rank in ranks] == [[0, 1], [0, 1]]
    assert rows(ranks[:1], 0) == rows(ranks[1:], 0)
