//! What passes owe: whole, in part, over several plans and after changes, in corpora small enough to count by hand.

use crate::support::corpusdb_test;
use crate::support::epochs::WordCorpus;
use crate::support::{Page, lines};
use std::collections::BTreeMap;

// ----
// Rows that are carried to the next epoch, where all of a pass is one source's.

const CARRIED: &str =
    "[pack]\nkind = \"none\"\n[batch]\nrows = 1\ntail = \"carry\"\n[[source]]\nname = \"web\"\n";

// Right exports were refused: the end of an epoch that was found by arithmetic had no totals, and was compared.
corpusdb_test!(an_epoch_with_carried_rows_is_verified, WordCorpus::of(&[3; 3]), |t| {
    t.recipe("r.toml", CARRIED);
    t.scratch.run("epoch plan corpus r.toml");
    t.verified("1");
    t.recipe("r.toml", &CARRIED.replace("rows = 1", "rows = 2"));
    t.scratch.run("epoch plan corpus r.toml");
    t.verified("2");
});

// An epoch that was reached through the one before it had other rows than the same epoch opened at once.
corpusdb_test!(an_epoch_is_the_same_however_it_is_reached, WordCorpus::of(&[3; 6]), |t| {
    t.recipe("r.toml", &format!("{CARRIED}max_repeats = 4\n"));
    t.scratch.run("epoch plan corpus r.toml");
    // A first pass of two rows, then passes of six.
    t.scratch.run("epoch extend corpus 1 --consumed 4");
    let streams = || {
        let of = |epoch| t.scratch.run(&format!("epoch stream corpus 2 --epoch {epoch}")).stdout;
        (0..3).map(of).collect::<Vec<_>>()
    };
    let opened = streams();
    t.scratch.run("epoch plan corpus 2 --epochs 3");
    assert_eq!(streams(), opened);
    t.scratch.sound("corpus");
    for epoch in 0..3 {
        t.verified(&format!("2 --epoch {epoch}"));
    }
    t.scratch.run("epoch extend corpus 2 --consumed 4");
});

// ----
// Extensions: what one holds is what the plan before it has left.

/// All that the passes of a source hold, in one epoch.
fn whole(pack: &str, max_repeats: u32) -> String {
    format!(
        "[pack]\n{pack}\n[[source]]\nname = \"web\"\nmax_repeats = {max_repeats}\nweight = 1.0\n"
    )
}

/// Each token of these documents, so many times.
fn times(documents: &[(u64, u64)], times: u64) -> BTreeMap<(u64, u64), u64> {
    let of = |&(document, length): &(u64, u64)| (0..length).map(move |at| ((document, at), times));
    documents.iter().flat_map(of).collect()
}

fn sum(a: &BTreeMap<(u64, u64), u64>, b: &BTreeMap<(u64, u64), u64>) -> BTreeMap<(u64, u64), u64> {
    let mut sum = a.clone();
    b.iter().for_each(|(token, times)| *sum.entry(*token).or_default() += times);
    sum
}

// The whole copy of a document that is owed in part too was lost in the extension of an extension.
corpusdb_test!(an_extension_at_row_0_holds_the_same, WordCorpus::of(&[6, 7, 5]), |t| {
    let concat = "kind = \"concat\"\nlength = 4";
    // Rows of a batch are permuted: after five, the end of pass 0 and the beginning of pass 1 are given.
    let batch = "rows = 4\ntail = \"carry\"";
    t.recipe(
        "a.toml",
        &format!("seed = 9\n{}[batch]\n{batch}\n", whole(concat, 2).replace("weight = 1.0\n", "")),
    );
    t.recipe("b.toml", &format!("seed = 9\n{}", whole(concat, 2)));
    t.scratch.run("epoch plan corpus a.toml");
    t.scratch.run("epoch extend corpus 1 --consumed 5 b.toml");
    t.scratch.run("epoch extend corpus 2 --consumed 0 b.toml");
    t.scratch.run("epoch extend corpus 3 --consumed 0 b.toml");
    let held = t.tokens("2");
    assert_eq!(held.values().sum::<u64>(), 2 * 18 - 5 * 4);
    for plan in [3, 4] {
        assert_eq!(t.tokens(&plan.to_string()), held, "plan {plan}");
        t.verified(&plan.to_string());
    }
});

