//! Asks about one pair after another.

use super::columns;
use crate::cli::print;
use corpusdb::contamination::SuiteVerdict;
use corpusdb::query::ReviewPair;
use std::io::BufRead;

/// What is typed.
enum Answer {
    Verdict(SuiteVerdict),
    Skip,
    Quit,
}

/// Shows the pairs, and hands each verdict to `store`, until all are shown, or no more answers come.
pub(super) fn each(
    pairs: &[ReviewPair],
    mut answers: impl BufRead,
    store: &mut dyn FnMut(&ReviewPair, SuiteVerdict) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for (number, pair) in (1..).zip(pairs) {
        columns::pair(pair)?;
        match answer(&format!("{number} of {}", pairs.len()), &mut answers)? {
            Answer::Verdict(verdict) => store(pair, verdict)?,
            Answer::Skip => {}
            Answer::Quit => break,
        }
    }
    Ok(())
}

fn answer(place: &str, answers: &mut impl BufRead) -> anyhow::Result<Answer> {
    loop {
        print::talk(&format!("{place}: a contaminated, r not, s skip, q quit?"));
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            return Ok(Answer::Quit);
        }
        match line.trim().to_lowercase().as_str() {
            "a" => return Ok(Answer::Verdict(SuiteVerdict::Accepted)),
            "r" => return Ok(Answer::Verdict(SuiteVerdict::Rejected)),
            "s" => return Ok(Answer::Skip),
            "q" => return Ok(Answer::Quit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(typed: &str, pairs: usize) -> Vec<(u64, SuiteVerdict)> {
        let pairs: Vec<ReviewPair> = (0..pairs as u64).map(columns::tests::pair).collect();
        let mut stored = Vec::new();
        each(&pairs, typed.as_bytes(), &mut |pair, verdict| {
            stored.push((pair.document, verdict));
            Ok(())
        })
        .unwrap();
        stored
    }

    #[test]
    fn answers_are_asked_for_until_one_is_understood() {
        use SuiteVerdict::{Accepted, Rejected};
        assert_eq!(decided("a\ns\nwhat?\n\nR\n", 3), [(0, Accepted), (2, Rejected)]);
        assert_eq!(decided("r\nq\na\n", 3), [(0, Rejected)]);
        assert_eq!(decided("a", 3), [(0, Accepted)]);
        assert_eq!(decided("", 1), []);
    }
}
