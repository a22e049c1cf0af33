//! Runs a history against the library: corpora grow and shrink, plans are made, read, consumed and extended, and the
//! account says after each step what must have come.

use crate::support::ledger::account::{LedgerAccount, LedgerFault, capacity, fault};
use crate::support::ledger::examine::{LedgerPlan, read_all};
use crate::support::ledger::history::{
    LEDGER_CONDITION, LEDGER_SOURCES, LedgerHistory, LedgerPage, LedgerRecipe, LedgerSource,
    LedgerStep,
};
use crate::support::{Random, TestDir, fixture, writer};
use corpusdb::epoch::{EpochError, EpochRow, Plan};
use corpusdb::ingest::{ChatOptions, ChatShape, RecordForm};
use corpusdb::store::{CheckDepth, EpochRecord};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, Error, FieldKind, IngestOptions, Policy, Recipe,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

// ----
// A corpus whose tokens are easy to count.

/// What the library answers when it is asked for a plan.
type LedgerAnswer = Result<(EpochRecord, Plan), Error>;

/// An empty corpus with a tokenizer that has a token a word, and one that has a token a letter or digit.
fn empty(path: &Path) {
    let policy = Policy::new(DedupMode::None, 0.8).unwrap();
    Corpus::init(path, &policy, &[("n".to_owned(), FieldKind::Int)]).unwrap();
    let mut writer = writer(path);
    let mut words: Vec<(String, u32)> = (0..300).map(|n| (format!("v{n}"), 10 + n)).collect();
    words.push(("<unk>".to_owned(), 3));
    let by_spaces = json!({ "type": "WhitespaceSplit" });
    let mut letters: Vec<(String, u32)> = (0..10).map(|n| (n.to_string(), 5 + n)).collect();
    letters.extend([("v".to_owned(), 4), ("<unk>".to_owned(), 3)]);
    let by_letters = json!({ "type": "Sequence", "pretokenizers": [
        by_spaces,
        { "type": "Split", "pattern": { "Regex": "." }, "behavior": "Isolated", "invert": false },
    ] });
    for (name, vocab, cut) in
        [("words", words, by_spaces.clone()), ("letters", letters, by_letters)]
    {
        let mut vocab: BTreeMap<String, u32> = vocab.into_iter().collect();
        let specials = ["<pad>", "<bos>", "<eos>"];
        vocab.extend(specials.iter().zip(0..).map(|(token, id)| ((*token).to_owned(), id)));
        let added: Vec<_> = specials.iter().zip(0..).map(|(token, id)| json!({
            "id": id, "content": token, "special": true, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false,
        })).collect();
        let file = json!({ "version": "1.0", "added_tokens": added, "pre_tokenizer": cut,
            "model": { "type": "WordLevel", "vocab": vocab, "unk_token": "<unk>" } });
        writer.add_tokenizer(name, file.to_string().as_bytes(), "", &Context::new()).unwrap();
    }
}

/// Words that no other document begins with, on some lines.
fn text(first: usize, words: usize) -> String {
    let word = |at: usize| format!("v{}", (first * 7 + at) % 300);
    let mut text = String::new();
    for at in 0..words {
        if at > 0 {
            text.push_str(if at % 5 == 0 { "\n\n" } else { " " });
        }
        text.push_str(&word(at));
    }
    text
}

/// The snapshot that was made last: what it keeps, and the sources that had come.
struct LedgerSnapshot {
    name: String,
    kept: BTreeSet<u64>,
    sources: BTreeSet<usize>,
}

/// A history as it runs.
pub struct LedgerRun<'a> {
    pub(super) history: &'a LedgerHistory,
    pub(super) scratch: TestDir,
    /// There but for the moment in which it is opened again.
    writer: Option<CorpusWriter>,
    account: LedgerAccount,
    /// Keys that were poured, by source.
    keys: BTreeMap<usize, Vec<String>>,
    texts: usize,
    snapshot: Option<LedgerSnapshot>,
    purged: BTreeSet<u64>,
    /// Documents that a plan of the chain drew.
    drawn: BTreeSet<u64>,
    plan: Option<LedgerPlan>,
    pub(super) random: Random,
    /// Extensions, and plans that were refused.
    pub extensions: usize,
    pub refusals: usize,
}

