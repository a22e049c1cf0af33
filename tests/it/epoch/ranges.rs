//! Ranges of numbers in recipes and calls: at the ends of each all is well, and one beyond is refused by name.

use crate::support::corpusdb_test;
use crate::support::epochs::WordCorpus;

/// A recipe with a number `N`, what the number is called, its line, and the most that it may be.
const NUMBERS: [(&str, &str, usize, u64); 12] = [
    ("[select]\nmin_tokens = N\n", "select.min_tokens", 3, u32::MAX as u64),
    ("[[source]]\nname = \"web\"\ntokens = N\n", "source[0].tokens", 4, 1 << 60),
    (
        "[[source]]\nname = \"web\"\n[[source]]\nname = \"code\"\n\ntokens = N\n",
        "source[1].tokens",
        7,
        1 << 60,
    ),
    ("[mix]\ntokens = N\n", "mix.tokens", 3, 1 << 60),
    (
        "[mix]\ntokens = 24\nschedule = [{ at_tokens = 0, weights = { web = 1 } },\n{ at_tokens = N, weights = { web = 2 } }]\n",
        "mix.schedule[1].at_tokens",
        5,
        1 << 60,
    ),
    (
        "[batch]\nrows = 1\n[mix]\ntokens = 24\nschedule = [{ at_step = 0, weights = { web = 1 } },\n{ at_step = N, weights = { web = 2 } }]\n",
        "mix.schedule[1].at_step",
        7,
        1 << 40,
    ),
    (
        "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"tokens\", pacing = \"step\", strata = 2, steps = N }\n",
        "order.curriculum.steps",
        4,
        1 << 20,
    ),
    (
        "[pack]\nkind = \"none\"\n[batch]\nrows = 2\n[order]\nkind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = N }\n",
        "order.length_grouped.mega_batch_mult",
        8,
        1 << 24,
    ),
    (
        "[tokenizer.specials]\npad = \"<pad>\"\n[batch]\ntail = \"pad\"\nrows = N\n",
        "batch.rows",
        6,
        1 << 24,
    ),
    ("[pack]\nkind = \"none\"\n[batch]\nmax_tokens = N\n", "batch.max_tokens", 5, 1 << 40),
    ("[batch]\nrows = 1\nbalance = N\n", "batch.balance", 4, 1 << 40),
    ("[output]\nshard_bytes = N\n", "output.shard_bytes", 3, 1 << 50),
];

// Batches of any size were planned, and reading them panicked; other numbers wrapped around.
corpusdb_test!(a_number_beyond_its_range_is_refused, WordCorpus::of(&[9, 5, 7, 3]), |mut t| {
    t.add("code", &[4]);
    for (recipe, name, line, most) in NUMBERS {
        let told = |number: &str| {
            t.recipe("r.toml", &recipe.replace('N', number));
            t.scratch.ran("epoch explain corpus r.toml")
        };
        let words = format!("{name} is {}, more than {most}, the most that it may be", most + 1);
        told(&(most + 1).to_string()).fails(&[&format!("r.toml: recipe: line {line}: {words}")]);
        for number in ["9223372036854775807", "18446744073709551615", "-1"] {
            told(number).fails(&[&format!("line {line}"), number]);
        }
        for number in [0, 1, most] {
            let ran = told(&number.to_string());
            assert!(!ran.stderr.contains("the most that it may be"), "{name} = {number}: {ran}");
            assert!(matches!(ran.code, Some(0 | 2)), "{name} = {number}: {ran}");
        }
    }
    // Not in the line of a recipe, but of one that a program makes.
    let most = "[batch]\ntail = \"pad\"\nrows = 16777216\n[tokenizer.specials]\npad = \"<pad>\"\n";
    t.recipe("r.toml", most);
    let planned = t.scratch.run("epoch plan corpus r.toml --json").json();
    t.scratch.run(&format!("epoch row corpus {} 16777215", planned["number"])).prints(&["pad"]);
});

