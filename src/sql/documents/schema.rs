//! The columns of the table `documents`: names, types, and where their values come from.

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use model::near_names::UnknownName;
use model::{ColumnId, FieldDeclaration, FieldId, FieldKind};
use roaring::RoaringTreemap;
use std::sync::{Arc, OnceLock};
use store::{View, system_fields};

/// Where the values of a column of `documents` come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnSource {
    /// The document's id.
    Id,
    /// The document's key, as it is shown.
    Key,
    /// The source's name.
    SourceName,
    /// Whether the document is kept.
    Kept,
    /// The name of the document's standing.
    Standing,
    /// Whether the decision about the document left candidates out.
    Crowded,
    /// The witness that the document duplicates.
    DuplicateOf,
    /// The similarity to that witness.
    Jaccard,
    /// The document's cluster.
    Cluster,
    /// The number of documents in the cluster.
    ClusterSize,
    /// Suites with an item in the document.
    ContaminatedBy,
    /// The document's text.
    Text,
    /// The document's other fields as JSON.
    Meta,
    /// Integers of a stored column.
    Integer {
        column: ColumnId,
        /// Whether values are never negative and shown as u64.
        unsigned: bool,
        /// Whether every document has a value.
        total: bool,
    },
    /// Floats of a stored column.
    Float(ColumnId),
    /// Zeros and ones of a stored column.
    Bool(ColumnId),
    /// Microseconds since 1970 of a stored column.
    Timestamp(ColumnId),
    /// Terms of a field.
    Keyword(FieldId),
}

impl ColumnSource {
    /// Whether the value follows the decisions in force, and so may change after a document came. Values of a field
    /// that a user sets later are not meant.
    pub(crate) const fn is_of_standing(self) -> bool {
        match self {
            Self::Kept
            | Self::Standing
            | Self::Crowded
            | Self::DuplicateOf
            | Self::Jaccard
            | Self::Cluster
            | Self::ClusterSize
            // An n-gram is common if many kept documents have it.
            | Self::ContaminatedBy => true,
            Self::Id
            | Self::Key
            | Self::SourceName
            | Self::Text
            | Self::Meta
            | Self::Integer { .. }
            | Self::Float(_)
            | Self::Bool(_)
            | Self::Timestamp(_)
            | Self::Keyword(_) => false,
        }
    }
}

/// One column of `documents`.
#[derive(Clone, Debug)]
pub(crate) struct DocumentColumn {
    /// Name in SQL.
    pub name: String,
    pub source: ColumnSource,
    /// Verdicts that all who fill the column share: they are found once for all documents.
    pub shared: Arc<OnceLock<SuiteDocuments>>,
}

/// Suites by name, each with the documents that have an item of it.
pub(crate) type SuiteDocuments = Vec<(String, RoaringTreemap)>;

impl DocumentColumn {
    fn field(&self) -> Field {
        let (kind, nullable) = match self.source {
            ColumnSource::Id => (DataType::UInt64, false),
            ColumnSource::Key | ColumnSource::SourceName | ColumnSource::Standing => {
                (DataType::Utf8, false)
            }
            ColumnSource::Kept | ColumnSource::Crowded => (DataType::Boolean, false),
            ColumnSource::DuplicateOf | ColumnSource::Cluster => (DataType::UInt64, true),
            ColumnSource::Jaccard | ColumnSource::Float(_) => (DataType::Float64, true),
            ColumnSource::Bool(_) => (DataType::Boolean, true),
            ColumnSource::Timestamp(_) => (DataType::Timestamp(TimeUnit::Microsecond, None), true),
            ColumnSource::ClusterSize => (DataType::Int64, true),
            // Views, because a batch of long texts may pass the 2 GiB of plain string offsets.
            ColumnSource::Text | ColumnSource::Meta => (DataType::Utf8View, false),
            ColumnSource::Integer { unsigned, total, .. } => {
                (if unsigned { DataType::UInt64 } else { DataType::Int64 }, !total)
            }
            ColumnSource::Keyword(_) | ColumnSource::ContaminatedBy => (DataType::Utf8, true),
        };
        Field::new(&self.name, kind, nullable)
    }
}

