//! Every output format: what is written is what is stored, in every packing; builds go on where they
//! were stopped; damage is found; what a format cannot hold is refused before anything is written.

use crate::support::checker::corpus::{CheckedCorpus, EOS, PAD, built, pour_chats};
use crate::support::epochs::{EpochCorpus, SPECIALS, Stored, check_conservation, check_rows};
use crate::support::outputs::{Row, files, manifest, numbered, place_of, rows};
use crate::support::{MEMORY, StopAt, StopWhen, json_lines};
use corpusdb::epoch::BuildJob;
use corpusdb::store::TokenizerId;
use corpusdb::{Context, Corpus, DocId, Error, Interrupt, Recipe};
use std::path::Path;

/// The `[output]` of every format and layout.
const OUTPUTS: [&str; 17] = [
    "format = \"megatron\"",
    "format = \"parquet\"",
    "format = \"parquet\"\ncontent_defined_chunks = true",
    "format = \"parquet\"\ncompression = \"none\"",
    "format = \"parquet\"\ncompression = \"snappy\"",
    "format = \"parquet\"\ncompression = \"zstd\"",
    "format = \"arrow\"",
    "format = \"mds\"",
    "format = \"mds\"\nids = \"u16\"\ncompression = \"zstd\"",
    "format = \"litdata\"",
    "format = \"jsonl\"",
    "format = \"jsonl\"\ncompression = \"zstd\"",
    "format = \"raw\"",
    "format = \"raw\"\nlayout = \"nanogpt\"",
    "format = \"raw\"\nlayout = \"llm.c\"",
    "format = \"raw\"\nlayout = \"datatrove\"",
    "format = \"raw\"\nlayout = \"olmo\"",
];

fn recipe(pack: &str, output: &str) -> String {
    format!(
        "seed = 3\n{SPECIALS}[pack]\nkind = \"{pack}\"\nlength = 128\n[output]\nshard_bytes = 20000\n{output}\n"
    )
}

/// A directory's name for an output.
fn name(pack: &str, output: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{pack}-{}", output.chars().map(word).collect::<String>())
}

fn every_format(pack: &str) {
    let place = EpochCorpus::holding(400);
    let stored = Stored::of(&place.corpus);
    let mut first: Option<Vec<Row>> = None;
    for output in OUTPUTS {
        if pack == "none" && output.contains("litdata") {
            continue;
        }
        let (recipe, name) = (recipe(pack, output), name(pack, output));
        let out = place.build(&recipe, &name, &["--threads", "2"]);
        place.verified(&name);
        let mut found = rows(&out);
        check_rows(&out, &found, &stored, pack);
        // The epoch is the same in every format.
        for row in &mut found {
            row.views = None;
        }
        match &first {
            None => {
                check_conservation(&found, &stored, true, 128, 1);
                first = Some(found);
            }
            Some(first) => assert!(*first == found, "{output}"),
        }
        let single = place.build(&recipe, &format!("{name}-1"), &["--threads", "1"]);
        assert!(files(&out) == files(&single), "{output} depends on the threads");
    }
}

#[test]
fn every_format_of_best_fit_rows() {
    every_format("best-fit");
}

#[test]
fn every_format_of_concatenated_rows() {
    every_format("concat");
}

#[test]
fn every_format_of_unpacked_documents() {
    every_format("none");
}

/// What documents say of their tokens: nothing, which ones are trained on, or by which weight.
#[derive(Clone, Copy, PartialEq)]
enum Masks {
    Nothing,
    Trained,
    Weights,
}

/// Whether a format cannot hold rows of a packing, or what documents say of their tokens.
fn is_unfit(output: &str, pack: &str, masks: Masks) -> bool {
    let has_columns = ["parquet", "arrow", "mds", "jsonl"].iter().any(|name| output.contains(name));
    let has_masks = output.contains("datatrove") || output.contains("olmo");
    let has_loss = match masks {
        Masks::Nothing => true,
        Masks::Trained => has_columns || has_masks,
        Masks::Weights => has_columns,
    };
    !has_loss || pack == "none" && output.contains("litdata")
}

