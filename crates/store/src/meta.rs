//! The family `meta`: its keys, which are names, and what stands under each.

use crate::bytes::cursor::empty;
use crate::bytes::key::StoreKey;
use crate::bytes::output::OutputRecord;
use crate::bytes::record::{
    self, CharterRecord, FieldRecord, RedoRecord, RepairRecord, StoreState, VerbRecord,
};
use crate::database::PinnedMoment;
use crate::database::family::store_family;
use crate::error::{DecodeError, StoreError};
use model::{CommitSeq, FieldDeclaration, FieldId, FileId, Policy, SourceId};
use std::collections::BTreeMap;
use std::path::Path;

const TEMPLATE: &str = "template ";
const CHAT: &str = "chat ";
const OVERTAKEN: &str = "overtaken ";
const FIELD: &str = "field ";
const REPAIR: &str = "repair ";
const VERB: &str = "verb ";
const OUTPUT: &str = "output ";

/// What a row of `meta` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaKey {
    /// The format version and the release that wrote it.
    Format,
    /// Policy and declared fields.
    Charter,
    /// High-water marks and counters.
    State,
    /// A re-decision under way.
    Redo,
    /// A field that was added, is being filled, or is going.
    Field(FieldId),
    /// The derived family of this name is being made again.
    Repair(String),
    /// What left the corpus, by its number.
    Output(u32),
    /// The chat template with this hash.
    Template(String),
    /// The chat template that wrote the texts of a commit.
    Chat(CommitSeq),
    /// What undoing needs to know of a commit.
    Verb(CommitSeq),
    /// Records of file `by` superseded documents of `file` since it was last read from its start.
    Overtaken {
        /// The source of both.
        source: SourceId,
        /// The file whose documents were superseded.
        file: FileId,
        /// The file whose records superseded them.
        by: FileId,
    },
}

impl MetaKey {
    /// What the keys of all templates begin with.
    pub(crate) const fn templates() -> &'static [u8] {
        TEMPLATE.as_bytes()
    }

    /// What the keys of the templates of commits begin with.
    pub(crate) const fn chats() -> &'static [u8] {
        CHAT.as_bytes()
    }

    /// What the keys of fields begin with.
    pub(crate) const fn fields() -> &'static [u8] {
        FIELD.as_bytes()
    }

    /// What the keys of families begin with that are being made again.
    pub(crate) const fn repairs() -> &'static [u8] {
        REPAIR.as_bytes()
    }

    /// What the keys of commits begin with of which undoing needs to know something.
    pub(crate) const fn verbs() -> &'static [u8] {
        VERB.as_bytes()
    }

    /// What the keys of outputs begin with.
    pub(crate) const fn outputs() -> &'static [u8] {
        OUTPUT.as_bytes()
    }

    /// What the keys begin with that say which files overtook this one.
    pub(crate) fn overtaken(source: SourceId, file: FileId) -> String {
        format!("{OVERTAKEN}{:010} {:010} ", source.0, file.0)
    }

    fn name(&self) -> String {
        match self {
            Self::Format => "format".to_owned(),
            Self::Charter => "charter".to_owned(),
            Self::State => "state".to_owned(),
            Self::Redo => "redo".to_owned(),
            Self::Field(field) => format!("{FIELD}{:05}", field.0),
            Self::Repair(family) => format!("{REPAIR}{family}"),
            Self::Output(number) => format!("{OUTPUT}{number:010}"),
            Self::Template(hash) => format!("{TEMPLATE}{hash}"),
            Self::Chat(commit) => format!("{CHAT}{:020}", commit.0),
            Self::Verb(commit) => format!("{VERB}{:020}", commit.0),
            Self::Overtaken { source, file, by } => {
                format!("{}{:010}", Self::overtaken(*source, *file), by.0)
            }
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        let key = match name {
            "format" => Self::Format,
            "charter" => Self::Charter,
            "state" => Self::State,
            "redo" => Self::Redo,
            _ => {
                if let Some(hash) = name.strip_prefix(TEMPLATE) {
                    Self::Template(hash.to_owned())
                } else if let Some(family) = name.strip_prefix(REPAIR) {
                    Self::Repair(family.to_owned())
                } else if let Some(field) = name.strip_prefix(FIELD) {
                    Self::Field(FieldId(field.parse().ok()?))
                } else if let Some(number) = name.strip_prefix(OUTPUT) {
                    Self::Output(number.parse().ok()?)
                } else if let Some(commit) = name.strip_prefix(CHAT) {
                    Self::Chat(CommitSeq(commit.parse().ok()?))
                } else if let Some(commit) = name.strip_prefix(VERB) {
                    Self::Verb(CommitSeq(commit.parse().ok()?))
                } else {
                    let mut numbers = name.strip_prefix(OVERTAKEN)?.split(' ').map(str::parse);
                    let mut next = || numbers.next()?.ok();
                    let (source, file, by) = (SourceId(next()?), FileId(next()?), FileId(next()?));
                    Self::Overtaken { source, file, by }
                }
            }
        };
        // Numbers have one spelling.
        (key.name() == name).then_some(key)
    }
}

impl StoreKey for MetaKey {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.name().as_bytes());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let name = std::str::from_utf8(bytes).ok();
        name.and_then(Self::of_name).ok_or_else(|| DecodeError::at(0, "no record has this name"))
    }
}

impl PinnedMoment {
    /// The derived families that are being made again, by name, with how far each is.
    pub(crate) fn repairs(&self) -> Result<BTreeMap<String, RepairRecord>, StoreError> {
        let rows = self.scan_prefix::<MetaRepair>(MetaKey::repairs())?;
        rows.filter_map(|family, record| Some((family, record))).collect()
    }

