//! The way out: what is built is what is stored, whole, in its mix, the same for ever; damage is found.

use crate::support::epochs::{
    EpochCorpus, SPECIALS, Stored, check_conservation, check_rows, same_files,
};
use crate::support::outputs::{Row, columns, files, manifest, rows};
use crate::support::{
    MEMORY, Page, Random, WEB_BY_ID, corpusdb, corpusdb_test, lines, outputs, prose, repository,
    sound,
};
use corpusdb::Corpus;
use corpusdb::store::TokenizerId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const PACKS: [&str; 4] = ["best-fit", "greedy", "concat", "none"];

/// At every prefix no source is further than one row from its share.
fn check_mix(rows: &[Row], weights: &[(&str, u128)], capacity: u128) {
    let whole: u128 = weights.iter().map(|(_, weight)| weight).sum();
    let mut emitted: BTreeMap<&str, u128> = BTreeMap::new();
    let mut total = 0;
    for row in rows {
        *emitted.entry(&row.source).or_default() += row.real() as u128;
        total += row.real() as u128;
        for (source, weight) in weights {
            let have = emitted.get(source).copied().unwrap_or(0) * whole;
            let off = have.abs_diff(weight * total);
            assert!(off <= capacity * whole, "{source} is {} tokens off", off / whole);
        }
    }
}

fn tokens_of<'a>(rows: &[Row], sources: &[&'a str]) -> Vec<(&'a str, u128)> {
    let sum = |source: &str| {
        rows.iter().filter(|row| row.source == source).map(|row| row.real() as u128).sum()
    };
    sources.iter().map(|source| (*source, sum(source))).collect()
}

/// One format with every packing: rows, conservation, mix, manifest, threads, verification.
fn every_packing(format: &str) {
    let place = EpochCorpus::new();
    let stored = Stored::of(&place.corpus);
    let removed = stored.kept.iter().filter(|kept| !**kept).count();
    assert!(removed >= 30, "some documents are not for the epoch: {removed}");
    for pack in PACKS {
        let recipe = format!(
            "seed = 3\n{SPECIALS}[pack]\nkind = \"{pack}\"\nlength = 128\n\
             [output]\nformat = \"{format}\"\nshard_bytes = 30000\n"
        );
        let name = format!("out-{pack}");
        let out = place.build(&recipe, &name, &["--threads", "2"]);
        place.verified(&name);
        let rows = rows(&out);
        check_rows(&out, &rows, &stored, pack);
        check_conservation(&rows, &stored, true, 128, 1);
        check_mix(&rows, &tokens_of(&rows, &["web", "books", "code"]), 128);
        check_packing(&rows, pack);
        check_manifest(&out, &rows, &stored);
        same_files(&out, &place.build(&recipe, &format!("{name}-1"), &["--threads", "1"]));
    }
    sound(&place.corpus);
}

/// What only this packing promises.
fn check_packing(rows: &[Row], pack: &str) {
    for source in ["web", "books", "code"] {
        let own: Vec<&Row> = rows.iter().filter(|row| row.source == source).collect();
        let mut fills: Vec<usize> = own.iter().map(|row| row.real()).collect();
        match pack {
            "best-fit" => {
                // Best-fit-decreasing item by item: into the fullest row that has the room.
                let mut items: Vec<i64> = own.iter().flat_map(|row| row.lengths.clone()).collect();
                items.sort_unstable_by(|a, b| b.cmp(a));
                let mut bins: Vec<usize> = Vec::new();
                for item in items.into_iter().map(|item| item as usize) {
                    let fullest = bins.iter_mut().filter(|bin| **bin + item <= 128).max();
                    match fullest {
                        Some(bin) => *bin += item,
                        None => bins.push(item),
                    }
                }
                fills.sort_unstable();
                bins.sort_unstable();
                assert_eq!(fills, bins, "{source}");
            }
            "greedy" => {
                for pair in own.windows(2) {
                    assert!(pair[0].real() + pair[1].lengths[0] as usize > 128, "room was left");
                }
            }
            "concat" => {
                let partial = fills.iter().filter(|fill| **fill < 128).count();
                assert!(partial <= 1, "{source} has {partial} rows that are not full");
            }
            _ => {}
        }
    }
}

