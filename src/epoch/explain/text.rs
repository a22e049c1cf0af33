//! Formats an explanation as the command prints it.

use super::{Explanation, Padding, SourceExplanation};
use crate::epoch::planning::LeftOut;
use model::invariant::text_part;
use model::show::{count, number, size};
use std::fmt;

/// Sources of the corpus that are named where a source draws from many.
const NAMED: usize = 24;

impl fmt::Display for Explanation {
    #[expect(clippy::too_many_lines, reason = "one page, from its top to its end")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "plan {}  snapshot {}{}  tokenizer {}  rows of {}",
            text_part(&self.plan, ..12),
            self.snapshot,
            if self.snapshot_dropped { " (dropped)" } else { "" },
            self.tokenizer,
            self.capacity
        )?;
        write_table(f, &self.table())?;
        for source in self.sources.iter().filter(|source| !source.draws_from.is_empty()) {
            write_origins(f, source)?;
        }
        writeln!(
            f,
            "epoch{}: {} rows, {} real tokens, {} {} asked, packed {}, padding {:.4} %, {} within max_repeats",
            match self.epoch {
                0 => String::new(),
                epoch => format!(" {epoch}, the first whose rows fill a batch"),
            },
            number(self.rows),
            number(self.tokens),
            number(self.budget),
            self.unit,
            percent(self.efficiency),
            self.padding_percent,
            match self.epochs {
                // Documents are drawn with replacement.
                u64::MAX => "any number of epochs".to_owned(),
                epochs => count(epochs, "epoch", "epochs"),
            }
        )?;
        writeln!(
            f,
            "ids: {} before compression, about {:.0} s at 150 MB/s",
            size(self.id_bytes),
            self.build_seconds
        )?;
        if let Some(padding) = &self.batch_padding {
            draw(f, padding)?;
        }
        write!(f, "{}", self.document_padding)?;
        let partial = self.sources.iter().filter(|source| source.partial_tokens > 0);
        for source in partial {
            writeln!(
                f,
                "{}: {} tokens at the end of a pass do not fill a row and are left out",
                source.name,
                number(source.partial_tokens)
            )?;
        }
        self.sources.iter().try_for_each(|source| write_left_out(f, source))?;
        self.sources.iter().try_for_each(|source| write_repeats(f, source))?;
        writeln!(f, "{}", self.loss())?;
        if let Some(labels) = &self.labels {
            write!(f, "{labels}")?;
        }
        if let Some(doubled) = &self.special_repeats {
            write!(f, "{doubled}")?;
        }
        for (source, templates) in &self.mixed_templates {
            writeln!(f, "{source}: texts of {templates} chat templates")?;
        }
        if let Some(undecided) = self.undecided_documents {
            let undecided = count(undecided, "document is", "documents are");
            writeln!(f, "holdout: {undecided} on neither side")?;
        }
        for (ranks, most) in &self.balance {
            writeln!(f, "balance over {ranks} ranks: the costliest has {most:.4} times the mean")?;
        }
        match (self.batches, self.left_out_tokens) {
            (Some(batches), tokens) => {
                let rows = number(self.left_out_rows);
                write!(f, "steps: {}, {rows} rows left out", number(batches))?;
                if tokens > 0 {
                    write!(f, " ({} tokens)", number(tokens))?;
                }
            }
            (None, _) => {
                let of = |(rows, steps): &(u64, u64)| format!("{} of {rows} rows", number(*steps));
                write!(f, "steps: {}", self.steps.iter().map(of).collect::<Vec<_>>().join(", "))?;
            }
        }
        if let Some(grouping) = &self.grouping {
            write!(f, "\n\n{grouping}")?;
        }
        if let Some(sweep) = &self.sweep {
            write!(f, "\n\n{sweep}")?;
        }
        Ok(())
    }
}

/// Writes the sources of the corpus that a source draws from, by name if they are few.
fn write_origins(f: &mut fmt::Formatter<'_>, source: &SourceExplanation) -> fmt::Result {
    let names = source.draws_from.iter().take(NAMED).map(String::as_str);
    let names = names.collect::<Vec<_>>().join(", ");
    let more = match source.draws_from.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    writeln!(f, "{} draws from {}: {names}{more}", source.name, source.draws_from.len())
}

