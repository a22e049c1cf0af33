//! Evidence, for people.

use crate::cli::print;
use corpusdb::Corpus;
use corpusdb::query::ItemEvidence;

/// Characters of an item or a quotation that are shown.
const SHOWN: usize = 400;

/// One after another, a line each.
pub(super) fn table(found: &[ItemEvidence]) -> anyhow::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let row = |one: &ItemEvidence| {
        vec![
            one.item.clone(),
            one.part.to_owned(),
            one.document.map(|document| document.to_string()).unwrap_or_default(),
            format!("{:.3}", one.score),
            one.tokens.to_string(),
            one.longest_run.to_string(),
            verdict(one).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    print::table(&["item", "part", "document", "score", "tokens", "longest run", "verdict"], &rows)
}

/// One with the text of the item, and what stands in the document.
pub(super) fn evidence(corpus: &Corpus, one: &ItemEvidence) -> anyhow::Result<()> {
    let place =
        one.document.map_or_else(String::new, |document| format!(" in document {document}"));
    print::line(&format!(
        "{} {} ({}){place}: score {:.3}, {} tokens, longest run {}, {} of {} n-grams; {}",
        one.suite,
        one.item,
        one.part,
        one.score,
        one.tokens,
        one.longest_run,
        one.matched,
        one.grams,
        verdict(one)
    ))?;
    if let Some(item) = corpus.suite_item(&one.suite, &one.item)? {
        let part = corpusdb::contamination::SuitePart::ALL.into_iter();
        let text = part.filter(|part| part.name() == one.part).map(|part| item.part(part)).next();
        print::line(&format!("  item: {}", shown(text.unwrap_or_default())))?;
    }
    for ((start, end), quote) in one.spans.iter().zip(&one.quotes) {
        print::line(&format!("  bytes {start} to {end}: {}", shown(quote)))?;
    }
    Ok(())
}

fn verdict(one: &ItemEvidence) -> &'static str {
    match (one.contaminated, one.weak) {
        (false, _) if one.verdict == Some("rejected") => "rejected",
        (true, _) if one.verdict.is_some() => "contaminated, accepted",
        (true, false) => "contaminated",
        (true, true) => "contaminated, weak (the item says no answer)",
        (false, _) => "not enough",
    }
}

/// On one line, cut, without what a terminal would obey.
fn shown(text: &str) -> String {
    let plain = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        other if other.is_control() => '\u{fffd}',
        other => other,
    };
    let mut shown: String = text.chars().take(SHOWN).map(plain).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str(" ..");
    }
    shown
}
