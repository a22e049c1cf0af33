//! Batches as trainers get them: equal work for every rank, padded to the longest, with their views.

use crate::support::checker::corpus::{
    CheckedCorpus, THREE, built, open, part, plan, pour_chats, rows, stored,
};
use crate::support::epochs::WordCorpus;
use crate::support::{Ran, command, corpusdb, corpusdb_test, outputs};
use corpusdb::epoch::recipe::PadSide;
use corpusdb::epoch::views::PackedRow;
use corpusdb::epoch::{EpochBatch, EpochRow, Plan, PlanHeader, StreamOptions, torch, views};
use corpusdb::{Context, Corpus};
use serde_json::{Value, json};

const PADDED: &str = "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";
const NONE: &str = "[pack]\nkind = \"none\"\nlength = 256\n";
const ONE: &str = "[[source]]\nname = \"web\"\n";

fn lengths(batch: &EpochBatch) -> Vec<u32> {
    let real = |row: &EpochRow| row.segments().iter().map(|segment| segment.length).sum();
    batch.rows.iter().map(real).collect()
}

fn batches(corpus: &Corpus, planned: &Plan, rank: u64, world: u64) -> Vec<EpochBatch> {
    let stream = open(corpus, planned, 0).stream(&StreamOptions::of_rank(rank, world)).unwrap();
    stream.map(Result::unwrap).collect()
}

// Batches of a token budget gave one rank of eight rows in 14 of 305 batches and another in all of them, and an
// epoch without batches gave the last rank every row: ranks that wait for each other hang.
corpusdb_test!(ranks_have_equal_batches_and_shares, CheckedCorpus::of(81, &THREE), |place| {
    let corpus = place.reader();
    let grouped = "[order]\nkind = \"length-grouped\"\n";
    let recipes = [
        (format!("{PADDED}{NONE}"), true),
        (format!("{PADDED}[pack]\nlength = 64\n"), true),
        (format!("{PADDED}{NONE}{grouped}[batch]\nmax_tokens = 300\ncount = \"padded\"\n"), true),
        (format!("{PADDED}{NONE}[batch]\nmax_tokens = 300\n"), true),
        (format!("{PADDED}{NONE}{grouped}[batch]\nrows = 24\n"), false),
        (format!("{PADDED}[pack]\nlength = 64\n[batch]\nrows = 24\nbalance = 100\n"), false),
    ];
    for (text, dealt) in recipes {
        let planned = plan(&corpus, &text).unwrap();
        let all = rows(&open(&corpus, &planned, 0)).len();
        let one = batches(&corpus, &planned, 0, 1);
        for world in [2, 3, 8] {
            let ranks: Vec<Vec<EpochBatch>> =
                (0..world).map(|rank| batches(&corpus, &planned, rank, world)).collect();
            let steps = if dealt { one.len().div_ceil(world as usize) } else { one.len() };
            assert!(ranks.iter().all(|batches| batches.len() == steps), "{text}");
            let given: Vec<usize> = ranks
                .iter()
                .map(|batches| batches.iter().map(|batch| batch.rows.len()).sum())
                .collect();
            assert_eq!(given.iter().sum::<usize>(), all);
            let empty = ranks.iter().flatten().filter(|batch| batch.rows.is_empty()).count();
            assert!(empty < world as usize, "{text}: {empty} batches without rows");
            if !dealt {
                assert!(given.iter().all(|given| *given == all / world as usize));
            } else if planned.plan.recipe.batch.is_none() {
                assert!(given.iter().all(|given| given.abs_diff(all / world as usize) <= 1));
            } else {
                // Whole batches of the one sequence, and not always the longest to the same rank.
                let firsts = ranks.iter().filter(|batches| {
                    let first: usize = batches.iter().filter(|of| of.number % world == 0).count();
                    first > 0
                });
                assert_eq!(firsts.count(), steps.min(world as usize), "{text}");
                for batch in ranks.iter().flatten().filter(|batch| !batch.rows.is_empty()) {
                    let of = &one[batch.number as usize];
                    assert_eq!(lengths(batch), lengths(of));
                }
            }
        }
    }
    // What does not divide is refused, or shared in turns.
    let planned =
        plan(&corpus, &format!("{PADDED}[pack]\nlength = 64\n[batch]\nrows = 10\n")).unwrap();
    let epoch = open(&corpus, &planned, 0);
    let error = epoch.stream(&StreamOptions::of_rank(0, 3)).err().unwrap().to_string();
    assert!(error.contains("10 rows do not divide evenly among 3 ranks"), "{error}");
    let mut given = [0; 3];
    for (rank, given) in given.iter_mut().enumerate() {
        let stream = epoch.stream(&part(0, rank as u64, 3)).unwrap();
        *given = stream.map(|batch| batch.unwrap().rows.len()).sum::<usize>();
    }
    let spread = given.iter().max().unwrap() - given.iter().min().unwrap();
    assert!(spread <= 2, "{given:?}: the same ranks have more");
});

