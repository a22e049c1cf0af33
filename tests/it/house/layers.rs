//! The walls of the house: who may import whom, which external crate lives where, no cycles.

use crate::support::sources::{
    File, PACKAGES, files, imports, is_of_command, module, paths, tokens, without_tests,
};
use crate::support::{assert_none, repository};
use std::collections::{BTreeMap, BTreeSet};

/// What a room may import besides itself. An entry with `::` allows that name only. A package that is one room imports
/// what its Cargo.toml says.
const LAYERS: &[(&str, &str)] = &[
    ("dedup", "model"),
    ("contamination", "model dedup"),
    ("kernel", "model dedup"),
    ("signals", "model dedup"),
    // What the database gives on of packages that are one room.
    ("tokenizer", ""),
    ("store", ""),
    ("remote", "model"),
    ("output", "model remote"),
    ("corpus", "model store remote"),
    ("decide", "model store dedup tokenizer"),
    ("input", "model remote"),
    ("ingest", "model store dedup tokenizer signals decide remote input output contamination"),
    ("sql", "model store corpus dedup input output signals contamination"),
    (
        "curate",
        "model store corpus dedup tokenizer signals decide output contamination \
         input::path_on_record sql::select sql::computed_column sql::dependence sql::expression_kind \
         sql::names_column sql::ComputedValue sql::Dependence sql::DocumentFilter \
         sql::SqlError inspect::duplicates inspect::InspectError",
    ),
    (
        "export",
        "model store output remote corpus sql::select sql::dependence sql::Dependence \
         sql::ExportColumns sql::declared_columns sql::is_of_standing \
         sql::keyword_field sql::kept_in sql::SqlRows \
         sql::refuse_same_names sql::SqlError",
    ),
    (
        "epoch",
        "model store output corpus sql::select sql::select_nulls sql::number_values sql::text_values sql::dependence \
         sql::names_column sql::resolved sql::contaminated decide::MemberSorter \
         contamination sql::Dependence sql::SqlError tokenizer::stored_vocabulary tokenizer::Vocabulary \
         tokenizer::TokenizerError tokenizer::Segmentation",
    ),
    ("inspect", "model store corpus dedup contamination signals input output sql epoch"),
    (
        "workflow",
        "model store dedup tokenizer signals contamination input remote output corpus decide \
         sql ingest curate export epoch inspect",
    ),
    ("pages", "model output contamination tokenizer signals sql epoch inspect"),
];

/// Files above the layers, which may import all of them.
const TOP: &[&str] = &["lib"];

/// Packages with several rooms; the others are one.
const HOUSES: [&str; 3] = ["corpusdb", "text", "files"];

/// External crates that have a home within a package: no other file of it may name them.
const HOMES: &[(&str, &str)] = &[
    ("self_cell", "crates/store/ src/ingest/chat/"),
    ("base64", "src/curate/erase/ crates/tokenizer/ crates/files/src/remote/"),
    ("sha1", "crates/text/src/dedup/"),
    ("whatlang", "crates/text/src/signals/"),
    ("unicode_normalization", "crates/text/src/dedup/"),
    ("unicode_segmentation", "crates/text/src/dedup/ crates/tokenizer/src/analyse/"),
    ("unicode_script", "crates/tokenizer/src/analyse/ crates/text/src/signals/"),
    ("datafusion", "src/sql/"),
    ("object_store", "crates/files/src/remote/"),
    // A room of the store has the same name.
    (
        "bytes",
        "crates/files/src/remote/ crates/files/src/input/ crates/files/src/output/ crates/store/",
    ),
    ("tokio", "src/sql/ crates/files/src/remote/"),
    ("futures", "src/sql/ crates/files/src/remote/"),
    ("async_trait", "src/sql/ crates/files/src/remote/"),
    ("unicode_width", "src/sql/ src/cli/"),
    ("memchr", "crates/files/src/input/"),
    ("glob", "crates/files/src/input/"),
    ("minijinja", "src/ingest/chat/ src/pages/"),
    ("minijinja_contrib", "src/ingest/chat/"),
    ("parquet", "crates/files/ src/epoch/ src/sql/functions/table_functions/"),
    ("arrow_ipc", "crates/files/ src/epoch/"),
    (
        "arrow",
        "crates/model/ crates/files/ src/sql/ src/inspect/ src/epoch/ src/export/ src/workflow/",
    ),
    ("lz4_flex", "crates/files/src/input/ crates/store/src/bytes/"),
    ("bzip2", "crates/files/src/input/"),
    ("lzma_rust2", "crates/files/src/input/"),
    ("clap_complete", "src/cli/ src/main.rs"),
    ("indicatif", "src/cli/ src/main.rs"),
    ("console", "src/cli/ src/main.rs"),
    ("rustyline", "src/cli/"),
    ("rlimit", "src/corpus/"),
    ("rustix", "crates/model/ crates/files/src/output/"),
    ("signal_hook", "src/cli/"),
    ("anyhow", "src/cli/ src/main.rs"),
];

