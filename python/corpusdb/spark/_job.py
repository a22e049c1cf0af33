"""What every part of a job knows, and the rows that its parts hand to one another."""

from __future__ import annotations

from dataclasses import dataclass

from corpusdb._options import InitOptions

__all__ = ["EDGES", "PAIRS", "PRINTS", "VERIFIED", "Job"]

#: What is compared of a document, and what it is called.
PRINTS = (
    "key string, source string, order long, rank binary, raw_hash binary, text_hash binary, tokens long, shingles long, "
    "chars long, sketch binary, bands binary"
)
#: Two documents by rank, the better one first.
PAIRS = "left binary, right binary"
#: Such a pair whose texts were compared.
EDGES = f"{PAIRS}, shared long, left_shingles long, right_shingles long, jaccard double"
#: The same, and whether they are similar enough.
VERIFIED = f"{EDGES}, similar boolean"


@dataclass(frozen=True)
class Job:
    """The settings of a job."""

    policy: InitOptions
    mode: str
    keep: str
    task_rows: int
    partitions: int
    #: Documents of better rank are kept, whatever comes, and known not to be similar to each other.
    first_new: bytes | None = None

    @property
    def number(self) -> str | None:
        """The column that the keep order looks at."""
        return self.keep.removeprefix("field:") if self.keep.startswith("field:") else None

    @property
    def is_transitive(self) -> bool:
        return self.mode in ("components", "lsh")

    @property
    def is_near(self) -> bool:
        return self.mode not in ("none", "exact")

    def parts(self, rows: int) -> int:
        """Partitions for so many rows, so that no task gathers more than it may."""
        return max(self.partitions, -(-rows // self.task_rows))
