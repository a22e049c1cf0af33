//! JSON as Python's `json.dump` spaces it, which the reference writers use.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// The text of `value`: a space after every comma and colon.
pub(crate) fn python_json(value: &Value) -> String {
    let mut out = Vec::new();
    // Writing to memory cannot fail, and a `Value` has no other keys than strings.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut out, PythonSpacing));
    String::from_utf8(out).unwrap_or_default()
}

struct PythonSpacing;

fn separate<W: Write + ?Sized>(writer: &mut W, first: bool) -> io::Result<()> {
    if first { Ok(()) } else { writer.write_all(b", ") }
}

impl Formatter for PythonSpacing {
    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        separate(to, first)
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        separate(to, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }
}
