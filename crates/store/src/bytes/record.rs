//! The small records of the store: one format byte, then bincode's legacy layout under a byte limit.
//!
//! The only file that names bincode, so that it can be replaced here alone (see deny.toml).

use crate::error::{DecodeError, StoreError};
use bincode::{Decode, Encode};
use model::{FieldDeclaration, FieldId, FieldKind, MaskRule, Normaliser, Policy};

/// Largest record, encoded: 16 MiB. A corrupt length asks for no more.
const LIMIT: usize = 16 << 20;
const FORMAT: u8 = 1;

fn config() -> impl bincode::config::Config {
    bincode::config::legacy().with_limit::<LIMIT>()
}

/// The stored form of `record`; `what` names it in errors.
pub(crate) fn encode<T: Encode>(what: &'static str, record: &T) -> Result<Vec<u8>, StoreError> {
    encode_as(FORMAT, what, record)
}

/// Encodes like [`encode`], in another format than the first, which earlier releases refuse.
pub(crate) fn encode_as<T: Encode>(
    format: u8,
    what: &'static str,
    record: &T,
) -> Result<Vec<u8>, StoreError> {
    let mut out = vec![format];
    let body = bincode::encode_to_vec(record, config())
        .map_err(|error| StoreError::Encode { what, why: error.to_string() })?;
    out.extend(body);
    Ok(out)
}

/// Reads a record; trailing bytes are an error.
pub(crate) fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (format, body) = bytes.split_first().ok_or_else(|| DecodeError::at(0, "empty record"))?;
    if *format != FORMAT {
        return Err(DecodeError::at(0, format!("record format {format}, not {FORMAT}")));
    }
    decode_body(body)
}

/// What stands behind the format.
pub(crate) fn decode_body<T: Decode<()>>(body: &[u8]) -> Result<T, DecodeError> {
    let (record, read) = bincode::decode_from_slice(body, config())
        .map_err(|error| DecodeError::at(1, error.to_string()))?;
    if read == body.len() {
        Ok(record)
    } else {
        Err(DecodeError::at(1 + read, format!("{} trailing bytes", body.len() - read)))
    }
}

/// High-water marks and counters; rewritten by every commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct StoreState {
    /// The number of the last commit.
    pub commit: u64,
    /// Documents stored; the next document's id.
    pub documents: u64,
    /// How many documents are kept.
    pub kept: u64,
    /// Current policy generation.
    pub generation: u32,
    /// Next term id.
    pub next_term: u32,
    /// Next source id.
    pub next_source: u32,
    /// Next tokenizer id.
    pub next_tokenizer: u16,
    /// Next epoch number.
    pub next_epoch: u32,
    /// Rejected records stored.
    pub rejects: u64,
}

/// What `init` fixed: policy and declared fields.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct CharterRecord {
    /// [`Policy`] as JSON, so that a later release can read an older one's.
    pub policy: String,
    /// Declared fields: id, name, kind; behind it `#` and the version of its rule, if not the first, and where their
    /// values stand under another name, `@` and that.
    pub fields: Vec<(u16, String, String)>,
}

impl CharterRecord {
    pub(crate) fn new(
        policy: &Policy,
        fields: &[FieldDeclaration],
    ) -> Result<Self, crate::StoreError> {
        let policy = serde_json::to_string(policy).map_err(|error| crate::StoreError::Encode {
            what: "policy",
            why: error.to_string(),
        })?;
        let fields = fields.iter().map(|f| (f.id.0, f.name.clone(), spelled(f))).collect();
        Ok(Self { policy, fields })
    }

    pub(crate) fn read(&self) -> Result<(Policy, Vec<FieldDeclaration>), DecodeError> {
        let policy: Policy = serde_json::from_str(&self.policy)
            .map_err(|error| DecodeError::at(1, format!("policy: {error}")))?;
        let mut fields = Vec::with_capacity(self.fields.len());
        for (id, name, kind) in &self.fields {
            fields.push(declaration(FieldId(*id), name, kind)?);
        }
        Ok((policy, fields))
    }
}

