"""Published templates, out of the archives of packages that sources.tsv lists: nothing in them is run."""

import ast
import fnmatch
import hashlib
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# What Unsloth puts in the place of its placeholder unless it is told another text.
SYSTEM = "You are a helpful assistant."


@dataclass(frozen=True)
class Template:
    package: str
    name: str
    source: str


def rows(name: str) -> list[list[str]]:
    """The lines of a table beside this file."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and line[0] != "#"]


def templates(directory: Path) -> list[Template]:
    """Of every source its templates, each text once."""
    found: list[Template] = []
    for package, version, digest, patterns in rows("sources.tsv"):
        archive = archive_of(directory, package, version)
        if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
            raise SystemExit(f"{archive} is not the archive of sources.tsv: its sha256 is another")
        known: set[str] = set()
        for name, text in sorted(files(archive, patterns.split())):
            pairs = strings(text) if name.endswith(".py") else [(Path(name).stem, text)]
            for name_of_template, source in pairs:
                if source not in known:
                    known.add(source)
                    found.append(Template(package, name_of_template, source))
    return found


def archive_of(directory: Path, package: str, version: str) -> Path:
    for path in sorted(directory.iterdir()):
        if path.name.replace("-", "_").startswith(f"{package}_{version}"):
            return path
    raise SystemExit(f"{package} {version} is not in {directory}; see {HERE / 'README.md'}")


def files(archive: Path, patterns: list[str]) -> Iterator[tuple[str, str]]:
    def is_wanted(name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)

    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            for name in filter(is_wanted, packed.namelist()):
                yield name, packed.read(name).decode()
    else:
        with tarfile.open(archive) as packed_tar:
            for member in packed_tar:
                content = packed_tar.extractfile(member) if is_wanted(member.name) else None
                if content:
                    yield member.name, content.read().decode()


def strings(module: str) -> list[tuple[str, str]]:
    """Templates that a module assigns as texts, put together of others or changed by `replace`."""
    known: dict[str, str] = {}
    for node in ast.parse(module).body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = text_of(node.value, known)
            if value is not None:
                known[node.targets[0].id] = value
    return [
        (name.removesuffix("_template"), value.replace("{system_message}", SYSTEM))
        for name, value in known.items()
        if name.endswith("_template") and not name.startswith("_") and "messages" in value and "{%" in value
    ]


def text_of(node: ast.expr, known: dict[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return known.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [text_of(left, known), text_of(right, known)]
            return None if None in parts else "".join(part or "" for part in parts)
        case ast.Call(func=ast.Attribute(value=value, attr="replace"), args=[*arguments]):
            texts = [text_of(each, known) for each in (value, *arguments)]
            return None if None in texts or len(texts) != 3 else str(texts[0]).replace(str(texts[1]), str(texts[2]))
    return None
