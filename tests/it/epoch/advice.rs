//! The ways out of a refusal: a recipe that obeys one of them is taken.

use crate::support::Ran;
use crate::support::corpusdb_test;
use crate::support::epochs::WordCorpus;

/// The number behind `words` in what a refusal says.
#[track_caller]
fn advised(refused: &Ran, words: &str) -> u64 {
    let (_, rest) =
        refused.stderr.split_once(words).unwrap_or_else(|| panic!("{words}: {refused}"));
    let digits = rest.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or_else(|_| panic!("no number behind {words}: {refused}"))
}

// ----
// Extensions: `max_repeats` counts the passes of the whole chain.

fn chained(max_repeats: u64, tokens: u64) -> String {
    format!(
        "[mix]\ntokens = {tokens}\n[pack]\nlength = 6\n[[source]]\nname = \"web\"\nmax_repeats = {max_repeats}\n"
    )
}

// It was the number of passes that the extension needs by itself.
corpusdb_test!(
    advice_to_extensions_counts_passes_that_are_over,
    WordCorpus::of(&[6; 5]),
    |mut t| {
        t.recipe("r.toml", &chained(3, 30));
        t.scratch.run("epoch plan corpus r.toml");
        let extended = |max_repeats: u64, rows: u64| {
            t.recipe("x.toml", &chained(max_repeats, 60));
            t.scratch.ran(&format!("epoch extend corpus 1 --consumed {rows} x.toml"))
        };
        let raise = "raise max_repeats of `web` to";
        extended(3, 10).fails(&["one pass holds 30", &format!("{raise} 4\n")]);
        extended(4, 10).good();
        // What is asked of a stored extension beyond its passes does not know how many are over.
        t.scratch
            .ran("epoch stream corpus 2 --epoch 1")
            .fails(&["raise max_repeats of `web` by 2"]);
        // In a pass under way, and with documents that are new, the number is surely enough.
        let refused = extended(3, 12);
        extended(advised(&refused, raise), 12).good();
        t.add("web", &[2, 3]);
        t.recipe("x.toml", &chained(3, 200));
        let refused = t.scratch.ran("epoch extend corpus 1 --consumed 10 x.toml");
        let passes = advised(&refused, raise);
        t.recipe("x.toml", &chained(passes, 200));
        t.scratch.run("epoch extend corpus 1 --consumed 10 x.toml");
    }
);

// ----
// Sources that have an amount of their own.

fn mixed(web: &str, code: &str, mix: &str) -> String {
    format!(
        "[mix]\n{mix}\n[pack]\nlength = 6\n[[source]]\nname = \"web\"\n{web}\n[[source]]\nname = \"code\"\n{code}\n"
    )
}

// It was to lower mix.tokens, where there was none, and a weight, where there was none.
corpusdb_test!(advice_names_tokens_where_a_source_has_them, WordCorpus::of(&[6; 4]), |mut t| {
    t.add("code", &[6; 3]);
    t.add("wiki", &[6; 3]);
    let planned = |recipe: &str| {
        t.recipe("r.toml", recipe);
        t.scratch.ran("epoch plan corpus r.toml")
    };
    // `web` holds 24 in a pass, `code` 18.
    let refused = planned(&mixed("tokens = 30", "tokens = 12", ""));
    refused.fails(&["lower `tokens` of `web` to 24 or raise max_repeats of `web` to 2\n"]);
    planned(&mixed("tokens = 24", "tokens = 12", "")).good();
    planned(&mixed("tokens = 30\nmax_repeats = 2", "tokens = 12", "")).good();
    let refused = planned(&mixed("tokens = 30", "tokens = 20", "tokens = 50"));
    refused.fails(&[
        "lower `tokens` of `web` to 24 and `tokens` of `code` to 18 and mix.tokens to 42 or raise",
    ]);
    planned(&mixed("tokens = 24", "tokens = 18", "tokens = 42")).good();
    // The others share what is left.
    let refused = planned(&mixed("tokens = 30", "weight = 1", "tokens = 48"));
    refused.fails(&["lower `tokens` of `web` to 24 and mix.tokens to 42 or raise max_repeats"]);
    planned(&mixed("tokens = 24", "weight = 1", "tokens = 42")).good();
    let refused = planned(&mixed("tokens = 20", "weight = 1", "tokens = 60"));
    refused.fails(&["; lower mix.tokens to 38 or raise max_repeats of `code` to 3\n"]);
    planned(&mixed("tokens = 20", "weight = 1", "tokens = 38")).good();
    let wiki = "weight = 2\n[[source]]\nname = \"wiki\"\nweight = 1";
    let refused = planned(&mixed("tokens = 20", wiki, "tokens = 60"));
    let lower = advised(&refused.fails(&["lower its weight"]), "lower mix.tokens to");
    assert!((44..=47).contains(&lower), "{lower}");
    planned(&mixed("tokens = 20", wiki, &format!("tokens = {lower}"))).good();
});

// Two alternatives, of which one was empty; and an earlier epoch than the first one.
corpusdb_test!(advice_has_no_empty_way_out, WordCorpus::of(&[2, 2]), |t| {
    let recipe = |mix: &str| format!("{mix}[[source]]\nname = \"web\"\nmax_repeats = 2\n");
    t.recipe("r.toml", &recipe(""));
    t.scratch.run("epoch plan corpus r.toml");
    let late = t.scratch.ran("epoch stream corpus 1 --epoch 9999999999");
    late.fails(&["but 2 passes hold 8; ask for an earlier epoch\n"]);
    t.recipe("r.toml", &recipe(&format!("[mix]\ntokens = {}\n", 1_u64 << 50)));
    let first = t.scratch.ran("epoch plan corpus r.toml");
    first.fails(&["but 2 passes hold 8; lower mix.tokens to 8\n"]);
});