/// The kind of a field, the version of its rule behind the first, and where its values stand when that is not the member
/// of its name.
fn spelled(field: &FieldDeclaration) -> String {
    let mut spelled = field.kind.name().to_owned();
    if field.rule > 1 {
        spelled.push_str(&format!("#{}", field.rule));
    }
    if let Some(path) = &field.path {
        spelled.push_str(&format!("@{path}"));
    }
    spelled
}

fn declaration(id: FieldId, name: &str, spelled: &str) -> Result<FieldDeclaration, DecodeError> {
    let (kind, path) = match spelled.split_once('@') {
        Some((kind, path)) => (kind, Some(path.to_owned())),
        None => (spelled, None),
    };
    let unknown = || DecodeError::at(1, format!("unknown field kind `{kind}`"));
    let (kind, rule) = kind.split_once('#').unwrap_or((kind, "1"));
    let kind: FieldKind = kind.parse().map_err(|_| unknown())?;
    let rule = rule.parse().ok().filter(|rule| (1..=kind.rule()).contains(rule));
    let rule = rule.ok_or_else(unknown)?;
    Ok(FieldDeclaration { id, name: name.to_owned(), kind, path, rule })
}

/// What becomes of a field that is declared or given up while the corpus holds documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FieldState {
    /// The field is declared.
    Declared,
    /// Its values are being indexed; it is not declared yet.
    Filling,
    /// The field is declared no more, and what was indexed of it is being deleted.
    Going,
    /// The field is declared, and every document that comes is given the value of its expression.
    Fed,
}

/// A field that was added to a corpus: where its values are from, and how far they are indexed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FieldRecord {
    /// The name of the field.
    pub name: String,
    /// Its kind, its rule, and where its values stand, as the charter spells them.
    pub kind: String,
    /// The SQL expression whose values it has; none: they are those of the records.
    pub expression: Option<String>,
    /// What becomes of it.
    pub state: FieldState,
    /// Documents below this id are done, while it is filled.
    pub next: u64,
    /// Documents of these that have a value.
    pub values: u64,
    /// Documents of these whose value is of another type.
    pub ill_typed: u64,
    /// The commit that wrote this record.
    pub commit: u64,
}

impl FieldRecord {
    /// The record of a field without any indexed value yet.
    #[must_use]
    pub fn begin(field: &FieldDeclaration, expression: Option<&str>) -> Self {
        Self {
            name: field.name.clone(),
            kind: spelled(field),
            expression: expression.map(str::to_owned),
            state: FieldState::Filling,
            next: 0,
            values: 0,
            ill_typed: 0,
            commit: 0,
        }
    }

    /// The field as it is or will be declared.
    pub(crate) fn declaration(&self, id: FieldId) -> Result<FieldDeclaration, DecodeError> {
        declaration(id, &self.name, &self.kind)
    }
}

/// A re-decision under way: a generation that is filled and not yet the current one.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RedoRecord {
    /// The policy, as JSON.
    pub policy: String,
    /// Its generation.
    pub generation: u32,
    /// Documents below this id are decided.
    pub next: u64,
    /// The commit that wrote this record: after any other, the re-decision begins again.
    pub commit: u64,
    /// Buckets that were read only in part so far.
    pub capped: u64,
}

impl RedoRecord {
    /// Stands in the place of the policy when that is in force already, and fingerprints are being made by its version
    /// of the normaliser: those of documents below `next` are. `generation` is one that nothing has.
    pub(crate) const FINGERPRINTS: &str = "fingerprints";
}

