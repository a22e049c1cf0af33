//! The record of an output under way: lines of JSON, believed up to the first that is not one of them.
//!
//! The first line says of which output it is and in which form the others are. A record of another release is no record.

use super::destination::{FileRename, ShardRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the form of the lines.
const VERSION: u32 = 1;

/// Where the work goes on behind a finished shard.
pub trait Position:
    Clone + PartialEq + Send + Sync + Serialize + DeserializeOwned + 'static
{
}

impl<P: Clone + PartialEq + Send + Sync + Serialize + DeserializeOwned + 'static> Position for P {}

/// A line of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum RecordLine<P> {
    /// The first line.
    Output {
        version: u32,
        /// What tells the output from others, in hexadecimal.
        identity: String,
    },
    /// A shard is finished. In a bucket with the tags that its files got.
    Finished {
        #[serde(flatten)]
        shard: ShardRecord<P>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<Option<String>>,
    },
    /// All shards are finished, and files get other names.
    Renames(Vec<FileRename>),
    /// A file is begun under this name, in a bucket.
    Begun(String),
    /// Objects that stood in a bucket and that the output replaces.
    Replaced(Vec<ReplacedObject>),
}

/// An object as it stood in a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplacedObject {
    pub name: String,
    pub bytes: u64,
    pub tag: Option<String>,
}

impl<P: Position> RecordLine<P> {
    /// The first line of an output.
    pub fn first(identity: &str) -> Self {
        Self::Output { version: VERSION, identity: identity.to_owned() }
    }

    pub fn to_json(&self) -> Vec<u8> {
        // Strings, numbers and lists: nothing in it fails.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// The lines behind the first one, and the identity that this one tells; `None` where it is no first line of this
    /// form.
    pub fn parse(text: &[u8]) -> Option<(String, Vec<Self>)> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let first: Self = serde_json::from_slice(lines.next()?).ok()?;
        let Self::Output { version: VERSION, identity } = first else { return None };
        let lines = lines.map_while(|line| serde_json::from_slice(line).ok());
        Some((identity, lines.collect()))
    }
}

/// The bytes of all lines.
pub(super) fn to_json<P: Position>(lines: &[RecordLine<P>]) -> Vec<u8> {
    lines.iter().flat_map(RecordLine::to_json).collect()
}
