//! Declared fields: their names, their records, and their values, filled in or erased in commits of bounded size.
//!
//! Keywords are read as the metadata spells them.

use crate::batch::CommitBatch;
use crate::bytes::key::{
    BlockNumber, ColumnKey, NameRule, PostingKey, StoreKey, TermKey, after_prefix, check_name,
};
use crate::bytes::record::{self, CharterRecord, FieldRecord, FieldState};
use crate::database::PinnedMoment;
use crate::database::family::corrupt_row;
use crate::documents::indexed_values::{FieldContent, found, indexed};
use crate::documents::numbers::Columns;
use crate::documents::postings::Postings;
use crate::documents::terms::{TermOfValue, Terms};
use crate::error::{DecodeError, StoreError};
use crate::meta::{Meta, MetaField, MetaKey};
use crate::system_fields;
use crate::view::View;
use model::invariant::part;
use model::{DocId, FieldDeclaration, FieldId, FieldKind, KeepOrder, TermId};
use std::borrow::Cow;
use std::ops::Range;

impl View {
    /// Fields that were added while the corpus held documents, those that are not declared yet or any more included;
    /// ascending by id.
    #[must_use]
    pub fn added_fields(&self) -> &[(FieldId, FieldRecord)] {
        &self.moment.added
    }

    /// The record of a field that was added; none of one that the corpus was made with.
    #[doc(hidden)]
    pub fn added_field(&self, field: FieldId) -> Option<&FieldRecord> {
        self.added_fields().iter().find(|(id, _)| *id == field).map(|(_, record)| record)
    }

    /// The declared field of that name.
    #[doc(hidden)]
    pub fn field_named(&self, name: &str) -> Option<&FieldDeclaration> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The field whose numbers rank documents, where the keep order goes by one.
    #[doc(hidden)]
    pub fn order_field(&self) -> Option<FieldId> {
        match &self.policy().keep {
            KeepOrder::Field(name) => self.field_named(name).map(|field| field.id),
            _ => None,
        }
    }

    /// The field of that name that is being filled, and is not declared before it is.
    #[doc(hidden)]
    pub fn filling_field(&self, name: &str) -> Option<&(FieldId, FieldRecord)> {
        self.filling_fields().find(|(_, record)| record.name == name)
    }

    /// Fields that are being filled.
    #[doc(hidden)]
    pub fn filling_fields(&self) -> impl Iterator<Item = &(FieldId, FieldRecord)> {
        self.added_fields().iter().filter(|(_, record)| record.state == FieldState::Filling)
    }

    /// Declared fields whose values every document that comes is given, each with the expression that has them.
    #[doc(hidden)]
    pub fn fed_fields(&self) -> impl Iterator<Item = (&FieldDeclaration, &str)> {
        self.fields().iter().filter_map(|field| {
            let record = self.added_field(field.id)?;
            let expression = record.expression.as_deref()?;
            (record.state == FieldState::Fed).then_some((field, expression))
        })
    }

    /// The expression whose value every document that comes is given in a declared field, where there is one.
    #[doc(hidden)]
    pub fn fed_by(&self, name: &str) -> Option<&str> {
        let mut fed = self.fed_fields();
        fed.find_map(|(field, expression)| (field.name == name).then_some(expression))
    }

