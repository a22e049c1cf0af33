//! The ends of rows that are cut end to end, and of their passes: where rows overlap no token is without its
//! prediction, and what fills no row is left out and counted.

use crate::support::checker::corpus::{
    CheckedCorpus, CheckedDocument, THREE, built, content, open, plan, recipe, rows, stored,
};
use crate::support::checker::row::Rules;
use crate::support::{assert_contains, corpusdb_test};
use corpusdb::epoch::recipe::OrderKind;
use corpusdb::epoch::{EpochRow, Plan};
use corpusdb::{Context, Corpus};
use std::collections::BTreeMap;

const EOS: &str = "[tokenizer]\nspecials = { eos = \"<|eos|>\" }\n";
const EOS_PAD: &str = "[tokenizer]\nspecials = { eos = \"<|eos|>\", pad = \"<|pad|>\" }\n";
const OVERLAP: &str = "options = { target = \"extra\", overlap = true }\n";

fn text(specials: &str, mix: &str, pack: &str, more: &str, repeats: u32) -> String {
    let sources = THREE.iter().zip([0.5, 0.35, 0.15]).map(|((name, ..), weight)| {
        format!("[[source]]\nname = \"{name}\"\nweight = {weight:?}\nmax_repeats = {repeats}\n")
    });
    format!(
        "seed = 4\n{specials}[mix]\n{mix}\n[pack]\nkind = \"concat\"\nlength = 48\n{pack}{more}{}",
        sources.collect::<String>()
    )
}

/// (document, offset) of every token of a row.
fn tokens(row: &EpochRow) -> Vec<(u64, u32)> {
    let of = |s: &corpusdb::epoch::Segment| {
        let document = s.document.0;
        (s.offset..s.offset + s.length).map(move |at| (document, at))
    };
    row.segments().iter().flat_map(of).collect()
}

/// What of a row no row before it has.
fn own(row: &EpochRow) -> Vec<(u64, u32)> {
    tokens(row).split_off(row.repeated())
}

#[derive(Default)]
struct Pass {
    given: u64,
    seen: BTreeMap<(u64, u32), u32>,
    last: Option<(u64, u32)>,
}

/// Goes through `epochs` epochs of a plan row by row; how many passes ended.
fn check(corpus: &Corpus, planned: &Plan, all: &[CheckedDocument], epochs: u64) -> u32 {
    let rules = Rules::of(planned, all);
    let options = &planned.plan.recipe.pack.options;
    let strata = planned.plan.recipe.order.kind == OrderKind::Curriculum;
    let whole = planned.plan.sources.iter().any(|of| of.losses.partial_tokens > 0);
    let mut passes: BTreeMap<String, Pass> = BTreeMap::new();
    let mut ended = 0;
    for number in 0..epochs {
        let epoch = open(corpus, planned, number);
        let found = rows(&epoch);
        let told: u64 = found.iter().map(|row| own(row).len() as u64).sum();
        if number == 0 {
            let told_before = corpus.explain(planned, &Context::new()).unwrap();
            assert_eq!(told_before.tokens, told);
        }
        for (at, row) in found.iter().enumerate() {
            rules.check(row);
            if at % 13 == 5 {
                let again = epoch.row(at as u64).unwrap();
                assert_eq!((content(&again), again.repeated()), (content(row), row.repeated()));
            }
            let name = row.source().unwrap();
            let planned = planned.plan.sources.iter().find(|of| of.name == name).unwrap();
            let pass = passes.entry(name.to_owned()).or_default();
            let (tokens, own) = (tokens(row), own(row));
            if whole {
                assert_eq!(tokens.len(), rules.capacity(), "a row that is not full");
            }
            assert!(row.repeated() <= usize::from(options.overlap));
            if options.overlap && !strata {
                assert_eq!(row.repeated(), usize::from(pass.given > 0));
                assert!(pass.given == 0 || tokens.first() == pass.last.as_ref());
            }
            pass.last = tokens.last().copied();
            pass.given += own.len() as u64;
            for token in own {
                let times = pass.seen.entry(token).or_default();
                *times += 1;
                assert_eq!(*times, 1, "{token:?} comes twice");
            }
            assert!(pass.given <= planned.packed_tokens, "a row reaches into the next pass");
            if pass.given == planned.packed_tokens {
                let documents = (0_u64..).zip(all).filter(|(_, of)| {
                    of.kept
                        && of.source == name
                        && of.ids.as_ref().is_some_and(|ids| !ids.is_empty())
                });
                let due: usize = documents.map(|(id, _)| rules.length(id)).sum();
                let missing = (due - pass.seen.len()) as u64;
                assert_eq!(missing, planned.losses.partial_tokens);
                *pass = Pass::default();
                ended += 1;
            }
        }
    }
    ended
}

