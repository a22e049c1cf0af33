//! Histories for the ledger drawn by chance, and made smaller where one fails.

use crate::support::Random;
use crate::support::ledger::history::{
    LEDGER_SOURCES, LedgerHistory, LedgerPage, LedgerRecipe, LedgerSource, LedgerStep,
};

impl LedgerHistory {
    pub fn drawn(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(2_654_435_761) ^ 0x51ed);
        let tokenizer = *random.pick(&["words", "words", "words", "letters"]);
        let repeat = *random.pick(&[1, 1, 1, 1, 2]);
        let mut steps = Vec::new();
        let mut there: Vec<usize> = Vec::new();
        for source in 0..random.between(1, 5) {
            steps.push(ingest(&mut random, source, 12));
            there.push(source);
        }
        if random.chance(20) {
            steps.push(LedgerStep::Snapshot);
        }
        let base = u32::try_from(random.between(1, 4)).unwrap();
        let specials = (random.chance(40), random.chance(60));
        // By itself, so that the seeds of before give the histories that they gave.
        let mut cuts = Random::new(seed ^ 0x0c07);
        let mut limits = Random::new(seed ^ 0x5e65);
        let mut recipe = |random: &mut Random, there: &[usize], more: u32| {
            let mut recipe = draw_recipe(random, there, base + more);
            (recipe.bos, recipe.eos) = specials;
            if random.chance(4) {
                recipe.eos = !recipe.eos;
            }
            let may_cut = recipe.eos && !recipe.overlap && recipe.partial != Some("drop");
            recipe.cut_eos = cuts.chance(30) && may_cut && recipe.length > 2;
            let may_limit = recipe.partial != Some("drop") && limits.chance(30);
            let least = 1 + usize::from(recipe.overlap);
            recipe.most_segments = may_limit.then(|| limits.between(least, 5));
            recipe
        };
        steps.push(LedgerStep::Plan(recipe(&mut random, &there, 0)));
        let links = match random.below(20) {
            0 => random.between(8, 24),
            1..=4 => random.between(4, 8),
            _ => random.between(1, 4),
        };
        let mut more = 0;
        for _ in 0..links {
            if random.chance(55) {
                event(&mut random, &mut steps, &mut there);
            }
            if random.chance(25) {
                more += 1;
            }
            let (epoch, permille) = position(&mut random);
            let recipe = (!random.chance(20)).then(|| recipe(&mut random, &there, more));
            steps.push(LedgerStep::Extend { epoch, permille, recipe });
            if random.chance(20) {
                steps.push(close(&mut random));
            }
        }
        steps.push(close(&mut random));
        Self { seed, tokenizer, repeat, steps }
    }

    /// The history without single steps, pages, sources or settings of recipes, one thing at a time.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut with = |steps: Vec<LedgerStep>| all.push(Self { steps, ..self.clone() });
        for at in (0..self.steps.len()).rev() {
            let mut steps = self.steps.clone();
            steps.remove(at);
            with(steps);
        }
        for (at, step) in self.steps.iter().enumerate() {
            for step in smaller_steps(step) {
                let mut steps = self.steps.clone();
                steps[at] = step;
                with(steps);
            }
        }
        if self.repeat > 1 {
            all.push(Self { repeat: 1, ..self.clone() });
        }
        if self.tokenizer != "words" {
            all.push(Self { tokenizer: "words", ..self.clone() });
        }
        all
    }
}

fn smaller_steps(step: &LedgerStep) -> Vec<LedgerStep> {
    let mut all = Vec::new();
    match step {
        LedgerStep::Ingest { source, pages } => {
            let halves = [&pages[..pages.len() / 2], &pages[pages.len() / 2..]];
            for half in halves.into_iter().filter(|half| pages.len() > 3 && !half.is_empty()) {
                all.push(LedgerStep::Ingest { source: *source, pages: half.to_vec() });
            }
            for at in 0..pages.len() {
                let mut fewer = pages.clone();
                fewer.remove(at);
                all.push(LedgerStep::Ingest { source: *source, pages: fewer });
                if pages[at].words > 6 {
                    let mut shorter = pages.clone();
                    shorter[at].words = pages[at].words / 2;
                    shorter[at].trained =
                        pages[at].trained.map(|of| of.min(pages[at].words / 4).max(1));
                    all.push(LedgerStep::Ingest { source: *source, pages: shorter });
                }
            }
            if pages.iter().any(|page| page.trained.is_some()) {
                let pages = pages.iter().map(|page| LedgerPage { trained: None, ..*page });
                all.push(LedgerStep::Ingest { source: *source, pages: pages.collect() });
            }
        }
        LedgerStep::Plan(recipe) => {
            all.extend(smaller_recipes(recipe).into_iter().map(LedgerStep::Plan));
        }
        LedgerStep::Extend { epoch, permille, recipe } => {
            let (epoch, permille) = (*epoch, *permille);
            let with = |epoch, permille, recipe| LedgerStep::Extend { epoch, permille, recipe };
            if epoch > 0 {
                all.push(with(epoch - 1, permille, recipe.clone()));
            }
            if permille > 0 {
                all.push(with(epoch, 0, recipe.clone()));
            }
            for recipe in recipe.iter().flat_map(smaller_recipes) {
                all.push(with(epoch, permille, Some(recipe)));
            }
            if recipe.is_some() {
                all.push(with(epoch, permille, None));
            }
        }
        LedgerStep::Close { epoch, permille, kind, length } => {
            if *permille > 0 {
                let (epoch, kind, length) = (*epoch, *kind, *length);
                all.push(LedgerStep::Close { epoch, permille: 0, kind, length });
            }
            if *epoch > 0 {
                let (permille, kind, length) = (*permille, *kind, *length);
                all.push(LedgerStep::Close { epoch: 0, permille, kind, length });
            }
        }
        _ => {}
    }
    all
}