fn stream(place: &CheckedCorpus, recipe: &str, more: &[&str]) -> Ran {
    let corpus = place.path.display().to_string();
    let name = format!("{}.toml", blake3::hash(recipe.as_bytes()).to_hex());
    let file = place.scratch.write(&name, format!("version = 1\n{recipe}"));
    corpusdb(&[&["epoch", "stream", &corpus, &file][..], more].concat())
}

corpusdb_test!(empty_batches_and_ends_are_said, CheckedCorpus::of(82, &THREE), |place| {
    let corpus = place.reader();
    let text = format!("{PADDED}{NONE}[batch]\nmax_tokens = 300\n");
    let batches = open(&corpus, &plan(&corpus, &text).unwrap(), 0).batches();
    let world = batches + 1;
    let told = world.to_string();
    let mut empty = 0;
    for rank in [0, 1, batches] {
        let rank = rank.to_string();
        let lines = stream(&place, &text, &["--world", &told, "--rank", &rank]).good().json_lines();
        assert!(!lines.is_empty(), "a rank without a word");
        for line in lines.iter().filter(|line| line["row"].is_null()) {
            assert_eq!(line["input_ids"], json!([]));
            assert_eq!(line["batch"], batches);
            empty += 1;
        }
    }
    assert!(empty <= 1);
    // A stream past the end was silence and exit 0.
    for from in [batches, batches + 7] {
        let ran = stream(&place, &text, &["--from-batch", &from.to_string()]);
        ran.fails(&["is out of range", &format!("there are {batches}")]);
    }
    stream(&place, &text, &["--from-batch", &(batches - 1).to_string()]).good();
    let divided = format!("{PADDED}{NONE}[batch]\nrows = 6\n");
    stream(&place, &divided, &["--world", "4"]).fails(&["do not divide evenly", "--uneven"]);
    stream(&place, &divided, &["--world", "4", "--uneven", "--batches", "2"]).good();
});

/// An epoch of no rows was built and verified.
#[test]
fn an_epoch_without_rows_is_an_error_that_says_why() {
    let place = CheckedCorpus::of(83, &[("web", 20, 3, 40)]);
    let corpus = place.reader();
    let refused = plan(&corpus, &format!("{PADDED}[batch]\nrows = 1_000_000\n")).err().unwrap();
    // One that was stored before planning looked at it.
    let mut planned = plan(&corpus, &format!("{PADDED}[batch]\nrows = 1\n")).unwrap();
    let stored =
        planned.plan.to_json().replace("\"batch\":{\"rows\":1,", "\"batch\":{\"rows\":1000000,");
    planned.plan = PlanHeader::from_json(&stored).unwrap();
    let errors = [
        refused,
        corpus.explain(&planned, &Context::new()).err().unwrap(),
        corpus.epoch(&planned, 0, &Context::new()).err().unwrap(),
        corpus
            .build(
                &planned,
                &corpusdb::epoch::BuildJob { epoch: 0, out: &place.scratch.path("out") },
                &Context::new(),
            )
            .err()
            .unwrap(),
    ];
    for error in errors {
        let error = error.to_string();
        for word in ["epoch 0 has no rows", "batch.rows = 1000000", "lower batch.rows", "pad"] {
            assert!(error.contains(word), "{error}");
        }
    }
    assert!(!place.scratch.path("out").exists());
}