impl<'a> LedgerRun<'a> {
    pub fn new(history: &'a LedgerHistory) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        fixture("an empty corpus of words and letters", &path, empty);
        let writer = Some(writer(&path));
        Self {
            history,
            scratch,
            writer,
            account: LedgerAccount::default(),
            keys: BTreeMap::new(),
            texts: 0,
            snapshot: None,
            purged: BTreeSet::new(),
            drawn: BTreeSet::new(),
            plan: None,
            random: Random::new(history.seed + 99),
            extensions: 0,
            refusals: 0,
        }
    }

    /// # Errors
    /// The first fault.
    pub fn run(&mut self) -> Result<(), LedgerFault> {
        for (at, step) in self.history.steps.iter().enumerate() {
            self.step(at, step)
                .map_err(|of| LedgerFault { words: format!("step {at}: {}", of.words), ..of })?;
        }
        match self.corpus().check(CheckDepth::Deep, &Context::new()) {
            Ok(faults) if faults.is_empty() => Ok(()),
            Ok(faults) => fault("check", format!("{faults:?}")),
            Err(error) => fault("check", error.to_string()),
        }
    }

    pub(super) fn writer(&mut self) -> &mut CorpusWriter {
        self.writer.as_mut().unwrap()
    }

    pub(super) fn corpus(&self) -> Corpus {
        self.writer.as_ref().unwrap().corpus()
    }

    fn step(&mut self, at: usize, step: &LedgerStep) -> Result<(), LedgerFault> {
        match step {
            LedgerStep::Ingest { source, pages } => {
                let keys: Vec<String> =
                    (0..pages.len()).map(|page| format!("{at}-{page}")).collect();
                self.keys.entry(*source).or_default().extend(keys.iter().cloned());
                self.pour(*source, &keys, pages);
            }
            LedgerStep::Recrawl { source, count } => {
                let keys = self.keys.get(source).cloned().unwrap_or_default();
                let keys: Vec<String> = keys.into_iter().take(*count).collect();
                let page = |_| LedgerPage { words: 4 + at, trained: None };
                let pages: Vec<LedgerPage> = keys.iter().map(page).collect();
                self.pour(*source, &keys, &pages);
            }
            LedgerStep::Remove { from, count } => {
                let gone = self.some_kept(*from, *count);
                self.writer().remove(&gone, true, &Context::new()).unwrap();
            }
            LedgerStep::Purge { from } => {
                let gone = self.some_kept(*from, 1);
                self.purged.extend(&gone);
                let mut writer = self.writer.take().unwrap();
                writer.purge(gone, true, true, &Context::new()).unwrap();
                self.writer = Some(writer.reopen().unwrap());
            }
            LedgerStep::Snapshot => {
                let name = format!("made-{at}");
                if self.writer().create_snapshot(&name).is_ok() {
                    let (kept, sources) = (self.kept(), self.keys.keys().copied().collect());
                    self.snapshot = Some(LedgerSnapshot { name, kept, sources });
                }
            }
            LedgerStep::Plan(recipe) => self.begin(Some(recipe))?,
            LedgerStep::Extend { epoch, permille, recipe } => {
                let before = self.account.clone();
                let Some(row) = self.consume(*epoch, *permille)? else {
                    return self.begin(recipe.as_ref());
                };
                let number = self.plan.as_ref().map(|plan| plan.number);
                self.make(number.map(|number| (number, row)), recipe.as_ref())?;
                if self.plan.as_ref().map(|plan| plan.number) == number {
                    // Refused: the chain stays where it was.
                    self.account = before;
                }
            }
            LedgerStep::Close { epoch, permille, kind, length } => {
                let before = self.account.clone();
                if let Some(row) = self.consume(*epoch, *permille)? {
                    self.close(row, kind, *length)?;
                }
                self.account = before;
            }
        }
        Ok(())
    }

    /// Begins a chain.
    fn begin(&mut self, recipe: Option<&LedgerRecipe>) -> Result<(), LedgerFault> {
        self.account = self.account.of_new_chain();
        self.drawn.clear();
        self.plan = None;
        self.make(None, recipe)
    }

    // ----
    // The corpus.

    fn pour(&mut self, source: usize, keys: &[String], pages: &[LedgerPage]) {
        for chats in [false, true] {
            let mut lines = String::new();
            for (key, page) in keys.iter().zip(pages) {
                if page.trained.is_some() != chats {
                    continue;
                }
                self.texts += 1;
                let first = self.texts;
                let record = match page.trained {
                    None => json!({ "id": key, "n": first, "text": text(first, page.words) }),
                    Some(trained) => json!({
                        "id": key, "n": first,
                        "prompt": format!("{} ", text(first, page.words - trained)),
                        "completion": text(first + 100, trained),
                    }),
                };
                lines.push_str(&format!("{record}\n"));
            }
            if lines.is_empty() {
                continue;
            }
            let file = self.scratch.write(&format!("{}-{chats}.jsonl", self.texts), lines);
            let mut options = IngestOptions::new(LEDGER_SOURCES[source]);
            options.read.id_field = Some("id".to_owned());
            if chats {
                let shape = ChatShape::PromptCompletion;
                options.form = RecordForm::Chat(ChatOptions { shape, ..ChatOptions::default() });
            }
            self.writer().ingest(&[file], &options, &Context::new()).unwrap();
        }
        self.account.read(&self.corpus(), self.history.tokenizer);
    }

