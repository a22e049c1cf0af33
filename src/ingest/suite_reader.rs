//! Reads records as items of an evaluation suite, or as texts to search, and stores nothing.

use super::reader::IngestInput;
use files::input::{ReadItem, ReadOptions};
use model::{Context, Error, RecordKey, RecordOrigin, parse_object};
use std::collections::BTreeSet;
use text::contamination::{LayoutNotes, SuiteFields, SuiteItem, SuiteLayout};

/// What was read of files that are a suite.
#[derive(Debug, Default)]
pub struct LoadedSuite {
    /// Its items, in their order.
    pub items: Vec<SuiteItem>,
    /// Absolute paths of its files.
    pub files: Vec<String>,
    /// What is to be said of how its records were read.
    pub(crate) notes: LayoutNotes,
}

/// Reads records of files as items, of at most `most` bytes in all. An item without an id, or with the id of an
/// earlier item, is named by its file and number: a verdict on one item must be of no other.
///
/// # Errors
/// [`Error`] for a record that is not an item, with its place, when there is more than that, and when a file cannot be
/// read.
pub fn read_suite(
    inlets: Vec<IngestInput<'_>>,
    read: &ReadOptions,
    fields: &SuiteFields,
    most: u64,
    context: &Context<'_>,
) -> Result<LoadedSuite, Error> {
    let read = ReadOptions { whole: true, text_field: None, id_field: None, ..read.clone() };
    let (mut suite, mut bytes) = (LoadedSuite::default(), 0_u64);
    let (mut ids, mut layout) = (BTreeSet::new(), SuiteLayout::new(fields));
    each(inlets, &read, context, &mut |_, origin, text, metadata| {
        // A whole record has everything among its fields.
        debug_assert!(text.is_empty());
        let fail = |why: String| Error::bad_input(format!("{}: {why}", origin.record_and_byte()));
        let record = parse_object(metadata).map_err(fail)?;
        let path = origin.path.as_path();
        let name = path.file_name().map_or_else(|| "-".into(), |name| name.to_string_lossy());
        let place = format!("{name}:{}", origin.number);
        let mut item = layout.item_of(&record, &place).map_err(fail)?;
        // Files of one name may lie in several directories.
        let places = [place, format!("{}:{}", path.display(), origin.number)];
        let mut names = std::iter::once(&item.id).chain(&places);
        let Some(id) = names.find(|id| ids.insert((*id).clone())).cloned() else {
            return Err(fail(format!("its id `{}` is that of another item", item.id)));
        };
        item.id = id;
        bytes += item
            .parts
            .iter()
            .flatten()
            .chain([&item.id])
            .map(|text| text.len() as u64)
            .sum::<u64>();
        if bytes + layout.held() > most {
            return Err(Error::bad_input(format!(
                "the items have more than {most} bytes, which must fit into memory: raise `memory=`, or add the suite in parts"
            )));
        }
        suite.items.push(item);
        let path = path.display().to_string();
        if suite.files.last() != Some(&path) {
            suite.files.push(path);
        }
        Ok(())
    })?;
    if suite.items.is_empty() {
        return Err(Error::bad_input("no record was read: a suite has items"));
    }
    suite.notes = layout.finish(&mut suite.items).map_err(Error::bad_input)?;
    Ok(suite)
}

/// Calls `each` with the name and the text of every record of some files.
///
/// # Errors
/// [`Error`] for a record or file that cannot be read; the error of `each`.
pub fn each_text(
    inlets: Vec<IngestInput<'_>>,
    read: &ReadOptions,
    context: &Context<'_>,
    each_one: &mut dyn FnMut(&str, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    each(inlets, read, context, &mut |key, origin, text, _| {
        let name = match key {
            RecordKey::Given(key) => key.clone(),
            RecordKey::Position => format!("{}:{}", origin.path.display(), origin.number),
        };
        each_one(&name, text)
    })
}

type RecordVisitor<'a> =
    &'a mut dyn FnMut(&RecordKey, &RecordOrigin, &str, &str) -> Result<(), Error>;

fn each(
    inlets: Vec<IngestInput<'_>>,
    read: &ReadOptions,
    context: &Context<'_>,
    with: RecordVisitor<'_>,
) -> Result<(), Error> {
    context.progress.begin("reading", None);
    let mut done = 0;
    for inlet in inlets {
        let mut reader = inlet.reader(read, context.interrupt)?;
        loop {
            context.check_interrupt()?;
            match reader.next()? {
                None => break,
                Some(ReadItem::Record(record)) => {
                    with(&record.key, &record.origin, &record.text, &record.metadata)?;
                }
                Some(ReadItem::Reject(reject)) => {
                    let why = format!("{}: {}", reject.origin.record_and_byte(), reject.reason);
                    return Err(Error::bad_input(why));
                }
            }
            context.progress.advance(done + reader.input_bytes());
        }
        done += reader.input_bytes();
    }
    context.progress.end();
    Ok(())
}