/// The rooms of a folder in the order of a document's or a row's way: each imports only those before it.
const ROOMS: &[(&str, &str)] = &[
    (
        "corpusdb/epoch",
        "error pacing torch permutation mix recipe pack views lengths coverage plan rows run \
         measure stream tensors write planning plan_store verify explain facade",
    ),
    (
        "store",
        "error system_fields bytes database files meta index view writer batch documents \
         decisions records synthetic table migrate opening reading damaged backup check",
    ),
];

/// Folders with Rust of ours.
const EVERYWHERE: [&str; 4] = ["src", "crates", "tests", "benches"];

/// The absolute path of `path` as module `from` writes it.
fn resolve(from: &[String], path: &[String]) -> Vec<String> {
    let mut base = from.to_vec();
    let mut rest = path;
    loop {
        match rest.first().map(String::as_str) {
            Some("crate") => base.truncate(1),
            Some("super") => drop(base.pop()),
            Some("self") => {}
            Some(name) if PACKAGES.contains(&name) && rest.len() == path.len() => {
                return rest.to_vec();
            }
            _ => break,
        }
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    base
}

/// A path from its room on.
fn in_room(path: &[String]) -> &[String] {
    let in_house = path.first().is_some_and(|package| HOUSES.contains(&package.as_str()));
    if in_house { &path[1..] } else { path }
}

// ---- the rules ----

fn imports_upwards(file: &File) -> Vec<String> {
    let tokens = tokens(&file.text);
    let mut faults = Vec::new();
    if is_of_command(&file.path) {
        let strangers = paths(&tokens, &["crate"]).into_iter();
        let strangers = strangers.filter(|path| path.get(1).is_none_or(|name| name != "cli"));
        let fault = |to: Vec<String>| {
            format!("{}: the command sees only `corpusdb::`, not `{}`", file.path, to.join("::"))
        };
        return strangers.map(fault).collect();
    }
    let Some(from) = module(&file.path) else { return faults };
    let layer = in_room(&from).first().map_or("lib", String::as_str);
    if TOP.contains(&layer) || !HOUSES.contains(&from[0].as_str()) {
        return faults;
    }
    let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == layer) else {
        return vec![format!("{}: `{layer}` is in no layer", file.path)];
    };
    let is_absolute = |path: &Vec<String>| path[0] != "super";
    let mut seen = imports(&tokens);
    seen.retain(is_absolute);
    seen.extend(paths(&without_tests(&tokens), &["super"]));
    for path in seen {
        let path = resolve(&from, &path);
        let path = in_room(&path);
        let inside = path.first().is_some_and(|name| name == layer);
        let listed = |entry: &str| {
            entry.split("::").enumerate().all(|(i, name)| path.get(i).is_some_and(|it| it == name))
        };
        if !inside && !path.is_empty() && path[0] != "testing" && !allowed.split(' ').any(listed) {
            faults.push(format!("{}: {layer} must not import `{}`", file.path, path.join("::")));
        }
    }
    faults
}

/// The names of modules and items of `tests/surface.txt`, each a path from `corpusdb` on.
fn public_names(surface: &str) -> BTreeSet<Vec<String>> {
    let mut module: Vec<String> = Vec::new();
    let mut names = BTreeSet::new();
    for line in surface.lines() {
        if line.starts_with("corpusdb") {
            module = line.split("::").map(str::to_owned).collect();
            names.insert(module.clone());
        } else if let Some(item) = line.strip_prefix("    ").filter(|item| !item.starts_with(' ')) {
            // `struct Name`, or a crate that is given on.
            let name = item.split(' ').next_back().unwrap_or(item);
            names.insert([module.clone(), vec![name.to_owned()]].concat());
        }
    }
    names
}

