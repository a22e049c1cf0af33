//! Histories of corpora and chains of plans as data: what comes, what is planned, what is consumed.

use std::fmt::Write;

/// The sources of the corpora.
pub const LEDGER_SOURCES: [&str; 4] = ["a", "b", "c", "d"];

/// A document that comes: how many words it has, and how many of its last ones are trained on (`None`: all).
#[derive(Clone, Debug)]
pub struct LedgerPage {
    pub words: usize,
    pub trained: Option<usize>,
}

/// What happens next.
#[derive(Clone, Debug)]
pub enum LedgerStep {
    Ingest {
        source: usize,
        pages: Vec<LedgerPage>,
    },
    /// The first so many keys of a source come again with other texts.
    Recrawl {
        source: usize,
        count: usize,
    },
    /// So many kept documents, from the given place on in the order of ids, counted around.
    Remove {
        from: usize,
        count: usize,
    },
    /// One kept document.
    Purge {
        from: usize,
    },
    Snapshot,
    /// A plan that begins a chain.
    Plan(LedgerRecipe),
    /// The plan before it is consumed up to a row of an epoch, given in thousandths of its rows; the rest is planned
    /// with a recipe or with that of the plan.
    Extend {
        epoch: u64,
        permille: usize,
        recipe: Option<LedgerRecipe>,
    },
    /// The same rows are consumed, and every source is then read to its end by itself: everything must have come.
    Close {
        epoch: u64,
        permille: usize,
        kind: &'static str,
        length: u64,
    },
}

/// A source of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerSource {
    pub name: &'static str,
    pub from: Vec<usize>,
    pub weight: Option<u32>,
    /// Passes over its documents in the whole chain.
    pub repeats: u32,
}

/// A recipe as data.
#[derive(Clone, Debug)]
pub struct LedgerRecipe {
    pub seed: usize,
    /// Over the snapshot that was made last, not over what is there now.
    pub old: bool,
    pub bos: bool,
    pub eos: bool,
    /// Parts of documents end with EOS.
    pub cut_eos: bool,
    /// Segments of a row, at most.
    pub most_segments: Option<usize>,
    pub kind: &'static str,
    pub length: u64,
    pub long: &'static str,
    pub multiple: u64,
    pub extra: bool,
    pub overlap: bool,
    pub partial: Option<&'static str>,
    /// The table `[order]`.
    pub order: String,
    /// The table `[batch]`.
    pub batch: String,
    pub unit: &'static str,
    /// Lines of `[mix]` beside the unit and the budget.
    pub mix: String,
    pub budget: Option<u64>,
    pub min_tokens: u64,
    pub condition: bool,
    pub sources: Vec<LedgerSource>,
}

impl LedgerRecipe {
    /// Everything once, in rows of `length`.
    pub fn plain(kind: &'static str, length: u64, sources: Vec<LedgerSource>) -> Self {
        Self {
            seed: 0,
            old: false,
            bos: false,
            eos: false,
            cut_eos: false,
            most_segments: None,
            kind,
            length,
            long: "split",
            multiple: 1,
            extra: false,
            overlap: false,
            partial: None,
            order: String::new(),
            batch: String::new(),
            unit: "tokens",
            mix: String::new(),
            budget: None,
            min_tokens: 1,
            condition: false,
            sources,
        }
    }

    /// Whether rows come in the order of the run.
    pub fn is_in_order(&self) -> bool {
        self.batch.is_empty()
    }

    /// Whether rows that fill no batch are left out.
    pub fn drops(&self) -> bool {
        self.batch.contains("rows") && !self.batch.contains("tail")
    }

    /// Whether documents may come at any time.
    pub fn replaces(&self) -> bool {
        self.order.contains("replace = true")
    }

    /// The recipe as TOML; `repeat` is how often every document comes in a pass.
    pub fn toml(&self, snapshot: Option<&str>, tokenizer: &str, repeat: u32) -> String {
        let mut text = format!("version = 1\nseed = {}\n", self.seed);
        if let Some(snapshot) = snapshot.filter(|_| self.old) {
            writeln!(text, "snapshot = \"{snapshot}\"").unwrap();
        }
        text.push_str("[select]\n");
        if self.min_tokens > 1 {
            writeln!(text, "min_tokens = {}", self.min_tokens).unwrap();
        }
        if self.condition {
            writeln!(text, "where = \"{LEDGER_CONDITION}\"").unwrap();
        }
        if repeat > 1 {
            writeln!(text, "repeat = \"{repeat}\"").unwrap();
        }
        let bos = if self.bos { "bos = \"<bos>\", " } else { "" };
        let eos = if self.eos { "eos = \"<eos>\", " } else { "" };
        writeln!(
            text,
            "[tokenizer]\nname = \"{tokenizer}\"\nspecials = {{ {bos}{eos}pad = \"<pad>\" }}"
        )
        .unwrap();
        writeln!(text, "[mix]\nunit = \"{}\"", self.unit).unwrap();
        if let Some(budget) = self.budget {
            writeln!(text, "tokens = {budget}").unwrap();
        }
        text.push_str(&self.mix);
        if !self.order.is_empty() {
            writeln!(text, "[order]\n{}", self.order).unwrap();
        }
        writeln!(text, "[pack]\nkind = \"{}\"\nlength = {}", self.kind, self.length).unwrap();
        if self.cut_eos {
            text.push_str("cut_eos = true\n");
        }
        if let Some(most) = self.most_segments {
            writeln!(text, "most_segments = {most}").unwrap();
        }
        let mut options = format!("long = \"{}\", doc_multiple = {}", self.long, self.multiple);
        if self.extra {
            options.push_str(", target = \"extra\"");
        }
        if self.overlap {
            options.push_str(", overlap = true");
        }
        if let Some(partial) = self.partial {
            write!(options, ", partial = \"{partial}\"").unwrap();
        }
        writeln!(text, "options = {{ {options} }}").unwrap();
        if !self.batch.is_empty() {
            writeln!(text, "[batch]\n{}", self.batch).unwrap();
        }
        text.push_str("[output]\nformat = \"jsonl\"\n");
        for source in &self.sources {
            let from: Vec<String> =
                source.from.iter().map(|at| format!("\"{}\"", LEDGER_SOURCES[*at])).collect();
            writeln!(
                text,
                "[[source]]\nname = \"{}\"\nfrom = [{}]\nmax_repeats = {}",
                source.name,
                from.join(", "),
                source.repeats
            )
            .unwrap();
            if let Some(weight) = source.weight {
                writeln!(text, "weight = {weight}.0").unwrap();
            }
        }
        text
    }
}

