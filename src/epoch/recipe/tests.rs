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
    assert_eq!(recipe.pack, PackRecipe::default());
    assert_eq!(recipe.mix.method, Some(MixMethod::Natural));
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

/// The hash of a plan is of its recipe: settings that came later must not be in recipes without them.
#[test]
fn later_settings_are_not_in_recipes_that_do_not_name_them() {
    let recipe = Recipe::parse("version = 1\n[batch]\nrows = 2").unwrap();
    let json = serde_json::to_string(&recipe).unwrap();
    for later in ["columns", "ignore_loss", "\"pad\":\"longest\""] {
        assert!(!json.contains(later), "{later} in {json}");
    }
    let text = "version = 1\n[output]\nignore_loss = true\ncolumns = [\"labels\", \"seq_idx\"]";
    let recipe = Recipe::parse(text).unwrap();
    assert!(recipe.output.ignore_loss);
    assert_eq!(Recipe::parse(&recipe.to_toml_with_defaults()).unwrap(), recipe);
}

#[test]
fn the_full_form_round_trips() {
    let recipe = Recipe::parse(FULL).unwrap();
    assert_eq!(recipe.sources[0].pack.long, Some(LongDocuments::Drop));
    assert_eq!(recipe.sources[1].from, Some(DrawsFrom::from("code")));
    assert_eq!(Recipe::parse(&recipe.to_toml_with_defaults()).unwrap(), recipe);
    let json = serde_json::to_string(&recipe).unwrap();
    assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), recipe);
}

#[test]
fn a_weight_means_weights() {
    let recipe = Recipe::parse("version = 1\n[[source]]\nname = \"a\"\nweight = 2").unwrap();
    assert_eq!(recipe.mix.method, Some(MixMethod::Weights));
}

#[test]
fn misspelt_keys_are_errors_with_their_place() {
    let error = Recipe::parse("version = 1\n[pack]\nlenght = 9").unwrap_err().to_string();
    assert!(error.contains("lenght") && error.contains("line 3"), "{error}");
}

#[test]
fn unsupported_settings_are_refused_with_alternatives() {
    let asked = [
        ("[[source]]\nname = \"a\"\npack = { length = 9 }", "source `a`"),
        ("[[source]]\nname = \"a\"\npack = { kind = \"concat\" }", "pack.kind"),
    ];
    for (text, what) in asked {
        let error = Recipe::parse(&format!("version = 1\n{text}")).unwrap_err();
        let words = error.to_string();
        assert!(words.contains(what) && words.contains(" is not supported yet; "), "{words}");
        assert_eq!(model::Error::from(error).kind(), model::ErrorKind::BadRecipe, "{text}");
    }
}

/// Every key of the grammar, in recipes that can be.
const WHOLE: [&str; 5] = [
    r#"
[select]
holdout = { share = 0.001, by = "domain", take = "holdout", seed = 3 }
repeat = "sqrt(cluster_size)"
[[source]]
name = "a"
tokens = 900
[[source]]
name = "b"
weight = 2.5
[mix]
unit = "documents"
tokens = 5000
[tokenizer]
specials = { pad = "<|pad|>" }
[pack]
options = { long = "paragraph", doc_multiple = 8, pad_side = "left", pad_view = "each" }
[batch]
rows = 64
balance = 24576
tail = "carry"
"#,
    r#"
[[source]]
name = "a"
[[source]]
name = "b"
[mix]
schedule = [ { at_tokens = 0, weights = { a = 1 }, ramp = "linear" }, { at_step = 9, weights = { a = 1, b = 0.5 } } ]
[batch]
rows = 8
"#,
    "[mix]\nmethod = \"temperature\"\ntemperature = 3.3",
    r#"
[mix]
method = "unimax"
[order]
kind = "curriculum"
curriculum = { by = "quality", descending = true, pacing = "root-p", root = 3, c0 = 0.05, strata = 8, replace = true }
"#,
    r#"
[pack]
kind = "none"
[order]
kind = "length-grouped"
length_grouped = { mega_batch_mult = 7, buckets = "power-of-two" }
[batch]
max_tokens = 4096
count = "padded"
"#,
];

#[test]
fn every_form_round_trips() {
    for text in WHOLE {
        let recipe = Recipe::parse(&format!("version = 1\n{text}")).unwrap();
        assert_eq!(Recipe::parse(&recipe.to_toml_with_defaults()).unwrap(), recipe, "{text}");
        let json = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), recipe, "{text}");
    }
}