    /// Declared fields, and those that are being filled: what a change of metadata must keep right.
    #[doc(hidden)]
    pub fn indexed_fields(&self) -> Result<Cow<'_, [FieldDeclaration]>, StoreError> {
        // Asked for with every document that changes, and nearly always none is being filled.
        let mut fields = Cow::Borrowed(self.fields());
        for (id, record) in self.filling_fields() {
            fields.to_mut().push(declaration(*id, record)?);
        }
        Ok(fields)
    }

    /// What each document of a range that has metadata has for a field, ascending, in one scan.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; what comes last may be the error of a row.
    pub(crate) fn field_values(
        &self,
        field: &FieldDeclaration,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, FieldContent), StoreError>>, StoreError> {
        self.metadata_in(range, move |text| found(text, field))
    }

    /// Values of a range that the types of their fields cannot hold, in one scan: ascending documents that have some,
    /// each with their fields and their beginnings, as JSON spells them.
    #[doc(hidden)]
    pub fn misfits_in(
        &self,
        fields: &[FieldDeclaration],
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<DocumentMisfits, StoreError>>, StoreError> {
        let found = self.metadata_in(range, move |text| indexed(text, fields).misfits)?;
        let has_some = |row: &Result<DocumentMisfits, StoreError>| {
            row.as_ref().map_or(true, |(_, misfits)| !misfits.is_empty())
        };
        Ok(found.filter(has_some))
    }

    /// The records of all fields that were added: a view has them from its beginning.
    pub(crate) fn read_added_fields(
        pinned: &PinnedMoment,
    ) -> Result<Vec<(FieldId, FieldRecord)>, StoreError> {
        let rows = pinned.scan_prefix::<MetaField>(MetaKey::fields())?;
        rows.filter_map(|field, record| Some((field, record))).collect()
    }

    /// The keyword of `document` in `field`, whose term is `term`; none when there is no such term. A long one, for
    /// which the dictionary has head and hash, is read from the document's other fields.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn keyword(
        &self,
        document: DocId,
        field: FieldId,
        term: TermId,
    ) -> Result<Option<String>, StoreError> {
        let Some((_, value)) = self.term_value(term)? else { return Ok(None) };
        if system_fields::is_shortened(&value)
            && let Some(whole) = self.spelled(document, field)?
        {
            return Ok(Some(whole));
        }
        Ok(Some(String::from_utf8_lossy(&value).into_owned()))
    }

    fn spelled(&self, document: DocId, field: FieldId) -> Result<Option<String>, StoreError> {
        let language = FieldDeclaration {
            id: system_fields::LANGUAGE,
            name: "language".to_owned(),
            kind: FieldKind::Keyword,
            path: None,
            rule: FieldKind::Keyword.rule(),
        };
        let declared = self.fields().iter().find(|known| known.id == field);
        let declared = declared.cloned().unwrap_or(language);
        let found = indexed(&self.metadata(document)?, std::slice::from_ref(&declared)).keywords;
        Ok(found.into_iter().find_map(|(id, keyword)| (id == field).then_some(keyword)))
    }
}

/// A document with those of its fields whose values are of another type, and the beginnings of these.
pub(crate) type DocumentMisfits = (DocId, Vec<(FieldId, String)>);

/// The field of a record as it is or will be declared.
///
/// # Errors
/// [`StoreError`] for a kind that no release wrote.
pub fn declaration(id: FieldId, record: &FieldRecord) -> Result<FieldDeclaration, StoreError> {
    let damaged =
        |why: DecodeError| corrupt_row::<Meta>("field", &MetaKey::Field(id).to_bytes(), why);
    record.declaration(id).map_err(damaged)
}

/// What a range of documents has for a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillCounts {
    /// Documents that have a value.
    pub values: u64,
    /// Documents whose value is of another type.
    pub ill_typed: u64,
}