    fn kept(&self) -> BTreeSet<u64> {
        self.corpus().select("kept").unwrap().into_iter().collect()
    }

    fn some_kept(&self, from: usize, count: usize) -> roaring::RoaringTreemap {
        let kept: Vec<u64> = self.kept().into_iter().collect();
        let all = kept.len().max(1);
        kept.iter().cycle().skip(from % all).take(count.min(kept.len())).copied().collect()
    }

    /// Whether a recipe draws from a source of which no document had come at the moment that it draws from.
    fn lacks_source(&self, recipe: &LedgerRecipe) -> bool {
        let has = |source: &usize| match &self.snapshot {
            Some(of) if recipe.old => of.sources.contains(source),
            _ => self.keys.contains_key(source),
        };
        !recipe.sources.iter().flat_map(|of| &of.from).all(has)
    }

    /// The documents of each source of a recipe, by its own words.
    fn eligible(&self, recipe: &LedgerRecipe) -> BTreeMap<String, BTreeSet<u64>> {
        let kept = match &self.snapshot {
            Some(of) if recipe.old => of.kept.difference(&self.purged).copied().collect(),
            _ => self.kept(),
        };
        let condition = recipe.condition.then(|| self.corpus().select(LEDGER_CONDITION).unwrap());
        let of = |source: &LedgerSource| {
            let names: Vec<&str> = source.from.iter().map(|at| LEDGER_SOURCES[*at]).collect();
            let documents = kept.iter().copied().filter(|id| {
                let document = &self.account.documents[*id as usize];
                names.contains(&&*document.source)
                    && document.ids.len() as u64 >= recipe.min_tokens
                    && condition.as_ref().is_none_or(|condition| condition.contains(*id))
            });
            (source.name.to_owned(), documents.collect())
        };
        recipe.sources.iter().map(of).collect()
    }

    // ----
    // Plans.

    /// Plans a recipe, or what is left of the plan of that number after some rows.
    fn make(
        &mut self,
        parent: Option<(u32, u64)>,
        recipe: Option<&LedgerRecipe>,
    ) -> Result<(), LedgerFault> {
        let inherits = recipe.is_none();
        let Some(mut recipe) =
            recipe.cloned().or_else(|| self.plan.as_ref().map(|plan| plan.recipe.clone()))
        else {
            return Ok(());
        };
        recipe.old &= !inherits && self.snapshot.is_some();
        let mut answer = self.ask(parent, &recipe, inherits)?;
        if let Some(Err(error)) = &answer
            && let (Some(feasible), Some(_)) = (feasible(error)?, recipe.budget)
        {
            // The advice must work, unless its epochs fill no batch.
            recipe.budget = Some(feasible);
            if feasible > 0 && !inherits {
                answer = self.ask(parent, &recipe, inherits)?;
                if let Some(Err(error)) = &answer
                    && feasible_of(error).is_some()
                {
                    return fault("advice that is refused", error.to_string());
                }
            }
        }
        let eligible = self.eligible(&recipe);
        match answer {
            None => Ok(()),
            Some(Err(error)) => {
                self.refusals += 1;
                self.judge(&error, &recipe, &eligible, parent.is_some())
            }
            Some(Ok((record, planned))) => {
                self.extensions += usize::from(parent.is_some());
                let before = self.account.clone();
                self.account.plan(&recipe, eligible.values().flatten().copied());
                self.drawn.extend(planned.pinned.iter().flat_map(|of| of.documents()));
                let plan = LedgerPlan {
                    number: record.number,
                    planned,
                    recipe,
                    eligible,
                    epochs: Vec::new(),
                    before,
                };
                let plan = self.examine(plan)?;
                self.plan = Some(plan);
                Ok(())
            }
        }
    }