/// The published exponential pace begins at nothing; a recipe could not say so.
#[test]
fn a_curriculum_may_begin_with_nothing_released() {
    let parse = |c0: &str| {
        Recipe::parse(&format!(
            "version = 1\n[order]\nkind = \"curriculum\"\ncurriculum = {{ by = \"tokens\", pacing = \"exp\", c0 = {c0} }}"
        ))
    };
    assert_eq!(parse("0.0").unwrap().order.curriculum.unwrap().c0, 0.0);
    for wrong in ["-0.1", "1.5", "nan"] {
        assert!(parse(wrong).unwrap_err().to_string().contains("not in 0 to 1"), "{wrong}");
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
        ("version = 1\n[[source]]\nname = \"a\"\nweight = 1\ntokens = 2", "weight and tokens"),
        ("version = 1\n[select]\nholdout = { share = 1.5 }", "share"),
        ("version = 1\n[mix]\nmethod = \"temperature\"", "needs mix.temperature"),
        ("version = 1\n[mix]\nschedule = [ { at_tokens = 0, weights = { a = 1 } } ]", "list them"),
        (
            "version = 1\n[[source]]\nname = \"a\"\n[mix]\nschedule = [ { at_tokens = 0, weights = { b = 1 } } ]",
            "names `b`",
        ),
        (
            "version = 1\n[[source]]\nname = \"a\"\n[mix]\nschedule = [ { at_tokens = 5, weights = { a = 1 } } ]",
            "not at 0",
        ),
        (
            "version = 1\n[[source]]\nname = \"a\"\n[mix]\nschedule = [ { at_step = 0, weights = { a = 1 } } ]",
            "needs batch.rows",
        ),
        ("version = 1\n[order]\nkind = \"curriculum\"", "needs order.curriculum.by"),
        ("version = 1\n[order]\nkind = \"length-grouped\"", "needs pack.kind = \"none\""),
        (
            "version = 1\n[order]\nkind = \"length-grouped\"\n[pack]\nkind = \"none\"",
            "needs [batch]",
        ),
        ("version = 1\n[batch]\nrows = 2\nmax_tokens = 9", "one of rows and max_tokens"),
        ("version = 1\n[batch]\nmax_tokens = 9", "needs pack.kind"),
        ("version = 1\n[batch]\nrows = 2\ntail = \"pad\"", "specials.pad"),
        ("version = 1\n[pack]\noptions = { doc_multiple = 7 }", "does not divide"),
        (
            "version = 1\n[pack]\nkind = \"concat\"\noptions = { long = \"paragraph\" }",
            "no meaning",
        ),
        (
            "version = 1\n[order]\nkind = \"curriculum\"\ncurriculum = { by = \"tokens\", replace = true }\n[pack]\nkind = \"greedy\"",
            "replace",
        ),
    ];
    for (text, what) in wrong {
        let error = Recipe::parse(text).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn numbers_beyond_their_range_are_refused_with_their_line() {
    let batch = |rest: &str| format!("version = 1\n[pack]\nlength = 16\n[batch]\n{rest}");
    let order = "version = 1\n[batch]\nrows = 2\n[pack]\nkind = \"none\"\n[order]\nkind = \"length-grouped\"\n[order.length_grouped]\n";
    for (text, line, key, most) in [
        (batch("rows = LARGEST"), 5, "batch.rows", 1_u64 << 24),
        (batch("rows = 1\nbalance = LARGEST"), 6, "batch.balance", 1 << 40),
        (
            format!("{order}mega_batch_mult = LARGEST"),
            9,
            "order.length_grouped.mega_batch_mult",
            1 << 24,
        ),
        ("version = 1\nmix = { tokens = LARGEST }".to_owned(), 2, "mix.tokens", 1 << 60),
        (
            "version = 1\n[[source]]\nname = \"a\"\n[[source]]\nname = \"b\"\ntokens = LARGEST\n"
                .to_owned(),
            6,
            "source[1].tokens",
            1 << 60,
        ),
        (
            "version = 1\n[select]\nmin_tokens = LARGEST".to_owned(),
            3,
            "select.min_tokens",
            u32::MAX.into(),
        ),
        (
            "version = 1\n[output]\nshard_bytes = LARGEST".to_owned(),
            3,
            "output.shard_bytes",
            1 << 50,
        ),
    ] {
        let with = |value: u64| Recipe::parse(&text.replace("LARGEST", &value.to_string()));
        let within = with(most).map_err(|error| error.to_string());
        assert!(within.as_ref().err().is_none_or(|why| !why.contains("more than")), "{within:?}");
        let largest = if key.ends_with("mult") { u32::MAX.into() } else { i64::MAX as u64 };
        for value in [most + 1, largest] {
            let error = with(value).unwrap_err().to_string();
            let expected = format!("recipe: line {line}: {key} is {value}, more than {most}, ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
