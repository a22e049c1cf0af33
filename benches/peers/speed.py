"""Races corpusdb against other tools: the same documents, the same parameters, one core, speed beside quality.

    $(benches/peers/setup.sh) benches/peers/speed.py --data DIRECTORY --work WORK [--repeats 5] ...

DIRECTORY holds .jsonl or .jsonl.zst files; those with a field `text` are inputs, cut after `--max-bytes` of text, and
`pages`, 600-word pages cut from the one named by `--pages-from`, with planted near copies. Documents of fewer than
five words are left out, since some tools drop them. `make bench-peers` runs it.

Every run is a fresh process on one core (`taskset`, thread counts of 1), start and reading included, repeated and
told by its median. Two configurations:

* `same`: texts reduced to their words in lower case with single spaces, so that every tool has the same words and
  shingles; 5-word shingles, 256 hashes, 32 bands of 8 rows, threshold 0.8.
* `default`: the texts as they are; 5-word shingles and threshold 0.8, all else as the tool has it.

What is measured is kept in WORK, by input, configuration, tool, repeats and bytes, so that an interrupted race goes on;
another build of the command is measured anew, and with `--again` everything.

corpusdb's figures are of `corpusdb init` and `corpusdb ingest --threads 1`: it also stores, indexes and syncs every
document and removes nothing unverified. The others decide in memory or in files and keep no state.

Quality is judged against every pair of documents with an exact Jaccard similarity of at least the threshold, over
the words of `same`, found without MinHash (documents.py) and cross-checked by comparing each with each of the first
500. `no witness`: removed though no kept document reaches the threshold. `both kept`: pairs at the threshold or above
of which neither was removed.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

import documents
from measure import median, run, table

HERE = Path(__file__).resolve().parent
TOOLS = ["corpusdb", "rensa", "datasketch", "datatrove", "text-dedup"]
KERNEL_PEER = "rensa-kernel"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pages-from", default="peps")
    parser.add_argument("--inputs", help="names, separated by commas; default all")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--configs", default="same,default")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--max-bytes", type=int, default=20_000_000)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--threshold", type=float, default=0.8, help=argparse.SUPPRESS)
    parser.add_argument("--corpusdb", default="corpusdb", help="the command")
    parser.add_argument("--kernel", help="the built bench `kernel`; without it our stages are not told")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--again", action="store_true", help="measure anew what an earlier race has measured")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)

    inputs = prepare(options)
    wanted = options.inputs.split(",") if options.inputs else list(inputs)
    if not wanted or not set(wanted) <= set(inputs):
        sys.exit(f"{options.data} has these inputs: {', '.join(inputs) or 'none'}")
    tools, configs = options.tools.split(","), options.configs.split(",")
    answer = {"type": "speed", "repeats": options.repeats, "inputs": {}, "runs": [], "kernel": []}
    for name in wanted:
        paths = inputs[name]
        pairs, count, size = truth(options, name, paths)
        answer["inputs"][name] = {"documents": count, "bytes": size, "pairs": len(pairs)}
        for config in configs:
            for tool in tools:
                figures = known(
                    options, f"{name}-{config}-{tool}", race, tool, config, paths[config], pairs, count
                )
                answer["runs"].append({"input": name, "tool": tool, "config": config, **figures})
                say(
                    f"{name} {config} {tool}: {figures['cpu']:.2f} s CPU, {figures['judged']['removed']} removed"
                )
        answer["kernel"] += known(options, f"{name}-kernel-{'-'.join(configs)}", kernel, name, paths, configs)
    compare(answer)
    report(answer)
    if options.json:
        for each in answer["runs"]:
            each["removed"] = len(each["removed"])
        options.json.write_text(json.dumps(answer, indent=1) + "\n")


def known(options, name, function, *arguments):
    """What a function measures, kept in a file, so that an interrupted race goes on where it stopped."""
    if name.endswith("corpusdb"):
        name += f"-{build(options.corpusdb)}"
    elif "-kernel-" in name and options.kernel:
        name += f"-{build(options.kernel)}"
    file = options.work / f"run-{name}-{options.repeats}-{options.max_bytes}.json"
    if options.again or not file.exists():
        found = function(options, *arguments)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(found))
        partial.rename(file)
    return json.loads(file.read_text())


def build(command):
    """Tells one build of a command from another."""
    found = shutil.which(command)
    if not found:
        sys.exit(f"no command {command}: build it (`make build`) or name it")
    facts = Path(found).stat()
    return f"{facts.st_size}.{facts.st_mtime_ns}"


def say(text):
    print(text, file=sys.stderr, flush=True)


def prepare(options):
    """The inputs as plain files, made once: name -> {configuration: path}."""
    sources = {
        file.name.split(".")[0]: file for file in sorted(options.data.iterdir()) if ".jsonl" in file.name
    }
    sources = {name: file for name, file in sources.items() if file.suffix in (".jsonl", ".zst")}
    names = (["pages"] if options.pages_from in sources else []) + list(sources)
    wanted = options.inputs.split(",") if options.inputs else names
    inputs = {}
    for name in names:
        paths = {
            config: options.work / f"{name}-{config}-{options.max_bytes}.jsonl"
            for config in ("same", "default")
        }
        inputs[name] = paths
        if name not in wanted or all(path.exists() for path in paths.values()):
            continue
        texts = (
            record.get("text")
            for record in documents.read(sources.get(name, sources.get(options.pages_from)))
        )
        texts = (text for text in texts if text)
        texts = documents.pages(texts) if name == "pages" else texts
        taken, plain, size = [], [], 0
        for text in texts:
            words = documents.plain(text)
            if words.count(" ") < documents.SHINGLE - 1:
                continue
            size += len(text.encode())
            if size > options.max_bytes:
                break
            taken.append(text)
            plain.append(words)
        if not taken:
            say(f"{name} has no record with a `text` of five words: left out")
            del inputs[name]
            continue
        documents.write(paths["same"], plain)
        documents.write(paths["default"], taken)
    return inputs


def truth(options, name, paths):
    """The exact pairs, the number of documents and the bytes of their texts; kept beside the inputs."""
    file = options.work / f"{name}-pairs-{options.max_bytes}-{options.threshold}.json"
    if not file.exists():
        sets = [documents.shingles(record["text"]) for record in documents.read(paths["same"])]
        pairs = documents.exact_pairs(sets, options.threshold)
        documents.cross_check(sets, pairs, options.threshold)
        size = sum(len(record["text"].encode()) for record in documents.read(paths["default"]))
        file.write_text(json.dumps({"pairs": pairs, "documents": len(sets), "bytes": size}))
    kept = json.loads(file.read_text())
    return kept["pairs"], kept["documents"], kept["bytes"]


def race(options, tool, config, path, pairs, count):
    runs = []
    for _ in range(options.repeats):
        scratch = options.work / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        runs.append(
            ours(options, path, scratch)
            if tool == "corpusdb"
            else theirs(options, tool, config, path, scratch)
        )
        shutil.rmtree(scratch)
    removed = runs[0]["removed"]
    same = all(each["removed"] == removed for each in runs)
    stages = {}
    for stage in runs[0]["stages"]:
        stages[stage] = {
            clock: None
            if runs[0]["stages"][stage][clock] is None
            else median([each["stages"][stage][clock] for each in runs])
            for clock in ("wall", "cpu")
        }
    return {
        **{clock: median([each[clock] for each in runs]) for clock in ("wall", "cpu", "peak_mb")},
        "all_cpu": [each["cpu"] for each in runs],
        "stages": stages,
        "settings": runs[0]["settings"],
        "same_every_time": same,
        "judged": documents.judge(set(removed), pairs, count),
        "removed": sorted(removed),
    }


def theirs(options, tool, config, path, scratch):
    answer = scratch / "answer.json"
    command = [sys.executable, HERE / "tools.py", tool, config, path, answer, scratch / "work"]
    places = {"HF_HOME": str(scratch / "home")}
    _, figures = run(command, core=options.core, environment=places, log=options.work / "errors.log")
    return figures | json.loads(answer.read_text())


def ours(options, path, scratch):
    corpus, decisions = scratch / "corpus", scratch / "decisions.jsonl"
    log = options.work / "errors.log"
    command = [options.corpusdb, "init", corpus, "--threshold", options.threshold]
    _, made = run(command, core=options.core, log=log)
    command = [
        options.corpusdb,
        "ingest",
        corpus,
        path,
        "--source",
        "race",
        "--id-field",
        "id",
        "--threads",
        1,
    ]
    command += ["--json", "--no-progress", "--decisions", decisions]
    printed, figures = run(command, core=options.core, log=log)
    report = json.loads(printed)
    removed = []
    for line in decisions.open("rb"):
        record = json.loads(line)
        if record["standing"] != "kept":
            removed.append(int(record["key"]))
    return {
        "wall": made["wall"] + figures["wall"],
        "cpu": made["cpu"] + figures["cpu"],
        "peak_mb": figures["peak_mb"],
        "stages": {name: {"wall": seconds, "cpu": None} for name, seconds in report["stages"].items()},
        "settings": report["policy"],
        "removed": removed,
    }


def kernel(options, name, paths, configs):
    """Nanoseconds a document of our stages, and of the other native signature, one core, texts in memory."""
    answers = []
    for config in configs:
        if options.kernel:
            command = [options.kernel, paths[config], "--threshold", options.threshold]
            printed, _ = run(command, core=options.core, log=options.work / "errors.log")
            answers.append({"input": name, "config": config, **json.loads(printed)})
        scratch = options.work / "scratch"
        runs = []
        for _ in range(options.repeats):
            runs.append(theirs(options, KERNEL_PEER, "same", paths[config], scratch_of(scratch)))
            shutil.rmtree(scratch)
        stages = {
            stage: median([each["stages"][stage]["cpu"] for each in runs]) for stage in runs[0]["stages"]
        }
        answers.append({"input": name, "config": config, "type": KERNEL_PEER, "seconds": stages})
    return answers


def scratch_of(path):
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def compare(answer):
    """Each run against corpusdb's on the same input and configuration: CPU time, and which documents are removed."""
    ours = {(run["input"], run["config"]): run for run in answer["runs"] if run["tool"] == "corpusdb"}
    for each in answer["runs"]:
        base = ours.get((each["input"], each["config"]))
        if base is not None:
            mine, theirs = set(base["removed"]), set(each["removed"])
            each["against_ours"] = {
                "cpu": each["cpu"] / base["cpu"],
                "common": len(mine & theirs),
                "only_it": len(theirs - mine),
                "only_ours": len(mine - theirs),
            }