/// What the command names of the library and programs cannot: the compiler no longer tells the two apart.
fn private_names(file: &File, public: &BTreeSet<Vec<String>>) -> Vec<String> {
    let is_public = |path: &[String]| {
        // Behind the feature of the command, and no interface for programs.
        if path.get(1).is_some_and(|name| name == "pages") {
            return true;
        }
        let known = (1..=path.len()).rev().find(|end| public.contains(&path[..*end])).unwrap_or(0);
        // Behind an item stand its own parts; behind a module, nothing but itself or all of it.
        let is_module =
            public.iter().any(|name| name.len() > known && name[..known] == path[..known]);
        known > 1 && (!is_module || path[known..].iter().all(|name| name == "self" || name == "*"))
    };
    paths(&tokens(&file.text), &["corpusdb"])
        .into_iter()
        .filter(|path| !is_public(path))
        .map(|path| format!("{}: programs cannot name `{}`", file.path, path.join("::")))
        .collect()
}

fn grouped_imports(file: &File) -> Vec<String> {
    let tokens = tokens(&file.text);
    // Names of the root of a package stand in one group; modules do not.
    let grouped = |(at, window): (usize, &[String])| {
        let within = || tokens[at + 4..].iter().take_while(|token| *token != "}");
        window == ["use", "crate", "::", "{"] && within().any(|token| token == "::")
    };
    let fault = || format!("{}: one `use crate::module::..` a module, no group", file.path);
    tokens.windows(4).enumerate().any(grouped).then(fault).into_iter().collect()
}

fn strangers(file: &File) -> Vec<String> {
    let tokens = tokens(&file.text);
    let mut faults = Vec::new();
    for (name, homes) in HOMES {
        let at_home = homes.split(' ').any(|home| file.path.starts_with(home));
        if !at_home && !paths(&tokens, &[name]).is_empty() {
            faults.push(format!("{}: `{name}` lives in {homes} only", file.path));
        }
    }
    faults
}

fn unopened(file: &File) -> Vec<String> {
    let first = file.text.lines().next().and_then(|line| line.strip_prefix("//! "));
    let is_silent = first.is_none_or(|line| line.trim().is_empty());
    let fault = || format!("{}: must open with `//!` and its one responsibility", file.path);
    is_silent.then(fault).into_iter().collect()
}

type Edges = BTreeMap<String, BTreeSet<String>>;

/// For every folder, which of its children (files, or folders as a whole) import which. The folder's
/// own `mod.rs` is its face: names taken from it count as taken from the child it re-exports.
fn graphs(files: &[File]) -> BTreeMap<String, Edges> {
    let modules: BTreeMap<Vec<String>, Vec<String>> = files
        .iter()
        .filter(|file| !file.path.ends_with("tests.rs"))
        .filter_map(|file| Some((module(&file.path)?, without_tests(&tokens(&file.text)))))
        .collect();
    let mut graphs: BTreeMap<String, Edges> = BTreeMap::new();
    for (from, tokens) in &modules {
        for path in imports(tokens) {
            let to = home_of(&modules, resolve(from, &path), 0);
            let depth = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(a), Some(b)) = (from.get(depth), to.get(depth)) {
                let folder = from[..depth].join("/");
                graphs.entry(folder).or_default().entry(a.clone()).or_default().insert(b.clone());
            }
        }
    }
    graphs
}

/// The module that declares what `path` names, re-exports followed.
fn home_of(
    modules: &BTreeMap<Vec<String>, Vec<String>>,
    path: Vec<String>,
    hops: usize,
) -> Vec<String> {
    let known = (0..=path.len()).rev().find(|end| modules.contains_key(&path[..*end])).unwrap_or(0);
    let (module, name) = (path[..known].to_vec(), path.get(known));
    let (Some(name), Some(tokens), true) = (name, modules.get(&module), hops < 8) else {
        return module;
    };
    let children: Vec<&str> = modules
        .keys()
        .filter(|other| other.len() == known + 1 && other[..known] == module[..])
        .map(|other| other[known].as_str())
        .collect();
    let exported = paths(tokens, &children).into_iter().find(|path| path.last() == Some(name));
    match exported {
        Some(path) => home_of(modules, [module, path].concat(), hops + 1),
        None => module,
    }
}

