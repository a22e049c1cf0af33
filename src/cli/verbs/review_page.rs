//! Pairs as a page: items to the left, documents to the right, what both have marked.

use super::contamination_evidence::precision_sentence;
use crate::cli::page::document;
use crate::cli::page::html::{cut, escape, lines, name};
use corpusdb::contamination::{Excerpt, Precision};
use corpusdb::query::{ReviewPair, ReviewPart};

/// The page of pairs of a corpus called `of`.
pub(super) fn page(pairs: &[ReviewPair], estimates: &[(String, Precision)], of: &str) -> String {
    let mut opening = format!(
        "<p>{} of an item and a document that has it, by a rule on n-grams. What both have is marked.</p>\n",
        match pairs.len() {
            1 => "One pair".to_owned(),
            pairs => format!("{pairs} pairs"),
        }
    );
    for (suite, precision) in estimates {
        opening += &format!(
            "<p class=\"note\">{}</p>\n",
            escape(&precision_sentence(&cut(suite), precision))
        );
    }
    let sections: String = (1..).zip(pairs).map(|(number, pair)| section(number, pair)).collect();
    document(&format!("Test items in {}", cut(of)), &opening, &sections)
}

fn section(number: usize, pair: &ReviewPair) -> String {
    let verdict = pair.verdict.unwrap_or("no verdict");
    let weak = if pair.weak { ", the item says no answer" } else { "" };
    let parts: String = pair.parts.iter().map(part).collect();
    format!(
        "<section id=\"p{number}\" aria-labelledby=\"h{number}\">\n<h2 id=\"h{number}\">{} {} and document {}</h2>\n\
         <p class=\"note\">{} {}; score {:.3}{weak}; {verdict}</p>\n{parts}</section>\n",
        name(&pair.suite),
        name(&pair.item),
        pair.document,
        name(&pair.source),
        name(&pair.key),
        pair.score
    )
}

fn part(part: &ReviewPart) -> String {
    let enough = if part.enough { "" } else { "; not enough by itself" };
    format!(
        "<p>{}: score {:.3}, {} tokens, longest run {}{enough}</p>\n<div class=\"pair\">\n\
         <pre tabindex=\"0\" aria-label=\"item\">{}</pre>\n<pre tabindex=\"0\" aria-label=\"document\">{}</pre>\n</div>\n",
        escape(part.part),
        part.score,
        part.tokens,
        part.longest_run,
        marked(&part.asked),
        marked(&part.found)
    )
}

/// Pieces of a text; dots stand where something is left out.
fn marked(pieces: &[Excerpt]) -> String {
    let piece = |piece: &Excerpt| {
        let dots = |is_cut: bool| if is_cut { "…" } else { "" };
        let parts: String = piece
            .parts()
            .map(|(is_marked, text)| match is_marked {
                true => format!("<mark>{}</mark>", lines(text)),
                false => lines(text),
            })
            .collect();
        format!("{}{parts}{}", dots(piece.from > 0), dots(piece.more))
    };
    pieces.iter().map(piece).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_and_texts_are_escaped() {
        let hostile = "<script>alert(1)</script>\u{202e}\"'&";
        let mut excerpt = Excerpt::default();
        (excerpt.text, excerpt.marks) = (hostile.to_owned(), vec![(0, 8)]);
        let mut part = ReviewPart::default();
        (part.part, part.asked, part.found) = ("question", vec![excerpt.clone()], vec![excerpt]);
        let mut pair = ReviewPair::default();
        for field in [&mut pair.suite, &mut pair.item, &mut pair.source, &mut pair.key] {
            hostile.clone_into(field);
        }
        pair.parts = vec![part];
        let estimate = Precision::of(3, 1).unwrap();
        let page = page(&[pair], &[(hostile.to_owned(), estimate)], hostile);
        assert!(page.contains("<mark>&lt;script&gt;</mark>alert(1)"), "{page}");
        assert!(page.contains("precision 0.750 (95 % interval 0.301 to 0.954)"), "{page}");
        for bad in ["<script", "\u{202e}", "<img", "http://", "https://"] {
            assert!(!page.contains(bad), "{bad}: {page}");
        }
    }
}