// It was stored, and no verb could open it: a rest was counted with special tokens that it does not have.
corpusdb_test!(an_extension_may_have_other_special_tokens, WordCorpus::of(&[9]), |t| {
    let recipe = |specials: &str| {
        format!("[tokenizer.specials]\n{specials}\n[pack]\nkind = \"concat\"\nlength = 4\n")
    };
    let (none, eos) = ("", "eos = \"<eos>\"");
    let both = "bos = \"<bos>\"\neos = \"<eos>\"";
    let mut number = 0;
    for before in [none, eos, both] {
        t.recipe("a.toml", &recipe(before));
        number += 1;
        let parent = number;
        t.scratch.run("epoch plan corpus a.toml");
        // Three or four stored tokens are given.
        let given = if before == both { 3 } else { 4 };
        for after in [none, eos, both].into_iter().filter(|after| *after != before) {
            t.recipe("b.toml", &recipe(after));
            t.scratch.run(&format!("epoch extend corpus {parent} --consumed 1 b.toml"));
            number += 1;
            let rows = t.scratch.run(&format!("epoch stream corpus {number}")).json_lines();
            let ids = rows.iter().flat_map(|row| row["input_ids"].as_array().unwrap().clone());
            let ids: Vec<u64> = ids.map(|id| id.as_u64().unwrap()).collect();
            // `v0` is 4; the EOS is 2. What goes on in the middle of a document has no BOS.
            let mut expected: Vec<u64> = (4 + given..13).collect();
            expected.extend((after != none).then_some(2));
            assert_eq!(ids, expected, "from `{before}` to `{after}`");
            t.verified(&number.to_string());
        }
    }
});

// The rest came, as it should, and the verification of its export refused it.
corpusdb_test!(a_rest_longer_than_a_row_of_concat_is_verified, WordCorpus::of(&[9]), |t| {
    let none = "kind = \"none\"\nlength = 4\n[order]\nkind = \"sequential\"";
    t.recipe("a.toml", &format!("[pack]\n{none}\n"));
    t.scratch.run("epoch plan corpus a.toml");
    let rest: BTreeMap<_, _> = (4..9).map(|token| ((0, token), 1)).collect();
    for (plan, long) in (2..).zip(["truncate", "drop", "split"]) {
        let concat = "kind = \"concat\"\nlength = 4";
        t.recipe("b.toml", &format!("[pack]\n{concat}\n[pack.options]\nlong = \"{long}\"\n"));
        t.scratch.run("epoch extend corpus 1 --consumed 1 b.toml");
        assert_eq!(t.tokens(&plan.to_string()), rest, "{long}");
        t.verified(&plan.to_string());
    }
});

// It was refused as a source without documents: the rest of a document that has begun counts no document.
corpusdb_test!(a_rest_that_counts_nothing_joins_the_next_pass, WordCorpus::of(&[9]), |t| {
    let none = "kind = \"none\"\nlength = 4\n[order]\nkind = \"sequential\"\n";
    let recipe = |repeats: u32| {
        format!(
            "[mix]\nunit = \"documents\"\n[pack]\n{none}[[source]]\nname = \"web\"\nmax_repeats = {repeats}\n"
        )
    };
    t.recipe("a.toml", &recipe(2));
    t.scratch.run("epoch plan corpus a.toml");
    t.scratch.run("epoch extend corpus 1 --consumed 1");
    let rest: BTreeMap<_, _> = (4..9).map(|token| ((0, token), 1)).collect();
    assert_eq!(t.tokens("2"), sum(&rest, &times(&[(0, 9)], 1)));
    t.verified("2");
    // Without another pass nothing would ever ask for it.
    t.recipe("b.toml", &recipe(1));
    t.scratch.run("epoch plan corpus b.toml");
    t.scratch.ran("epoch extend corpus 3 --consumed 1").fails(&[
        "what is left of source `web`",
        "its 5 tokens count no documents",
        "mix.unit = \"tokens\"",
        "max_repeats",
    ]);
});