/// Numbers of 32 bits: a recipe with `N`, what the number is called, its line, and the most that it may be.
const SMALL_NUMBERS: [(&str, &str, usize, u64); 7] = [
    ("[pack]\nlength = N\n", "pack.length", 3, 1 << 24),
    ("[pack]\noptions = { doc_multiple = N }\n", "pack.options.doc_multiple", 3, 1 << 24),
    ("[[source]]\nname = \"web\"\nmax_repeats = N\n", "source[0].max_repeats", 4, u32::MAX as u64),
    (
        "[order]\nkind = \"curriculum\"\ncurriculum = { by = \"tokens\", steps = N }\n",
        "order.curriculum.steps",
        4,
        1 << 20,
    ),
    (
        "[order]\nkind = \"curriculum\"\n[order.curriculum]\nby = \"tokens\"\nstrata = N\n",
        "order.curriculum.strata",
        6,
        4096,
    ),
    (
        "[order]\nkind = \"length-grouped\"\nlength_grouped = { mega_batch_mult = N }\n",
        "order.length_grouped.mega_batch_mult",
        4,
        1 << 24,
    ),
    (
        "[select]\nexclude_contaminated = [\"a\",\n{ suite = \"b\", tokens = N }]\n",
        "select.exclude_contaminated[1].tokens",
        4,
        u32::MAX as u64,
    ),
];

// They were told in the words of the parser: "invalid value: integer `4294967296`, expected u32".
corpusdb_test!(numbers_beyond_32_bits_are_refused_by_name, WordCorpus::of(&[9]), |t| {
    for (recipe, name, line, most) in SMALL_NUMBERS {
        for number in [1_u64 << 32, 1 << 62] {
            t.recipe("r.toml", &recipe.replace('N', &number.to_string()));
            let words = format!("{name} is {number}, more than {most}, the most that it may be");
            let told = format!("r.toml: recipe: line {line}: {words}");
            t.scratch.ran("epoch explain corpus r.toml").fails(&[&told]);
        }
    }
});

// They were counted epoch by epoch, for hours.
corpusdb_test!(extend_refuses_rows_beyond_a_run_of_many_passes, WordCorpus::of(&[9, 5]), |t| {
    let source = "[pack]\nkind = \"none\"\n[[source]]\nname = \"web\"\n";
    t.recipe("r.toml", &format!("{source}max_repeats = 4294967295\n"));
    t.scratch.run("epoch plan corpus r.toml");
    let extend = |rows: u64| t.scratch.ran(&format!("epoch extend corpus 1 --consumed {rows}"));
    // Two rows a pass.
    let all = 2 * u64::from(u32::MAX);
    for rows in [all + 1, u64::MAX] {
        let more = rows - all;
        let words = format!("{rows} consumed rows are {more} more than the run of the plan has");
        extend(rows).fails(&[&words]);
    }
    // What is left is five passes, and a document more.
    t.recipe("rest.toml", &format!("{source}max_repeats = 4294967295\nweight = 1.0\n"));
    t.scratch.run(&format!("epoch extend corpus 1 --consumed {} rest.toml", all - 11));
    let rest = t.tokens("2");
    let mut times: Vec<u64> = [(0, 0), (1, 0)].map(|token| rest[&token]).to_vec();
    times.sort_unstable();
    assert_eq!(times, [5, 6]);
});