/// Rows that the last epoch of a run carried reached nobody, and no row was said to be left out.
#[test]
fn rows_carried_beyond_the_last_epoch_are_left_out() {
    let place = CheckedCorpus::of(91, &[("web", 40, 3, 40)]);
    let corpus = place.reader();
    let text = |repeats: u32| {
        format!(
            "{PADDED}{NONE}[batch]\nrows = 7\ntail = \"carry\"\n[[source]]\nname = \"web\"\nmax_repeats = {repeats}\n"
        )
    };
    let explained = |repeats| {
        let planned = plan(&corpus, &text(repeats)).unwrap();
        (corpus.explain(&planned, &Context::new()).unwrap(), planned)
    };
    let ((last, planned), (first, _)) = (explained(1), explained(2));
    let all = planned.plan.sources[0].rows;
    assert!(!all.is_multiple_of(7));
    assert_eq!((last.rows, last.left_out_rows), (all / 7 * 7, all % 7));
    assert_eq!((first.rows, first.left_out_rows), (all / 7 * 7, 0));
    let out = built(&place, &corpus, &planned, 0, "out", 2);
    assert_eq!(outputs::manifest(&out)["totals"]["left_out_rows"], all % 7);
}

// Padding was told to be 0.0000 % where rows are padded to the longest of their batch.
corpusdb_test!(padding_follows_batches_and_grouping, CheckedCorpus::of(84, &THREE), |place| {
    let corpus = place.reader();
    for exact in [
        "",
        "length_grouped = { exact = \"torch\" }\n",
        "length_grouped = { window = \"epoch\" }\n",
    ] {
        let mut percents = Vec::new();
        for order in ["shuffle", "length-grouped"] {
            let exact = if order == "shuffle" { "" } else { exact };
            let text = format!(
                "{PADDED}{NONE}[order]\nkind = \"{order}\"\n{exact}[batch]\nrows = 8\ntail = \"drop\"\n{ONE}"
            );
            let planned = plan(&corpus, &text).unwrap();
            let (mut real, mut places) = (0, 0);
            for batch in batches(&corpus, &planned, 0, 1) {
                let lengths = lengths(&batch);
                real += lengths.iter().sum::<u32>();
                places += lengths.iter().max().unwrap() * lengths.len() as u32;
            }
            let percent = f64::from(places - real) / f64::from(places) * 100.0;
            let told = corpus.explain(&planned, &Context::new()).unwrap();
            assert!((told.padding_percent - percent).abs() < 1e-9, "{}", told.padding_percent);
            let padding = told.batch_padding.unwrap();
            assert_eq!(padding.ungrouped_percent.is_some(), order != "shuffle");
            assert!(padding.ungrouped_percent.is_none_or(|before| before > 1.2 * percent));
            assert!(told.to_string().contains(&format!("{percent:.2} % pads")), "{told}");
            percents.push(percent);
        }
        assert!(percents[0] > 1.2 * percents[1], "{percents:?}");
    }
});

