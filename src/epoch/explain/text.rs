//! Formats an explanation as the command and Python print it: on one screen, or whole.

use super::{Explanation, Padding, SourceExplanation};
use model::invariant::text_part;
use model::show::{count, listed, number, short, size};
use std::collections::BTreeMap;
use std::fmt;

/// Columns of a terminal that the tables fit into.
const WIDTH: usize = 80;
/// Sources of the corpus that are named where a source draws from many, and those of all where the answer is whole.
const NAMED: usize = 4;
/// Sources of the plan with a line of their own, where the answer is not whole.
const SOURCES: usize = 12;
/// Columns of the name of a source, at least.
const NARROWEST: usize = 12;

impl fmt::Display for Explanation {
    /// The answer of one screen; with `#` all sources and all columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        let tables = match f.alternate() {
            true => split(&self.table(true, number)),
            false => vec![self.fitting_table()],
        };
        for table in &tables {
            writeln!(f)?;
            write_table(f, table)?;
        }
        writeln!(f)?;
        if let Some(padding) = &self.batch_padding {
            draw(f, padding)?;
        }
        let mut before = "";
        for (at, (label, text)) in self.lines(f.alternate()).into_iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            write!(f, "{end}{:<9} {text}", if label == before { "" } else { label })?;
            before = label;
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