/// What `select.where` says where a recipe has one.
pub const LEDGER_CONDITION: &str = "n % 4 <> 3";

/// Steps, and what all plans of them have in common.
#[derive(Clone, Debug)]
pub struct LedgerHistory {
    pub seed: u64,
    /// The tokenizer of the chain, of two.
    pub tokenizer: &'static str,
    /// How often a document comes in a pass.
    pub repeat: u32,
    pub steps: Vec<LedgerStep>,
}

impl std::fmt::Display for LedgerRecipe {
    /// What differs from a plain recipe, in one line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.length)?;
        for source in &self.sources {
            let from: Vec<&str> = source.from.iter().map(|at| LEDGER_SOURCES[*at]).collect();
            write!(f, " [{} from {} x{}", source.name, from.join("+"), source.repeats)?;
            match source.weight {
                Some(weight) => write!(f, " weight {weight}]")?,
                None => write!(f, "]")?,
            }
        }
        write!(f, " seed {}", self.seed)?;
        let marks = [
            (self.old, " old-snapshot"),
            (self.bos, " bos"),
            (self.eos, " eos"),
            (self.cut_eos, " cut_eos"),
            (self.extra, " target=extra"),
            (self.overlap, " overlap"),
            (self.condition, " where"),
        ];
        for (_, mark) in marks.iter().filter(|(is, _)| *is) {
            f.write_str(mark)?;
        }
        let numbers = [("doc_multiple", self.multiple), ("min_tokens", self.min_tokens)];
        for (name, number) in numbers.iter().filter(|(_, number)| *number > 1) {
            write!(f, " {name}={number}")?;
        }
        let words = [
            ("long", self.long, "split"),
            ("unit", self.unit, "tokens"),
            ("partial", self.partial.unwrap_or(""), ""),
        ];
        for (name, word, _) in words.iter().filter(|(_, word, default)| word != default) {
            write!(f, " {name}={word}")?;
        }
        if let Some(most) = self.most_segments {
            write!(f, " most_segments={most}")?;
        }
        if let Some(budget) = self.budget {
            write!(f, " mix.tokens={budget}")?;
        }
        for (name, table) in [("mix", &self.mix), ("order", &self.order), ("batch", &self.batch)] {
            let table: Vec<&str> = table.lines().filter(|line| !line.is_empty()).collect();
            if !table.is_empty() {
                write!(f, " {name}({})", table.join("; "))?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for LedgerStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ingest { source, pages } => {
                write!(f, "ingest {}:", LEDGER_SOURCES[*source])?;
                for page in pages {
                    write!(f, " {}", page.words)?;
                    if let Some(trained) = page.trained {
                        write!(f, "/{trained}")?;
                    }
                }
                Ok(())
            }
            Self::Recrawl { source, count } => {
                write!(f, "recrawl {} keys of {}", count, LEDGER_SOURCES[*source])
            }
            Self::Remove { from, count } => write!(f, "remove {count} kept ones from {from} on"),
            Self::Purge { from } => write!(f, "purge kept document {from}"),
            Self::Snapshot => f.write_str("snapshot"),
            Self::Plan(recipe) => write!(f, "plan {recipe}"),
            Self::Extend { epoch, permille, recipe } => {
                write!(f, "consume {permille}/1000 of epoch {epoch}, extend ")?;
                match recipe {
                    Some(recipe) => write!(f, "{recipe}"),
                    None => f.write_str("without a recipe"),
                }
            }
            Self::Close { epoch, permille, kind, length } => {
                write!(f, "consume {permille}/1000 of epoch {epoch}, close by {kind} {length}")
            }
        }
    }
}

impl std::fmt::Display for LedgerHistory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}, tokenizer {}, repeat {}", self.seed, self.tokenizer, self.repeat)?;
        for (at, step) in self.steps.iter().enumerate() {
            writeln!(f, "  {at}: {step}")?;
        }
        Ok(())
    }
}
