//! Rows of an epoch as bands: a colour a source, a shade a document, pads hatched, what is not trained on pale.
//!
//! Beside each band stand its numbers: a reader without drawings, or of a viewer that drops them, has these.

use super::chart::LegendEntry;
use super::figures::cut;
use super::{COLOURS, SafeHtml, escape};
use crate::epoch::{RowPart, RowReport, RowSegment};
use model::show;
use serde::Serialize;
use std::fmt::Write as _;

/// Colours of documents where all rows are of one source: grey, the last one, is that of pads.
const DOCUMENT_COLOURS: usize = COLOURS - 1;

/// Documents of all bands, at most: each is an element of the page.
const MOST_DOCUMENTS: usize = 4096;

/// The bands of some rows, as a table.
#[derive(Debug, Serialize)]
pub(super) struct Bands<'a> {
    /// The sources of the rows; none for a plan of one source, where each document has a colour.
    legend: Vec<LegendEntry>,
    head: Vec<&'static str>,
    rows: Vec<Band<'a>>,
    has_pads: bool,
    /// Whether some tokens besides the first of each segment are not trained on.
    has_masks: bool,
    /// Rows without a band.
    pub(super) more: u64,
}

#[derive(Debug, Serialize)]
struct Band<'a> {
    row: u64,
    svg: SafeHtml,
    /// The source, where the plan has several.
    source: Option<&'a str>,
    numbers: Vec<u64>,
}

impl<'a> Bands<'a> {
    /// Bands of a page, at most.
    pub(super) const MOST: usize = 64;

    pub(super) fn new(rows: &'a [RowReport], sources: &[String]) -> Self {
        let mut documents = 0;
        let is_drawn = |row: &&RowReport| {
            documents += row.segments.len();
            documents <= MOST_DOCUMENTS
        };
        // One row is drawn however many documents it has.
        let least = usize::from(!rows.is_empty());
        let drawn = rows.iter().take(Self::MOST).take_while(is_drawn).count().max(least);
        let drawn = rows.get(..drawn).unwrap_or(rows);
        let place = |row: &RowReport| {
            let source = row.source.as_deref()?;
            sources.iter().position(|name| name == source)
        };
        let has_sources = sources.len() > 1;
        let has_pads = drawn.iter().any(|row| tokens(row) < row.width);
        let has_masks = drawn.iter().any(|row| row.trained < targets(row));
        let mut head = vec!["Row", "", "Documents", "Tokens"];
        head.extend(has_masks.then_some("Trained on"));
        head.extend(has_pads.then_some("Pads"));
        head.extend(has_sources.then_some("Source"));
        let widest = drawn.iter().map(|row| row.width).max().unwrap_or(1);
        let band = |row: &'a RowReport| {
            let tokens = tokens(row);
            let mut numbers = vec![row.segments.len() as u64, tokens.into()];
            numbers.extend(has_masks.then_some(row.trained));
            numbers.extend(has_pads.then(|| u64::from(row.width.saturating_sub(tokens))));
            Band {
                row: row.row,
                svg: drawing(row, widest, has_sources.then(|| place(row).unwrap_or(COLOURS - 1))),
                source: row.source.as_deref().filter(|_| has_sources),
                numbers,
            }
        };
        let entry = |(at, name): (usize, &String)| {
            let rows = drawn.iter().filter(|row| place(row) == Some(at)).count() as u64;
            (rows > 0).then(|| LegendEntry::new(at, &cut(name), show::count(rows, "row", "rows")))
        };
        let legend = sources.iter().enumerate().filter(|_| has_sources).filter_map(entry);
        Self {
            legend: legend.collect(),
            head,
            rows: drawn.iter().map(band).collect(),
            has_pads,
            has_masks,
            more: (rows.len() - drawn.len()) as u64,
        }
    }
}

/// Real tokens of a row.
fn tokens(row: &RowReport) -> u32 {
    row.segments.iter().map(|segment| segment.length).sum()
}

/// The tokens of a row that something predicts.
fn targets(row: &RowReport) -> u64 {
    row.segments.iter().map(|segment| u64::from(segment.length.saturating_sub(1))).sum()
}