fn check_manifest(directory: &Path, rows: &[Row], stored: &Stored) {
    let manifest = manifest(directory);
    let real: usize = rows.iter().map(Row::real).sum();
    let pads: usize = rows.iter().map(|row| row.ids.len() - row.real()).sum();
    assert_eq!(manifest["totals"]["rows"], rows.len());
    assert_eq!(manifest["totals"]["tokens"], real);
    assert_eq!(manifest["totals"]["pad_tokens"], pads);
    for source in manifest["sources"].as_array().unwrap() {
        let name = source["name"].as_str().unwrap();
        assert_eq!(source["documents"], stored.of_source(name).len());
        assert_eq!(source["rows"], rows.iter().filter(|row| row.source == name).count());
        assert_eq!(source["unused_tokens"], 0);
    }
    let listed = manifest["files"].as_array().unwrap();
    let written = files(directory);
    assert_eq!(listed.len() + 1, written.len());
    for (entry, (name, bytes)) in
        listed.iter().zip(written.iter().filter(|f| f.0 != "manifest.json"))
    {
        assert_eq!(entry["name"], *name);
        assert_eq!(entry["bytes"], bytes.len());
        assert_eq!(entry["blake3"], *blake3::hash(bytes).to_hex().as_str());
        if name.ends_with(".bin") {
            assert!(bytes.len() <= 30_000, "{name} has {} bytes", bytes.len());
        }
    }
}

#[test]
fn megatron_is_read_back_by_its_byte_table() {
    every_packing("megatron");
}

#[test]
fn parquet_is_read_back_by_its_columns() {
    every_packing("parquet");
}

#[test]
fn raw_ids_are_read_back_by_their_width() {
    every_packing("raw");
}

/// Rows of a table in docs/reference/outputs.md after `heading`: names in its first column with what the second says.
fn documented(heading: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(repository("docs/reference/outputs.md")).unwrap();
    let (_, section) = text.split_once(heading).unwrap();
    let rows = section.lines().skip(1).take_while(|line| !line.starts_with('#'));
    rows.filter(|line| line.starts_with("| `"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            (cells.next().unwrap().trim_matches('`').to_owned(), cells.next().unwrap().to_owned())
        })
        .collect()
}

corpusdb_test!(columns_and_types_are_documented, EpochCorpus::holding(60), |place| {
    let expected = documented("## `parquet`");
    assert_eq!(expected.len(), 9);
    let out = place.build("[pack]\nlength = 2\n", "parquet", &[]);
    let mut total = 0;
    for shard in outputs::shards(&out, ".parquet") {
        let file = outputs::open(&shard);
        assert_eq!(columns(file.schema()), expected);
        for group in file.metadata().row_groups() {
            assert!(group.num_rows() <= 1000);
            total += group.num_rows();
        }
    }
    assert!(total > 1000, "several row groups: {total} rows");
    let recipe = format!("{SPECIALS}[output]\nformat = \"megatron\"\n");
    let out = place.build(&recipe, "megatron", &[]);
    let table = outputs::open(&out.join("shard-00000.segments.parquet"));
    let segments = ["seq_lengths", "source", "doc_ids", "doc_offsets"];
    let expected = expected.into_iter().filter(|(name, _)| segments.contains(&name.as_str()));
    let mut wanted = vec![("row".to_owned(), "u64".to_owned())];
    wanted.extend(expected);
    assert_eq!(columns(table.schema()), wanted);
});