/// A derived family that is being made again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct RepairRecord {
    /// The family was dropped and made empty, but for what follows from nothing else.
    pub is_empty: bool,
    /// What of its order is done: documents below this id, mostly.
    pub next: u64,
    /// Bitmaps of standings that could not be read: generation, standing, block; of generation 2^32 - 1 how many lengths
    /// in tokens.
    pub lost: Vec<(u32, u8, u64)>,
}

/// A source and its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SourceRecord {
    /// The name of the source.
    pub name: String,
    /// How many documents of it are stored, kept or not.
    pub documents: u64,
    /// How many documents of it are kept.
    pub kept: u64,
    /// UTF-8 bytes of the texts of all stored documents.
    pub bytes: u64,
    /// UTF-8 bytes of the texts of kept documents.
    pub kept_bytes: u64,
    /// (tokenizer id, tokens of kept documents), ascending by id.
    pub tokens: Vec<(u16, u64)>,
    /// Next file id; files count from 1.
    pub next_file: u32,
}

/// What was read of a file: an unchanged one need not be read again, a part-read one is resumed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FileRecord {
    /// Its number within the source.
    pub file: u32,
    /// Size in bytes when read.
    pub size: u64,
    /// The version of the file when it was read, which differs from other states of the same size: the low 64 bits are
    /// its modification time in nanoseconds since 1970, the others its inode and change time; 0 where that was not
    /// kept.
    pub modified: i128,
    /// The file is one document, not a list of records.
    pub single: bool,
    /// Read to its end.
    pub whole: bool,
    /// Decompressed bytes consumed.
    pub offset: u64,
    /// Records consumed, rejected ones included.
    pub records: u64,
    /// Records that were rejected, of those consumed.
    pub rejected: u64,
    /// blake3 of the decompressed bytes consumed.
    pub prefix: [u8; 32],
    /// The options that decide what a file means: format, text field, id field.
    pub reading: String,
}

/// What a commit did; the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct CommitRecord {
    /// What made it: `init`, `ingest`, `tokenizer`, `snapshot`, `epoch`, `field`, `remove`, `restore`, `purge`, `redo`,
    /// `rejects`, `source`, `compact`.
    pub kind: String,
    /// The source, tokenizer, snapshot or epoch concerned.
    pub subject: String,
    /// First document added.
    pub first: u64,
    /// How many documents it added.
    pub added: u64,
    /// Documents whose standing became or stayed kept among those added.
    pub kept: u64,
    /// Stored documents whose standing changed.
    pub changed: u64,
    /// How many records it rejected.
    pub rejected: u64,
    /// Why documents were removed, in the words of who did it.
    pub reason: Option<String>,
    /// The condition that selected them, where one did.
    pub condition: Option<String>,
    /// When, in microseconds since 1970 in UTC, as the program said that asked for it.
    pub time: Option<i64>,
}

impl CommitRecord {
    /// A record of that kind about a subject, with nothing else.
    #[must_use]
    pub fn about(kind: &str, subject: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), subject: subject.into(), ..Self::default() }
    }
}

/// What undoing needs to know of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct VerbRecord {
    /// A verb begins with it: the commits up to the next one that begins a verb are of the same.
    pub begins: bool,
    /// The first commit of the verb that its verb undoes.
    pub undoes: Option<u64>,
    /// What was before that no row has any more, in the words of the verb.
    pub before: Option<String>,
}

/// A registered tokenizer; its files stand beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenizerRecord {
    /// The name of the tokenizer.
    pub name: String,
    /// blake3 of what decides every id: of its `tokenizer.json`, and where SentencePiece is the reference of its
    /// `.model` behind it.
    pub hash: [u8; 32],
    /// One more than the largest id.
    pub vocab_size: u32,
    /// Where it came from, in words.
    pub lineage: String,
    /// The encoder that passed the self-test, in words.
    pub backend: String,
    /// Documents below this id are encoded if kept; others await encoding (an interrupted `add`).
    pub encoded_to: u64,
    /// The reference library and its version: what the ids in the store are equal to.
    pub reference: String,
    /// The tokenizer that it extends, when that is stored here.
    pub base: Option<u16>,
    /// The files as they were given, where they were not a `tokenizer.json` that is used as it is.
    pub originals: Vec<OriginalFile>,
    /// Its ids and files are gone. Its number is not given again.
    pub dropped: bool,
    /// How its trained tokens follow from the trained bytes of a text.
    pub mask_rule: MaskRule,
}

