"""An embedded database for language-model training corpora.

    import corpusdb

    corpusdb.create("crawl", fields={"quality": float})
    with corpusdb.open("crawl", mode="w") as w:
        w.ingest("2026/*.jsonl.zst", source="web", id_field="url")
        print(w.sql("SELECT source, count(*) FROM documents WHERE kept GROUP BY source"))
"""

from corpusdb import _fork, errors
from corpusdb._backups import Backups
from corpusdb._batch import Batch
from corpusdb._corpus import Corpus
from corpusdb._dedup import Dedup
from corpusdb._document import Cluster, Document, Match
from corpusdb._duplicates import DuplicatePair, Duplicates, Witness
from corpusdb._export import Export
from corpusdb._fields import Fields, WriterFields
from corpusdb._loader import Loader
from corpusdb._native import version as _version
from corpusdb._open import create, explain_dedup, open, repair, salvage
from corpusdb._plan import Explanation, Manifest, Plan, Verification
from corpusdb._progress import Progress
from corpusdb._report import Report
from corpusdb._reports import (
    Backup,
    BackupFault,
    BackupFile,
    BackupReport,
    BackupsCheck,
    CheckReport,
    ColumnStats,
    CorpusReport,
    DedupExplanation,
    DocumentCounts,
    DocumentDuplicates,
    DropRejectsReport,
    DroppedBackup,
    DroppedSnapshot,
    DuplicatesSummary,
    Fault,
    Field,
    FieldReport,
    GroupChanges,
    GroupStats,
    Info,
    IngestReport,
    JoinReport,
    LoadReport,
    LossCounts,
    LossStats,
    LostDocument,
    LostRows,
    MisfitStats,
    PurgeCertificate,
    PurgeReport,
    QualityReport,
    RedoReport,
    Reject,
    RejectStats,
    RemovalReport,
    RepairReport,
    SalvageReport,
    SettleReport,
    Signal,
    SignalsReport,
    SimilarDocument,
    SimilarReport,
    Snapshot,
    SnapshotDetails,
    SnapshotDiff,
    SnapshotSource,
    Stats,
)
from corpusdb._signals import Signals, WriterSignals, preset
from corpusdb._snapshots import ChangedDocument, Snapshots, WriterSnapshots
from corpusdb._table import Table
from corpusdb._tokenizers import (
    Tokenizer,
    TokenizerAnalysis,
    TokenizerCheck,
    TokenizerDiff,
    TokenizerRecord,
    Tokenizers,
    WriterTokenizers,
)
from corpusdb._writer import Writer
from corpusdb.errors import *  # noqa: F403

__version__ = _version()
_fork.watch()

__all__ = [
    "Backup", "BackupFault", "BackupFile", "BackupReport", "Backups", "BackupsCheck",
    "Batch", "ChangedDocument", "CheckReport", "Cluster", "ColumnStats", "Corpus", "CorpusReport",
    "Dedup", "DedupExplanation", "Document", "DocumentCounts", "DocumentDuplicates", "DropRejectsReport",
    "DroppedBackup", "DroppedSnapshot", "DuplicatePair",
    "Duplicates", "DuplicatesSummary", "Explanation", "Export", "Fault", "Field", "FieldReport", "Fields", "GroupChanges",
    "GroupStats", "Info", "IngestReport", "JoinReport", "LoadReport", "Loader", "LossCounts", "LossStats", "LostDocument", "LostRows", "Manifest", "Match",
    "MisfitStats", "Plan", "Progress", "PurgeCertificate", "PurgeReport", "QualityReport", "RedoReport", "Reject", "RejectStats", "RemovalReport", "RepairReport", "Report",
    "SalvageReport", "SettleReport", "Signal", "Signals", "SignalsReport",
    "SimilarDocument", "SimilarReport", "Snapshot", "SnapshotDetails", "SnapshotDiff", "SnapshotSource", "Snapshots",
    "Stats", "Table", "Tokenizer", "TokenizerAnalysis", "TokenizerCheck", "TokenizerDiff", "TokenizerRecord",
    "Tokenizers", "Verification", "Witness", "Writer", "WriterFields", "WriterSignals", "WriterSnapshots",
    "WriterTokenizers",
    "create", "errors", "explain_dedup", "open", "preset", "repair", "salvage", *errors.__all__,
]