    /// Refuses a corpus with such families.
    pub(crate) fn refuse_repairing(&self, path: &Path) -> Result<(), StoreError> {
        let families: Vec<String> = self.repairs()?.into_keys().collect();
        match families.is_empty() {
            true => Ok(()),
            false => Err(StoreError::Repairing { path: path.to_path_buf(), families }),
        }
    }
}

fn decode_field(field: FieldId, bytes: &[u8]) -> Result<FieldRecord, DecodeError> {
    let record: FieldRecord = record::decode(bytes)?;
    record.declaration(field)?;
    Ok(record)
}

fn decode_text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|error| DecodeError::at(error.valid_up_to(), "not UTF-8"))
}

fn decode_chat(bytes: &[u8]) -> Result<(String, String), DecodeError> {
    let text = decode_text(bytes)?;
    let (hash, variables) = text.split_once(' ').unwrap_or((text, "{}"));
    Ok((hash.to_owned(), variables.to_owned()))
}

/// The version in the first bytes of `format`.
pub(crate) fn version(bytes: &[u8]) -> Result<u32, DecodeError> {
    let first = bytes.split_first_chunk::<4>().map(|(version, _)| u32::from_le_bytes(*version));
    first.ok_or_else(|| DecodeError::at(0, "shorter than 4 bytes"))
}

store_family! {
    /// Format version, charter (policy, fields), state. Written by every commit.
    Meta = "meta", Small,
    MetaKey, "name"
    => {
        /// The format version, which opening has compared.
        MetaFormat = "format", (): () [MetaKey::Format] => u32, |(), bytes| version(bytes);
        /// Policy and declared fields.
        MetaCharter = "charter", (): () [MetaKey::Charter]
        => (Policy, Vec<FieldDeclaration>), |(), bytes| record::decode::<CharterRecord>(bytes)?.read();
        /// High-water marks and counters.
        MetaState = "state", (): () [MetaKey::State] => StoreState, |(), bytes| record::decode(bytes);
        /// A re-decision under way.
        MetaRedo = "redo", (): () [MetaKey::Redo] => RedoRecord, |(), bytes| record::decode(bytes);
        /// A field that was added, is being filled, or is going.
        MetaField = "field", field: FieldId [MetaKey::Field(field)]
        => FieldRecord, |field, bytes| decode_field(*field, bytes);
        /// A derived family that is being made again.
        MetaRepair = "repair", family: String [MetaKey::Repair(family)]
        => RepairRecord, |_, bytes| record::decode(bytes);
        /// A chat template, verbatim.
        MetaTemplate = "chat template", hash: String [MetaKey::Template(hash)]
        => &'v str, |_, bytes| decode_text(bytes);
        /// The hash of the template that wrote the texts of a commit, and the values it could name, JSON.
        MetaChat = "chat template", commit: CommitSeq [MetaKey::Chat(commit)]
        => (String, String), |_, bytes| decode_chat(bytes);
        /// What undoing needs to know of a commit.
        MetaVerb = "verb", commit: CommitSeq [MetaKey::Verb(commit)]
        => VerbRecord, |_, bytes| record::decode(bytes);
        /// What left the corpus.
        MetaOutput = "output", number: u32 [MetaKey::Output(number)]
        => OutputRecord, |_, bytes| OutputRecord::decode(bytes);
        /// The key says it all.
        MetaOvertaken = "overtaken file", (source, file, by): (SourceId, FileId, FileId)
        [MetaKey::Overtaken { source, file, by }]
        => (), |_, bytes| empty(bytes);
    }
    "`format`: u32 LE and the release that wrote it; `charter`: policy and declared fields; `state`: high-water marks and counters; `redo`: a re-decision under way (records); `template HASH`: a chat template, verbatim; `chat COMMIT` (20 digits): HASH of the template that wrote its texts, a space, the values it could name in JSON; `field ID` (5 digits): record of a field that was added, is being filled, or is going; `repair FAMILY`: record of a derived family that is being made again, for which nobody else opens the corpus; `output NUMBER` (10 digits): what left the corpus, see below; `overtaken SOURCE FILE BY` (10 digits each), empty: records of file BY superseded documents of FILE since FILE was last read from its start, or, where BY is 0, an ingest that read it was undone; `verb COMMIT` (20 digits): record of what undoing needs to know of a commit: whether a verb begins with it, the verb that it undoes, and what was before"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_keys() {
        let overtaken = MetaKey::Overtaken { source: SourceId(3), file: FileId(70), by: FileId(8) };
        for (key, name) in [
            (MetaKey::State, "state"),
            (MetaKey::Template("ab".to_owned()), "template ab"),
            (MetaKey::Chat(CommitSeq(5)), "chat 00000000000000000005"),
            (MetaKey::Verb(CommitSeq(6)), "verb 00000000000000000006"),
            (MetaKey::Field(FieldId(16)), "field 00016"),
            (MetaKey::Output(7), "output 0000000007"),
            (overtaken, "overtaken 0000000003 0000000070 0000000008"),
        ] {
            assert_eq!(key.to_bytes(), name.as_bytes());
            assert_eq!(MetaKey::decode(name.as_bytes()), Ok(key));
        }
        for name in
            ["overtaken 0000000003 0000000070", "chat 5", "field 16", "output 7", "states", ""]
        {
            assert!(MetaKey::decode(name.as_bytes()).is_err(), "{name}");
        }
    }
}
