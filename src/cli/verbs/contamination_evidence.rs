//! Prints evidence of a suite in a document for people: as a table, or with the texts.

use crate::cli::columns::first_characters;
use crate::cli::output::Output;
use corpusdb::Corpus;
use corpusdb::show::one_line;
use corpusdb::sql::ItemEvidence;
use serde::Serialize;

/// The verdict of the rule, which nobody has looked at.
const CONTAMINATED: &str = "contaminated";
/// Characters of an item or a quotation that are shown.
const SHOWN: usize = 400;

/// Evidence with the text of its item.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Evidence")]
pub(super) struct ShownEvidence {
    #[serde(flatten)]
    evidence: ItemEvidence,
    #[serde(skip)]
    item: Option<String>,
}

impl ShownEvidence {
    pub(super) fn of(evidence: ItemEvidence, corpus: &Corpus) -> anyhow::Result<Self> {
        let item = corpus.suite_item(&evidence.suite, &evidence.item)?;
        let item = item.map(|item| item.text(evidence.item_text()).to_owned());
        Ok(Self { evidence, item })
    }

    /// Prints a line of figures, then the item, then what the document has of it.
    pub(super) fn print(&self, out: &mut Output) {
        let Self { evidence: one, item } = self;
        let place = one.document.map_or_else(String::new, |id| format!(" in document {id}"));
        out.line(format!(
            "{} {} ({}){place}: score {:.3}, {} tokens, longest run {}, {} of {} n-grams; {}",
            one.suite,
            one.item,
            one.item_text(),
            one.score,
            one.tokens,
            one.longest_run,
            one.matched,
            one.grams,
            verdict(one)
        ));
        if let Some(item) = item {
            out.line(format!("  item: {}", shown(item)));
        }
        for ((start, end), quote) in one.spans.iter().zip(&one.quotes) {
            out.line(format!("  bytes {start} to {end}: {}", shown(quote)));
        }
    }
}

/// Prints evidence as a table, a row each.
pub(super) fn print_table(found: &[ItemEvidence], out: &mut Output) {
    if found.is_empty() {
        return;
    }
    let row = |one: &ItemEvidence| {
        vec![
            one.item.clone(),
            one.item_text().to_string(),
            one.document.map(|document| document.to_string()).unwrap_or_default(),
            one.key.clone().unwrap_or_default(),
            format!("{:.3}", one.score),
            one.tokens.to_string(),
            one.longest_run.to_string(),
            verdict(one).to_owned(),
        ]
    };
    let head = ["item", "part", "document", "key", "score", "tokens", "longest run", "verdict"];
    // Before a review, and without weak items, every row says the same.
    let shown = head.len() - usize::from(found.iter().all(|one| verdict(one) == CONTAMINATED));
    out.table(head.split_at(shown).0, found.iter().map(row));
}

fn verdict(one: &ItemEvidence) -> &'static str {
    match (one.contaminated, one.weak) {
        (false, _) if one.verdict == Some("rejected") => "rejected",
        (true, _) if one.verdict.is_some() => "contaminated, accepted",
        (true, false) => CONTAMINATED,
        (true, true) => "contaminated, weak (the item has no answer)",
        (false, _) => "not enough",
    }
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let head = first_characters(text, SHOWN).replace(char::is_whitespace, " ");
    one_line(&head).into_owned()
}