impl CommitBatch<'_> {
    /// Declares fields, ascending by id, in the place of those that are declared.
    ///
    /// # Errors
    /// [`StoreError`] when the charter cannot be encoded.
    pub fn declare(&mut self, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
        let charter = CharterRecord::new(self.view.policy(), fields)?;
        self.put::<Meta>(&MetaKey::Charter, &record::encode("charter", &charter)?)
    }

    /// Stores what becomes of a field; none: nothing is to be remembered of it. `commit` is filled in.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_field(
        &mut self,
        field: FieldId,
        record: Option<&FieldRecord>,
    ) -> Result<(), StoreError> {
        let key = MetaKey::Field(field);
        let Some(record) = record else { return self.delete::<Meta>(&key) };
        let record = FieldRecord { commit: self.commit_seq().0, ..record.clone() };
        self.put::<Meta>(&key, &record::encode("field", &record)?)
    }

    /// Indexes what the metadata of a range of documents have for a field without any indexed value of these documents;
    /// the same again changes nothing.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn fill(
        &mut self,
        field: &FieldDeclaration,
        range: Range<u64>,
    ) -> Result<FillCounts, StoreError> {
        let view = self.view().clone();
        let column = system_fields::column_of(field.id);
        let mut filled = FillCounts::default();
        for row in view.field_values(field, range)? {
            let (document, found) = row?;
            let number = match found {
                FieldContent::Keyword(keyword) => {
                    let value = system_fields::keyword_value(&keyword);
                    i64::from(self.add_posting(field.id, &value, document)?.0)
                }
                FieldContent::Number(number) => number,
                FieldContent::IllTyped => {
                    filled.ill_typed += 1;
                    continue;
                }
                FieldContent::Nothing => continue,
            };
            self.number(column, document, number);
            filled.values += 1;
        }
        Ok(filled)
    }

    /// Deletes the index of a field that is declared no more: a limited number of values from `from` on, with their
    /// bitmaps, and behind the last one its column. Answers the value to continue from; none: nothing is left.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn erase_field(
        &mut self,
        field: FieldId,
        from: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let view = self.view().clone();
        let first = TermKey::Value(field, from.to_vec()).to_bytes();
        let end = after_prefix(&TermKey::Value(field, Vec::new()).to_bytes());
        let mut rows = view.pinned().scan::<TermOfValue>(&first, end)?;
        let mut erased = 0;
        while let Some(((field, value), term)) = rows.next()? {
            if erased == most {
                return Ok(Some(value));
            }
            erased += 1;
            self.erase_bitmaps(term)?;
            self.delete::<Terms>(&TermKey::Value(field, value))?;
            self.delete::<Terms>(&TermKey::Id(term))?;
        }
        // No term is given twice, but a field may be, and the same value with it.
        self.writer.terms.retain(|(other, _), _| *other != field);
        let from =
            ColumnKey { column: system_fields::column_of(field), block: BlockNumber(0) }.to_bytes();
        let end = after_prefix(part(&from, ..2)).unwrap_or_default();
        self.delete_range::<Columns>(from, end)?;
        Ok(None)
    }

    fn erase_bitmaps(&mut self, term: TermId) -> Result<(), StoreError> {
        let view = self.view().clone();
        let first = PostingKey { term, block: BlockNumber(0) }.to_bytes();
        let mut rows = view.pinned().scan_prefix::<Postings>(part(&first, ..4))?;
        while let Some((key, _)) = rows.advance()? {
            let key = PostingKey::decode(key)
                .map_err(|why| corrupt_row::<Postings>("bitmap", key, why))?;
            self.delete::<Postings>(&key)?;
        }
        Ok(())
    }
}

/// Fields a corpus declares: column numbers beyond are not reserved for them.
const MOST_FIELDS: usize = 4000;

/// Columns of `documents` that a declared field would hide.
const RESERVED: [&str; 15] = [
    "id",
    "key",
    "source",
    "commit",
    "bytes",
    "chars",
    "tokens",
    "kept",
    "standing",
    "dup_of",
    "jaccard",
    "cluster",
    "cluster_size",
    "crowded",
    "meta",
];

/// Checks a name that becomes the name of a column: of a field, of a tokenizer.
///
/// # Errors
/// [`StoreError::Name`].
pub fn check_column_name(name: &str) -> Result<(), StoreError> {
    check_name("name", name, NameRule::Column)
}

/// Refuses a keep order by a field that holds no numbers.
///
/// # Errors
/// [`StoreError::Name`].
pub fn check_keep_order(keep: &KeepOrder, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
    let KeepOrder::Field(name) = keep else { return Ok(()) };
    let why = match fields.iter().find(|field| field.name == *name) {
        Some(field) if field.kind != FieldKind::Keyword => return Ok(()),
        Some(_) => "is declared as keyword, which has no order",
        None => "is not declared",
    };
    Err(StoreError::Name(format!(
        "keep order `{keep}` needs a number, but field `{name}` {why}; declare it as a number: `fields=` {name}:float or `fields=` {name}:int at `corpusdb init`, or `corpusdb field add` later"
    )))
}

