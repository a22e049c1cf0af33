"""The settings of a job, and the schemas of the rows that its parts exchange."""

from __future__ import annotations

from dataclasses import dataclass

from corpusdb._options import InitOptions

__all__ = ["EDGES", "PAIRS", "PRINTS", "VERIFIED", "Job"]

#: The fingerprint of a document, with its key, source and order.
PRINTS = (
    "key string, source string, order long, rank binary, raw_hash binary, text_hash binary, tokens long, shingles long, "
    "chars long, sketch binary, bands binary"
)
#: Two documents by rank, the better one first.
PAIRS = "left binary, right binary"
#: A pair whose texts were compared.
EDGES = f"{PAIRS}, shared long, left_shingles long, right_shingles long, jaccard double"
#: The same, and whether the pair reaches the threshold.
VERIFIED = f"{EDGES}, similar boolean"


@dataclass(frozen=True)
class Job:
    """The settings of a job."""

    policy: InitOptions
    mode: str
    keep: str
    task_rows: int
    partitions: int
    #: The rank of the first new document. Better-ranked documents stay kept, and are known not to be similar.
    first_new: bytes | None = None

    @property
    def number(self) -> str | None:
        """The column that the keep order uses."""
        return self.keep.removeprefix("field:") if self.keep.startswith("field:") else None

    @property
    def is_transitive(self) -> bool:
        return self.mode in ("components", "lsh")

    @property
    def is_near(self) -> bool:
        return self.mode not in ("none", "exact")

    def parts(self, rows: int) -> int:
        """The number of partitions for `rows` rows, so that no task gathers more than `task_rows`."""
        return max(self.partitions, -(-rows // self.task_rows))