/// A row from left to right, a unit a position. `source` is the colour of its documents; without one colours take turns.
fn drawing(row: &RowReport, widest: u32, source: Option<usize>) -> SafeHtml {
    let mut svg = format!(
        r#"<svg viewBox="0 0 {widest} 10" width="100%" height="14" preserveAspectRatio="none" aria-hidden="true">"#
    );
    let mut free = 0;
    for (number, segment) in row.segments.iter().enumerate() {
        pads(&mut svg, free, segment.start);
        free = segment.start + segment.length;
        document(&mut svg, row, number, segment, source);
    }
    pads(&mut svg, free, row.width);
    svg.push_str("</svg>");
    SafeHtml::new(svg)
}

fn document(
    svg: &mut String,
    row: &RowReport,
    number: usize,
    segment: &RowSegment,
    source: Option<usize>,
) {
    let class = match source {
        Some(place) if number % 2 == 1 => format!("t{} odd", place % COLOURS),
        Some(place) => format!("t{}", place % COLOURS),
        None => format!("t{}", number % DOCUMENT_COLOURS),
    };
    // Without its parts, a row is drawn as if all of it were trained on.
    let parts: Vec<&RowPart> = row.parts.iter().flatten().collect();
    let own: Vec<&RowPart> =
        parts.into_iter().filter(|part| part.segment == Some(number)).collect();
    let trained: u32 = own.iter().filter(|part| part.trained).map(|part| part.length).sum();
    let is_whole = own.is_empty() || trained + 1 >= segment.length;
    let mut title = format!(
        "{}: {} of {}",
        escape(&show::one_line(&cut(&segment.key))),
        show::count(segment.length.into(), "token", "tokens"),
        show::number(segment.document_length.into())
    );
    if !is_whole {
        let _ = write!(title, ", {} trained on", show::number(trained.into()));
    }
    let box_of = |start: u32, length: u32, class: &str| {
        format!(r#"<rect class="{class}" x="{start}" width="{length}" height="10"></rect>"#)
    };
    let off = format!("{class} off");
    let whole = box_of(segment.start, segment.length, if is_whole { &class } else { &off });
    let _ = write!(svg, "<g><title>{title}</title>{whole}");
    for part in own.iter().filter(|part| part.trained && !is_whole) {
        svg.push_str(&box_of(part.start, part.length, &class));
    }
    svg.push_str("</g>");
}

/// Pads between two positions. The hatch is a line of dashes, whose size no width of a band changes.
fn pads(svg: &mut String, start: u32, end: u32) {
    if start < end {
        let length = end - start;
        let _ = write!(
            svg,
            r#"<g><title>{}</title><rect class="pad" x="{start}" width="{length}" height="10"></rect>"#,
            show::count(length.into(), "pad", "pads")
        );
        let _ = write!(svg, r#"<line x1="{start}" x2="{end}" y1="5" y2="5"></line></g>"#);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A row of documents of these lengths, each with its untrained beginning, and pads behind them.
    fn row(number: u64, source: &str, lengths: &[(u32, u32)], pads: u32) -> RowReport {
        let (mut start, mut segments, mut parts) = (0, Vec::new(), Vec::new());
        for (at, (length, masked)) in lengths.iter().copied().enumerate() {
            segments.push(RowSegment {
                document: at as u64,
                key: format!("<{at}>"),
                source: source.to_owned(),
                offset: 0,
                length,
                document_length: length,
                start,
                shard: None,
                id: at as u64,
            });
            for (trained, from, length) in [(false, 0, masked), (true, masked, length - masked)] {
                let part = RowPart {
                    text: String::new(),
                    trained,
                    weight: None,
                    segment: Some(at),
                    start: start + from,
                    length,
                };
                parts.extend((length > 0).then_some(part));
            }
            start += length;
        }
        let trained = lengths.iter().map(|(length, masked)| u64::from(length - masked)).sum();
        RowReport {
            row: number,
            batch: None,
            source: Some(source.to_owned()),
            pass: None,
            width: start + pads,
            trained,
            segments,
            parts: Some(parts),
            input_ids: Vec::new(),
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// The boxes of a drawing: class, first position, length.
    fn boxes(svg: &SafeHtml) -> Vec<(String, u32, u32)> {
        let of = |tag: &str, name: &str| {
            let (_, rest) = tag.split_once(&format!("{name}=\"")).unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        let tag = |tag: &str| {
            (of(tag, "class"), of(tag, "x").parse().unwrap(), of(tag, "width").parse().unwrap())
        };
        svg.0.split("<rect ").skip(1).map(tag).collect()
    }

    #[test]
    fn a_source_has_its_colour_whatever_rows_are_shown() {
        let rows = [row(4, "b", &[(3, 1), (2, 1)], 1), row(5, "a", &[(6, 1)], 0)];
        let sources = names(&["a", "b"]);
        let bands = Bands::new(&rows, &sources);
        assert_eq!(bands.head, ["Row", "", "Documents", "Tokens", "Pads", "Source"]);
        assert_eq!(bands.rows[0].numbers, [2, 5, 1]);
        let own = |class: &str, start, length| (class.to_owned(), start, length);
        let wanted = [own("t1", 0, 3), own("t1 odd", 3, 2), own("pad", 5, 1)];
        assert_eq!(boxes(&bands.rows[0].svg), wanted);
        assert_eq!(boxes(&bands.rows[1].svg), [own("t0", 0, 6)]);
        let alone = Bands::new(&rows[..1], &sources);
        assert_eq!(boxes(&alone.rows[0].svg), wanted);
        let named: Vec<&str> = bands.legend.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((named, bands.has_masks, bands.more), (vec!["a", "b"], false, 0));
        assert!(bands.rows[0].svg.0.contains("<title>&lt;0&gt;: 3 tokens of 3</title>"));
    }

    #[test]
    fn one_source_has_a_colour_a_document_and_masks_are_pale() {
        let rows = [row(0, "a", &[(4, 1), (5, 3)], 0)];
        let bands = Bands::new(&rows, &names(&["a"]));
        assert_eq!(bands.head, ["Row", "", "Documents", "Tokens", "Trained on"]);
        assert_eq!((bands.rows[0].numbers.as_slice(), bands.legend.len()), (&[2, 9, 5][..], 0));
        let own = |class: &str, start, length| (class.to_owned(), start, length);
        let wanted = [own("t0", 0, 4), own("t1 off", 4, 5), own("t1", 7, 2)];
        assert_eq!(boxes(&bands.rows[0].svg), wanted);
        assert!(bands.rows[0].svg.0.contains("5 tokens of 5, 2 trained on"));
    }

    #[test]
    fn many_rows_or_documents_are_counted_not_drawn() {
        let rows: Vec<RowReport> = (0..70).map(|at| row(at, "a", &[(2, 1)], 0)).collect();
        let bands = Bands::new(&rows, &names(&["a"]));
        assert_eq!((bands.rows.len(), bands.more), (64, 6));
        let rows = [0, 1, 2].map(|at| row(at, "a", &vec![(1, 1); 2000], 0));
        let bands = Bands::new(&rows, &names(&["a"]));
        assert_eq!((bands.rows.len(), bands.more), (2, 1));
        let wide = [row(0, "a", &vec![(1, 1); 5000], 0)];
        assert_eq!(Bands::new(&wide, &names(&["a"])).rows.len(), 1);
        assert_eq!(Bands::new(&[], &names(&["a"])).rows.len(), 0);
    }

    proptest! {
        #[test]
        fn boxes_cover_a_row_as_its_documents_and_pads_do(
            lengths in prop::collection::vec((1_u32..40).prop_flat_map(|n| (Just(n), 1..=n)), 0..9),
            pads in 0_u32..20,
            sources in 1_usize..3,
        ) {
            prop_assume!(pads > 0 || !lengths.is_empty());
            let rows = [row(0, "a", &lengths, pads)];
            let bands = Bands::new(&rows, &names(&["a", "b"][..sources]));
            let mut painted = vec![' '; rows[0].width as usize];
            for (class, start, length) in boxes(&bands.rows[0].svg) {
                let mark = if class == "pad" { '#' } else if class.ends_with("off") { '-' } else { '+' };
                painted[start as usize..(start + length) as usize].fill(mark);
            }
            let mut wanted = String::new();
            for (length, masked) in &lengths {
                // The first token of a document is never a target, and is not told apart.
                let off = if *masked > 1 { *masked } else { 0 };
                wanted += &"-".repeat(off as usize);
                wanted += &"+".repeat((length - off) as usize);
            }
            wanted += &"#".repeat(pads as usize);
            prop_assert_eq!(painted.into_iter().collect::<String>(), wanted);
        }
    }
}
