//! The columns of the table `documents`: names, types, and where their values come from.

use crate::model::{ColumnId, FieldDeclaration, FieldId, FieldKind};
use crate::store::View;
use crate::store::fields;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// Where the values of a column of `documents` come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The document's own number.
    Id,
    /// The key shown for it.
    Key,
    /// The source's name.
    SourceName,
    /// Whether it is kept.
    Kept,
    /// Its standing's name.
    Standing,
    /// The witness it duplicates.
    DuplicateOf,
    /// Similarity to that witness.
    Jaccard,
    /// Its cluster.
    Cluster,
    /// Documents in its cluster.
    ClusterSize,
    /// Its text.
    Text,
    /// Its other fields as JSON.
    Meta,
    /// Integers of a stored column; never negative and shown as u64 when `unsigned`.
    Integer {
        /// The stored column.
        column: ColumnId,
        /// Shown as u64.
        unsigned: bool,
        /// Whether every document has a value.
        total: bool,
    },
    /// Floats of a stored column.
    Float(ColumnId),
    /// Terms of a field.
    Keyword(FieldId),
}

/// One column of `documents`.
#[derive(Clone, Debug)]
pub(super) struct DocumentColumn {
    /// Its name in SQL.
    pub name: String,
    /// Where its values come from.
    pub source: Source,
}

impl DocumentColumn {
    fn field(&self) -> Field {
        let (kind, nullable) = match self.source {
            Source::Id => (DataType::UInt64, false),
            Source::Key | Source::SourceName | Source::Standing => (DataType::Utf8, false),
            Source::Kept => (DataType::Boolean, false),
            Source::DuplicateOf | Source::Cluster => (DataType::UInt64, true),
            Source::Jaccard | Source::Float(_) => (DataType::Float64, true),
            Source::ClusterSize => (DataType::Int64, true),
            // Views, because a batch of long texts may pass the 2 GiB of plain string offsets.
            Source::Text | Source::Meta => (DataType::Utf8View, false),
            Source::Integer { unsigned, total, .. } => {
                (if unsigned { DataType::UInt64 } else { DataType::Int64 }, !total)
            }
            Source::Keyword(_) => (DataType::Utf8, true),
        };
        Field::new(&self.name, kind, nullable)
    }
}

/// The table `documents` of one view.
#[derive(Clone, Debug)]
pub(super) struct DocumentColumns {
    /// The columns, in order.
    pub columns: Arc<[DocumentColumn]>,
    /// Their types.
    pub schema: SchemaRef,
}

impl DocumentColumns {
    /// The columns of `view`. A declared field whose name is taken is left to `meta`.
    pub(super) fn of(view: &View) -> Self {
        let counted = |column| Source::Integer { column, unsigned: false, total: true };
        let commit = Source::Integer { column: fields::COMMIT_OF, unsigned: true, total: true };
        let mut columns: Vec<DocumentColumn> = Vec::new();
        let mut add = |name: &str, source| {
            if columns.iter().all(|column| column.name != name) {
                columns.push(DocumentColumn { name: name.to_owned(), source });
            }
        };
        add("id", Source::Id);
        add("key", Source::Key);
        add("source", Source::SourceName);
        // A declared `language` takes the place of the built-in one, also in the store.
        let declared = view.fields().iter().find(|field| field.name == "language");
        add("language", declared.map_or(Source::Keyword(fields::LANGUAGE), declared_source));
        add("commit", commit);
        add("bytes", counted(fields::BYTES));
        add("chars", counted(fields::CHARS));
        let tokens = |tokenizer| Source::Integer {
            column: fields::tokens_of(tokenizer),
            unsigned: false,
            total: false,
        };
        if let Some((first, _)) = view.tokenizers().next() {
            add("tokens", tokens(first));
        }
        for (tokenizer, record) in view.tokenizers() {
            add(&format!("tokens_{}", record.name), tokens(tokenizer));
        }
        add("kept", Source::Kept);
        add("standing", Source::Standing);
        add("dup_of", Source::DuplicateOf);
        add("jaccard", Source::Jaccard);
        add("cluster", Source::Cluster);
        add("cluster_size", Source::ClusterSize);
        add("text", Source::Text);
        add("meta", Source::Meta);
        for field in view.fields() {
            add(&field.name, declared_source(field));
        }
        let schema = Schema::new(columns.iter().map(DocumentColumn::field).collect::<Vec<_>>());
        Self { columns: columns.into(), schema: Arc::new(schema) }
    }

    /// The column of that name.
    pub(super) fn named(&self, name: &str) -> Option<&DocumentColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// All names, comma-separated, for messages.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        names.join(", ")
    }
}

fn declared_source(field: &FieldDeclaration) -> Source {
    let column = fields::column_of(field.id);
    match field.kind {
        FieldKind::Keyword => Source::Keyword(field.id),
        FieldKind::Int => Source::Integer { column, unsigned: false, total: false },
        FieldKind::Float => Source::Float(column),
    }
}