fn every_combination(masks: Masks) {
    let place = CheckedCorpus::of(72, &[("web", 12, 2, 60)]);
    if masks != Masks::Nothing {
        pour_chats(&place, masks == Masks::Weights);
    }
    let mut writer = place.writer();
    let mut refused = 0;
    for output in OUTPUTS {
        for pack in ["best-fit", "greedy", "concat", "none"] {
            for tail in ["", "drop", "pad", "carry"] {
                let batch = match tail {
                    "" => String::new(),
                    tail => format!("[batch]\nrows = 3\ntail = \"{tail}\"\n"),
                };
                let text = format!(
                    "seed = 3\n[tokenizer]\nspecials = {{ eos = \"{EOS}\", pad = \"{PAD}\" }}\n\
                     [pack]\nkind = \"{pack}\"\nlength = 64\n{batch}[output]\nshard_bytes = 4096\n{output}\n"
                );
                let recipe = Recipe::parse(&format!("version = 1\n{text}"));
                let plan = |recipe| Ok(writer.plan(&recipe, &Context::new())?.0);
                let parent = match recipe.map_err(Error::from).and_then(plan) {
                    Ok(parent) => parent,
                    Err(error) => {
                        assert!(is_unfit(output, pack, masks), "{error}\n{text}");
                        refused += 1;
                        continue;
                    }
                };
                assert!(!is_unfit(output, pack, masks), "{text}");
                // The rest of the same run, from its second batch on.
                let child = writer.extend(parent.number, 3, None, &Context::new());
                let (child, _) = child.unwrap_or_else(|error| panic!("{error}\n{text}"));
                let corpus = place.reader();
                for number in [parent.number, child.number] {
                    let planned = corpus.stored_plan(number).unwrap();
                    let out = built(&place, &corpus, &planned, 0, "out", 2);
                    std::fs::remove_dir_all(out).unwrap();
                }
            }
        }
    }
    let unfit = match masks {
        Masks::Nothing => 1,
        Masks::Trained => 4 * 5,
        Masks::Weights => 4 * 7,
    };
    assert_eq!(refused, 4 * unfit);
}

#[test]
fn every_combination_of_options_is_verified() {
    every_combination(Masks::Nothing);
}

#[test]
fn every_combination_is_verified_with_masks() {
    every_combination(Masks::Trained);
}

#[test]
fn every_combination_is_verified_with_weights() {
    every_combination(Masks::Weights);
}

#[test]
fn fragments_of_a_document_are_sequences_of_one() {
    let place = EpochCorpus::holding(300);
    // One source in order, so that nothing comes between fragments.
    let recipe = format!(
        "{SPECIALS}[order]\nkind = \"sequential\"\n[pack]\nkind = \"none\"\nlength = 32\n[output]\nformat = \"megatron\"\n[[source]]\nname = \"books\"\n"
    );
    let out = place.build(&recipe, "out", &[]);
    place.verified("out");
    let index =
        crate::support::outputs::index(&std::fs::read(out.join("shard-00000.idx")).unwrap());
    let rows = rows(&out);
    let documents = rows.iter().filter(|row| row.offsets == [0]).count();
    assert!(rows.len() > documents + 50, "documents longer than a row");
    assert_eq!(index.boundaries.len(), documents + 1);
    for pair in index.boundaries.windows(2) {
        let fragments = &rows[pair[0] as usize..pair[1] as usize];
        assert!(fragments.iter().all(|row| row.documents == fragments[0].documents));
    }
}

