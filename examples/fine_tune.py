"""Fine-tunes a tiny chat model for three epochs, under one of four trainers; killed at any step, it goes on there.

    python examples/fine_tune.py trainer run       # or: sft, accelerate, lightning
    python examples/fine_tune.py trainer run --kill-at 20; python examples/fine_tune.py trainer run

Conversations come into a corpus, a tokenizer is trained on them, and a recipe packs them into rows of 128 tokens, in
which the answers alone are trained on. Each trainer saves model, optimizer and the place in the data every five steps.
After a kill the second run ends with the loss that it would have had without one: no batch comes twice, none is lost.
The optimizer is plain SGD, so all trainers end with the same loss.

It needs torch and transformers, and the trainer: TRL, accelerate or Lightning. A run takes seconds on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import corpusdb

EPOCHS, RATE, SAVE_EVERY = 3, 0.05, 5

TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' }}"
    "{%- if message.role == 'assistant' %}{% generation %}{{- message.content + '<|im_end|>\n' }}{% endgeneration %}"
    "{%- else %}{{- message.content + '<|im_end|>\n' }}{%- endif %}{%- endfor %}"
)

RECIPE: dict[str, Any] = {
    "version": 1,
    "seed": 7,
    "tokenizer": {"name": "own", "specials": {"pad": "<|im_end|>"}},
    "source": [{"name": "chats", "max_repeats": EPOCHS}],
    "pack": {"length": 128, "options": {"long": "drop"}},
    "batch": {"rows": 4, "tail": "pad"},
    "output": {"format": "arrow", "columns": ["labels", "position_ids"]},
}

WORDS = "ship light tide harbour gull rope lantern storm mate deck sail anchor crew north fog bell".split()


def sentence(number: int) -> str:
    return " ".join(WORDS[(number * (at + 3) + at * at) % len(WORDS)] for at in range(3 + number * 7 % 17)) + "."


def planned(directory: Path) -> Any:
    """The plan of three epochs of 240 conversations; made at the first call."""
    path = directory / "corpus"
    if not path.exists():
        (directory / "chatml.jinja").write_text(TEMPLATE, encoding="utf-8")
        with (directory / "chats.jsonl").open("w", encoding="utf-8") as out:
            for n in range(240):
                asked = {"role": "user", "content": sentence(n)}
                answered = {"role": "assistant", "content": sentence(n + 77)}
                out.write(json.dumps({"id": n, "messages": [asked, answered]}) + "\n")

        def run(*words: object) -> None:
            subprocess.run([sys.executable, "-m", "corpusdb", *map(str, words)], check=True, stdout=subprocess.DEVNULL)

        run("init", path, "--mode", "exact")
        run(
            "ingest", path, directory / "chats.jsonl", "--source", "chats", "--id-field", "id",
            "--chat", "messages", "--chat-template", directory / "chatml.jinja",
        )
        special = ("--special", "<|im_start|>", "--special", "<|im_end|>")
        run("tokenizer", "train", path, "own", "--vocab-size", 400, *special)
        with corpusdb.open(path, mode="w") as writer:
            writer.plan(RECIPE)
    return corpusdb.open(path).plan(1)


def made() -> LlamaForCausalLM:
    """A tiny model, the same at each call."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=512, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, eos_token_id=1,
    )
    return LlamaForCausalLM(config)