# Which stages of a tool make up the columns of the table of stages.
COLUMNS = {
    "rensa": (["shingles"], ["signature"], ["bands and decisions"]),
    "datasketch": (["shingles"], ["signature"], ["bands and decisions"]),
    "datatrove": (["shingles"], ["signature"], ["buckets", "cluster"]),
    "text-dedup": ([], ["minhashing"], ["clustering"]),
}


def report(answer):
    for name, facts in answer["inputs"].items():
        size = f"{facts['documents']:,} documents, {facts['bytes'] / 1e6:.1f} MB"
        print(f"\n### {name}: {size}, {facts['pairs']:,} exact pairs\n")
        rows = []
        for each in (each for each in answer["runs"] if each["input"] == name):
            judged, against = each["judged"], each.get("against_ours")
            rows.append(
                [
                    each["config"],
                    each["tool"],
                    f"{each['cpu']:.2f}",
                    f"{each['wall']:.2f}",
                    f"{against['cpu']:.1f}" if against else "",
                    f"{each['cpu'] / facts['documents'] * 1e6:.0f}",
                    f"{each['peak_mb']:.0f}",
                    judged["removed"] if each["same_every_time"] else f"{judged['removed']} (differs by run)",
                    judged["without_kept_witness"],
                    judged["pairs_both_kept"],
                    f"{against['only_it']} / {against['only_ours']}" if against else "",
                    each["settings"] if each["tool"] != "corpusdb" else "256 hashes, 32 bands of 8, exact",
                ]
            )
        head = [
            "config",
            "tool",
            "CPU s",
            "wall s",
            "x ours",
            "CPU us/doc",
            "peak MB",
            "removed",
            "no witness",
            "both kept",
            "only it / only ours",
            "settings",
        ]
        print(table(head, rows))
        stages(answer, name, facts)