#[test]
fn index_files_describe_the_rows() {
    let place = EpochCorpus::holding(200);
    let out =
        place.build(&recipe("best-fit", "format = \"raw\"\nlayout = \"datatrove\""), "ds", &[]);
    let found = rows(&out);
    let mut ends = Vec::new();
    let mut at = 0_i64;
    let mut first_of_shard = Vec::new();
    for row in &found {
        first_of_shard.push(ends.len());
        for length in &row.lengths {
            at += length;
            ends.push(at);
        }
        if row.real() < row.ids.len() {
            at += (row.ids.len() - row.real()) as i64;
            ends.push(at);
        }
    }
    let mut read = Vec::new();
    let mut before = 0;
    for path in numbered(&out, "", "_unshuffled.ds") {
        let tokens = (std::fs::metadata(&path).unwrap().len() / 2) as i64;
        let index = std::fs::read(path.with_extension("ds.index")).unwrap();
        let own = index.chunks(8).map(|end| i64::from_le_bytes(end.try_into().unwrap()));
        read.extend(own.map(|end| end + before));
        before += tokens;
        let metadata = std::fs::read_to_string(path.with_extension("ds.metadata")).unwrap();
        assert!(metadata.starts_with(&format!("own|2\n{tokens}\n")), "{metadata}");
    }
    assert_eq!(read, ends);

    let out = place.build(&recipe("best-fit", "format = \"raw\"\nlayout = \"llm.c\""), "llmc", &[]);
    for path in numbered(&out, "shard-", ".bin") {
        let bytes = std::fs::read(path).unwrap();
        let header: Vec<u32> =
            bytes[..1024].chunks(4).map(|n| u32::from_le_bytes(n.try_into().unwrap())).collect();
        assert_eq!(header[..3], [20_240_520, 1, ((bytes.len() - 1024) / 2) as u32]);
        assert!(header[3..].iter().all(|number| *number == 0));
    }

    let out = place.build(&recipe("best-fit", "format = \"raw\"\nlayout = \"olmo\""), "olmo", &[]);
    let mut lines = Vec::new();
    for path in numbered(&out, "part-0-", ".csv.gz") {
        let mut text = String::new();
        let file = std::fs::File::open(path).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).unwrap();
        lines.extend(text.lines().map(str::to_owned));
    }
    let segments: usize = found.iter().map(|row| row.lengths.len()).sum();
    assert_eq!(lines.len(), segments);
    let fields: Vec<&str> = lines[0].split(',').collect();
    let first = &found[0];
    assert_eq!(fields[0], "0");
    assert_eq!(fields[1], first.lengths[0].to_string());
    assert_eq!(fields[2], first.documents[0].to_string());
    assert_eq!(fields[3], first.source);
}

/// What stands beside `out` under a name that begins with its own.
fn staging(out: &Path) -> Vec<std::path::PathBuf> {
    let name = out.file_name().unwrap().to_str().unwrap().to_owned();
    let entries = std::fs::read_dir(out.parent().unwrap()).unwrap().map(|e| e.unwrap().path());
    entries
        .filter(|path| {
            path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{name}.tmp-"))
        })
        .collect()
}

#[test]
fn an_interrupted_build_goes_on_and_gives_the_same_bytes() {
    let place = EpochCorpus::holding(400);
    for (number, output) in OUTPUTS.iter().enumerate() {
        let pack = ["best-fit", "concat", "greedy"][number % 3];
        // Short rows, since a shard has a group of 1,000 where only encoding tells its size.
        let recipe = recipe(pack, output).replace("length = 128", "length = 8");
        let whole = place.build(&recipe, &format!("whole-{number}"), &[]);
        let plan = manifest(&whole)["plan"].as_str().unwrap().to_owned();
        let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        let stored = corpus.info().unwrap().epochs;
        let stored = stored.iter().find(|epoch| epoch.hash == plan).unwrap().number;
        let planned = corpus.stored_plan(stored).unwrap();
        let out = place.path(&format!("resumed-{number}"));
        let mut stops = 0;
        // Each build stops once it has finished a shard more.
        for round in 1.. {
            let before = recorded(&out);
            let progress = StopAt::new(StopWhen::Done(before + 1));
            let job = BuildJob { epoch: 0, out: &out };
            match corpus.build(&planned, &job, &progress.context().with_threads(1 + round % 2)) {
                Ok(_) => break,
                Err(error) => assert!(error.is_interrupt(), "{error}"),
            }
            assert!(!out.exists());
            let now = recorded(&out);
            assert!(now > before, "{output}: {now} tokens after {before}");
            stops += 1;
            if round == 2 {
                // A finished shard that was damaged since is made again, with all after it.
                let data = staging(&out)[0].join("data");
                let file = std::fs::read_dir(&data).unwrap().map(|e| e.unwrap().path());
                let file = file
                    .filter(|path| {
                        path.to_str().unwrap().contains("00000")
                            || path.to_str().unwrap().contains("chunk-0-0")
                    })
                    .min()
                    .unwrap();
                let mut bytes = std::fs::read(&file).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(&file, bytes).unwrap();
                std::fs::write(data.join("stray"), "x").unwrap();
                let interrupt = Interrupt::default();
                interrupt.raise();
                let raised = Context::new().with_interrupt(&interrupt).with_threads(1);
                corpus.build(&planned, &job, &raised).unwrap_err();
                assert_eq!(recorded(&out), 0, "{output}");
                corpus.build(&planned, &job, &Context::new().with_threads(2)).unwrap();
                break;
            }
        }
        assert!(stops >= 2, "{output}: {stops} stops");
        assert!(files(&out) == files(&whole), "{output} of {pack}");
        assert!(staging(&out).is_empty());
    }
}