fn smaller_recipes(recipe: &LedgerRecipe) -> Vec<LedgerRecipe> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut LedgerRecipe)| {
        let mut other = recipe.clone();
        change(&mut other);
        if format!("{other:?}") != format!("{recipe:?}") {
            all.push(other);
        }
    };
    for at in 0..recipe.sources.len().max(1) - 1 {
        with(&|of| drop(of.sources.remove(at)));
    }
    with(&|of| of.batch.clear());
    with(&|of| of.order.clear());
    with(&|of| of.mix.clear());
    with(&|of| of.unit = "tokens");
    with(&|of| of.budget = None);
    with(&|of| of.multiple = 1);
    with(&|of| (of.extra, of.overlap) = (false, false));
    with(&|of| of.partial = None);
    with(&|of| of.long = "split");
    with(&|of| (of.old, of.condition, of.min_tokens) = (false, false, 1));
    with(&|of| of.bos = false);
    with(&|of| of.cut_eos = false);
    with(&|of| of.most_segments = None);
    with(&|of| (of.eos, of.cut_eos) = (false, false));
    with(&|of| of.sources.iter_mut().for_each(|source| source.repeats = 1));
    with(&|of| of.sources.iter_mut().for_each(|source| source.weight = None));
    all
}

fn ingest(random: &mut Random, source: usize, most: usize) -> LedgerStep {
    let masks = random.chance(20);
    let longest = *random.pick(&[6, 12, 30, 70]);
    let pages = (0..random.between(1, most + 1)).map(|_| {
        let words = random.between(1, longest + 1);
        let trained = (masks && words > 1).then(|| random.between(1, words));
        LedgerPage { words, trained }
    });
    LedgerStep::Ingest { source, pages: pages.collect() }
}

fn event(random: &mut Random, steps: &mut Vec<LedgerStep>, there: &mut Vec<usize>) {
    match random.below(20) {
        0..=7 => {
            let source = random.below(LEDGER_SOURCES.len());
            steps.push(ingest(random, source, 8));
            if !there.contains(&source) {
                there.push(source);
                there.sort_unstable();
            }
        }
        8..=11 => {
            let (source, count) = (*random.pick(there), random.between(1, 4));
            steps.push(LedgerStep::Recrawl { source, count });
        }
        12..=15 => {
            steps.push(LedgerStep::Remove { from: random.below(40), count: random.between(1, 5) });
        }
        16 => steps.push(LedgerStep::Purge { from: random.below(40) }),
        _ => steps.push(LedgerStep::Snapshot),
    }
}

fn position(random: &mut Random) -> (u64, usize) {
    let epoch = *random.pick(&[0, 0, 0, 1, 2]);
    let permille = match random.below(6) {
        0 => 0,
        1 => 1000,
        _ => random.below(1001),
    };
    (epoch, permille)
}

fn close(random: &mut Random) -> LedgerStep {
    let (epoch, permille) = position(random);
    let kind = *random.pick(&["best-fit", "greedy", "concat", "none"]);
    LedgerStep::Close { epoch, permille, kind, length: random.between(3, 24) as u64 }
}

/// A recipe that says nothing that contradicts itself, for sources that are there.
fn draw_recipe(random: &mut Random, there: &[usize], repeats: u32) -> LedgerRecipe {
    let kind = *random.pick(&["best-fit", "greedy", "concat", "concat", "none"]);
    let multiple = if kind == "none" { 1 } else { *random.pick(&[1, 1, 1, 2, 4]) };
    let length = random.between(1, 12) as u64 * multiple + if multiple == 1 { 2 } else { multiple };
    let sources = draw_sources(random, there, repeats);
    let mut recipe = LedgerRecipe::plain(kind, length, sources);
    recipe.multiple = multiple;
    recipe.seed = random.below(50);
    recipe.old = random.chance(15);
    let longs: &[&str] = match kind {
        "concat" => &["split", "split", "split", "split", "truncate", "drop"],
        _ => &["split", "split", "split", "split", "paragraph", "truncate", "drop"],
    };
    recipe.long = *random.pick(longs);
    recipe.extra = multiple == 1 && random.chance(15);
    recipe.overlap = recipe.extra && kind == "concat" && random.chance(50);
    if kind == "concat" && random.chance(15) {
        recipe.partial = Some(*random.pick(&["keep", "drop"]));
    }
    if random.chance(12) {
        recipe.min_tokens = random.between(2, 6) as u64;
    }
    recipe.condition = random.chance(12);
    recipe.batch = draw_batch(random, kind);
    recipe.order = draw_order(random, kind, &recipe.batch);
    draw_mix(random, &mut recipe);
    recipe
}