corpusdb_test!(rows_are_padded_to_the_longest_of_a_batch, CheckedCorpus::of(85, &THREE), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    for (side, tail) in [("right", "drop"), ("left", "pad")] {
        let text = |output: &str| {
            format!(
                "{PADDED}{NONE}options = {{ pad_side = \"{side}\" }}\n[batch]\nrows = 7\ntail = \"{tail}\"\npad = \"longest\"\n[output]\n{output}\n"
            )
        };
        let planned = plan(&corpus, &text("format = \"parquet\"")).unwrap();
        let pad = planned.plan.tokenizer.specials.pad.unwrap();
        let epoch = open(&corpus, &planned, 0);
        let given: Vec<EpochBatch> = batches(&corpus, &planned, 0, 1);
        for batch in &given {
            let longest = lengths(batch).into_iter().max().unwrap();
            for row in &batch.rows {
                assert_eq!(row.ids().len(), longest as usize);
                let real: usize = row.segments().iter().map(|s| s.length as usize).sum();
                let pads = row.ids().len() - real;
                let at = if side == "left" { pads } else { 0 };
                assert!(row.ids()[..at].iter().chain(&row.ids()[at + real..]).all(|id| *id == pad));
                if let Some(segment) = row.segments().first() {
                    let ids = all[segment.document.0 as usize].ids.as_ref().unwrap();
                    let from = segment.offset as usize;
                    assert_eq!(row.ids()[at..at + real - 1], ids[from..from + real - 1]);
                }
                let mask: Vec<i8> = views::attention_mask(row.shape());
                assert_eq!(mask.iter().map(|one| *one as usize).sum::<usize>(), real);
                assert!(mask[at..at + real].iter().all(|one| *one == 1));
            }
        }
        assert_eq!(epoch.rows() as usize, given.iter().map(|of| of.rows.len()).sum::<usize>());
        // The same from the command, and in files.
        let lines = stream(&place, &text("format = \"parquet\""), &[]).good().json_lines();
        for (line, row) in lines.iter().zip(given.iter().flat_map(|batch| &batch.rows)) {
            assert_eq!(line["input_ids"], json!(row.ids()));
            assert_eq!(line["attention_mask"], json!(views::attention_mask(row.shape())));
        }
        for (number, output) in ["parquet", "arrow", "jsonl", "mds"].into_iter().enumerate() {
            let planned = plan(&corpus, &text(&format!("format = \"{output}\""))).unwrap();
            let out = built(&place, &corpus, &planned, 0, &format!("{side}-{number}"), 2);
            let totals = &outputs::manifest(&out)["totals"];
            let rows = given.iter().flat_map(|batch| &batch.rows);
            let places: usize = rows.clone().map(|row| row.ids().len()).sum();
            let real: usize = given.iter().flat_map(lengths).map(|length| length as usize).sum();
            assert_eq!(totals["pad_tokens"], places - real);
            assert_eq!(totals["rows"], rows.count());
            let efficiency = totals["efficiency"].as_f64().unwrap();
            assert!((efficiency - real as f64 / places as f64).abs() < 1e-12);
        }
        let text = format!("version = 1\n{}", text("format = \"megatron\""));
        let error = corpusdb::Recipe::parse(&text).unwrap_err().to_string();
        assert!(error.contains("batch.pad") && error.contains("parquet"), "{error}");
    }
});

// Epoch 1 of an exact order was "raise max_repeats", which the order refused.
corpusdb_test!(exact_orders_have_an_epoch_a_seed, CheckedCorpus::of(86, &THREE), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    let ids: Vec<u64> =
        (0..).zip(&all).filter(|(_, of)| of.kept && of.source == "web").map(|(id, _)| id).collect();
    let lengths: Vec<usize> =
        ids.iter().map(|id| all[*id as usize].ids.as_ref().unwrap().len()).collect();
    let text = |tail: &str, repeats: u32| {
        format!(
            "seed = 42\n[pack]\nkind = \"none\"\nlength = 4096\n[order]\nkind = \"length-grouped\"\n\
             length_grouped = {{ exact = \"torch\" }}\n[batch]\nrows = 4\ntail = \"{tail}\"\n[[source]]\nname = \"web\"\nmax_repeats = {repeats}\n"
        )
    };
    let planned = plan(&corpus, &text("drop", 5)).unwrap();
    for epoch in 0..5 {
        let order = torch::length_grouped_indices(&lengths, 4, None, 42 + epoch).unwrap();
        let wanted: Vec<u64> = order.iter().map(|at| ids[*at as usize]).collect();
        let rows = rows(&open(&corpus, &planned, epoch));
        let found: Vec<u64> = rows.iter().map(|row| row.segments()[0].document.0).collect();
        assert_eq!(found, wanted[..wanted.len() / 4 * 4], "epoch {epoch}");
    }
    built(&place, &corpus, &planned, 3, "out", 2);
    let carried =
        std::panic::catch_unwind(|| crate::support::checker::corpus::recipe(&text("carry", 2)));
    assert!(carried.is_err(), "an epoch begins with its own first row");
});