// It was refused as a source whose only document is longer than a row, and no row was.
corpusdb_test!(a_rest_that_was_removed_leaves_the_next_pass, WordCorpus::of(&[9, 5, 7]), |t| {
    let none = "kind = \"none\"\n[order]\nkind = \"sequential\"\n";
    t.recipe("a.toml", &format!("[pack]\n{none}[[source]]\nname = \"web\"\nmax_repeats = 2\n"));
    t.scratch.run("epoch plan corpus a.toml");
    t.scratch.run("remove corpus --where \"key in ('k1', 'k2')\"");
    t.scratch.run("epoch extend corpus 1 --consumed 1");
    assert_eq!(t.tokens("2"), times(&[(0, 9)], 1));
    t.verified("2");
    // Both passes of all that is kept are over.
    t.scratch.ran("epoch extend corpus 1 --consumed 4").fails(&[
        "what is left of source `web`",
        "its passes are over and it has no new document",
        "raise its max_repeats",
    ]);
});

// From the third plan on it was refused: passes were counted by the name of the source.
corpusdb_test!(six_months_of_new_documents_come_once_each, WordCorpus::of(&[9, 5, 7]), |mut t| {
    t.recipe("r.toml", &whole("kind = \"none\"\nlength = 4", 1));
    t.scratch.run("epoch plan corpus r.toml");
    // Rows of 3 + 2 + 2 are a month.
    let mut given = t.tokens("1");
    for month in 1..=6 {
        t.add("web", &[9, 5, 7]);
        let recipe = ["", " r.toml"][month % 2];
        t.scratch.run(&format!("epoch extend corpus {month} --consumed 7{recipe}"));
        given = sum(&given, &t.tokens(&(month + 1).to_string()));
        t.verified(&(month + 1).to_string());
    }
    let all: Vec<(u64, u64)> = (0..21).zip([9, 5, 7].into_iter().cycle()).collect();
    assert_eq!(given, times(&all, 1));
    t.scratch.sound("corpus");
});

// A new document came as often as the old ones had left: less often than `max_repeats` says.
corpusdb_test!(new_documents_come_in_as_many_passes_as_any, WordCorpus::of(&[3; 4]), |mut t| {
    let none = "kind = \"none\"\n[order]\nkind = \"sequential\"";
    t.recipe("r.toml", &whole(none, 3).replace("weight = 1.0\n", ""));
    t.recipe("all.toml", &whole(none, 3));
    t.scratch.run("epoch plan corpus r.toml");
    t.add("web", &[3, 3]);
    // A pass and half of the next one.
    t.scratch.run("epoch extend corpus 1 --consumed 6 all.toml");
    let old = sum(&times(&[(0, 3), (1, 3)], 1), &times(&[(2, 3), (3, 3)], 2));
    let child = t.tokens("2");
    assert_eq!(child, sum(&old, &times(&[(4, 3), (5, 3)], 3)));
    // Without a recipe the parent's three passes hold for new documents too.
    t.scratch.run("epoch extend corpus 1 --consumed 6");
    t.scratch.run("epoch extend corpus 3 --consumed 0 all.toml");
    assert_eq!(t.tokens("4"), child);
    // Once more, from within the first pass of the child; another source of another name draws the same.
    let given = t.scratch.run("epoch stream corpus 2 --batches 3").json_lines();
    t.add("web", &[3]);
    t.recipe("other.toml", &whole(none, 3).replace("\"web\"", "\"pages\"\nfrom = \"web\""));
    t.scratch.run("epoch extend corpus 2 --consumed 3 other.toml");
    let mut left = sum(&child, &times(&[(6, 3)], 3));
    for row in &given {
        let document = row["doc_ids"][0].as_u64().unwrap();
        (0..3).for_each(|token| *left.get_mut(&(document, token)).unwrap() -= 1);
    }
    left.retain(|_, times| *times > 0);
    assert_eq!(t.tokens("5"), left);
    for plan in 2..=5 {
        t.verified(&plan.to_string());
    }
    t.scratch.sound("corpus");
});