// A recipe of `concat` for Megatron without a pad token was refused because of the one row of each pass that is
// not full.
corpusdb_test!(a_partial_row_of_concat_is_counted_only, CheckedCorpus::of(61, &THREE), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    let recipe = text(EOS, "tokens = 2500", "", "[output]\nformat = \"megatron\"\n", 3);
    let planned = plan(&corpus, &recipe).unwrap();
    let mut any = 0;
    for of in &planned.plan.sources {
        assert_eq!(of.losses.partial_tokens, of.effective_tokens % 48);
        assert_eq!(of.packed_tokens + of.losses.partial_tokens, of.effective_tokens);
        assert_eq!((of.rows, of.full_rows), (of.effective_tokens / 48, of.rows));
        any += of.losses.partial_tokens;
    }
    assert!(any > 0);
    let told = corpus.explain(&planned, &Context::new()).unwrap();
    assert_eq!(told.sources.iter().map(|of| of.partial_tokens).sum::<u64>(), any);
    let words = ["tokens at the end of a pass of ", ", which fill no row\n"];
    assert_contains(&told.to_string(), &words);
    let epochs = told.epochs.min(6);
    assert!(check(&corpus, &planned, &all, epochs) > 2);
    for epoch in [0, epochs - 1] {
        built(&place, &corpus, &planned, epoch, &format!("epoch-{epoch}"), 2);
    }
    // Whole passes are verified as such.
    let recipe = text(EOS, "", "", "[output]\nformat = \"litdata\"\n", 1).replace("weight", "#");
    let planned = plan(&corpus, &recipe).unwrap();
    assert_eq!(check(&corpus, &planned, &all, 1), 3);
    built(&place, &corpus, &planned, 0, "whole", 2);
    // Asked for, it is so in every format; kept, the row is there as before.
    let of = |partial: &str| {
        let pack = format!("options = {{ partial = \"{partial}\" }}\n");
        plan(&corpus, &text(EOS, "tokens = 2500", &pack, "", 3)).unwrap()
    };
    assert!(of("drop").plan.sources.iter().any(|of| of.losses.partial_tokens > 0));
    let kept = of("keep");
    assert!(kept.plan.sources.iter().all(|of| of.losses.partial_tokens == 0));
    let bare = plan(&corpus, &text(EOS, "tokens = 2500", "", "", 3)).unwrap();
    assert_eq!(kept.plan.sources, bare.plan.sources);
    check(&corpus, &of("drop"), &all, 4);
    // A source of less than a row says so.
    let long = recipe.replace("length = 48", "length = 1000000");
    let error = plan(&corpus, &long).unwrap_err().to_string();
    assert!(error.contains("fill no row of 1000000") && error.contains("pack.length"), "{error}");
});