impl Explanation {
    /// The plan and the size of its epoch, in two lines.
    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plan, rows) = (text_part(&self.plan, ..12), count(self.rows, "row", "rows"));
        write!(f, "plan {plan}   {rows} of {}", number(self.capacity.into()))?;
        if let Some(batches) = self.batches {
            write!(f, "   {}", count(batches, "step", "steps"))?;
            if let Some(0) = self.rows.checked_rem(batches) {
                write!(f, " of {}", number(self.rows / batches))?;
            }
        }
        match self.batch_padding {
            Some(_) => write!(f, "   {} pads", percent(self.padding_percent / 100.0))?,
            None => write!(f, "   {} full", percent(self.efficiency))?,
        }
        writeln!(f)?;
        let total = |of: fn(&SourceExplanation) -> u64| number(self.sources.iter().map(of).sum());
        let asked = match self.unit.as_str() {
            "tokens" => format!(" of {} asked", number(self.budget)),
            unit => format!(", {} {unit} asked", number(self.budget)),
        };
        writeln!(
            f,
            "{} real tokens{asked}   {} dropped   {} cut",
            number(self.tokens),
            total(|source| source.dropped_tokens),
            total(SourceExplanation::cut)
        )
    }

    /// The sources as a table that fits: with short figures and the ends of names, where it must.
    fn fitting_table(&self) -> Vec<Vec<String>> {
        let width =
            |table: &[Vec<String>]| widths(table).iter().map(|width| width + 2).sum::<usize>() - 2;
        let mut table = self.table(false, number);
        if width(&table) > WIDTH {
            table = self.table(false, short);
        }
        let names = widths(&table).first().copied().unwrap_or(0);
        let most = names.saturating_sub(width(&table).saturating_sub(WIDTH)).max(NARROWEST);
        for name in table.iter_mut().filter_map(|line| line.first_mut()) {
            let longer = name.chars().count().saturating_sub(most);
            if longer > 0 {
                *name = format!("…{}", name.chars().skip(longer + 1).collect::<String>());
            }
        }
        table
    }

    /// The sources, a line each, under a line of headings. Unless it is whole, counts that are 0 everywhere, shares of
    /// a single source and sources behind the first are left out.
    fn table(&self, whole: bool, shown: fn(u64) -> String) -> Vec<Vec<String>> {
        let sources = self.sources.as_slice();
        let own = if whole || sources.len() <= SOURCES + 1 { sources.len() } else { SOURCES };
        let (own, more) = sources.split_at(own);
        let lines: Vec<&[SourceExplanation]> =
            own.chunks(1).chain((!more.is_empty()).then_some(more)).collect();
        let each = |cell: &dyn Fn(&[SourceExplanation]) -> String| -> Vec<String> {
            lines.iter().map(|line| cell(line)).collect()
        };
        let counts =
            |of: fn(&SourceExplanation) -> u64| each(&|line| shown(line.iter().map(of).sum()));
        let shares =
            |of: fn(&SourceExplanation) -> f64| each(&|line| percent(line.iter().map(of).sum()));
        let own = |of: fn(&SourceExplanation) -> String| {
            each(&|line| match line {
                [source] => of(source),
                _ => String::new(),
            })
        };
        let any = |of: fn(&SourceExplanation) -> u64| whole || sources.iter().any(|it| of(it) > 0);
        let unused = |source: &SourceExplanation| source.unused_tokens;
        let dropped = |source: &SourceExplanation| source.dropped_tokens;
        let several = whole || sources.len() > 1;
        let name = |line: &[SourceExplanation]| match line {
            [source] => source.name.clone(),
            more => format!("{} more", more.len()),
        };
        let columns = [
            ("source", true, each(&name)),
            ("documents", true, counts(|source| source.documents)),
            ("tokens", whole, counts(|source| source.tokens + source.specials_added)),
            ("rows", true, counts(|source| source.rows)),
            ("real", true, counts(|source| source.epoch_tokens)),
            ("passes", true, own(|source| format!("{:.3}", source.passes))),
            ("packed", whole, own(|source| percent(source.efficiency))),
            ("gets", several, shares(|source| source.achieved_share)),
            ("asked", several, shares(|source| source.asked_share)),
            ("unused", any(unused), counts(unused)),
            ("dropped", any(dropped), counts(dropped)),
            ("cut", any(SourceExplanation::cut), counts(SourceExplanation::cut)),
        ];
        let mut table = vec![Vec::new(); lines.len() + 1];
        for (head, _, cells) in columns.into_iter().filter(|(_, is_shown, _)| *is_shown) {
            let cells = std::iter::once(head.to_owned()).chain(cells);
            table.iter_mut().zip(cells).for_each(|(line, cell)| line.push(cell));
        }
        table
    }

    /// What else there is to know, a line each with its label; notes of all sources in one.
    fn lines(&self, whole: bool) -> Vec<(&'static str, String)> {
        let mut lines = vec![("drawn", self.drawn())];
        if self.epoch > 0 {
            let text = format!("{}, the first whose rows fill a batch", self.epoch);
            lines.push(("epoch", text));
        }
        let named = if whole { usize::MAX } else { NAMED };
        for source in self.sources.iter().filter(|source| !source.draws_from.is_empty()) {
            lines.push(("", origins(source, named)));
        }
        lines.extend(self.left_out().into_iter().map(|text| ("left out", text)));
        lines.extend(self.repeats().into_iter().map(|text| ("repeats", text)));
        lines.extend(self.loss().map(|text| ("loss", text)));
        lines.push(("padding", self.document_padding.to_string()));
        if !self.balance.is_empty() {
            let of = |(ranks, most): &(u64, f64)| format!("{most:.4} of {ranks}");
            let all: Vec<String> = self.balance.iter().map(of).collect();
            let text = format!("the costliest rank has {} times the mean", all.join(", "));
            lines.push(("balance", text));
        }
        if self.batches.is_none() {
            let of = |(rows, steps): &(u64, u64)| format!("{} of {rows} rows", number(*steps));
            let steps = self.steps.iter().filter(|(_, steps)| *steps > 0).map(of);
            let steps: Vec<String> = steps.collect();
            lines.extend((!steps.is_empty()).then(|| ("steps", steps.join(", "))));
        }
        let mut files = format!("{} of ids before compression", size(self.id_bytes));
        if self.build_seconds >= 1.0 {
            files += &format!(", about {:.0} s at 150 MB/s", self.build_seconds);
        }
        lines.push(("files", files));
        lines.extend(self.notes().into_iter().map(|text| ("note", text)));
        lines
    }

    fn drawn(&self) -> String {
        let dropped = if self.snapshot_dropped { " (dropped)" } else { "" };
        let epochs = match self.epochs {
            // Documents are drawn with replacement.
            u64::MAX => "any number of epochs".to_owned(),
            epochs => format!("{} within max_repeats", count(epochs, "epoch", "epochs")),
        };
        format!("from snapshot {}{dropped}, tokens of {}, {epochs}", self.snapshot, self.tokenizer)
    }

    /// The sum over the sources, and of which they are where the plan has others; none where there is nothing.
    fn total(&self, of: impl Fn(&SourceExplanation) -> u64) -> Option<(u64, String)> {
        let some: Vec<&str> =
            self.sources.iter().filter(|it| of(it) > 0).map(|it| it.name.as_str()).collect();
        let whose = match some.len() {
            0 => return None,
            _ if self.sources.len() == 1 => String::new(),
            1..=3 => format!(" of {}", listed(&some)),
            many => format!(" of {many} sources"),
        };
        Some((self.sources.iter().map(of).sum(), whose))
    }

    /// Documents and tokens of all sources that are left out, by the words of the reason.
    pub(crate) fn left_out_by_reason(&self) -> BTreeMap<&'static str, (u64, u64)> {
        let mut reasons: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for of in self.sources.iter().flat_map(|source| &source.left_out) {
            let (documents, tokens) = reasons.entry(of.reason.words()).or_default();
            *documents += of.documents;
            *tokens += of.tokens;
        }
        reasons
    }

    /// What the epoch does not draw, by reason, and what fills no row and no batch.
    fn left_out(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .left_out_by_reason()
            .into_iter()
            .map(|(reason, (documents, tokens))| {
                let documents = count(documents, "document", "documents");
                format!("{documents} of {} tokens, {reason}", number(tokens))
            })
            .collect();
        if let Some((tokens, whose)) = self.total(|source| source.partial_tokens) {
            let tokens = number(tokens);
            lines.push(format!("{tokens} tokens at the end of a pass{whose}, which fill no row"));
        }
        if self.left_out_rows > 0 {
            let rows = count(self.left_out_rows, "row", "rows");
            let tokens = number(self.left_out_tokens);
            lines.push(format!("{rows} of {tokens} tokens, which fill no batch"));
        }
        lines
    }

    /// What comes more than once, in the epoch and in all passes, where anything does.
    fn repeats(&self) -> Vec<String> {
        let (mut in_epoch, mut in_passes) = ([0; 4], [0; 4]);
        for of in self.sources.iter().filter_map(|source| source.repeats) {
            for (sums, of) in [(&mut in_epoch, of.epoch), (&mut in_passes, of.passes)] {
                let counts = [of.documents, of.tokens, of.near_documents, of.near_tokens];
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        }
        let mut lines = Vec::new();
        for (sums, when) in [(in_epoch, "in the epoch"), (in_passes, "in all passes")] {
            let [documents, tokens, near_documents, near_tokens] = sums;
            if near_documents == 0 {
                continue;
            }
            let again = |tokens| count(tokens, "token", "tokens");
            let documents_come = count(documents, "document comes", "documents come");
            let mut text =
                format!("{documents_come} more than once {when}, {} again", again(tokens));
            if (near_documents, near_tokens) != (documents, tokens) {
                text += &format!(
                    "; with near copies as one document {}, {} again",
                    number(near_documents),
                    again(near_tokens)
                );
            }
            lines.push(text);
        }
        lines
    }

    /// What is trained on, unless every token is, and equally.
    fn loss(&self) -> Option<String> {
        if self.untrained_tokens + self.weighted_tokens == 0 {
            return None;
        }
        let tokens: u64 = self.sources.iter().map(|source| source.tokens).sum();
        let mut said = format!(
            "{} of {} stored tokens untrained",
            number(self.untrained_tokens),
            number(tokens)
        );
        if self.weighted_tokens > 0 {
            said += &format!(", {} with a weight other than 1", number(self.weighted_tokens));
        }
        Some(match self.ignore_loss {
            false => format!("by the masks and weights of documents, {said}"),
            true => format!(
                "every token is trained on equally, and masks and weights of documents are ignored ({said})"
            ),
        })
    }

    /// What people who train on the rows may not expect.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((full, whose)) = self.total(|source| source.segment_full_rows) {
            let some = self.sources.iter().filter(|source| source.segment_full_rows > 0);
            let rows = number(some.map(|source| source.pass_rows).sum());
            notes.push(format!(
                "{} of {rows} rows of a pass{whose} have as many segments as pack.most_segments allows, and places left",
                number(full)
            ));
        }
        if let Some((cut, whose)) = self.total(|source| source.cut_without_eos) {
            let documents = count(cut, "document", "documents");
            let verb = if cut == 1 { "is" } else { "are" };
            notes.push(format!(
                "{documents}{whose} {verb} cut and end without their EOS there: readers that find documents by it take two for one (pack.cut_eos = true ends each)"
            ));
        }
        let near = || self.sources.iter().filter_map(|source| source.near_duplicates.as_ref());
        let documents: u64 = near().map(|near| near.documents).sum();
        if documents > 0 {
            let clusters = near().map(|near| near.clusters).sum();
            let tokens = near().map(|near| near.tokens).sum();
            notes.push(format!(
                "+ {} of {}, {} tokens (select.per_cluster)",
                count(documents, "near duplicate", "near duplicates"),
                count(clusters, "cluster", "clusters"),
                number(tokens)
            ));
        }
        let of_labels = self.labels.as_ref().map(ToString::to_string).unwrap_or_default();
        let of_specials =
            self.special_repeats.as_ref().map(ToString::to_string).unwrap_or_default();
        notes.extend(of_labels.lines().chain(of_specials.lines()).map(str::to_owned));
        for (source, templates) in &self.mixed_templates {
            notes.push(format!("{source}: texts of {templates} chat templates"));
        }
        if let Some(undecided) = self.undecided_documents.filter(|undecided| *undecided > 0) {
            let undecided = count(undecided, "document is", "documents are");
            notes.push(format!("holdout: {undecided} on neither side"));
        }
        notes
    }
}

