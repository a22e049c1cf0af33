//! What the figures mean, as an appendix would say it.

use super::super::print;
use corpusdb::tokenizer::analyse::AnalysisReport;

pub(super) fn section(report: &AnalysisReport) -> String {
    let unplaced: u64 =
        report.tokenizers.iter().map(|analysis| analysis.total.counts.unplaced_documents).sum();
    let unplaced = if unplaced == 0 {
        String::new()
    } else {
        format!(
            "<p class=\"warn\">Of {} documents the tokens could not be placed in the text: their words are not counted.</p>\n",
            print::number(unplaced)
        )
    };
    let terms: String = TERMS
        .iter()
        .map(|(term, meaning)| format!("<dt>{term}</dt><dd>{meaning}</dd>\n"))
        .collect();
    format!("<section>\n<h2>What the figures mean</h2>\n{unplaced}<dl>\n{terms}</dl>\n</section>\n")
}

const TERMS: &[(&str, &str)] = &[
    (
        "Word",
        "A segment of Unicode Standard Annex 29 with a letter or a digit in it. Scripts without spaces \
              have a word per character or syllable: compare tokenizers on one language, not languages.",
    ),
    (
        "Fertility",
        "Tokens that hold some of a word, over words, in running text. A token is of the first word \
                   that it holds some of and counts once; punctuation and spaces of their own are not counted.",
    ),
    (
        "Words in one token, words cut",
        "Share of the words that lie within one token (STRR), and that are spread over several.",
    ),
    (
        "Relative length",
        "Tokens over those of the reference on the same texts (normalised sequence length).",
    ),
    ("Cost of a byte, parity", "Tokens a byte, over that of the cheapest group."),
    (
        "Gini",
        "Of tokens a byte (or a character) over the groups, each counted once: 0 when all pay the same.",
    ),
    (
        "Rényi and Shannon efficiency",
        "Entropy of the ids in the sample over the logarithm of the number of ids.",
    ),
    (
        "Knee",
        "The size at which the curve, tokens over the size and both scaled to 1, is farthest below the line \
              between its ends (Kneedle): over the logarithm of the size, and over the size itself, its price. Both \
              depend on where the curve ends: they say where returns begin to fall, not what size to choose.",
    ),
    (
        "Price",
        "Ids times the width of the embedding; twice that when the output layer is not tied to it.",
    ),
    ("Reach", "Whether some text is encoded to the id. Special tokens are not: text is only text."),
];