/// The table `documents` of one view.
#[derive(Clone, Debug)]
pub(crate) struct DocumentColumns {
    pub columns: Arc<[DocumentColumn]>,
    /// Types of the columns.
    pub schema: SchemaRef,
}

impl DocumentColumns {
    /// The columns of `view`. A declared field whose name is taken can be read from `meta` alone.
    pub(crate) fn of(view: &View) -> Self {
        let counted = |column| ColumnSource::Integer { column, unsigned: false, total: true };
        let commit =
            ColumnSource::Integer { column: system_fields::COMMIT_OF, unsigned: true, total: true };
        let mut columns: Vec<DocumentColumn> = Vec::new();
        let mut add = |name: &str, source| {
            if columns.iter().all(|column| column.name != name) {
                let shared = Arc::default();
                columns.push(DocumentColumn { name: name.to_owned(), source, shared });
            }
        };
        add("id", ColumnSource::Id);
        add("key", ColumnSource::Key);
        add("source", ColumnSource::SourceName);
        // A declared `language` replaces the built-in one, also in the store.
        let declared = view.field_named("language");
        add(
            "language",
            declared.map_or(ColumnSource::Keyword(system_fields::LANGUAGE), declared_source),
        );
        add("commit", commit);
        add("bytes", counted(system_fields::BYTES));
        add("chars", counted(system_fields::CHARS));
        let tokens = |tokenizer| ColumnSource::Integer {
            column: system_fields::tokens_of(tokenizer),
            unsigned: false,
            total: false,
        };
        if let Some((first, _)) = view.own_tokenizers().next() {
            add("tokens", tokens(first));
        }
        for (tokenizer, record) in view.own_tokenizers() {
            add(&format!("tokens_{}", record.name), tokens(tokenizer));
        }
        add("kept", ColumnSource::Kept);
        add("standing", ColumnSource::Standing);
        add("dup_of", ColumnSource::DuplicateOf);
        add("jaccard", ColumnSource::Jaccard);
        add("cluster", ColumnSource::Cluster);
        add("cluster_size", ColumnSource::ClusterSize);
        add("crowded", ColumnSource::Crowded);
        // Where suites cannot be read, a statement about them reports that.
        if view.suites().is_ok_and(|suites| !suites.is_empty()) {
            add("contaminated_by", ColumnSource::ContaminatedBy);
        }
        add("text", ColumnSource::Text);
        add("meta", ColumnSource::Meta);
        for field in view.fields() {
            add(&field.name, declared_source(field));
        }
        let schema = Schema::new(columns.iter().map(DocumentColumn::field).collect::<Vec<_>>());
        Self { columns: columns.into(), schema: Arc::new(schema) }
    }

    /// The column of that name.
    pub(crate) fn named(&self, name: &str) -> Option<&DocumentColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The error for a name that no column has.
    pub(crate) fn unknown(&self, name: &str) -> UnknownName {
        UnknownName::new("column", name, self.columns.iter().map(|column| column.name.as_str()))
    }

    /// All names, comma-separated, for messages.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        names.join(", ")
    }
}

/// Where the values of a declared field come from.
pub(crate) fn declared_source(field: &FieldDeclaration) -> ColumnSource {
    let column = system_fields::column_of(field.id);
    match field.kind {
        FieldKind::Keyword => ColumnSource::Keyword(field.id),
        FieldKind::Int => ColumnSource::Integer { column, unsigned: false, total: false },
        FieldKind::Float => ColumnSource::Float(column),
        FieldKind::Bool => ColumnSource::Bool(column),
        FieldKind::Timestamp => ColumnSource::Timestamp(column),
    }
}