def stages(answer, name, facts):
    """Microseconds a document by stage, without process start and reading."""
    rows = []
    for each in answer["kernel"]:
        if each["input"] != name:
            continue
        if each["type"] == "kernel":
            nanoseconds = {stage: figure["least"] / 1000 for stage, figure in each["nanoseconds"].items()}
            cells = [nanoseconds[stage] for stage in ("shingles", "sketch", "bands", "whole")]
            rows.append([each["config"], "corpusdb", *(f"{cell:.2f}" for cell in cells)])
        else:
            seconds = each["seconds"]
            share = 1e6 / facts["documents"]
            text = f"{seconds['signature from strings'] * share:.2f}"
            text += f" ({seconds['signature from hashes'] * share:.2f} from hashes)"
            rows.append(
                [each["config"], "rensa, matrix of all", f"{seconds['shingles'] * share:.2f}", text, "", ""]
            )
    for each in answer["runs"]:
        if each["input"] == name and each["tool"] in COLUMNS:
            cells, total = [], 0.0
            for parts in COLUMNS[each["tool"]]:
                taken = [each["stages"][part] for part in parts if part in each["stages"]]
                spent = sum(part["wall"] if part["cpu"] is None else part["cpu"] for part in taken)
                total += spent
                cells.append(f"{spent / facts['documents'] * 1e6:.1f}" if taken else "in the next")
            rows.append([each["config"], each["tool"], *cells, f"{total / facts['documents'] * 1e6:.1f}"])
    print("\nMicroseconds a document by stage (corpusdb: wall, best pass; the others: CPU, median):\n")
    print(
        table(
            [
                "config",
                "tool",
                "normalise + shingles",
                "signature",
                "bands (the others: and decisions)",
                "together",
            ],
            rows,
        )
    )


if __name__ == "__main__":
    main()