/// The knots among the edges: sets of names each of which leads to all others.
fn knots(edges: &Edges) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(node) = waiting.pop() {
            waiting.extend(
                edges.get(node).into_iter().flatten().filter(|next| seen.insert((*next).clone())),
            );
        }
        seen
    };
    let ways: BTreeMap<&String, BTreeSet<String>> =
        edges.keys().map(|node| (node, reached(node))).collect();
    let knot = |(node, seen): (&&String, &BTreeSet<String>)| -> Option<Vec<String>> {
        let back = |other: &&String| ways.get(other).is_some_and(|seen| seen.contains(*node));
        seen.contains(*node).then(|| seen.iter().filter(back).cloned().collect())
    };
    ways.iter().filter_map(knot).collect()
}

// ---- the house as it stands ----

#[test]
fn imports_go_one_way() {
    let files = files(&["src", "crates"]);
    assert!(files.len() > 100, "only {} files found", files.len());
    assert_none(&files.iter().flat_map(imports_upwards).collect::<Vec<_>>());
}

#[test]
fn the_command_uses_the_public_library_alone() {
    let surface = std::fs::read_to_string(repository("tests/surface.txt")).unwrap();
    let public = public_names(&surface);
    let command = files(&["src/cli"]);
    let named: usize =
        command.iter().map(|file| paths(&tokens(&file.text), &["corpusdb"]).len()).sum();
    assert!(public.len() > 300 && named > 300, "{} public, {named} in use", public.len());
    assert_none(&command.iter().flat_map(|file| private_names(file, &public)).collect::<Vec<_>>());

    let private = |text: &str| private_names(&file("src/cli/x.rs", text), &public).len();
    assert_eq!(private("use corpusdb::sql::{self, SqlRows, NoSuchName};"), 1);
    assert_eq!(private("fn f() { corpusdb::model::DocId::of(1); corpusdb::nothing() }"), 2);
    assert_eq!(private("use corpusdb::Corpus; fn f() { corpusdb::Error::from(1); }"), 0);
}

#[test]
fn imports_name_one_module_a_line() {
    assert_none(&files(&EVERYWHERE).iter().flat_map(grouped_imports).collect::<Vec<_>>());
}

#[test]
fn external_crates_stay_at_home() {
    assert_none(&files(&["src", "crates"]).iter().flat_map(strangers).collect::<Vec<_>>());
}

#[test]
fn files_open_with_their_responsibility() {
    assert_none(&files(&EVERYWHERE).iter().flat_map(unopened).collect::<Vec<_>>());
}

#[test]
fn no_cycles() {
    let graphs = graphs(&files(&["src", "crates"]));
    assert!(graphs[""].len() >= HOUSES.len(), "edges between packages: {:?}", graphs[""]);
    let rooms = graphs.get("corpusdb").map_or(0, Edges::len);
    assert!(rooms > LAYERS.len() / 3, "edges between rooms: {:?}", graphs["corpusdb"]);
    let knots = graphs.iter().flat_map(|(folder, edges)| {
        let tied = |knot: Vec<String>| format!("{folder}: {} import each other", knot.join(", "));
        knots(edges).into_iter().map(tied).collect::<Vec<_>>()
    });
    assert_none(&knots.collect::<Vec<_>>());
}

/// Imports of a room that comes later, or of one that the order does not name.
fn backwards(folder: &str, edges: &Edges, order: &[&str]) -> Vec<String> {
    let place = |room: &str| order.iter().position(|name| *name == room);
    let mut faults = Vec::new();
    for (from, to) in edges.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to))) {
        match (place(from), place(to)) {
            (Some(here), Some(there)) if there < here => {}
            _ => faults.push(format!("{folder}: `{from}` must not import `{to}`")),
        }
    }
    faults
}

#[test]
fn rooms_are_passed_in_one_direction() {
    let graphs = graphs(&files(&["src", "crates"]));
    for (folder, order) in ROOMS {
        let order: &Vec<&str> = &order.split(' ').collect();
        assert!(graphs[*folder].len() > order.len() / 2, "{:?}", graphs[*folder]);
        assert_none(&backwards(folder, &graphs[*folder], order));
    }
    let edges =
        |from: &str, to: &str| Edges::from([(from.to_owned(), BTreeSet::from([to.to_owned()]))]);
    assert_eq!(backwards("a", &edges("x", "y"), &["x", "y"]).len(), 1);
    assert_eq!(backwards("a", &edges("y", "z"), &["x", "y"]).len(), 1);
    assert_none(&backwards("a", &edges("y", "x"), &["x", "y"]));
}