    /// Asks the library for a plan; nothing where the recipe contradicts itself.
    fn ask(
        &mut self,
        parent: Option<(u32, u64)>,
        recipe: &LedgerRecipe,
        inherits: bool,
    ) -> Result<Option<LedgerAnswer>, LedgerFault> {
        let snapshot = self.snapshot.as_ref().map(|of| of.name.as_str());
        let text = recipe.toml(snapshot, self.history.tokenizer, self.history.repeat);
        let read = match Recipe::parse(&text) {
            Ok(read) => read,
            Err(EpochError::Recipe(_)) => return Ok(None),
            Err(error) => return fault("recipe", format!("{error}\n{text}")),
        };
        let context = Context::new();
        Ok(Some(match parent {
            None => self.writer().plan(&read, &context),
            Some((number, row)) => {
                self.writer().extend(number, row, (!inherits).then_some(&read), &context)
            }
        }))
    }

    /// Whether a refusal is one that the account agrees with, and says a way that there is.
    fn judge(
        &self,
        error: &Error,
        recipe: &LedgerRecipe,
        eligible: &BTreeMap<String, BTreeSet<u64>>,
        extends: bool,
    ) -> Result<(), LedgerFault> {
        let words = error.to_string();
        if words.contains("tokens to 0") || words.contains("batch.rows = 0") {
            return fault("advice that no recipe may hold", words);
        }
        let dues: Vec<(u64, u64)> = recipe
            .sources
            .iter()
            .map(|of| self.account.due(&eligible[of.name], of.repeats * self.history.repeat))
            .collect();
        let everything_is_due = dues.iter().all(|(must, _)| *must > self.account.slack);
        let is_lossy = matches!(recipe.long, "truncate" | "drop") || recipe.partial == Some("drop");
        let is_allowed = match error.origin() {
            Some(EpochError::Infeasible { .. }) => recipe.budget.is_some() || recipe.kind == "none",
            Some(EpochError::Empty { why, .. }) if why.contains("after the snapshot") => {
                self.lacks_source(recipe)
            }
            Some(EpochError::Empty { .. }) => {
                !everything_is_due || is_lossy || matches!(recipe.unit, "loss-tokens" | "documents")
            }
            Some(EpochError::NoRows { .. }) => !recipe.batch.is_empty() || recipe.budget.is_some(),
            Some(EpochError::Purged { .. }) => self.drawn.iter().any(|id| self.purged.contains(id)),
            Some(EpochError::Recipe(why)) => {
                let replaces = self.plan.as_ref().is_some_and(|plan| plan.recipe.replaces());
                (extends && replaces && why.contains("replacement"))
                    || why.starts_with("order.curriculum")
                    // A budget of fewer units than there are sources.
                    || (recipe.budget.is_some() && why.contains("gets no share"))
                    // What is trained on may stand in what is cut off.
                    || (is_lossy && recipe.unit == "loss-tokens" && why.contains("gets no share"))
                    || !everything_is_due
            }
            Some(EpochError::PadNeeded { .. } | EpochError::Limit { .. }) => true,
            Some(EpochError::Unknown(_)) => self.lacks_source(recipe),
            _ => false,
        };
        let kind: String = words
            .split(' ')
            .filter(|word| !word.contains('`'))
            .take(8)
            .collect::<Vec<_>>()
            .join(" ");
        if is_allowed {
            Ok(())
        } else {
            fault(&format!("refused: {kind}"), format!("{words} (due {dues:?})"))
        }
    }

    // ----
    // Consumption.

    /// Takes rows of the plan under way: all of the epochs before, and the first ones of an epoch. Answers the row of
    /// the run behind them.
    fn consume(&mut self, epoch: u64, permille: usize) -> Result<Option<u64>, LedgerFault> {
        let Some(plan) = &self.plan else { return Ok(None) };
        let there: Vec<usize> =
            (0..plan.epochs.len()).filter(|at| !plan.epochs[*at].1.is_empty()).collect();
        let at = there[(epoch as usize).min(there.len() - 1)];
        let corpus = self.corpus();
        let opened = match corpus.epoch(&plan.planned, at as u64, &Context::new()) {
            Ok(opened) => opened,
            Err(error) => {
                let is_purged = matches!(error.origin(), Some(EpochError::Purged { .. }));
                let expected = self.drawn.iter().any(|id| self.purged.contains(id));
                return if is_purged && expected {
                    Ok(None)
                } else {
                    fault("plan cannot be opened", error.to_string())
                };
            }
        };
        let rows = &plan.epochs[at].1;
        let taken = rows.len() * permille / 1000;
        let row = match opened.run_row_after(taken as u64, &Context::new()) {
            Ok(row) => row,
            Err(error) => return fault("no row of the run", error.to_string()),
        };
        let mut consumed: Vec<&EpochRow> = plan.epochs[..at].iter().flat_map(|of| &of.1).collect();
        consumed.extend(&rows[..taken]);
        let real: Vec<EpochRow> =
            consumed.into_iter().filter(|row| row.source().is_some()).cloned().collect();
        let several = plan.recipe.sources.iter().any(|of| of.repeats > 1);
        if plan.recipe.drops() && several {
            let gap = row.saturating_sub(real.len() as u64);
            let last = if taken == rows.len() { 6 } else { 0 };
            self.account.slack += (gap + last) * capacity(&plan.recipe);
        }
        if plan.recipe.partial == Some("drop") {
            let passes: u64 = plan.recipe.sources.iter().map(|of| u64::from(of.repeats) + 1).sum();
            self.account.slack += 5 * passes * capacity(&plan.recipe);
        }
        self.account.give(&plan.recipe, &real);
        Ok(Some(row))
    }