fn draw_batch(random: &mut Random, kind: &str) -> String {
    match random.below(10) {
        0..=4 => String::new(),
        5 if kind == "none" => {
            let count = random.pick(&["real", "padded"]);
            format!("max_tokens = {}\ncount = \"{count}\"", random.between(5, 60))
        }
        _ => {
            let tail = *random.pick(&["", "tail = \"pad\"", "tail = \"carry\""]);
            let balance = if random.chance(20) { "balance = 10" } else { "" };
            format!("rows = {}\n{tail}\n{balance}", random.between(1, 6))
        }
    }
}

fn draw_order(random: &mut Random, kind: &str, batch: &str) -> String {
    match random.below(10) {
        0 | 1 if kind != "best-fit" => "kind = \"sequential\"".to_owned(),
        2 | 3 => {
            let (by, strata) = (random.pick(&["tokens", "n", "chars"]), random.between(1, 5));
            let c0 = random.pick(&[0.3, 0.6, 1.0]);
            let replace = matches!(kind, "best-fit" | "none") && random.chance(10);
            let descending = random.chance(40);
            format!(
                "kind = \"curriculum\"\ncurriculum = {{ by = \"{by}\", strata = {strata}, \
                 c0 = {c0:?}, replace = {replace}, descending = {descending} }}"
            )
        }
        4..=6 if kind == "none" && !batch.is_empty() => {
            let more = match random.below(4) {
                0 => ", buckets = \"power-of-two\"",
                1 => ", window = \"epoch\"",
                _ => "",
            };
            format!(
                "kind = \"length-grouped\"\nlength_grouped = {{ mega_batch_mult = {}{more} }}",
                random.between(1, 5)
            )
        }
        _ => String::new(),
    }
}

fn draw_mix(random: &mut Random, recipe: &mut LedgerRecipe) {
    recipe.unit = *random.pick(&["tokens", "tokens", "tokens", "rows", "documents", "loss-tokens"]);
    if random.chance(60) {
        let most = match recipe.unit {
            "rows" => 25,
            "documents" => 16,
            _ => 250,
        };
        recipe.budget = Some(random.between(1, most) as u64);
    }
    let weights = random.chance(40);
    if weights {
        recipe.sources.iter_mut().for_each(|of| of.weight = Some(random.between(1, 6) as u32));
        return;
    }
    match random.below(12) {
        0 => recipe.mix.push_str("method = \"unimax\"\n"),
        1 => recipe.mix.push_str("method = \"temperature\"\ntemperature = 2.0\n"),
        2 | 3 if recipe.sources.len() > 1 && recipe.budget.is_some() => {
            let weights = |random: &mut Random| {
                let of = recipe
                    .sources
                    .iter()
                    .map(|of| format!("{} = {}.0", of.name, random.between(1, 6)));
                of.collect::<Vec<_>>().join(", ")
            };
            let ramp = *random.pick(&["step", "linear"]);
            let (first, last) = (weights(random), weights(random));
            let at = random.between(1, 200);
            recipe.mix = format!(
                "schedule = [ {{ at_tokens = 0, weights = {{ {first} }}, ramp = \"{ramp}\" }}, \
                 {{ at_tokens = {at}, weights = {{ {last} }} }} ]\n"
            );
        }
        _ => {}
    }
}

/// Some of the sources that are there, each by itself or two together, under names that change.
fn draw_sources(random: &mut Random, there: &[usize], repeats: u32) -> Vec<LedgerSource> {
    let mut left = there.to_vec();
    if left.len() > 1 && random.chance(25) {
        let at = random.below(left.len());
        left.remove(at);
    }
    let mut sources: Vec<LedgerSource> = Vec::new();
    while !left.is_empty() {
        let mut from = vec![left.remove(0)];
        if !left.is_empty() && random.chance(20) {
            from.push(left.remove(random.below(left.len())));
        }
        let own = LEDGER_SOURCES[from[0]];
        let name = if random.chance(15) { ["k", "l", "m", "o"][from[0]] } else { own };
        let more = u32::from(random.chance(15));
        sources.push(LedgerSource { name, from, weight: None, repeats: repeats + more });
    }
    sources
}
