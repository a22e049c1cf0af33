//! One document among its duplicates, in text; differences of texts.

use super::super::print;
use super::line;
use corpusdb::duplicates::{ClosePair, DiffPart, DocumentDuplicates};

pub(super) fn print(found: &DocumentDuplicates) -> anyhow::Result<()> {
    print::line(&format!("document {}: {} (source {})", found.id, found.key, found.source))?;
    print::line(&format!("  standing: {}", found.standing))?;
    if let Some(successor) = found.successor {
        print::line(&format!("  the newer document of its key is {successor}"))?;
    }
    if let Some(close) = &found.witness {
        let pair = &close.pair;
        print::line(&format!(
            "  witness: document {}: {} (source {})",
            pair.witness, pair.witness_key, pair.witness_source
        ))?;
        print::line(&format!("  similarity: {}", similarity(close)))?;
        print::line(&format!("  {}", bands(close, found.bands)))?;
        diff(close)?;
    }
    let Some(cluster) = &found.cluster else {
        return Ok(());
    };
    if cluster.members.is_empty() && cluster.size == 1 {
        return print::line("  it matched nothing and removed nothing");
    }
    print::line(&format!(
        "  cluster {} of {} documents, kept: {} (source {})",
        cluster.id,
        print::number(cluster.size),
        cluster.key,
        cluster.source
    ))?;
    for member in &cluster.members {
        print::line(&format!("    {}, {}", line(&member.pair), bands(member, found.bands)))?;
        if member.pair.id != found.id {
            diff(member)?;
        }
    }
    let listed = u64::try_from(cluster.members.len()).unwrap_or(u64::MAX);
    let left = cluster.size.saturating_sub(1).saturating_sub(listed);
    if left > 0 {
        print::talk(&format!("{} more members; --limit N lists more", print::number(left)));
    }
    Ok(())
}

fn similarity(close: &ClosePair) -> String {
    let pair = &close.pair;
    if pair.kind == "exact" {
        return "equal bytes".to_owned();
    }
    format!(
        "{:.4}{}; it shares {:.1} % of its own shingles and {:.1} % of the witness's",
        pair.jaccard,
        close.estimate.map(|estimate| format!(" (estimated {estimate:.3})")).unwrap_or_default(),
        pair.containment_removed * 100.0,
        pair.containment_witness * 100.0
    )
}

fn bands(close: &ClosePair, all: u32) -> String {
    if close.estimate.is_none() {
        return "no bands: matched as a whole".to_owned();
    }
    let shared = close.shared_bands.len();
    let listed: Vec<String> = close.shared_bands.iter().map(u8::to_string).collect();
    match shared {
        0 => format!("0 of {all} bands shared"),
        _ if shared == usize::try_from(all).unwrap_or(usize::MAX) => {
            format!("all {all} bands shared")
        }
        _ => format!("{shared} of {all} bands shared: {}", listed.join(" ")),
    }
}

fn diff(close: &ClosePair) -> anyhow::Result<()> {
    close.diff.as_ref().map_or(Ok(()), |parts| print_diff(parts))
}

/// Words only in the witness as [-word-], words only in the duplicate as {+word+}; colours on a terminal.
pub(super) fn print_diff(parts: &[DiffPart]) -> anyhow::Result<()> {
    let colour = print::has_colours();
    let (minus, plus) = if colour {
        (("\x1b[31m[-", "-]\x1b[0m"), ("\x1b[32m{+", "+}\x1b[0m"))
    } else {
        (("[-", "-]"), ("{+", "+}"))
    };
    let text: String = parts
        .iter()
        .map(|part| match part {
            DiffPart::Same(text) => shorten(text),
            DiffPart::Removed(text) => format!("{}{text}{}", minus.0, minus.1),
            DiffPart::Added(text) => format!("{}{text}{}", plus.0, plus.1),
        })
        .collect();
    for line in text.lines() {
        print::line(&format!("    {line}"))?;
    }
    Ok(())
}

/// A long stretch that both texts have, as its beginning and end.
fn shorten(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    match lines.as_slice() {
        [first, .., last] if lines.len() > 6 => {
            format!("{first}… {} equal lines …\n{last}", lines.len() - 2)
        }
        _ => text.to_owned(),
    }
}