class Killer:
    """Kills the process after so many steps, as a power cut would."""

    def __init__(self, at: int | None) -> None:
        self.at, self.steps = at, 0

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def with_trainer(plan: Any, directory: Path, killer: Killer, *, sft: bool = False) -> Any:
    """transformers' Trainer, or TRL's: both ask for a train dataloader, skip what was trained on, and save by steps."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    base: Any = Trainer
    kind: Any = TrainingArguments
    more: dict[str, Any] = {}
    if sft:
        from tokenizers import Tokenizer, models
        from transformers import PreTrainedTokenizerFast
        from trl import SFTConfig, SFTTrainer

        base, kind = SFTTrainer, SFTConfig
        more = {"padding_free": True, "packing": False, "max_length": None}
        # As the other trainers: by default it checkpoints gradients, and takes bf16 where the processor has it.
        more |= {"gradient_checkpointing": False, "bf16": False}

    class Packed(base):  # type: ignore[misc]
        def get_train_dataloader(self) -> Any:
            return plan.loader(contract="trl" if sft else "transformers")

    class Kill(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_: Any, **__: Any) -> None:
            killer.step()

    output = directory / "checkpoints"
    arguments = kind(
        str(output), num_train_epochs=EPOCHS, optim="sgd", learning_rate=RATE, lr_scheduler_type="constant",
        max_grad_norm=0, save_steps=SAVE_EVERY, report_to=[], use_cpu=True, disable_tqdm=True, logging_strategy="no",
        **more,
    )
    model = made()
    options: dict[str, Any] = {"train_dataset": plan.to_hf(views=["labels"]), "callbacks": [Kill()]}
    if sft:
        tokenizer = Tokenizer(models.BPE({"<|im_end|>": 0, "a": 1}, []))
        options["processing_class"] = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>"
        )
    Packed(model, arguments, **options).train(resume_from_checkpoint=any(output.glob("checkpoint-*")))
    return model


def with_accelerate(plan: Any, directory: Path, killer: Killer) -> Any:
    """A loop of one's own: accelerate saves the loader's state beside model and optimizer."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    inner = made()
    loader = plan.loader()
    model, optimizer = accelerator.prepare(inner, torch.optim.SGD(inner.parameters(), lr=RATE))
    accelerator.register_for_checkpointing(loader)
    saved = sorted(directory.glob("step-*/done"))
    if saved:
        accelerator.load_state(str(saved[-1].parent))
    steps = int(saved[-1].parent.name[5:]) if saved else 0
    model.train()
    while loader.epoch < EPOCHS:
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
            if steps % SAVE_EVERY == 0:
                place = directory / f"step-{steps:06}"
                accelerator.save_state(str(place))
                (place / "done").touch()
            killer.step()
    return inner


def with_lightning(plan: Any, directory: Path, killer: Killer) -> Any:
    """Lightning: it saves and loads the state of a loader that has one."""
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = made()

        def training_step(self, batch: Any, _: int) -> Any:
            return self.model(**batch).loss

        def on_train_batch_end(self, *_: Any) -> None:
            killer.step()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=RATE)

    output = directory / "lightning"
    checkpoints = ModelCheckpoint(str(output), every_n_train_steps=SAVE_EVERY, save_last=True, save_top_k=1)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS, accelerator="cpu", devices=1, logger=False, callbacks=[checkpoints],
        enable_progress_bar=False, enable_model_summary=False,
    )
    module = Module()
    last = output / "last.ckpt"
    trainer.fit(module, plan.loader(), ckpt_path=str(last) if last.exists() else None)
    return module.model


def evaluated(model: Any, plan: Any) -> float:
    """The mean loss of an answer's token in the first epoch. An evaluation loader begins there at each loop."""
    total, count = 0.0, 0
    model.eval()
    with torch.no_grad():
        for batch in plan.loader(evaluation=True):
            targets = int((batch["labels"] != -100).sum())
            total += float(model(**batch).loss) * targets
            count += targets
    return total / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainer", choices=["trainer", "sft", "accelerate", "lightning"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kill-at", type=int, help="kill the process after so many steps")
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    plan, killer = planned(given.directory), Killer(given.kill_at)
    before = evaluated(made(), plan)
    if given.trainer == "accelerate":
        model = with_accelerate(plan, given.directory, killer)
    elif given.trainer == "lightning":
        model = with_lightning(plan, given.directory, killer)
    else:
        model = with_trainer(plan, given.directory, killer, sft=given.trainer == "sft")
    print(f"{killer.steps} steps here, loss {before:.6f} -> {evaluated(model, plan):.6f}")


if __name__ == "__main__":
    main()