/// What of a source is cut, drawn beside what is kept, or left out, and which rows end early, a line each.
fn write_left_out(f: &mut fmt::Formatter<'_>, source: &SourceExplanation) -> fmt::Result {
    if source.segment_full_rows > 0 {
        writeln!(
            f,
            "{}: {} of {} rows of a pass have as many segments as pack.most_segments allows, and places left",
            source.name,
            number(source.segment_full_rows),
            number(source.pass_rows)
        )?;
    }
    if source.cut_without_eos > 0 {
        writeln!(
            f,
            "{}: {} cut and end without their EOS there: readers that find documents by it take two for one",
            source.name,
            count(source.cut_without_eos, "document is", "documents are")
        )?;
    }
    if let Some(near) = &source.near_duplicates {
        writeln!(
            f,
            "{}: + {} of {}, {} tokens (select.per_cluster)",
            source.name,
            count(near.documents, "near duplicate", "near duplicates"),
            count(near.clusters, "cluster", "clusters"),
            number(near.tokens)
        )?;
    }
    for LeftOut { reason, documents, tokens } in &source.left_out {
        writeln!(
            f,
            "{}: left out {} of {} tokens, {}",
            source.name,
            count(*documents, "document", "documents"),
            number(*tokens),
            reason.words()
        )?;
    }
    Ok(())
}

/// What of a source comes more than once, in the epoch and in all passes, where anything does.
fn write_repeats(f: &mut fmt::Formatter<'_>, source: &SourceExplanation) -> fmt::Result {
    let Some(repeats) = &source.repeats else { return Ok(()) };
    for (of, when) in [(repeats.epoch, "in the epoch"), (repeats.passes, "in all passes")] {
        if of.near_documents == 0 {
            continue;
        }
        write!(
            f,
            "{}: {} more than once {when}, {} again",
            source.name,
            count(of.documents, "document comes", "documents come"),
            count(of.tokens, "token", "tokens")
        )?;
        if (of.near_documents, of.near_tokens) != (of.documents, of.tokens) {
            write!(
                f,
                "; with near copies as one document {}, {} again",
                number(of.near_documents),
                count(of.near_tokens, "token", "tokens")
            )?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// What grouping does, as bars of 50 signs.
fn draw(f: &mut fmt::Formatter<'_>, padding: &Padding) -> fmt::Result {
    writeln!(f, "padding to the longest row of each batch, over {} rows:", padding.rows)?;
    let now = if padding.ungrouped_percent.is_some() { "grouped" } else { "batches" };
    let bars = padding.ungrouped_percent.map(|percent| ("as they come", percent));
    for (name, percent) in bars.into_iter().chain([(now, padding.percent)]) {
        // At most 100 percent, so the cast keeps it.
        let pads = (percent / 2.0).round().clamp(0.0, 50.0) as usize;
        let bar = format!("{}{}", "#".repeat(50 - pads), ".".repeat(pads));
        writeln!(f, "  {name:<12}  {bar}  {percent:.2} % pads")?;
    }
    Ok(())
}

impl Explanation {
    /// The sources, a line each, under a line of headings.
    fn table(&self) -> Vec<Vec<String>> {
        let header = [
            "source",
            "documents",
            "tokens",
            "rows",
            "real",
            "passes",
            "packed",
            "dropped",
            "cut",
            "unused",
            "asked",
            "gets",
        ];
        let mut lines: Vec<Vec<String>> =
            vec![header.iter().map(|word| (*word).to_owned()).collect()];
        for source in &self.sources {
            lines.push(vec![
                source.name.clone(),
                number(source.documents),
                number(source.tokens + source.specials_added),
                number(source.rows),
                number(source.epoch_tokens),
                format!("{:.3}", source.passes),
                percent(source.efficiency),
                number(source.dropped_tokens),
                number(source.truncated_tokens + source.lone_eos + source.partial_tokens),
                number(source.unused_tokens),
                percent(source.asked_share),
                percent(source.achieved_share),
            ]);
        }
        lines
    }

    /// What is trained on, as a line.
    fn loss(&self) -> String {
        let tokens: u64 = self.sources.iter().map(|source| source.tokens).sum();
        let said = format!(
            "{} of {} stored tokens untrained, {} with a weight other than 1",
            number(self.untrained_tokens),
            number(tokens),
            number(self.weighted_tokens)
        );
        match (self.untrained_tokens + self.weighted_tokens, self.ignore_loss) {
            (0, _) => "loss: every token is trained on equally".to_owned(),
            (_, false) => format!("loss: by the masks and weights of documents, {said}"),
            (_, true) => format!(
                "loss: every token is trained on equally, and masks and weights of documents are ignored ({said})"
            ),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.4} %", share * 100.0)
}

/// Columns aligned, the first to the left and the others to the right.
pub(super) fn write_table(f: &mut fmt::Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for line in lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0 => write!(f, "{cell:<width$}")?,
                _ => write!(f, "  {cell:>width$}")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}
