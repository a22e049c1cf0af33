//! Lines of JSON, a record each.

use super::error::ReadError;
use super::item::{ReadItem, ReadOptions};
use super::objects::Objects;
use super::sequence::{FormatReader, RecordPlace};
use super::stream::{BoundedBytes, ByteStream};
use crate::model::Reject;

/// Lines with one object each.
pub(super) struct JsonLinesReader {
    objects: Objects,
}

impl JsonLinesReader {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self { objects: Objects::new(options) }
    }
}

impl FormatReader for JsonLinesReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<ReadItem>, ReadError> {
        match stream.next_line(self.objects.limit(), Reject::MAX_RAW)? {
            Some((offset, line)) => self.objects.item(&line, place.at(offset)).map(Some),
            None => Ok(None),
        }
    }

    /// Line by line, so that the text field is guessed from the same record as the first time, and a last line that
    /// has grown since is noticed.
    fn skip(&mut self, stream: &mut ByteStream, _: RecordPlace) -> Result<bool, ReadError> {
        match stream.next_line(self.objects.limit(), 0)? {
            Some((_, BoundedBytes::Whole(line))) => self.objects.learn(line),
            Some(_) => {}
            None => return Ok(false),
        }
        Ok(true)
    }
}