impl SourceExplanation {
    /// Tokens lost in a pass, those of documents left out for their length apart.
    const fn cut(&self) -> u64 {
        self.truncated_tokens + self.lone_eos + self.partial_tokens
    }
}

/// The sources of the corpus that a source draws from, by name if they are few.
fn origins(source: &SourceExplanation, named: usize) -> String {
    let all = &source.draws_from;
    let names = all.iter().take(named).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(named) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} draws from {}: {names}{more}", source.name, all.len())
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

/// A share in percent, in at most four digits: neither a little is written as nothing, nor almost all as all.
fn percent(share: f64) -> String {
    match share * 100.0 {
        all if all >= 100.0 => format!("{all:.0} %"),
        little if little > 0.0 && little < 0.01 => "<0.01 %".to_owned(),
        part => format!("{:.2} %", part.min(99.99)),
    }
}

/// Columns of the cells of a table.
fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

/// A table in parts below one another that fit, each with the first column.
fn split(table: &[Vec<String>]) -> Vec<Vec<Vec<String>>> {
    let widths = widths(table);
    let names = widths.first().copied().unwrap_or(0);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut taken = usize::MAX;
    for (column, width) in widths.iter().enumerate().skip(1) {
        taken = taken.saturating_add(width + 2);
        if taken > WIDTH {
            parts.push(vec![0]);
            taken = names + 2 + width;
        }
        parts.iter_mut().last().into_iter().for_each(|part| part.push(column));
    }
    let of = |part: &Vec<usize>| {
        let cells =
            |line: &Vec<String>| part.iter().filter_map(|at| line.get(*at).cloned()).collect();
        table.iter().map(cells).collect()
    };
    parts.iter().map(of).collect()
}

/// Columns aligned, the first to the left and the others to the right.
pub(super) fn write_table(f: &mut fmt::Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let widths = widths(lines);
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
