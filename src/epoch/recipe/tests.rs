//! Tests of recipes: defaults, round trips, refusals.

use super::*;

const FULL: &str = r#"
version = 1
snapshot = "2025-06"
seed = 42
[select]
where = "quality > 0.3"
min_tokens = 11
[tokenizer]
name = "gpt2"
specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }
[[source]]
name = "web-en"
from = "web"
where = "language = 'en'"
weight = 0.6
max_repeats = 2
pack = { long = "drop" }
[[source]]
name = "code"
weight = 0.4
[mix]
method = "weights"
unit = "tokens"
tokens = 10_000_000_000
[order]
kind = "shuffle"
[pack]
kind = "best-fit"
length = 4096
options = { target = "extra", long = "truncate", doc_multiple = 1, pad_side = "right", pad_view = "suffix" }
[output]
format = "megatron"
shard_bytes = 268_435_456
"#;

#[test]
fn defaults_are_filled_and_spelt_out() {
    let recipe = Recipe::parse("version = 1").unwrap();
    assert_eq!(recipe.pack, Pack::default());
    assert_eq!(recipe.mix.method, Some(Method::Natural));
    assert_eq!(recipe.output.format, Format::Parquet);
    let spelt = recipe.to_toml_with_defaults();
    for default in [
        "seed = 0",
        "min_tokens = 1",
        "kind = \"best-fit\"",
        "length = 2048",
        "shard_bytes = 268435456",
    ] {
        assert!(spelt.contains(default), "{default} in {spelt}");
    }
    assert_eq!(Recipe::parse(&spelt).unwrap(), recipe);
}

#[test]
fn the_full_form_round_trips() {
    let recipe = Recipe::parse(FULL).unwrap();
    assert_eq!(recipe.sources[0].pack.long, Some(Long::Drop));
    assert_eq!(recipe.sources[1].from.as_deref(), Some("code"));
    assert_eq!(Recipe::parse(&recipe.to_toml_with_defaults()).unwrap(), recipe);
    let json = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), recipe);
}

#[test]
fn a_weight_means_weights() {
    let recipe = Recipe::parse("version = 1\n[[source]]\nname = \"a\"\nweight = 2").unwrap();
    assert_eq!(recipe.mix.method, Some(Method::Weights));
}

#[test]
fn misspelt_keys_are_errors_with_their_place() {
    let error = Recipe::parse("version = 1\n[pack]\nlenght = 9").unwrap_err().to_string();
    assert!(error.contains("lenght") && error.contains("line 3"), "{error}");
}

#[test]
fn what_is_not_built_says_so_and_what_works() {
    let asked = [
        ("[select]\nexclude_contaminated = [\"gsm8k\"]", "exclude_contaminated"),
        ("[select]\nholdout = { share = 0.001, by = \"cluster\", take = \"train\" }", "holdout"),
        ("[select]\nrepeat = \"sqrt(cluster_size)\"", "repeat"),
        ("[mix]\nmethod = \"temperature\"\ntemperature = 3.0", "temperature"),
        ("[mix]\nmethod = \"unimax\"", "unimax"),
        ("[mix]\nunit = \"loss-tokens\"", "unit"),
        (
            "[mix]\nschedule = [ { at_tokens = 0, weights = { web = 1.0 }, ramp = \"step\" } ]",
            "schedule",
        ),
        ("[order]\nkind = \"length-grouped\"", "length-grouped"),
        ("[order]\nkind = \"curriculum\"\ncurriculum = { by = \"quality\" }", "curriculum"),
        ("[pack]\noptions = { long = \"paragraph\" }", "paragraph"),
        ("[pack]\noptions = { doc_multiple = 8 }", "doc_multiple"),
        ("[pack]\noptions = { pad_side = \"left\" }", "pad_side"),
        ("[pack]\noptions = { pad_view = \"each\" }", "pad_view"),
        ("[batch]\nrows = 512", "[batch]"),
        ("[[source]]\nname = \"a\"\ntokens = 9", "source `a`"),
    ];
    for (text, what) in asked {
        let error = Recipe::parse(&format!("version = 1\n{text}")).unwrap_err();
        assert!(matches!(error, EpochError::NotBuilt { .. }), "{text}: {error}");
        assert!(error.to_string().contains(what), "{text}: {error}");
    }
}

#[test]
fn contradictions_are_errors() {
    let wrong = [
        ("version = 2", "version 2"),
        ("version = 1\n[order]\nkind = \"sequential\"", "best-fit"),
        ("version = 1\n[pack]\nlength = 1", "pack.length"),
        ("version = 1\n[[source]]\nname = \"a\"\n[[source]]\nname = \"a\"", "two sources"),
        (
            "version = 1\n[[source]]\nname = \"a\"\nweight = 1\n[[source]]\nname = \"b\"",
            "`b` has no weight",
        ),
        (
            "version = 1\n[mix]\nmethod = \"natural\"\n[[source]]\nname = \"a\"\nweight = 1",
            "needs mix.method",
        ),
        ("version = 1\n[[source]]\nname = \"a\"\nweight = -1", "weight of source `a`"),
        ("version = 1\n[[source]]\nname = \"a\"\nmax_repeats = 0", "max_repeats"),
    ];
    for (text, what) in wrong {
        let error = Recipe::parse(text).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}