/// What a page on dynamic batching does: all sequences by falling length, each batch filled while the next fits.
fn dynamic_batches(mut lengths: Vec<u32>, most: u32) -> Vec<Vec<u32>> {
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut batches: Vec<Vec<u32>> = vec![Vec::new()];
    for length in lengths {
        let current = batches.last_mut().unwrap();
        if current.iter().sum::<u32>() + length > most && !current.is_empty() {
            batches.push(vec![length]);
        } else {
            current.push(length);
        }
    }
    batches
}

corpusdb_test!(a_whole_epoch_is_sorted_at_once, CheckedCorpus::of(87, &THREE), |place| {
    let corpus = place.reader();
    let text = format!(
        "{PADDED}{NONE}[order]\nkind = \"length-grouped\"\nlength_grouped = {{ window = \"epoch\" }}\n[batch]\nmax_tokens = 300\n"
    );
    let planned = plan(&corpus, &text).unwrap();
    let found: Vec<Vec<u32>> = batches(&corpus, &planned, 0, 1).iter().map(lengths).collect();
    let wanted = dynamic_batches(found.concat(), 300);
    assert!(found.len() > 10);
    assert_eq!(found, wanted);
    built(&place, &corpus, &planned, 0, "out", 2);
});

#[test]
fn streams_carry_the_views_that_are_asked_for() {
    let place = CheckedCorpus::of(88, &[("web", 40, 3, 40)]);
    pour_chats(&place, true);
    let corpus = place.reader();
    let text = format!("{PADDED}[pack]\nlength = 96\n[batch]\nrows = 4\n");
    let given = batches(&corpus, &plan(&corpus, &text).unwrap(), 0, 1);
    let names =
        "cu_seqlens,max_seqlen,segment_ids,seq_idx,position_ids,attention_mask,loss_weights";
    let lines = stream(&place, &text, &["--views", names]).good().json_lines();
    assert_eq!(lines.len(), given.iter().map(|batch| batch.rows.len()).sum::<usize>());
    for (line, row) in lines.iter().zip(given.iter().flat_map(|batch| &batch.rows)) {
        let shape = row.shape();
        assert_eq!(line["cu_seqlens"], json!(views::cu_seqlens(shape)));
        assert_eq!(line["max_seqlen"], json!(views::max_seqlen(shape)));
        assert_eq!(line["segment_ids"], json!(views::segment_ids(shape)));
        assert_eq!(line["seq_idx"], json!(views::seq_idx(shape)));
        assert_eq!(line["position_ids"], json!(views::position_ids(shape)));
        assert_eq!(line["attention_mask"], json!(views::attention_mask(shape)));
        assert!(line.get("labels").is_none());
    }
    // A batch a line, without pads: every tensor by the indices.
    let names = "labels,loss_weights,loss_mask,position_ids,segment_ids,seq_idx,cu_seqlens";
    let lines = stream(&place, &text, &["--unpad", "--views", names]).good().json_lines();
    assert_eq!(lines.len(), given.len());
    for (line, batch) in lines.iter().zip(&given) {
        let list = |name: &str| -> Vec<i64> {
            line[name].as_array().unwrap().iter().map(|one| one.as_i64().unwrap()).collect()
        };
        let ids: Vec<Vec<i32>> = batch
            .rows
            .iter()
            .map(|row| row.ids().iter().map(|id| id.cast_signed()).collect())
            .collect();
        let packed: Vec<PackedRow<'_>> = batch
            .rows
            .iter()
            .zip(&ids)
            .map(|(row, ids)| PackedRow { shape: row.shape(), ids, trained: row.trained() })
            .collect();
        let padded = views::collate(&packed, 0, PadSide::Right).unwrap();
        assert_eq!(line["width"], 96);
        let at = |values: &[i32]| -> Vec<i64> {
            list("indices").iter().map(|index| i64::from(values[*index as usize])).collect()
        };
        assert_eq!(list("input_ids"), at(&padded.input_ids));
        assert_eq!(list("labels"), at(&padded.labels));
        assert_eq!(list("position_ids"), at(&padded.position_ids));
        let shapes: Vec<_> = batch.rows.iter().map(|row| row.shape().clone()).collect();
        let boundaries: Vec<i64> =
            views::batch_cu_seqlens(&shapes).unwrap().into_iter().map(i64::from).collect();
        assert_eq!(list("cu_seqlens"), boundaries);
        let weights = line["loss_weights"].as_array().unwrap();
        assert_eq!(weights.len(), list("input_ids").len());
        for (weight, label) in weights.iter().zip(list("labels")) {
            assert_eq!(weight.as_f64().unwrap() > 0.0, label != -100);
        }
        let longest = boundaries.windows(2).map(|two| two[1] - two[0]).max().unwrap();
        assert_eq!(line["max_seqlen"], longest);
        assert_eq!(list("seq_idx").last(), Some(&(boundaries.len() as i64 - 2)));
        assert_eq!(list("segment_ids").last(), Some(&(boundaries.len() as i64 - 1)));
    }
    let ran = stream(&place, &text, &["--unpad", "--views", "attention_mask"]);
    ran.fails(&["attention_mask", "without pads"]);
    let ran = stream(&place, &text, &["--views", "colour"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cu_seqlens"), "{ran}");
    // Arrow has the same.
    let corpus_path = place.path.display().to_string();
    let name = place.scratch.write("arrow.toml", format!("version = 1\n{text}"));
    let output = command(&["epoch", "stream", &corpus_path, &name, "--format", "arrow", "--unpad"])
        .output()
        .unwrap();
    let reader =
        arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(output.stdout), None)
            .unwrap();
    let found: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(found.len(), given.len());
    for (batch, line) in found.iter().zip(&lines) {
        use arrow::array::{Array, AsArray};
        assert_eq!(batch.num_rows(), 1);
        let ids = batch["input_ids"].as_list::<i32>().value(0);
        assert_eq!(ids.len(), line["input_ids"].as_array().unwrap().len());
        assert!(batch.column_by_name("loss_weights").is_some(), "documents say what is trained");
    }
}

// `doc_multiple` was ignored where nothing could fill it up, and one more token a row broke it.
corpusdb_test!(multiples_need_pads_and_no_last_target, CheckedCorpus::of(89, &THREE), |place| {
    let corpus = place.reader();
    let refused = [
        ("[pack]\nlength = 64\noptions = { doc_multiple = 8 }\n".to_owned(), "specials.pad"),
        (format!("{PADDED}{NONE}options = {{ doc_multiple = 8 }}\n"), "batch.pad = \"longest\""),
        (format!("{PADDED}[pack]\nlength = 60\noptions = {{ doc_multiple = 8 }}\n"), "not divide"),
    ];
    for (text, word) in refused {
        let error = corpusdb::Recipe::parse(&format!("version = 1\n{text}")).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    for side in ["right", "left"] {
        for pack in ["best-fit", "greedy", "concat"] {
            let text = format!(
                "{PADDED}[pack]\nkind = \"{pack}\"\nlength = 64\noptions = {{ target = \"extra\", doc_multiple = 8, pad_side = \"{side}\" }}\n"
            );
            let planned = plan(&corpus, &text).unwrap();
            let rows = rows(&open(&corpus, &planned, 0));
            let pad = planned.plan.tokenizer.specials.pad.unwrap();
            for row in &rows {
                assert_eq!(row.ids().len(), 65);
                assert_eq!(row.ids()[64], pad, "the place of the last target");
                for span in &row.shape().spans {
                    let place = if side == "left" { span.end() } else { span.start };
                    assert_eq!(place % 8, 0);
                }
            }
            built(&place, &corpus, &planned, 0, &format!("{side}-{pack}"), 2);
        }
    }
});

/// Shares were told in tokens whatever the mix counts, and rows of pads were in the file and not in the manifest.
#[test]
fn manifests_count_in_the_unit_of_the_mix_and_every_row() {
    let place = CheckedCorpus::of(90, &[("web", 60, 3, 40)]);
    pour_chats(&place, false);
    let corpus = place.reader();
    let sources = "[[source]]\nname = \"chats\"\nweight = 0.5\nmax_repeats = 9\n[[source]]\nname = \"web\"\nweight = 0.5\nmax_repeats = 9\n";
    for unit in ["loss-tokens", "tokens", "documents", "rows"] {
        let tokens = if unit.contains("tokens") { 2500 } else { 60 };
        let text = format!(
            "{PADDED}[mix]\nunit = \"{unit}\"\ntokens = {tokens}\n[pack]\nlength = 64\n{sources}"
        );
        let out = built(&place, &corpus, &plan(&corpus, &text).unwrap(), 0, unit, 2);
        for source in outputs::manifest(&out)["sources"].as_array().unwrap() {
            let share = source["achieved_share"].as_f64().unwrap();
            assert!((share - 0.5).abs() < 0.04, "{unit}: {share}");
        }
    }
    let text = format!("{PADDED}[pack]\nlength = 64\n[batch]\nrows = 50\ntail = \"pad\"\n");
    let planned = plan(&corpus, &text).unwrap();
    let out = built(&place, &corpus, &planned, 0, "pads", 2);
    let (manifest, found) = (outputs::manifest(&out), outputs::rows(&out));
    let totals = &manifest["totals"];
    let of_pads = found.iter().filter(|row| row.real() == 0).count();
    let real: usize = found.iter().map(outputs::Row::real).sum();
    assert!(of_pads > 0);
    assert_eq!((&totals["rows"], &totals["pad_rows"]), (&json!(found.len()), &json!(of_pads)));
    assert_eq!(totals["pad_tokens"], found.len() * 64 - real);
    let efficiency = totals["efficiency"].as_f64().unwrap();
    assert!((efficiency - real as f64 / (found.len() * 64) as f64).abs() < 1e-12);
    let told = corpus.explain(&planned, &Context::new()).unwrap();
    assert!((told.efficiency - efficiency).abs() < 1e-12);
    let files: u64 =
        manifest["files"].as_array().unwrap().iter().map(|f| f["rows"].as_u64().unwrap()).sum();
    assert_eq!(totals["rows"], Value::from(files));
}

// ----
// Rows that fill no batch, where the rows of several batches are put in order together.

const GROUPED: &str = "[pack]\nkind = \"none\"\nlength = 8\n\
     [order]\nkind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = 4 }\n\
     [batch]\nrows = 2\n[[source]]\nname = \"web\"\nmax_repeats = 2\n";

// They were counted among those before it: a stream from a batch of the last window numbered its rows too high.
corpusdb_test!(rows_have_their_numbers_from_any_batch_on, WordCorpus::of(&[3, 1, 4, 6, 2]), |t| {
    t.recipe("r.toml", GROUPED);
    t.scratch.run("epoch plan corpus r.toml");
    let all = t.scratch.run("epoch stream corpus 1").json_lines();
    assert_eq!(all.len(), 4);
    for from in 1..2 {
        let rest =
            t.scratch.run(&format!("epoch stream corpus 1 --from-batch {from}")).json_lines();
        assert_eq!(rest, all[2 * from..], "from batch {from}");
    }
});

// An export was refused where the rows left out are of a pass before the last one: of these it lacked some.
corpusdb_test!(rows_left_out_of_any_pass_are_none_that_lack, WordCorpus::of(&[3, 1]), |t| {
    for seed in 0..6 {
        // One pass and the first document of the next one: of three rows the shortest is left out.
        t.recipe("r.toml", &format!("seed = {seed}\n[mix]\ntokens = 5\n{GROUPED}"));
        t.scratch.run("epoch plan corpus r.toml");
        t.verified(&(seed + 1).to_string());
    }
});