/// The fields of a tokenizer in their stored order, without the rule of its trained tokens.
type TokenizerFields =
    (String, [u8; 32], u32, String, String, u64, String, Option<u16>, Vec<OriginalFile>, bool);

impl TokenizerRecord {
    /// The format of a record that ends with the number of its rule for trained tokens; without it the rule is the
    /// first.
    const WITH_RULE: u8 = 2;

    /// The stored form.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let fields = (
            &self.name,
            &self.hash,
            self.vocab_size,
            &self.lineage,
            &self.backend,
            self.encoded_to,
            &self.reference,
            self.base,
            &self.originals,
            self.dropped,
        );
        match self.mask_rule {
            MaskRule::Begin => encode("tokenizer", &fields),
            later => encode_as(Self::WITH_RULE, "tokenizer", &(fields, later.number())),
        }
    }

    /// What a row says.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (fields, rule): (TokenizerFields, u32) = match bytes.split_first() {
            Some((&Self::WITH_RULE, body)) => decode_body(body)?,
            _ => (decode(bytes)?, MaskRule::Begin.number()),
        };
        let unknown = || format!("rule {rule} of trained tokens, which this release does not know");
        let mask_rule = MaskRule::of_number(rule);
        let mask_rule = mask_rule.ok_or_else(|| DecodeError::at(bytes.len(), unknown()))?;
        let (
            name,
            hash,
            vocab_size,
            lineage,
            backend,
            encoded_to,
            reference,
            base,
            originals,
            dropped,
        ) = fields;
        Ok(Self {
            name,
            hash,
            vocab_size,
            lineage,
            backend,
            encoded_to,
            reference,
            base,
            originals,
            dropped,
            mask_rule,
        })
    }
}

/// A file that a tokenizer was made of, stored verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OriginalFile {
    /// Its name, without directories.
    pub name: String,
    /// blake3 of its bytes.
    pub hash: [u8; 32],
}

/// A durable, named moment.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SnapshotRecord {
    /// The name of the snapshot.
    pub name: String,
    /// The commit it shows.
    pub commit: u64,
    /// The policy generation it shows.
    pub generation: u32,
    /// Documents stored then.
    pub documents: u64,
    /// Documents kept then.
    pub kept: u64,
    /// blake3 of the kept bitmap's portable bytes.
    pub kept_hash: [u8; 32],
    /// Documents that were kept then and have been purged since: they are in neither the bitmap nor its count.
    pub purged: u64,
}

/// What stands in the place of words that quoted a purged document.
pub const REDACTED: &str = "(quoted what was purged)";

/// A stored epoch plan: everything that decides the bytes of the export.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EpochRecord {
    /// Its number, the name `epoch build` takes.
    pub number: u32,
    /// blake3 of the plan.
    pub hash: [u8; 32],
    /// The snapshot it pins.
    pub snapshot: String,
    /// The plan as the epoch layer wrote it.
    pub plan: String,
}

/// A record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RejectRecord {
    /// The source it was meant for.
    pub source: String,
    /// Absolute path of its file.
    pub path: String,
    /// Records before it in the file.
    pub number: u64,
    /// Its first byte in the decompressed stream; for Parquet, its row.
    pub offset: u64,
    /// Why, in words.
    pub reason: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first bytes.
    pub raw: Vec<u8>,
}