corpusdb_test!(rows_without_a_pad_are_shorter_or_refused, EpochCorpus::holding(120), |place| {
    let stored = Stored::of(&place.corpus);
    let recipe = |format: &str, pack: &str| {
        format!("[pack]\nkind = \"{pack}\"\nlength = 64\n[output]\nformat = \"{format}\"\n")
    };
    for pack in PACKS {
        let out = place.build(&recipe("parquet", pack), pack, &[]);
        place.verified(pack);
        let rows = rows(&out);
        check_rows(&out, &rows, &stored, pack);
        check_conservation(&rows, &stored, false, 64, 1);
    }
    for format in ["megatron", "raw"] {
        place
            .recipe("build", &recipe(format, "greedy"), &["--out", &place.scratch.arg("no")])
            .fails(&[
                format,
                "rows that are not full",
                "tokenizer.specials.pad",
                "output.format = \"parquet\"",
            ]);
        // A row a document has no fixed length, so nothing is to be filled.
        let name = format!("{format}-none");
        let out = place.build(&recipe(format, "none"), &name, &[]);
        place.verified(&name);
        check_conservation(&outputs::rows(&out), &stored, false, 64, 1);
    }
    assert!(!place.path("no").exists());
});

corpusdb_test!(long_documents_selections_and_orders_are_as_asked, EpochCorpus::new(), |place| {
    let stored = Stored::of(&place.corpus);
    let recipe = format!(
        "{SPECIALS}[select]\nwhere = \"year <> 2003\"\nmin_tokens = 20\n\
         [[source]]\nname = \"short\"\nfrom = \"web\"\nwhere = \"year < 2002\"\n\
         [[source]]\nname = \"web\"\nwhere = \"year >= 2002\"\npack = {{ long = \"drop\" }}\n\
         [[source]]\nname = \"books\"\npack = {{ long = \"truncate\" }}\n\
         [order]\nkind = \"sequential\"\n[pack]\nkind = \"greedy\"\nlength = 96\n\
         options = {{ target = \"extra\" }}\n[output]\nformat = \"megatron\"\n"
    );
    let out = place.build(&recipe, "out", &[]);
    place.verified("out");
    let manifest = manifest(&out);
    assert_eq!(manifest["capacity"], 97);
    let rows = rows(&out);
    let eos = manifest["tokenizer"]["specials"]["eos"].as_i64();
    let mut dropped = 0;
    let mut truncated = 0;
    for (name, from) in [("short", "web"), ("web", "web"), ("books", "books")] {
        let mut expected = Vec::new();
        for document in stored.of_source(from) {
            // Every field of the made-up pages is a function of its key; duplicates have none.
            let own_year = year_of(&place, document);
            let wanted = own_year.is_some_and(|year| {
                year != 2003
                    && match name {
                        "short" => year < 2002,
                        "web" => year >= 2002,
                        _ => true,
                    }
            });
            let sequence = stored.sequence(document, eos);
            if !wanted || sequence.len() < 21 {
                continue;
            }
            match name {
                "web" if sequence.len() > 97 => dropped += 1,
                "books" if sequence.len() > 97 => {
                    truncated += 1;
                    expected.push((document, 0, sequence[..97].to_vec()));
                }
                _ => expected.extend(
                    sequence
                        .chunks(97)
                        .enumerate()
                        .filter(|(at, piece)| *at == 0 || piece.len() > 1)
                        .map(|(at, piece)| (document, at * 97, piece.to_vec())),
                ),
            }
        }
        // In the order of ids, cut in order.
        let found: Vec<(u64, usize, Vec<i64>)> = rows
            .iter()
            .filter(|row| row.source == name)
            .flat_map(|row| {
                row.segments()
                    .into_iter()
                    .map(|(d, o, ids)| (d, o, ids.to_vec()))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert!(expected.len() > 20, "{name}: {}", expected.len());
        assert_eq!(found, expected, "{name}");
    }
    assert!(dropped > 0 && truncated > 0);
    assert_eq!(manifest["sources"][1]["dropped"]["dropped_documents"], dropped);
    assert_eq!(manifest["sources"][2]["dropped"]["truncated_documents"], truncated);
});

fn year_of(place: &EpochCorpus, document: u64) -> Option<i64> {
    place.pages[document as usize].fields["year"].as_i64()
}

corpusdb_test!(weights_are_kept_at_every_prefix_and_epochs_go_on, EpochCorpus::new(), |place| {
    let stored = Stored::of(&place.corpus);
    let weights = [("web", 0.55, 3), ("books", 0.15, 1), ("code", 0.3, 4)];
    let sources: String = weights
        .iter()
        .map(|(name, weight, most)| {
            format!("[[source]]\nname = \"{name}\"\nweight = {weight}\nmax_repeats = {most}\n")
        })
        .collect();
    let recipe = format!("{SPECIALS}[mix]\ntokens = 15000\n[pack]\nlength = 128\n{sources}");
    let mut run = Vec::new();
    for epoch in ["0", "1", "2"] {
        let name = format!("epoch-{epoch}");
        let out = place.build(&recipe, &name, &["--epoch", epoch]);
        place.verified(&name);
        let rows = rows(&out);
        check_rows(&out, &rows, &stored, "best-fit");
        let tokens: usize = rows.iter().map(Row::real).sum();
        assert!(tokens.abs_diff(15_000) <= 128, "epoch {epoch} has {tokens} tokens");
        run.extend(rows);
    }
    // One run: the bound holds over the ends of epochs, and no source starts over.
    check_mix(&run, &[("web", 55), ("books", 15), ("code", 30)], 128);
    for (source, _, most) in weights {
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        let own = run.iter().filter(|row| row.source == source);
        for (document, offset, _) in own.flat_map(Row::segments) {
            *seen.entry(document).or_default() += usize::from(offset == 0);
        }
        let counts = stored
            .of_source(source)
            .iter()
            .map(|d| seen.get(d).copied().unwrap_or(0))
            .collect::<Vec<_>>();
        let (least, largest) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
        assert!(largest <= most, "{source}: {largest} passes");
        // A document comes again only when all have come.
        assert!(largest - least <= 1, "{source}: {least} to {largest}");
    }
    let more = ["--epoch", "3", "--out", &place.scratch.arg("no")].map(str::to_owned);
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    place.recipe("build", &recipe, &more).fails(&[
        "epoch 3",
        "15,000",
        "mix.tokens to",
        "max_repeats of",
    ]);
    assert!(!place.path("no").exists());
});

corpusdb_test!(a_second_natural_epoch_reorders_documents, EpochCorpus::holding(240), |place| {
    let stored = Stored::of(&place.corpus);
    let once = format!("{SPECIALS}[pack]\nlength = 128\n");
    let second = ["--epoch", "1", "--out", &place.scratch.arg("no")].map(str::to_owned);
    let second: Vec<&str> = second.iter().map(String::as_str).collect();
    place.recipe("build", &once, &second).fails(&["epoch 1", "raise max_repeats of `web` to 2"]);
    let sources = ["web", "books", "code"]
        .map(|name| format!("[[source]]\nname = \"{name}\"\nmax_repeats = 2\n"))
        .concat();
    let twice = format!("{once}{sources}");
    let first = rows(&place.build(&twice, "0", &[]));
    let second = rows(&place.build(&twice, "1", &["--epoch", "1"]));
    place.verified("1");
    assert_ne!(first, second);
    check_conservation(&[first, second].concat(), &stored, true, 128, 2);
});

corpusdb_test!(plans_give_the_same_bytes_after_changes, EpochCorpus::holding(240), |place| {
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    let recipes = ["parquet", "megatron"].map(|format| {
        format!(
            "snapshot = \"then\"\n{SPECIALS}[pack]\nlength = 128\n[output]\nformat = \"{format}\"\n"
        )
    });
    for (number, recipe) in ["1", "2"].into_iter().zip(&recipes) {
        let planned = place.recipe("plan", recipe, &["--json"]).good().json();
        assert_eq!(
            (&planned["type"], planned["number"].to_string().as_str()),
            (&json!("plan"), number)
        );
        place
            .run("build", number, &["--out", &place.scratch.arg(&format!("before-{number}"))])
            .good();
    }
    let before = Stored::of(&place.corpus);
    // New documents, new content under old keys (whose duplicates are kept again), a new tokenizer.
    let mut random = Random::new(9);
    let mut later: Vec<Page> = Vec::new();
    for number in 0..40 {
        let text = prose(&mut random, number, 40);
        later.push(Page::keyed(format!("web-{number}"), text));
        let text = prose(&mut random, number, 90);
        later.push(Page::keyed(format!("late-{number}"), text));
    }
    let report = place.scratch.ingest(&place.corpus, "later.jsonl", lines(&later), &WEB_BY_ID);
    assert_eq!(report["updated"], 40);
    corpusdb(&["tokenizer", "train", &place.corpus, "other", "--vocab-size", "300"]).good();
    let after = Stored::of(&place.corpus);
    let lost = (0..before.kept.len()).filter(|at| before.kept[*at] && !after.kept[*at]).count();
    let regained = (0..before.kept.len()).filter(|at| !before.kept[*at] && after.kept[*at]).count();
    assert!(lost >= 38 && regained > 0, "{lost} lost, {regained} regained");

    for (number, recipe) in ["1", "2"].into_iter().zip(&recipes) {
        let name = format!("after-{number}");
        place.run("build", number, &["--out", &place.scratch.arg(&name)]).good();
        same_files(&place.path(&format!("before-{number}")), &place.path(&name));
        place.verified(&format!("before-{number}"));
        // The recipe names the snapshot and, with it, the same plan.
        let recipe = recipe.replace("[tokenizer]\n", "[tokenizer]\nname = \"own\"\n");
        let planned = place.recipe("plan", &recipe, &["--json"]).good().json();
        assert_eq!(planned["number"].to_string(), number);
    }
    // Without the snapshot it is another plan: this moment's.
    let now = recipes[0].replace("snapshot = \"then\"\n", "");
    let now = now.replace("[tokenizer]\n", "[tokenizer]\nname = \"own\"\n");
    let out = place.build(&now, "now", &[]);
    place.verified("now");
    check_conservation(&rows(&out), &after, true, 128, 1);
    sound(&place.corpus);
});

corpusdb_test!(bad_recipes_are_refused_with_the_way_out, EpochCorpus::holding(60), |place| {
    let cases: &[(&str, &[&str])] = &[
        ("sead = 1\n", &["unknown field `sead`", "seed", "line 2"]),
        ("[pack]\nlenght = 5\n", &["unknown field `lenght`", "length"]),
        ("[pack.options]\nlong = \"cut\"\n", &["cut", "split", "truncate", "drop"]),
        ("[output]\nformat = \"feather\"\n", &["feather", "megatron", "parquet", "raw"]),
        ("[[source]]\nname = \"web\"\nwieght = 1\n", &["unknown field `wieght`", "weight"]),
        ("seed = \n", &["line 2"]),
        ("[pack]\nlength = 1\n", &["pack.length is 1", "2 to 16777216"]),
        ("[output]\nshard_bytes = 10\n", &["output.shard_bytes is 10", "4096"]),
        ("[mix]\ntokens = 0\n", &["mix.tokens is 0", "leave it out"]),
        ("[order]\nkind = \"sequential\"\n", &["sequential", "best-fit", "greedy"]),
        (
            "[select]\nexclude_contaminated = [\"gsm8k\"]\n",
            &["no suite `gsm8k`", "there is none", "contamination add"],
        ),
        (
            "[select]\nexclude_contaminated = [{ suite = \"gsm8k\", score = 2 }]\n",
            &["score of `gsm8k` is 2", "0 to 1"],
        ),
        (
            "[select]\nexclude_contaminated = [{ suite = \"gsm8k\", scare = 2 }]\n",
            &["unknown field `scare`"],
        ),
        ("[select]\nholdout = { share = 2 }\n", &["select.holdout.share is 2"]),
        ("[select]\nrepeat = \"text\"\n", &["select.repeat", "not a number", "0 to 1000"]),
        ("[select]\nrepeat = \"0\"\n", &["select.repeat is 0 for each", "source `"]),
        ("[select]\nrepeat = \"year\"\n", &["select.repeat is 200", "0 to 1000"]),
        ("[mix]\nmethod = \"temperature\"\n", &["needs mix.temperature"]),
        ("[order]\nkind = \"length-grouped\"\n", &["pack.kind = \"none\""]),
        (
            "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"tokens\", pacing = \"exp\", c0 = 0.5 }\n[mix]\ntokens = 0\n",
            &["mix.tokens is 0"],
        ),
        (
            "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"colour\" }\n",
            &["`colour` is not a column"],
        ),
        ("[pack.options]\ndoc_multiple = 7\n", &["doc_multiple is 7", "does not divide"]),
        ("[batch]\nrows = 8\nmax_tokens = 9\n", &["one of rows and max_tokens"]),
        (
            "[[source]]\nname = \"web\"\npack = { length = 9 }\n",
            &["pack.length", "`web`", "pack.long"],
        ),
        ("[[source]]\nname = \"wiki\"\n", &["no source `wiki`", "`web`", "`books`", "`code`"]),
        ("[tokenizer]\nname = \"gpt2\"\n", &["no tokenizer `gpt2`", "`own`"]),
        ("[tokenizer.specials]\neos = \"</s>\"\n", &["no special token `</s>`", "<|endoftext|>"]),
        ("snapshot = \"never\"\n", &["no snapshot `never`", "there is"]),
        ("[select]\nwhere = \"size > 3\"\n", &["`size` is not a column", "bytes", "tokens"]),
        ("[select]\nmin_tokens = 100000\n", &["no documents to pack", "min_tokens"]),
        ("[[source]]\nname = \"web\"\nwhere = \"false\"\n", &["`web`", "no documents to pack"]),
        (
            "[[source]]\nname = \"a\"\nfrom = \"web\"\n[[source]]\nname = \"web\"\n",
            &["`a`", "`web`", "overlap"],
        ),
        (
            "[[source]]\nname = \"web\"\n[[source]]\nname = \"web\"\n",
            &["two sources are named `web`"],
        ),
        ("[[source]]\nname = \"web\"\nweight = 0\n", &["weight of source `web` is 0"]),
        (
            "[[source]]\nname = \"web\"\nweight = 1\n[[source]]\nname = \"code\"\n",
            &["`code` has no weight"],
        ),
        ("[[source]]\nname = \"web\"\nmax_repeats = 0\n", &["max_repeats of source `web` is 0"]),
        (
            "[mix]\ntokens = 9999999\n",
            &["9,999,999", "lower mix.tokens to", "raise max_repeats of"],
        ),
    ];
    for (recipe, words) in cases {
        place.recipe("explain", recipe, &[]).fails(words);
    }
    let version = place.scratch.write("version.toml", "version = 2\n");
    place.run("explain", &version, &[]).fails(&["version 2", "reads version 1"]);
    place.run("explain", &place.scratch.write("none.toml", ""), &[]).fails(&["version"]);
    place.run("explain", &place.scratch.arg("absent.toml"), &[]).fails(&["absent.toml"]);
    place.run("build", "7", &["--out", "x"]).fails(&["no plan `7`", "epoch plan"]);
    place.run("verify", &place.scratch.arg("nowhere"), &[]).fails(&["nowhere", "manifest.json"]);
    // What the error proposes works.
    let said = place.recipe("explain", "[mix]\ntokens = 9999999\n", &[]).stderr;
    let feasible = said.split("lower mix.tokens to ").nth(1).unwrap();
    let feasible: String = feasible.chars().take_while(char::is_ascii_digit).collect();
    let feasible: u64 = feasible.parse().unwrap();
    place.recipe("explain", &format!("[mix]\ntokens = {feasible}\n"), &[]).good();
    place
        .recipe("explain", &format!("[mix]\ntokens = {}\n", feasible + 1), &[])
        .fails(&["mix.tokens"]);
});

#[test]
fn an_epoch_of_another_corpus_is_refused() {
    let (place, other) = (EpochCorpus::holding(60), EpochCorpus::holding(90));
    place.build(SPECIALS, "out", &[]);
    other.run("verify", &place.scratch.arg("out"), &[]).fails(&["does not have", "another corpus"]);
}

corpusdb_test!(explanations_and_manifests_agree, EpochCorpus::holding(240), |place| {
    let recipe = format!("{SPECIALS}[pack]\nlength = 128\n");
    assert_eq!(place.recipe("explain", &recipe, &["--json"]).good().json()["type"], "explanation");
    let built = place.recipe("build", &recipe, &["--json", "--out", &place.scratch.arg("out")]);
    let built = built.good().json();
    assert_eq!(built["type"], "build");
    assert_eq!(built["manifest"], manifest(&place.path("out")));
    let rows: u64 = built["manifest"]["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| source["rows"].as_u64().unwrap())
        .sum();
    assert_eq!(built["manifest"]["totals"]["rows"], rows);
    let text = place.recipe("explain", &recipe, &["--settings"]).good().stdout;
    for word in ["web", "books", "code", "best-fit", "128"] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
});

/// A tokenizer whose largest id is `last`, that of its EOS.
fn widened(json: &str, last: u32) -> String {
    let mut file: Value = serde_json::from_str(json).unwrap();
    file["model"]["vocab"]["<|last|>"] = json!(last);
    let added = json!({ "id": last, "content": "<|last|>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true });
    file["added_tokens"].as_array_mut().unwrap().push(added);
    file.to_string()
}

corpusdb_test!(the_type_of_ids_follows_the_vocabulary, EpochCorpus::holding(60), |place| {
    let json = {
        let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        String::from_utf8(corpus.view().tokenizer_file(TokenizerId(0)).unwrap()).unwrap()
    };
    let stored = Stored::of(&place.corpus);
    // The largest id, and the types of a vocabulary of one more.
    let cases = [
        (65_498, "u16", "u16"),
        (65_499, "i32", "u16"),
        (65_535, "i32", "u16"),
        (70_000, "i32", "u32"),
    ];
    for (last, megatron, raw) in cases {
        let name = format!("to-{last}");
        let file = place.scratch.write(&format!("{name}.json"), widened(&json, last));
        corpusdb(&["tokenizer", "add", &place.corpus, &name, &file]).good();
        for (format, dtype) in [("megatron", megatron), ("raw", raw)] {
            let recipe = format!(
                "[tokenizer]\nname = \"{name}\"\nspecials = {{ eos = \"<|last|>\", pad = \"<|pad|>\" }}\n\
                 [pack]\nlength = 64\n[output]\nformat = \"{format}\"\n"
            );
            let out = place.build(&recipe, &format!("{name}-{format}"), &[]);
            place.verified(&format!("{name}-{format}"));
            assert_eq!(manifest(&out)["dtype"], dtype, "{format} of {last}");
            if format == "megatron" {
                let index = outputs::index(&std::fs::read(out.join("shard-00000.idx")).unwrap());
                assert_eq!(index.code, if dtype == "u16" { 8 } else { 4 });
            }
            let rows = rows(&out);
            // The widened tokenizer gives the same ids, and the EOS is its largest.
            check_rows(&out, &rows, &stored, "best-fit");
            assert!(rows.iter().any(|row| row.ids.contains(&i64::from(last))));
        }
    }
});
