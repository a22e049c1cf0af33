//! Under which sources the files of an ingest are booked, and what their reading is called there.

use super::options::IngestOptions;
use crate::model::SourceId;
use crate::store::View;

/// The sources in which files of an ingest may have numbers: its own, or, where records name theirs, all.
pub(super) fn file_sources(view: &View, options: &IngestOptions) -> Vec<SourceId> {
    let all = view.sources().map(|(source, record)| (source, &record.name));
    let is_meant = |name: &String| options.read.source_field.is_some() || *name == options.source;
    all.filter(|(_, name)| is_meant(name)).map(|(source, _)| source).collect()
}

/// What the reading of a file is called in the sources that its records named: no ingest into those goes on by it.
pub(super) fn reading_key_of_part(options: &IngestOptions) -> String {
    format!("{};part", options.reading_key())
}