// 18446744073709551615 divided by zero in four verbs.
corpusdb_test!(an_epoch_beyond_all_is_refused_everywhere, WordCorpus::of(&[9, 5]), |t| {
    t.recipe("r.toml", "[[source]]\nname = \"web\"\nmax_repeats = 3\n");
    t.scratch.run("epoch plan corpus r.toml");
    let verbs = [
        "stream corpus 1",
        "row corpus 1 0",
        "build corpus 1 --out o",
        "extend corpus 1 --consumed 0",
    ];
    for verb in verbs {
        let told = |epoch: u64| t.scratch.ran(&format!("epoch {verb} --epoch {epoch}"));
        for epoch in [3, 1 << 20, (1 << 40) - 1] {
            told(epoch).fails(&[&format!("epoch {epoch} with a budget of 14 tokens")]);
        }
        for epoch in [1 << 40, u64::MAX - 1, u64::MAX] {
            told(epoch).fails(&[&format!("epoch {epoch} is out of range"), "0 to 1099511627775"]);
        }
        told(2).good();
    }
    let marked = |epochs: u64| t.scratch.ran(&format!("epoch plan corpus 1 --epochs {epochs}"));
    marked(4).fails(&["epoch 3 with a budget"]);
    marked(u64::MAX).fails(&["is out of range"]);
    marked(3).good();
    for last in [1, u64::MAX] {
        t.scratch.ran(&format!("epoch row corpus 1 {last}")).fails(&["row", "0 to 0"]);
        let from = format!("epoch stream corpus 1 --from-batch {last}");
        t.scratch.ran(&from).fails(&["batch", "0 to 0"]);
    }
    for row in [4, 1 << 40, u64::MAX] {
        let refused = t.scratch.ran(&format!("epoch extend corpus 1 --consumed {row}"));
        refused.fails(&[&format!("{row} consumed rows are")]);
    }
});

// It was to lower mix.tokens to 0, or to raise max_repeats to what no recipe takes.
corpusdb_test!(advice_is_what_a_recipe_takes, WordCorpus::of(&[2, 2]), |t| {
    let told = |tokens: &str, repeats: u32| {
        let source = format!("[[source]]\nname = \"web\"\nmax_repeats = {repeats}\n");
        t.recipe("r.toml", &format!("{tokens}{source}"));
        t.scratch.ran("epoch plan corpus r.toml")
    };
    let raise = "raise max_repeats of `web` to";
    let refused = told("[mix]\ntokens = 400\n", 1);
    refused.fails(&["one pass holds 4", "lower mix.tokens to 4", &format!("{raise} 100\n")]);
    // 2^32 - 1 is the most.
    for (tokens, passes) in [(4 * u64::from(u32::MAX), 1), (4 * u64::from(u32::MAX) + 1, 2)] {
        let refused = told(&format!("[mix]\ntokens = {tokens}\n"), passes);
        let is_advised = tokens == 4 * u64::from(u32::MAX);
        assert_eq!(refused.stderr.contains(&format!("{raise} {}\n", u32::MAX)), is_advised);
        assert_eq!(refused.stderr.contains("raise max_repeats"), is_advised, "{refused}");
        refused.fails(&[&format!("lower mix.tokens to {}", 4 * passes)]);
    }
    told("", 2).good();
    let late = t.scratch.ran("epoch stream corpus 1 --epoch 9999999999");
    assert!(!late.stderr.contains("to 0"), "{late}");
    assert!(!late.stderr.contains("max_repeats"), "{late}");
    late.fails(&["ask for an earlier epoch"]);
});

// Rows that are put in order together were planned for any number of them, and held in memory when they were read.
corpusdb_test!(a_window_beyond_memory_is_refused, WordCorpus::of(&[1; 300]), |t| {
    // 300,000 rows of 80 bytes.
    let recipe = |more: &str, of: &str| {
        t.recipe(
            "r.toml",
            &format!(
                "[select]\nrepeat = \"1000\"\n[pack]\nkind = \"none\"\n[batch]\n{more}\n[order]\nkind = \"length-grouped\"\n{of}"
            ),
        );
        t.scratch.ran("epoch plan corpus r.toml --memory 16MiB")
    };
    let batches = |many: u64| format!("length_grouped = {{ mega_batch_mult = {many} }}\n");
    let words = [
        "300000 rows are put in order together, 80 bytes each",
        "lower order.length_grouped.mega_batch_mult",
    ];
    recipe("rows = 2", &batches(1 << 24)).fails(&words);
    recipe("rows = 2000", &batches(50)).good();
    assert_eq!(t.scratch.run("epoch show corpus --json").json_lines().len(), 1);
});