/// The declaration of a field that is added to a corpus, with a number that no other field has.
///
/// # Errors
/// [`StoreError::Name`] for a name that is malformed, taken, or that of a column of every corpus.
pub fn declare_field(
    view: &View,
    name: &str,
    kind: FieldKind,
    path: Option<&str>,
) -> Result<FieldDeclaration, StoreError> {
    let path = path.filter(|path| *path != name);
    check_field_name(name, kind, path)?;
    if path.is_some_and(str::is_empty) {
        return Err(StoreError::Name(format!("the path of the values of field `{name}` is empty")));
    }
    let declared = view.fields().iter();
    let mut taken: Vec<(FieldId, &str)> =
        declared.map(|field| (field.id, field.name.as_str())).collect();
    let gone = |record: &FieldRecord| record.state == FieldState::Going;
    let added = view.added_fields().iter();
    taken.extend(
        added.map(|(id, record)| (*id, if gone(record) { "" } else { record.name.as_str() })),
    );
    if taken.iter().any(|(_, other)| other.to_lowercase() == name.to_lowercase()) {
        return Err(StoreError::Name(format!("field `{name}` is declared already")));
    }
    let numbers = system_fields::FIRST_DECLARED..;
    let mut numbers = numbers.take(MOST_FIELDS).map(FieldId);
    // Columns come in the order of numbers: a new one comes last, as long as there are numbers.
    let last =
        taken.iter().map(|(id, _)| *id).max().unwrap_or(FieldId(system_fields::FIRST_DECLARED - 1));
    let behind = numbers.clone().find(|id| *id > last);
    let free = || numbers.find(|id| taken.iter().all(|(other, _)| other != id));
    let id = behind.or_else(free).ok_or_else(too_many)?;
    let (name, path) = (name.to_owned(), path.map(str::to_owned));
    Ok(FieldDeclaration { id, name, kind, path, rule: kind.rule() })
}

fn too_many() -> StoreError {
    StoreError::Name(format!("a corpus declares at most {MOST_FIELDS} fields"))
}

/// Refuses a name that is malformed or that of a column of every corpus. `language` is one that may be fed from
/// elsewhere.
fn check_field_name(name: &str, kind: FieldKind, path: Option<&str>) -> Result<(), StoreError> {
    check_column_name(name)?;
    let lower = name.to_lowercase();
    if name == "language" && path.is_some() {
        let what = "`language` is always a keyword: `language:keyword`";
        let refused = || StoreError::Name(what.to_owned());
        return if kind == FieldKind::Keyword { Ok(()) } else { Err(refused()) };
    }
    if name == "language" {
        return Err(StoreError::Name(
            "`language` is a column of every corpus already; to take its values from another field of the records, give that as `from_meta=` of `corpusdb field add`".to_owned(),
        ));
    }
    if RESERVED.contains(&lower.as_str())
        || lower == "text"
        || lower == "language"
        || lower.starts_with("tokens_")
    {
        return Err(StoreError::Name(format!(
            "field `{name}` is a column of every corpus already; choose another name"
        )));
    }
    Ok(())
}

/// The fields of a corpus, numbered in the order in which they are declared.
///
/// # Errors
/// [`StoreError::Name`] for a name that is malformed, declared twice, or that of a column of every corpus.
pub fn declare_fields(
    declared: &[(String, FieldKind)],
) -> Result<Vec<FieldDeclaration>, StoreError> {
    let mut found: Vec<FieldDeclaration> = Vec::new();
    if declared.len() > MOST_FIELDS {
        return Err(too_many());
    }
    for ((name, kind), id) in declared.iter().zip(system_fields::FIRST_DECLARED..) {
        check_field_name(name, *kind, None)?;
        let lower = name.to_lowercase();
        if found.iter().any(|field| field.name.to_lowercase() == lower) {
            return Err(StoreError::Name(format!("field `{name}` is declared twice")));
        }
        found.push(FieldDeclaration {
            id: FieldId(id),
            name: name.clone(),
            kind: *kind,
            path: None,
            rule: kind.rule(),
        });
    }
    Ok(found)
}