// ---- the rules can fail ----

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn an_import_upwards_is_seen() {
    for (path, text) in [
        ("src/decide/x.rs", "use crate::inspect::View;"),
        ("src/corpus/x.rs", "fn f() { text::dedup::words(\"\") }"),
        (
            "crates/text/src/dedup/x.rs",
            "use model::DocId;\n#[cfg(test)]\nmod tests { use crate::kernel::run; }",
        ),
        ("crates/files/src/output/x/y.rs", "use super::super::super::input::{Session};"),
        ("src/epoch/x.rs", "use crate::sql::{SqlError, Printer};"),
        ("src/epoch/x.rs", "use tokenizer::{TokenizerError, Tokenizer};"),
        ("src/corpus/x.rs", "use crate::inspect::info;"),
        ("src/epoch/x.rs", "use crate::workflow::Dependents;"),
        ("src/newcomer/x.rs", ""),
        ("src/cli/x.rs", "use crate::store::View;"),
        ("src/main.rs", "use crate::corpus::Corpora;"),
    ] {
        assert_eq!(imports_upwards(&file(path, text)).len(), 1, "{path}: {text}");
    }
    for (path, text) in [
        ("src/decide/x.rs", "use model::{DocId, Match};\nuse super::keys::Key;\n// crate::sql\n"),
        ("src/decide/x.rs", "fn f() { g(\"crate::sql\", r#\"crate::\"sql\"#, '\"', b'\\'') }"),
        ("src/decide/x.rs", "mod files; fn f() { files::input::g() }"),
        ("src/epoch/x.rs", "use crate::sql::{SqlError, select};"),
        ("src/workflow/x.rs", "use crate::inspect::info;"),
        ("src/cli/x.rs", "use corpusdb::Corpus; use super::print; use crate::cli::setup;"),
    ] {
        assert_none(&imports_upwards(&file(path, text)));
    }
}

#[test]
fn a_group_a_stranger_and_a_silent_file_are_seen() {
    assert_eq!(grouped_imports(&file("src/a.rs", "use crate::{\n a::B, c };")).len(), 1);
    assert_none(&grouped_imports(&file("src/a.rs", "use crate::a::{b, c};\nuse crate::{D, E};")));
    for text in [
        "use rlimit::Resource;",
        "fn f() -> ::rlimit::Resource {}",
        "type A = rlimit::Resource;",
        "use anyhow;\nuse anyhow::Context;",
    ] {
        assert_eq!(strangers(&file("src/sql/a.rs", text)).len(), 1, "{text}");
    }
    assert_none(&strangers(&file("src/corpus/a.rs", "use rlimit::Resource;")));
    assert_none(&strangers(&file("src/sql/a.rs", "use super::parquet::x; // rlimit::Resource")));
    assert_eq!(
        unopened(&file("src/a.rs", "use std::fs;")).len()
            + unopened(&file("src/a.rs", "//!\nx")).len(),
        2
    );
    assert_none(&unopened(&file("src/a.rs", "//! One thing.\n")));
}

#[test]
fn a_cycle_is_seen() {
    let sound = [
        file("src/lib.rs", "pub mod a; pub mod b;"),
        file("src/a/mod.rs", "mod x; mod y; pub use x::X; pub use y::Y;"),
        file("src/a/x.rs", "use super::Y; #[cfg(test)] mod tests { use super::*; }"),
        file("src/a/y.rs", "use crate::b::B;"),
        file("src/b.rs", ""),
    ];
    let found = graphs(&sound);
    assert_eq!(found["corpusdb/a"]["x"], BTreeSet::from(["y".to_owned()]));
    assert!(found.values().all(|edges| knots(edges).is_empty()));
    let [lib, face, x, _, _] = sound;
    let siblings = [lib, face, x, file("src/a/y.rs", "use super::x::X;"), file("src/b.rs", "")];
    assert_eq!(knots(&graphs(&siblings)["corpusdb/a"]).first().map(Vec::len), Some(2));
    let folders =
        [file("src/a/mod.rs", "fn f() { crate::b::g() }"), file("src/b.rs", "use super::a::f;")];
    assert_eq!(knots(&graphs(&folders)["corpusdb"]).first().map(Vec::len), Some(2));
}