/// A suite, and how far stored texts were searched for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteRecord {
    /// Its name.
    pub name: String,
    /// Absolute paths of the files that it was read from.
    pub files: Vec<String>,
    /// blake3 over its items: equal for equal items.
    pub hash: [u8; 32],
    /// Items.
    pub items: u32,
    /// Items without an answer.
    pub weak: u32,
    /// Items without any part long enough to search for.
    pub unsearchable: u32,
    /// Distinct n-grams.
    pub grams: u32,
    /// Documents below this id were searched; `u64::MAX`: all, and every one that comes is.
    pub next: u64,
    /// What makes the tokens of its n-grams, and of the texts that are searched for them.
    pub normaliser: Normaliser,
    /// The version of the rule by which records became its items.
    pub rule: u32,
}

/// The fields of a suite in their stored order, without its normaliser.
type SuiteFields = (String, Vec<String>, [u8; 32], u32, u32, u32, u32, u64);

impl SuiteRecord {
    /// The format of a record that ends with the name of a normaliser; without it that is version 1 of `web`, so that
    /// earlier releases read every suite that they can search for, and refuse the others.
    const WITH_NORMALISER: u8 = 2;
    /// With the version of the rule of its items behind that; without it is the first version.
    const WITH_RULE: u8 = 3;

    /// The stored form.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let Self { name, files, hash, items, weak, unsearchable, grams, next, normaliser, rule } =
            self;
        let fields = (name, files, hash, items, weak, unsearchable, grams, next);
        match (normaliser, rule) {
            (Normaliser::Web, 1) => encode("suite", &fields),
            (other, 1) => encode_as(Self::WITH_NORMALISER, "suite", &(fields, other.name())),
            (other, rule) => encode_as(Self::WITH_RULE, "suite", &(fields, other.name(), rule)),
        }
    }

    /// What a row says.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (fields, name, rule): (SuiteFields, Option<String>, u32) = match bytes.split_first() {
            Some((&Self::WITH_RULE, body)) => decode_body(body)
                .map(|(fields, name, rule): (_, String, u32)| (fields, Some(name), rule))?,
            Some((&Self::WITH_NORMALISER, body)) => {
                decode_body(body).map(|(fields, name): (_, String)| (fields, Some(name), 1))?
            }
            _ => (decode(bytes)?, None, 1),
        };
        let normaliser = match name {
            None => Normaliser::Web,
            Some(name) => {
                let unknown = || format!("normaliser `{name}`, which this release does not know");
                Normaliser::from_name(&name)
                    .ok_or_else(|| DecodeError::at(bytes.len(), unknown()))?
            }
        };
        let (name, files, hash, items, weak, unsearchable, grams, next) = fields;
        Ok(Self { name, files, hash, items, weak, unsearchable, grams, next, normaliser, rule })
    }

    /// Whether all stored texts were searched for it.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.next == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_both_mask_rules_have_their_bytes() {
        let record =
            |mask_rule| TokenizerRecord { name: "own".to_owned(), mask_rule, ..Default::default() };
        let first = record(MaskRule::Begin).encode().unwrap();
        // Releases that knew one rule wrote the record so.
        assert_eq!(first[..12], [1, 3, 0, 0, 0, 0, 0, 0, 0, b'o', b'w', b'n']);
        assert_eq!(first.len(), 12 + 32 + 4 + 8 + 8 + 8 + 8 + 1 + 8 + 1);
        let second = record(MaskRule::Hold).encode().unwrap();
        assert_eq!((second[0], &second[1..first.len()]), (2, &first[1..]));
        assert_eq!(second[first.len()..], [2, 0, 0, 0]);
        for (bytes, rule) in [(&first, MaskRule::Begin), (&second, MaskRule::Hold)] {
            assert_eq!(TokenizerRecord::decode(bytes).unwrap(), record(rule));
        }
        let mut later = second;
        let last = later.len() - 4;
        later[last] = 3;
        let told = format!("{:?}", TokenizerRecord::decode(&later).unwrap_err());
        assert!(told.contains("rule 3 of trained tokens"), "{told}");
    }
}