// ----
// Epochs without a row.

// It spoke of batches that the recipe does not have.
corpusdb_test!(an_epoch_below_a_row_says_so, WordCorpus::of(&[6; 3]), |t| {
    t.recipe(
        "r.toml",
        "[pack]\nkind = \"none\"\n[mix]\ntokens = 2\n[[source]]\nname = \"web\"\nweight = 1.0\n",
    );
    t.scratch.run("epoch plan corpus r.toml");
    let words = ["has no rows", "an epoch is 2 tokens", "raise mix.tokens"];
    for epoch in [1, 2] {
        let refused = t.scratch.ran(&format!("epoch stream corpus 1 --epoch {epoch}"));
        assert!(!refused.stderr.contains("batch"), "{refused}");
        refused.fails(&words);
    }
    let rows =
        |epoch| t.scratch.run(&format!("epoch stream corpus 1 --epoch {epoch}")).json_lines().len();
    assert_eq!((rows(0), rows(3)), (1, 1));
});

// The plan was stored, and no verb could open it.
corpusdb_test!(a_rest_that_fills_no_batch_is_not_stored, WordCorpus::of(&[3; 4]), |t| {
    let recipe = "[pack]\nkind = \"none\"\n[batch]\nrows = 4\ntail = \"carry\"\n";
    t.recipe("r.toml", recipe);
    t.scratch.run("epoch plan corpus r.toml");
    t.scratch.ran("epoch extend corpus 1 --consumed 2").fails(&[
        "epoch 0 has no rows",
        "its 2 rows do not fill a batch of batch.rows = 4",
        "lower batch.rows",
    ]);
    assert_eq!(t.scratch.run("epoch show corpus --json").json_lines().len(), 1);
    t.recipe("r.toml", &recipe.replace("rows = 4", "rows = 2"));
    t.scratch.run("epoch extend corpus 1 --consumed 2 r.toml");
    assert_eq!(t.scratch.run("epoch stream corpus 2").json_lines().len(), 2);
    t.verified("2");
});

// They were joined to their next pass, which counted as one pass of two: each came once more than the chain allows.
corpusdb_test!(new_documents_that_fill_no_row_are_refused, WordCorpus::of(&[4]), |mut t| {
    t.recipe("a.toml", &whole("kind = \"concat\"\nlength = 4", 1));
    t.scratch.run("epoch plan corpus a.toml");
    t.add("code", &[5]);
    t.recipe(
        "b.toml",
        "[pack]\nkind = \"concat\"\nlength = 9\noptions = { partial = \"drop\" }\n\
         [[source]]\nname = \"code\"\nmax_repeats = 3\n",
    );
    let refused = t.scratch.ran("epoch extend corpus 1 --consumed 1 b.toml");
    refused.fails(&["source `code`", "its 5 tokens fill no row of 9"]);
});

// The same where what was left of other documents is joined: new ones have two passes in the joined one.
corpusdb_test!(documents_that_begin_in_a_joined_pass_have_two, WordCorpus::of(&[12]), |mut t| {
    let both = |pack: &str, max_repeats: u32| {
        whole(pack, max_repeats)
            .replace("name = \"web\"", "name = \"web\"\nfrom = [\"web\", \"code\"]")
    };
    t.recipe("a.toml", &whole("kind = \"concat\"\nlength = 9", 3));
    t.scratch.run("epoch plan corpus a.toml");
    t.add("code", &[5]);
    // Three tokens of the first document and five of the new one fill no row of nine; with a pass more of both they do.
    let drop = "kind = \"concat\"\nlength = 9\noptions = { partial = \"drop\" }";
    t.recipe("b.toml", &both(drop, 3));
    t.scratch.run("epoch extend corpus 1 --consumed 1 b.toml");
    let given = t.tokens("2");
    t.recipe("c.toml", &both("kind = \"concat\"\nlength = 9", 5));
    let rows = t.scratch.run("epoch stream corpus 2").json_lines().len();
    t.scratch.run(&format!("epoch extend corpus 2 --consumed {rows} c.toml"));
    let first = times(&[(0, 9)], 1);
    let all = sum(&sum(&first, &given), &t.tokens("3"));
    assert_eq!(all.len(), 17);
    // What fills no row at the end of a pass is lost in it.
    assert!(all.values().all(|times| (3..=5).contains(times)), "{all:?}");
    t.verified("3");
});