/// Tokens in the finished shards of an interrupted build.
fn recorded(out: &Path) -> u64 {
    let Some(staging) = staging(out).pop() else { return 0 };
    let Ok(text) = std::fs::read_to_string(staging.join("finished.jsonl")) else { return 0 };
    let lines = json_lines(&text);
    let last = &lines.last().unwrap()["finished"]["position"]["counts"];
    let Some(sources) = last["sources"].as_array() else { return 0 };
    sources.iter().map(|source| source["tokens"].as_u64().unwrap()).sum()
}

#[test]
fn damage_to_any_file_of_any_format_is_found() {
    let place = EpochCorpus::holding(120);
    let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
    for output in OUTPUTS {
        let name = name("damaged", output);
        let out = place.build(&recipe("best-fit", output), &name, &[]);
        let hash = manifest(&out)["plan"].as_str().unwrap().to_owned();
        let corpus_now = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
        let stored = corpus_now.info().unwrap().epochs;
        let number = stored.iter().find(|epoch| epoch.hash == hash).unwrap().number;
        let planned = corpus_now.stored_plan(number).unwrap();
        let mut random = crate::support::Random::new(7);
        for (file, bytes) in files(&out) {
            let path = place_of(&out, &file);
            let places: Vec<usize> = (0..12).map(|_| random.below(bytes.len())).collect();
            for at in places.into_iter().chain([0, bytes.len() - 1]) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << random.below(8);
                std::fs::write(&path, &damaged).unwrap();
                let passed = corpus_now
                    .verify(&planned, &out, &Context::new())
                    .is_ok_and(|verification| verification.passed());
                assert!(!passed, "byte {at} of {file} of {output}");
            }
            for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
                std::fs::write(&path, &bytes[..cut]).unwrap();
                let passed = corpus_now
                    .verify(&planned, &out, &Context::new())
                    .is_ok_and(|verification| verification.passed());
                assert!(!passed, "{file} of {output} cut at {cut}");
            }
            std::fs::write(&path, &bytes).unwrap();
        }
        assert!(corpus_now.verify(&planned, &out, &Context::new()).unwrap().passed());
    }
    drop(corpus);
}

#[test]
fn rows_that_a_format_cannot_hold_are_refused_first() {
    let place = EpochCorpus::holding(60);
    let cases: &[(&str, &[&str])] = &[
        ("[output]\nformat = \"mds\"\nlayout = \"olmo\"\n", &["output.layout", "raw", "mds"]),
        ("[output]\nformat = \"raw\"\nlayout = \"npy\"\n", &["npy", "plain", "llm.c", "olmo"]),
        (
            "[output]\nformat = \"arrow\"\ncompression = \"zstd\"\n",
            &["leave output.compression out"],
        ),
        (
            "[output]\nformat = \"jsonl\"\ncompression = \"lz4\"\n",
            &["lz4", "jsonl", "\"none\" or \"zstd\""],
        ),
        (
            "[pack]\nkind = \"none\"\n[output]\nformat = \"litdata\"\n",
            &["litdata", "pack.kind", "mds"],
        ),
        (
            "[output]\nformat = \"mds\"\nshard_bytes = 4294967296\n",
            &["mds", "u32", "lower output.shard_bytes"],
        ),
        (
            "[tokenizer]\nspecials = { pad = \"<|pad|>\" }\n[output]\nformat = \"litdata\"\nshard_bytes = 4294967295\n",
            &["litdata", "u32", "lower output.shard_bytes"],
        ),
        (
            "[output]\nformat = \"raw\"\nlayout = \"llm.c\"\nshard_bytes = 4294967296\n",
            &["llm.c", "i32", "4294967294"],
        ),
        ("[output]\nformat = \"litdata\"\n", &["litdata", "specials.pad", "parquet"]),
        ("[output]\nids = \"u16\"\n", &["output.ids", "mds", "parquet"]),
        (
            "[output]\nformat = \"jsonl\"\ncontent_defined_chunks = true\n",
            &["output.content_defined_chunks", "jsonl", "no pages"],
        ),
        ("[output]\ncolumns = [\"label\"]\n", &["label", "labels", "position_ids", "seq_start_id"]),
    ];
    for (recipe, words) in cases {
        place.recipe("explain", recipe, &[]).fails(words);
    }
}

