"""An embedded database for language-model training corpora.

Functions:

    create(path)            makes a corpus: an empty directory with a policy for duplicates, and declared fields
    open(path)              opens one for reading; mode="w" opens its one writer
    explain_dedup()         what a policy for duplicates finds, and what it costs
    preset(name)            a published filter of quality, as a condition
    repair(path)            mends a damaged corpus; `salvage(path, target)` copies what can be read

    import corpusdb

    corpusdb.create("crawl", fields={"quality": float})
    with corpusdb.open("crawl", mode="w") as w:
        w.ingest("2026/*.jsonl.zst", source="web", id_field="url")
        print(w.sql("SELECT source, count(*) FROM documents WHERE kept GROUP BY source"))

All else are methods of what these return, `Corpus` and `Writer`: help(corpusdb.Corpus). `Backups(directory)` takes and
restores backups, `corpusdb.torch` and `corpusdb.kernel` have what trainers need, `corpusdb.reports` the answers, and
`corpusdb.errors` the exceptions.
"""

import importlib
from typing import TYPE_CHECKING

from corpusdb import _fork, errors, reports
from corpusdb._backups import Backups
from corpusdb._batch import Batch, RowText
from corpusdb._corpus import Corpus
from corpusdb._dedup import Dedup
from corpusdb._document import Document
from corpusdb._duplicates import DuplicatePair, Duplicates, Witness
from corpusdb._fields import Fields, WriterFields
from corpusdb._loader import Loader
from corpusdb._native import version as _version
from corpusdb._open import create, explain_dedup, open, repair, salvage
from corpusdb._plan import Plan
from corpusdb._progress import Progress
from corpusdb._report import Report
from corpusdb._signals import Signals, WriterSignals, preset
from corpusdb._snapshots import ChangedDocument, Snapshots, WriterSnapshots
from corpusdb._table import Table
from corpusdb._tokenizers import Segmentation, Tokenizer, Tokenizers, WriterTokenizers
from corpusdb._writer import Writer
from corpusdb.errors import *  # noqa: F403
from corpusdb.reports import (
    Backup,
    BackupFault,
    BackupReport,
    Certificate,
    CheckReport,
    Cluster,
    ColumnStats,
    CorpusReport,
    DedupExplanation,
    DocumentCounts,
    DocumentDuplicates,
    DropRejectsReport,
    DuplicatesSummary,
    Explanation,
    Export,
    Fault,
    Field,
    FieldReport,
    GroupChanges,
    GroupStats,
    Info,
    IngestReport,
    JoinReport,
    LoaderBenchmark,
    LoadReport,
    LogEntry,
    LossCounts,
    LossStats,
    LostDocument,
    LostRows,
    Manifest,
    Match,
    MisfitStats,
    OutputHolder,
    PurgeReport,
    QualityReport,
    RedoReport,
    Reject,
    RejectStats,
    RemovalReport,
    RepairReport,
    RowPlace,
    SalvageReport,
    SettleReport,
    Signal,
    SignalsReport,
    SimilarDocument,
    SimilarReport,
    Snapshot,
    SnapshotDetails,
    SnapshotDiff,
    SnapshotHolder,
    SnapshotSource,
    SourceRenameReport,
    Stats,
    TokenizerCheckReport,
    UndoReport,
    Verification,
    VerifyBackupsReport,
    WhoReport,
)

__version__ = _version()
_fork.watch()

__all__ = [
    "Backup", "BackupFault", "BackupReport", "Backups", "Batch", "Certificate", "ChangedDocument", "CheckReport",
    "Cluster", "ColumnStats", "Corpus", "CorpusReport", "Dedup", "DedupExplanation", "Document", "DocumentCounts",
    "DocumentDuplicates", "DropRejectsReport", "DuplicatePair", "Duplicates", "DuplicatesSummary", "Explanation",
    "Export", "Fault", "Field", "FieldReport", "Fields", "GroupChanges", "GroupStats", "Info", "IngestReport",
    "JoinReport", "LoadReport", "Loader", "LoaderBenchmark", "LogEntry", "LossCounts", "LossStats", "LostDocument",
    "LostRows", "Manifest", "Match", "MisfitStats", "OutputHolder", "Plan", "Progress", "PurgeReport",
    "QualityReport", "RedoReport", "Reject", "RejectStats", "RemovalReport", "RepairReport", "Report", "RowPlace",
    "RowText", "SalvageReport", "Segmentation", "SettleReport", "Signal", "Signals", "SignalsReport",
    "SimilarDocument",
    "SimilarReport", "Snapshot", "SnapshotDetails", "SnapshotDiff", "SnapshotHolder", "SnapshotSource", "Snapshots",
    "SourceRenameReport", "Stats", "Table", "Tokenizer", "TokenizerCheckReport", "Tokenizers", "UndoReport",
    "Verification", "VerifyBackupsReport", "WhoReport", "Witness", "Writer", "WriterFields", "WriterSignals",
    "WriterSnapshots", "WriterTokenizers",
    "create", "errors", "explain_dedup", "open", "preset", "repair", "reports", "salvage", *errors.__all__,
]

if TYPE_CHECKING:
    from corpusdb import torch as torch
else:

    def __getattr__(name):
        # `corpusdb.torch` is imported at its first use, since it takes torch, which is optional.
        if name == "torch":
            return importlib.import_module("corpusdb.torch")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