// ----
// What comes more than once, as `explain` tells it.

/// What `explain` says of a recipe's only source: (documents, tokens, near documents, near tokens), in the epoch and in
/// all passes; and the tokens of the epoch.
fn repeats(t: &WordCorpus, recipe: &str) -> ([u64; 4], [u64; 4], u64) {
    t.recipe("r.toml", &format!("snapshot = \"before\"\n{recipe}"));
    let source = t.scratch.run("epoch explain corpus r.toml --json").json()["sources"][0].clone();
    let of = |which: &str| {
        let names = ["documents", "tokens", "near_documents", "near_tokens"];
        names.map(|name| source["repeats"][which][name].as_u64().unwrap())
    };
    (of("epoch"), of("passes"), source["epoch_tokens"].as_u64().unwrap())
}

// Documents of 6, 4, 6 and 6 tokens, of which three have one text.
corpusdb_test!(documents_that_come_again_are_counted, WordCorpus::of(&[6, 4]), |t| {
    let text = "v0 v1 v2 v3 v4 v5";
    let again = [Page::keyed("again-1", text), Page::keyed("again-2", text)];
    let options = ["--source", "web", "--id-field", "id"];
    t.scratch.ingest(&t.scratch.arg("corpus"), "again.jsonl", lines(&again), &options);
    t.scratch.run("snapshot create corpus before");
    let none = "[pack]\nkind = \"none\"\nlength = 16\n";
    let source = "[[source]]\nname = \"web\"\n";
    let thrice = format!("[select]\nrepeat = \"3\"\n{none}{source}max_repeats = 2\n");
    let twice = format!("{none}{source}max_repeats = 2\n");
    // Nobody knows yet that they are copies.
    assert_eq!(repeats(&t, &format!("{none}{source}")), ([0; 4], [0; 4], 22));
    let (epoch, passes) = ([4, 44, 4, 44], [4, 110, 4, 110]);
    assert_eq!(repeats(&t, &thrice), (epoch, passes, 66));
    t.scratch.run("dedup redo corpus --mode exact");
    assert_eq!(repeats(&t, &format!("{none}{source}")), ([0, 0, 1, 12], [0, 0, 1, 12], 22));
    let (epoch, passes) = ([4, 44, 2, 56], [4, 110, 2, 122]);
    assert_eq!(repeats(&t, &thrice), (epoch, passes, 66));
    let text = t.scratch.run("epoch explain corpus r.toml").stdout;
    assert!(
        text.contains(
            "repeats   4 documents come more than once in the epoch, 44 tokens again; \
             with near copies as one document 2, 56 tokens again\n"
        ),
        "{text}"
    );
    assert_eq!(repeats(&t, &twice), ([0, 0, 1, 12], [4, 22, 2, 34], 22));
    // What an epoch takes of a second pass has come before; of its documents a share counts.
    let (epoch, passes, tokens) = repeats(&t, &format!("[mix]\ntokens = 33\n{twice}"));
    let share = (tokens - 22) as f64 / 22.0;
    let documents = (share * 4.0).round() as u64;
    assert_eq!((epoch[0], epoch[1], epoch[3]), (documents, tokens - 22, 12 + tokens - 22));
    assert_eq!(passes, [4, 22, 2, 34]);
    // A document that is cut by hand comes in parts, and no token of it comes again.
    let paragraph = "[pack]\nlength = 5\noptions = { long = \"paragraph\" }\n";
    assert_eq!(repeats(&t, &format!("{paragraph}{source}")), ([0, 0, 1, 12], [0, 0, 1, 12], 22));
    let paragraph = repeats(&t, &format!("{paragraph}{source}max_repeats = 3\n"));
    assert_eq!(paragraph.1, [4, 44, 2, 56]);
});
