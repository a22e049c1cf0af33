//! Where documents longer than a row are cut: after a paragraph, else after a line, else when the row is
//! full.

use crate::epoch::error::EpochError;
use crate::epoch::lengths::LengthReader;
use crate::epoch::pack::{PackPolicy, Segment};
use crate::model::DocId;
use rayon::prelude::*;

/// Tells where the tokens of a text end. Implemented by what knows the tokenizer.
pub trait TokenAligner: Sync {
    /// For each token of `text`, the byte where it ends; none when the tokens of the text are not those
    /// that are stored for `document`.
    ///
    /// # Errors
    /// What the tokenizer says.
    fn ends(&self, document: DocId, text: &str) -> Result<Option<Vec<u32>>, String>;
}

/// The fragments of a document of effective `length`, each within a row. A document whose tokens cannot be aligned with
/// its text is cut when the row is full.
///
/// # Errors
/// [`EpochError::Bug`] when the tokenizer fails; [`EpochError::Store`].
pub(super) fn fragments(
    lengths: &LengthReader,
    ends: &dyn TokenAligner,
    policy: &PackPolicy,
    (document, length): (DocId, u32),
) -> Result<Vec<Segment>, EpochError> {
    let text = lengths.corpora.text(document)?;
    let ends = ends
        .ends(document, &text)
        .map_err(|why| EpochError::bug(format!("aligning document {document}: {why}")))?
        .unwrap_or_default();
    let breaks = breaks(&text, &ends, u32::from(policy.bos));
    let mut fragments = Vec::new();
    let mut offset = 0;
    while offset < length {
        let rest = length - offset;
        let fits = rest <= policy.capacity;
        let taken = if fits { rest } else { cut(&breaks, offset, policy.step()) };
        fragments.push(Segment { document, offset, length: taken, document_length: length });
        offset += taken;
    }
    Ok(fragments)
}

/// Cuts documents of given lengths on all threads, since each is encoded for it; what they give is in their order.
pub(super) fn in_order<T: Send>(
    documents: &[(DocId, u32)],
    cut: impl Fn((DocId, u32)) -> Result<T, EpochError> + Sync,
) -> Result<Vec<T>, EpochError> {
    documents.par_iter().map(|document| cut(*document)).collect()
}

/// A place to cut, and whether a paragraph ends there; a line ends at every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParagraphBreak {
    /// Tokens of the effective sequence before it.
    at: u32,
    paragraph: bool,
}

fn breaks(text: &str, ends: &[u32], shift: u32) -> Vec<ParagraphBreak> {
    let bytes = text.as_bytes();
    let mut breaks: Vec<ParagraphBreak> = Vec::new();
    let mut token = 0;
    let mut at = 0;
    while let Some(line) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'\n')) {
        let first = at + line;
        let run = bytes
            .get(first..)
            .map_or(0, |rest| rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count());
        let lines = bytes.get(first..first + run).unwrap_or_default();
        let paragraph = lines.iter().filter(|byte| **byte == b'\n').count() > 1;
        at = first + run.max(1);
        // The first token that ends at or after the break.
        token +=
            ends.get(token..).map_or(0, |rest| rest.partition_point(|end| (*end as usize) < at));
        let Ok(after) = u32::try_from(token + 1) else { break };
        match breaks.last_mut().filter(|last| last.at == after + shift) {
            Some(last) => last.paragraph |= paragraph,
            None if token < ends.len() => {
                breaks.push(ParagraphBreak { at: after + shift, paragraph })
            }
            None => break,
        }
    }
    breaks
}

/// Tokens to take from `offset`: to the last paragraph within a row, else the last line, else a row.
fn cut(breaks: &[ParagraphBreak], offset: u32, capacity: u32) -> u32 {
    let from = breaks.partition_point(|found| found.at <= offset);
    let to = breaks.partition_point(|found| found.at <= offset + capacity);
    let within = breaks.get(from..to).unwrap_or_default();
    let paragraph = within.iter().rev().find(|found| found.paragraph);
    paragraph.or(within.last()).map_or(capacity, |found| found.at - offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// One token a byte.
    fn cuts(text: &str, capacity: u32, bos: bool) -> Vec<u32> {
        let ends: Vec<u32> = (1..=text.len() as u32).collect();
        let breaks = breaks(text, &ends, u32::from(bos));
        let length = text.len() as u32 + u32::from(bos);
        let (mut offset, mut found) = (0, Vec::new());
        while offset < length {
            let rest = length - offset;
            let taken = if rest <= capacity { rest } else { cut(&breaks, offset, capacity) };
            found.push(taken);
            offset += taken;
        }
        found
    }

    #[test]
    fn rows_end_with_paragraphs_then_lines_then_anywhere() {
        assert_eq!(cuts("aaa\n\nbb\ncc\n\ndddd", 9, false), [5, 7, 4]);
        assert_eq!(cuts("aaa\nbb\ncc\ndddd", 8, false), [7, 7]);
        assert_eq!(cuts("aaaaaaaaaa", 4, false), [4, 4, 2]);
        assert_eq!(cuts("aaa\n\nbb\n\ncccc", 6, true), [6, 4, 4]);
        assert_eq!(cuts("aaa\r\n\r\nbb", 7, false), [7, 2]);
    }

    /// They were encoded one after the other, however many threads there were.
    #[test]
    fn documents_are_cut_on_several_threads_and_stay_in_order() {
        let documents: Vec<(DocId, u32)> = (0..64).map(|n| (DocId(n), 64 - n as u32)).collect();
        let (met, changed) = (Mutex::new(0_u32), Condvar::new());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let cut = pool.install(|| {
            in_order(&documents, |(document, length)| {
                // The first waits until another thread has begun on one.
                let mut begun = met.lock().unwrap();
                *begun += 1;
                changed.notify_all();
                let limit = Duration::from_secs(60);
                let waited = changed.wait_timeout_while(begun, limit, |begun| *begun < 2).unwrap();
                assert!(!waited.1.timed_out());
                Ok((document, length))
            })
        });
        assert_eq!(cut.unwrap(), documents);
    }
}