    /// Reads what every source has left to its end, by an extension of this source alone: everything must have come.
    fn close(&mut self, row: u64, kind: &'static str, length: u64) -> Result<(), LedgerFault> {
        let Some(plan) = &self.plan else { return Ok(()) };
        if plan.recipe.replaces() {
            return Ok(());
        }
        let (number, recipe) = (plan.number, plan.recipe.clone());
        for source in recipe.sources.clone() {
            let alone = LedgerSource { weight: None, ..source.clone() };
            let mut closing = LedgerRecipe::plain(kind, length, vec![alone]);
            (closing.bos, closing.eos, closing.old) = (recipe.bos, recipe.eos, recipe.old);
            closing.cut_eos = recipe.eos && self.random.chance(30);
            (closing.min_tokens, closing.condition) = (recipe.min_tokens, recipe.condition);
            // More than there is; the refusal says how much that is.
            closing.budget = Some(1 << 40);
            let eligible = self.eligible(&closing);
            let documents = &eligible[source.name];
            let most = source.repeats * self.history.repeat;
            let (must, may) = self.account.due(documents, most);
            let answer = self.ask(Some((number, row)), &closing, false)?;
            let Some(Err(error)) = answer else {
                return fault("a budget beyond everything", format!("source `{}`", source.name));
            };
            let answer = match feasible(&error)? {
                Some(some) if some > 0 => {
                    closing.budget = Some(some);
                    self.ask(Some((number, row)), &closing, false)?
                }
                _ => Some(Err(error)),
            };
            let before = self.account.clone();
            let rows = match answer {
                None => return fault("recipe", "of a closing plan"),
                Some(Err(error)) => {
                    let is_purged = matches!(error.origin(), Some(EpochError::Purged { .. }));
                    let purged = self.drawn.iter().any(|id| self.purged.contains(id));
                    if must <= self.account.slack || (is_purged && purged) {
                        continue;
                    }
                    return fault(
                        "refused",
                        format!(
                            "closing `{}` of row {row}: {error} (due {must}, {may})",
                            source.name
                        ),
                    );
                }
                Some(Ok((_, planned))) => {
                    let corpus = self.corpus();
                    match corpus.epoch(&planned, 0, &Context::new()) {
                        Ok(epoch) => read_all(&epoch)?,
                        Err(error) => return fault("plan cannot be opened", error.to_string()),
                    }
                }
            };
            let mut after = before.clone();
            for row in &rows {
                after.check_row(&closing, &eligible, row)?;
            }
            after.give(&closing, &rows);
            if closing.cut_eos && kind == "concat" {
                // Passes count differently, and what all of them give together is relied on by whole tokens a pass.
                after.slack += u64::from(source.repeats);
            }
            after.check_all(&before, documents, most).map_err(|of| LedgerFault {
                kind: format!("closing: {}", of.kind),
                words: format!("closing `{}` after row {row}: {}", source.name, of.words),
            })?;
        }
        Ok(())
    }
}

fn feasible_of(error: &Error) -> Option<u64> {
    match error.origin() {
        Some(EpochError::Infeasible { feasible, .. }) => Some(*feasible),
        _ => None,
    }
}

/// The largest budget that a refusal says, which its words must name.
fn feasible(error: &Error) -> Result<Option<u64>, LedgerFault> {
    let Some(feasible) = feasible_of(error) else { return Ok(None) };
    if error.to_string().contains("tokens to 0") {
        return fault("advice that no recipe may hold", error.to_string());
    }
    Ok(Some(feasible))
}