// With a token more for the last target, rows did not share it, so that the first token of each row but the first
// was predicted by none.
corpusdb_test!(rows_with_a_last_target_overlap_on_demand, CheckedCorpus::of(62, &THREE), |place| {
    let corpus = place.reader();
    let all = stored(&corpus);
    let curriculum =
        "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"chars\", strata = 3, c0 = 0.5 }\n";
    let cases = [
        (EOS_PAD, "tokens = 2500", "[order]\nkind = \"sequential\"\n", true),
        (EOS_PAD, "tokens = 2500", "[output]\nformat = \"litdata\"\n", true),
        (EOS, "tokens = 2500", "[output]\nformat = \"megatron\"\n", true),
        (EOS, "tokens = 2500", curriculum, true),
        (EOS_PAD, "unit = \"loss-tokens\"\ntokens = 2000", "[output]\nformat = \"jsonl\"\n", true),
        (EOS_PAD, "unit = \"rows\"\ntokens = 40", "[output]\nformat = \"mds\"\n", true),
        (EOS, "tokens = 2500", "[batch]\nrows = 6\nbalance = 40\n", false),
    ];
    for (number, (specials, mix, more, in_order)) in cases.into_iter().enumerate() {
        let planned = plan(&corpus, &text(specials, mix, OVERLAP, more, 3)).unwrap();
        let epochs = corpus.explain(&planned, &Context::new()).unwrap().epochs.min(4);
        if in_order {
            assert!(check(&corpus, &planned, &all, epochs) > 0, "case {number} ends no pass");
        }
        let epoch = if number % 2 == 0 { epochs - 1 } else { 0 };
        built(&place, &corpus, &planned, epoch, &format!("out-{number}"), 2);
    }
    // Of one pass: every document begins once, every token counts once.
    let whole = text(EOS_PAD, "", OVERLAP, "", 1).replace("weight", "#");
    let planned = plan(&corpus, &whole).unwrap();
    assert_eq!(check(&corpus, &planned, &all, 1), 3);
    let out = built(&place, &corpus, &planned, 0, "whole", 2);
    let manifest: corpusdb::epoch::Manifest = corpusdb::epoch::Manifest::read(&out).unwrap();
    for (of, planned) in manifest.sources.iter().zip(&planned.plan.sources) {
        assert_eq!((of.documents, of.tokens), (planned.documents, planned.packed_tokens));
        // 49 tokens a row, of which one is of the row before.
        assert_eq!(of.rows, (planned.packed_tokens - 1).div_ceil(48));
    }
    for (pack, words) in [
        (
            "kind = \"greedy\"\noptions = { target = \"extra\", overlap = true }",
            "pack.kind = \"concat\"",
        ),
        ("kind = \"concat\"\noptions = { overlap = true }", "pack.options.target = \"extra\""),
        ("kind = \"best-fit\"\noptions = { partial = \"drop\" }", "pack.options.partial"),
    ] {
        let error = corpusdb::Recipe::parse(&format!("version = 1\n[pack]\n{pack}\n")).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
});

// What is consumed of a plan and what its child has are everything once more than passes are over.
corpusdb_test!(extended_overlapping_rows_repeat_no_token, CheckedCorpus::of(63, &THREE), |place| {
    let mut writer = place.writer();
    for (specials, pack, more) in [
        (EOS_PAD, OVERLAP, ""),
        (EOS, OVERLAP, "[output]\nformat = \"megatron\"\n"),
        (EOS, "", "[output]\nformat = \"megatron\"\n"),
    ] {
        let parent = recipe(&text(specials, "tokens = 12000", pack, more, 12));
        let (parent, planned) = writer.plan(&parent, &Context::new()).unwrap();
        let corpus = place.reader();
        let all = stored(&corpus);
        let rules = Rules::of(&planned, &all);
        let first = rows(&open(&corpus, &planned, 0));
        let mut given: BTreeMap<&str, u64> = BTreeMap::new();
        let mut ends = vec![7, first.len() / 2];
        for (at, row) in first.iter().enumerate() {
            let of =
                planned.plan.sources.iter().find(|of| Some(&*of.name) == row.source()).unwrap();
            let given = given.entry(&of.name).or_default();
            *given += own(row).len() as u64;
            // Where a pass ends, and a row before.
            if *given == of.packed_tokens {
                ends.extend([at, at + 1]);
            }
        }
        assert!(ends.len() > 3, "no pass ends in the epoch");
        for consumed in ends.into_iter().take(5) {
            let child = recipe(&text(specials, "tokens = 2000", pack, more, 60));
            let (_, child) = writer
                .extend(parent.number, consumed as u64, Some(&child), &Context::new())
                .unwrap_or_else(|error| panic!("{error}, row {consumed}"));
            let mut times: BTreeMap<&str, BTreeMap<(u64, u32), u32>> = BTreeMap::new();
            let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
            for row in &first[..consumed] {
                let name = row.source().unwrap();
                *taken.entry(name).or_default() += own(row).len() as u64;
                for token in own(row) {
                    *times.entry(name).or_default().entry(token).or_default() += 1;
                }
            }
            let now = place.reader();
            let mut left: BTreeMap<&str, u64> =
                child.plan.sources.iter().map(|of| (&*of.name, of.packed_tokens)).collect();
            let mut epoch = 0;
            let mut kept = Vec::new();
            while left.values().any(|left| *left > 0) {
                kept.push(rows(&open(&now, &child, epoch)));
                for row in kept.last().unwrap() {
                    let left = left.get_mut(row.source().unwrap()).unwrap();
                    if *left > 0 {
                        *left -= own(row).len() as u64;
                        let name =
                            planned.plan.sources.iter().find(|of| Some(&*of.name) == row.source());
                        for token in own(row) {
                            let of = times.entry(&name.unwrap().name).or_default();
                            *of.entry(token).or_default() += 1;
                        }
                    }
                }
                epoch += 1;
            }
            for of in &planned.plan.sources {
                let passes = taken.get(&*of.name).copied().unwrap_or(0) / of.packed_tokens;
                let documents = (0_u64..).zip(&all).filter(|(_, found)| {
                    let any = found.ids.as_ref().is_some_and(|ids| !ids.is_empty());
                    found.kept && found.source == of.name && any
                });
                let due: u64 =
                    documents.map(|(id, _)| rules.length(id) as u64).sum::<u64>() * (passes + 1);
                let found = &times[&*of.name];
                assert!(found.values().all(|times| u64::from(*times) <= passes + 1));
                let came: u64 = found.values().map(|times| u64::from(*times)).sum();
                let child = child.plan.sources.iter().find(|child| child.name == of.name).unwrap();
                let lost = passes * of.losses.partial_tokens + child.losses.partial_tokens;
                assert_eq!(came + lost, due, "`{}` after row {consumed}", of.name);
            }
        }
    }
});