#[test]
fn tokens_of_many_documents_are_those_of_each() {
    let place = EpochCorpus::holding(400);
    let corpus = Corpus::options().memory(MEMORY).open(&place.corpus).unwrap();
    let view = corpus.view();
    let mut random = crate::support::Random::new(3);
    // Dense sets are scanned, thin ones looked up; a document without tokens is told in both.
    for one_in in [1, 2, 5, 8, 40, 200] {
        let documents: Vec<DocId> =
            (0..view.documents()).filter(|_| random.below(one_in) == 0).map(DocId).collect();
        let mut found = Vec::new();
        view.for_each_tokens(TokenizerId(0), &documents, |document, ids| {
            let ids = ids.map(|ids| {
                let mut out = Vec::new();
                ids.slice(1..ids.len()).append(&mut out);
                (ids.len(), out)
            });
            found.push((document, ids));
            Ok::<(), corpusdb::store::StoreError>(())
        })
        .unwrap();
        let each: Vec<_> = documents
            .iter()
            .map(|document| {
                let mut ids = Vec::new();
                let stored = view.tokens(TokenizerId(0), *document, &mut ids).unwrap();
                (*document, stored.then(|| (ids.len(), ids.split_off(1))))
            })
            .collect();
        assert_eq!(found, each);
        assert!(one_in > 8 || found.iter().any(|(_, ids)| ids.is_none()));
    }
}

#[test]
fn a_thin_selection_is_built_like_any() {
    let place = EpochCorpus::holding(600);
    let recipe = format!("{SPECIALS}[select]\nwhere = \"id % 29 = 3\"\n[pack]\nlength = 128\n");
    let out = place.build(&recipe, "out", &[]);
    place.verified("out");
    let stored = Stored::of(&place.corpus);
    check_rows(&out, &rows(&out), &stored, "best-fit");
}

#[test]
fn pads_may_stand_anywhere_in_rows_of_every_format() {
    let place = EpochCorpus::holding(200);
    let options = [
        "doc_multiple = 8",
        "doc_multiple = 8\npad_side = \"left\"\npad_view = \"each\"",
        "doc_multiple = 4\npad_side = \"left\"",
    ];
    for (number, options) in options.iter().enumerate() {
        for output in OUTPUTS {
            let recipe = format!(
                "{SPECIALS}[pack]\nlength = 128\n[pack.options]\n{options}\n[output]\nshard_bytes = 20000\n{output}\n"
            );
            let name = name(&format!("pads-{number}"), output);
            place.build(&recipe, &name, &[]);
            place.verified(&name);
        }
    }
}

#[test]
fn rows_of_pads_end_the_last_batch_in_every_format() {
    let place = EpochCorpus::holding(120);
    for output in OUTPUTS {
        let recipe = format!(
            "{SPECIALS}[pack]\nlength = 128\n[batch]\nrows = 64\ntail = \"pad\"\n[output]\nshard_bytes = 20000\n{output}\n"
        );
        let name = name("tail", output);
        let out = place.build(&recipe, &name, &[]);
        place.verified(&name);
        let found = rows(&out);
        assert_eq!(found.len() % 64, 0, "{output}");
        let of_pads = found.iter().filter(|row| row.real() == 0).count();
        assert!((1..64).contains(&of_pads), "{output}: {of_pads}");
    }
}
