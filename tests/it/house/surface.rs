//! The names: the public surface as a file, and tests whose names say behaviour.

use crate::support::sources::{File, PACKAGES, files, is_of_command, module};
use crate::support::{assert_none, repository};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

// ----
// The public surface as a file: what a program can name, so that a change of it is seen in a diff.
//
// The sources are read line by line, which formatting makes dependable: items stand in the first column, fields,
// variants and methods in the fifth. `make surface` writes `tests/surface.txt` anew.

/// A module by its path, its package first.
type Path = Vec<String>;

/// What one module says.
#[derive(Default)]
struct Module {
    /// Items by name: kind, derived traits, public parts.
    items: BTreeMap<String, Item>,
    /// Names taken from elsewhere: whether they are given on to programs, under which name, and the path.
    uses: Vec<(bool, String, Path)>,
    /// Modules that programs can name.
    open: Vec<String>,
    /// Public methods and implemented traits by the name of their type.
    impls: BTreeMap<String, Vec<String>>,
}

struct Item {
    is_given: bool,
    kind: String,
    parts: Vec<String>,
}

// ---- reading ----

fn sources() -> BTreeMap<Path, Module> {
    let mut found = BTreeMap::new();
    for File { path, text } in files(&["src", "crates"]) {
        if let Some(at) =
            module(&path).filter(|_| !is_of_command(&path) && !path.ends_with("tests.rs"))
        {
            read(&at, &text, &mut found);
        }
    }
    found
}

/// The lines of an item from `at` on, joined, up to the one that `ends` it.
fn joined<'t>(lines: &[&'t str], at: &mut usize, ends: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    while let Some(line) = lines.get(*at) {
        let line: &'t str = line.trim();
        text += line;
        if ends(line) {
            break;
        }
        text.push(' ');
        *at += 1;
    }
    text
}

/// A signature as one line, as it would be written with room enough.
fn tidy(signature: &str) -> String {
    let signature = signature.trim_end_matches(['{', ';', ' ']);
    signature.replace("( ", "(").replace(", )", ")").replace(",)", ")").replace("< ", "<")
}

/// Reads the text of the module `path`, and of those that are written within it.
fn read(path: &Path, text: &str, found: &mut BTreeMap<Path, Module>) {
    let mut module = Module::default();
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut derived, mut hidden) = (0, Vec::new(), false);
    while let Some(line) = lines.get(at) {
        let is_interface = !is_hidden(&lines, at);
        let block = || at + lines[at..].iter().position(|line| *line == "}").unwrap_or(0);
        if let Some(traits) = line.strip_prefix("#[derive(") {
            let mut text = traits.to_owned();
            while !text.ends_with(")]") {
                at += 1;
                text += lines[at].trim();
            }
            derived = text.trim_end_matches(")]").split(',').map(|t| t.trim().to_owned()).collect();
        } else if line.starts_with("#[cfg(") {
            hidden = line.contains("test") || line.contains("feature");
        } else if line.starts_with("#") || line.starts_with("//") || line.is_empty() {
        } else if hidden {
            if line.ends_with('{') {
                at = block();
            }
            (hidden, derived) = (false, Vec::new());
        } else {
            let given = line.strip_prefix("pub ");
            let is_given = given.is_some() && is_interface;
            let bare = given.or(line.strip_prefix("pub(crate) "));
            let bare = bare.or(line.strip_prefix("pub(super) ")).unwrap_or(line);
            let (word, rest) = bare.split_once(' ').unwrap_or((bare, ""));
            let end = |rest: &str| {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            };
            match word {
                "use" => {
                    let tree = joined(&lines, &mut at, |line| line.ends_with(';'));
                    let tree = tree.split_once("use ").map_or("", |(_, tree)| tree);
                    for (name, from) in uses(tree.trim_end_matches(';')) {
                        module.uses.push((is_given, name, from));
                    }
                }
                "mod" => {
                    let name = rest[..end(rest)].to_owned();
                    if rest.ends_with('{') {
                        let inner: Vec<&str> = lines[at + 1..block()]
                            .iter()
                            .map(|line| line.strip_prefix("    ").unwrap_or(line))
                            .collect();
                        read(
                            &[path.clone(), vec![name.clone()]].concat(),
                            &inner.join("\n"),
                            found,
                        );
                        at = block();
                    }
                    module.open.extend(given.map(|_| name));
                }
                "impl" | "impl<'a>" => implementation(line, &lines, &mut at, &mut module),
                _ if word.starts_with("impl<") => {
                    implementation(line, &lines, &mut at, &mut module);
                }
                "struct" | "enum" | "trait" | "fn" | "const" | "type" | "static" => {
                    let name = rest.strip_prefix("fn ").unwrap_or(rest);
                    let name = name[..end(name)].to_owned();
                    let kind = if rest.starts_with("fn ") { "fn" } else { word };
                    let parts = declaration(kind, &lines, &mut at, &derived);
                    module.items.insert(name, Item { is_given, kind: kind.to_owned(), parts });
                }
                _ if line.starts_with("named!(") => {
                    let words = joined(&lines, &mut at, |line| line.ends_with(");"));
                    let of = words["named!(".len()..].split(' ').next().unwrap_or_default();
                    let all = format!("pub const ALL: [Self; {}]", words.matches(" = ").count());
                    let parts = [
                        all.as_str(),
                        "pub const fn name(self) -> &'static str",
                        "pub fn from_name(name: &str) -> Option<Self>",
                    ];
                    let known = module.impls.entry(of.to_owned()).or_default();
                    known.extend(parts.map(str::to_owned));
                }
                _ if line.ends_with('{') => at = block(),
                _ => {}
            }
            derived = Vec::new();
        }
        at += 1;
    }
    found.insert(path.clone(), module);
}

/// What stands from line `at` to the end of a field, variant or declaration, comments left out.
fn whole(lines: &[&str], at: &mut usize) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (first, mut text) = (lines[*at], lines[*at].trim().to_owned());
    if first.ends_with(['{', '(', '[', '<']) {
        loop {
            *at += 1;
            let line = lines[*at];
            if !line.trim().starts_with("//") && !line.trim().starts_with('#') {
                text = text + " " + line.trim();
            }
            if !line.trim().is_empty() && indent(line) <= indent(first) && !line.ends_with('(') {
                break;
            }
        }
    }
    tidy(text.trim_end_matches(','))
}

/// Whether the documentation leaves out what begins in line `at`: public for our own packages, no interface.
fn is_hidden(lines: &[&str], at: usize) -> bool {
    let above = lines[..at].iter().rev().map(|line| line.trim());
    above.take_while(|line| line.starts_with('#')).any(|line| line == "#[doc(hidden)]")
}

/// An item with what of it is public: fields, variants, methods of a trait, or its signature.
fn declaration(kind: &str, lines: &[&str], at: &mut usize, derived: &[String]) -> Vec<String> {
    let mut parts = Vec::new();
    if !derived.is_empty() {
        parts.push(format!("derive {}", derived.join(", ")));
    }
    let first = lines[*at];
    match kind {
        "fn" => {
            parts.push(tidy(&joined(lines, at, |line| line.ends_with('{'))));
            while lines[*at] != "}" {
                *at += 1;
            }
        }
        "const" | "static" | "type" => {
            let text = joined(lines, at, |line| line.ends_with(';'));
            parts.push(tidy(text.split(" = ").next().unwrap_or_default()));
        }
        _ if first.ends_with(';') && first.contains("(pub ") => parts.push(tidy(first)),
        _ if first.ends_with(';') => {}
        _ if first.ends_with('(') => parts.push(whole(lines, at)),
        _ => {
            if first.contains('<') || kind == "trait" {
                parts.push(tidy(first));
            }
            while !first.ends_with("{}") && lines[*at] != "}" {
                *at += 1;
                let Some(line) = lines[*at].strip_prefix("    ") else { continue };
                let is_part = !is_hidden(lines, *at)
                    && match kind {
                        "struct" => line.starts_with("pub "),
                        "enum" => line.starts_with(|c: char| c.is_uppercase()),
                        _ => line.starts_with("fn ") || line.starts_with("type "),
                    };
                if is_part && kind == "trait" {
                    parts.push(tidy(&joined(lines, at, |line| line.ends_with([';', '{', '}']))));
                } else if is_part {
                    parts.push(whole(lines, at));
                }
            }
        }
    }
    parts
}

/// The public methods of an `impl` block, or the trait that it implements.
fn implementation(head: &str, lines: &[&str], at: &mut usize, module: &mut Module) {
    let head = head.trim_end_matches(['{', '}', ' ']);
    let mut depth = 0_usize;
    let behind = head.char_indices().skip(4).find(|(_, c)| {
        depth += usize::from(*c == '<');
        depth -= usize::from(*c == '>');
        depth == 0 && *c == ' '
    });
    let told = behind.map_or("", |(i, _)| &head[i + 1..]);
    let (of, name) = told.split_once(" for ").map_or((None, told), |(of, name)| (Some(of), name));
    let name = name.trim_start_matches('&');
    let name = name.split(['<', ' ']).next().unwrap_or(name).to_owned();
    let parts = module.impls.entry(name).or_default();
    if let Some(of) = of {
        parts.push(format!("impl {of}"));
    }
    while !lines[*at].ends_with('}') || lines[*at].starts_with(' ') {
        *at += 1;
        let line = lines[*at].strip_prefix("    ").unwrap_or_default();
        let is_given = ["pub fn", "pub const ", "pub async "].iter().any(|it| line.starts_with(it));
        if is_given && !is_hidden(lines, *at) {
            parts.push(tidy(&joined(lines, at, |line| line.ends_with([';', '{', '}']))));
        }
    }
}

/// The names of a tree of `use`, each with its path.
fn uses(tree: &str) -> Vec<(String, Path)> {
    let Some((head, group)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, tree));
        let path: Path = path.trim().split("::").map(str::to_owned).collect();
        return vec![(name.trim().split("::").last().unwrap_or(name).to_owned(), path)];
    };
    let group = group.trim().strip_suffix('}').unwrap_or(group);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in group.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts
        .flat_map(|part| match part {
            "self" => uses(head.trim_end_matches("::")),
            part => uses(&format!("{head}{part}")),
        })
        .collect()
}

// ---- finding out ----

/// The module and name of the item that `path` means in module `from`.
fn home(modules: &BTreeMap<Path, Module>, from: &Path, path: &[String]) -> Option<(Path, String)> {
    let (name, way) = path.split_last()?;
    let mut at = from.clone();
    for (i, step) in way.iter().enumerate() {
        let own = [from.clone(), vec![step.clone()]].concat();
        match step.as_str() {
            step if i == 0 && PACKAGES.contains(&step) && !modules.contains_key(&own) => {
                at = vec![step.to_owned()];
            }
            "crate" => at.truncate(1),
            "super" => drop(at.pop()),
            "self" => {}
            step => {
                at.push(step.to_owned());
                if !modules.contains_key(&at) {
                    at.pop();
                    let taken = modules.get(&at)?.uses.iter().find(|(_, name, _)| name == step)?;
                    let rest = [taken.2.clone(), path[i + 1..].to_vec()].concat();
                    return home(modules, &at, &rest);
                }
            }
        }
    }
    let module = modules.get(&at)?;
    let is_module = modules.contains_key(&[at.clone(), vec![name.clone()]].concat());
    let mut taken = module.uses.iter();
    let taken = taken.find(|(_, known, way)| known == name && (way.len() > 1 || way[0] != *name));
    // A private module may have the name of what it gives on.
    let hides = taken.is_some() && !module.open.contains(name) && at != *from;
    if module.items.contains_key(name) || is_module && !hides {
        return Some((at, name.clone()));
    }
    home(modules, &at, &taken?.2)
}

/// Everything that programs can name, a module and an item at a time.
fn surface(modules: &BTreeMap<Path, Module>) -> String {
    let mut impls: BTreeMap<(Path, String), Vec<String>> = BTreeMap::new();
    for (path, module) in modules {
        for (name, parts) in &module.impls {
            if let Some(of) = home(modules, path, std::slice::from_ref(name)) {
                impls.entry(of).or_default().extend(parts.iter().cloned());
            }
        }
    }
    let mut text = String::new();
    let mut waiting: Vec<(String, Path)> =
        vec![("corpusdb".to_owned(), vec!["corpusdb".to_owned()])];
    let mut told: BTreeMap<(Path, String), String> = BTreeMap::new();
    while let Some((shown, path)) = waiting.pop() {
        let module = &modules[&path];
        let mut children: BTreeSet<(String, Path)> = BTreeSet::new();
        let mut items: BTreeMap<String, Option<(Path, String)>> = BTreeMap::new();
        for name in &module.open {
            children
                .insert((format!("{shown}::{name}"), [path.clone(), vec![name.clone()]].concat()));
        }
        for (is_given, name, from) in &module.uses {
            let found = home(modules, &path, from);
            let folder = found.as_ref().map(|(at, name)| [at.clone(), vec![name.clone()]].concat());
            if !is_given {
                continue;
            }
            match folder.filter(|folder| modules.contains_key(folder)) {
                Some(folder) => {
                    children.insert((format!("{shown}::{name}"), folder));
                }
                None => {
                    items.insert(name.clone(), found);
                }
            }
        }
        for (name, _) in module.items.iter().filter(|(_, item)| item.is_given) {
            items.insert(name.clone(), Some((path.clone(), name.clone())));
        }
        writeln!(text, "\n{shown}").unwrap();
        for (name, found) in items {
            let Some(found) = found else {
                // A crate, or what a macro declares.
                writeln!(text, "    {name}").unwrap();
                continue;
            };
            let item = &modules[&found.0].items[&found.1];
            if let Some(first) = told.get(&found) {
                writeln!(text, "    {} {name} = {first}", item.kind).unwrap();
                continue;
            }
            writeln!(text, "    {} {name}", item.kind).unwrap();
            let mut parts = item.parts.clone();
            let mut more = impls.get(&found).cloned().unwrap_or_default();
            more.sort();
            parts.append(&mut more);
            for part in parts {
                writeln!(text, "        {part}").unwrap();
            }
            told.insert(found, format!("{shown}::{name}"));
        }
        waiting.extend(children.into_iter().rev());
    }
    text.trim_start().to_owned()
}

#[test]
fn the_public_surface_is_the_one_written_down() {
    let (now, file) = (surface(&sources()), repository("tests/surface.txt"));
    if std::env::var_os("CORPUSDB_WRITE_SURFACE").is_some() {
        std::fs::write(&file, &now).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let [before, after]: [BTreeSet<&str>; 2] =
        [&written, &now].map(|text| text.lines().map(str::trim).collect());
    let changed: Vec<String> = before
        .difference(&after)
        .map(|line| format!("- {line}"))
        .chain(after.difference(&before).map(|line| format!("+ {line}")))
        .collect();
    assert!(
        written == now,
        "the public surface has changed; if it was meant to, run `make surface` and look at the diff\n{}",
        changed.join("\n")
    );
}

/// Modules of sources in memory.
fn modules(sources: &[(&str, &str)]) -> BTreeMap<Path, Module> {
    let mut found = BTreeMap::new();
    for (path, text) in sources {
        read(&path.split("::").map(str::to_owned).collect(), text, &mut found);
    }
    found
}

#[test]
fn the_surface_lists_every_public_name_and_no_other() {
    let found = modules(&[
        (
            "corpusdb",
            "pub mod a;\nmod b;\npub mod c {\n    pub use crate::b::Taken as Named;\n}\npub use arrow;\npub use b::run;",
        ),
        (
            "corpusdb::a",
            "pub use crate::b::Taken;\npub use model::Far;\npub(crate) use crate::b::Kept;\n#[derive(Clone, Debug)]\npub enum Way {\n    /// One.\n    \
             In(u8),\n    Out {\n        /// Where.\n        to: u8,\n    },\n}\nstruct Hidden;\n#[cfg(test)]\npub fn tested() {\n}",
        ),
        (
            "corpusdb::b",
            "pub struct Taken {\n    pub known: u8,\n    secret: u8,\n}\npub struct Kept;\nimpl Taken {\n    /// X.\n    pub fn ask(\n        \
             &self,\n        what: u8,\n    ) -> u8 {\n        1\n    }\n    fn inner(&self) {\n    }\n}\nimpl Iterator for Taken {\n}\n\
             pub fn run(to: &str) -> u8 {\n    1\n}",
        ),
        (
            "model",
            "pub struct Far;\nimpl Far {\n    #[doc(hidden)]\n    pub fn ours(&self) {\n    }\n    pub fn theirs(&self) {\n    }\n}",
        ),
    ]);
    let expected = "corpusdb\n    arrow\n    fn run\n        pub fn run(to: &str) -> u8\n\n\
         corpusdb::a\n    struct Far\n        pub fn theirs(&self)\n    struct Taken\n        pub known: u8\n        impl Iterator\n        pub fn ask(&self, what: u8) -> u8\n    \
         enum Way\n        derive Clone, Debug\n        In(u8)\n        Out { to: u8, }\n\n\
         corpusdb::c\n    struct Named = corpusdb::a::Taken\n";
    assert_eq!(surface(&found), expected);
}

// ----
// Names of tests say behaviour, helpers stand in `support`, and no type of the tests is defined twice.

/// Characters of a name: what a list of tests shows in one line.
const LONGEST: usize = 60;

/// Words that riddle: who does what, and when, says more.
const RIDDLES: [&str; 4] = ["told", "anew", "of_which", "is_none"];

/// The identifier with which a text begins.
fn identifier(text: &str) -> &str {
    let end = text.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Tests of a source: functions under `#[test]`, and those of `corpusdb_test!`.
fn tests(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let rest = match line.strip_prefix("corpusdb_test!(") {
            Some("") => lines.find(|line| !line.starts_with("///")),
            Some(rest) => Some(rest),
            None if line == "#[test]" => {
                lines.find_map(|line| line.split_once("fn ").map(|(_, rest)| rest))
            }
            None => continue,
        };
        found.extend(rest.map(identifier));
    }
    found
}

fn is_riddle(name: &str) -> bool {
    let spelled = format!("_{name}_");
    name.starts_with("what_") || RIDDLES.iter().any(|word| spelled.contains(&format!("_{word}_")))
}

#[test]
fn names_of_tests_are_short_and_say_behaviour() {
    let all = files(&["src", "crates", "tests/it"]);
    let named = all
        .iter()
        .flat_map(|File { path, text }| tests(text).into_iter().map(move |of| (path, of)));
    let named: Vec<_> = named.collect();
    assert!(named.len() > 1_400, "{}", named.len());
    let faults = named.iter().filter(|(_, name)| name.len() > LONGEST || is_riddle(name));
    let faults: Vec<String> = faults.map(|(path, name)| format!("{path}: {name}")).collect();
    assert_none(&faults);
}

#[test]
fn tests_import_from_support_alone() {
    let faults = files(&["tests/it"]).into_iter().flat_map(|File { path, text }| {
        let is_helper = path.starts_with("tests/it/support/");
        let stranger = |line: &&str| {
            let from = line.strip_prefix("use crate::").map(identifier);
            line.starts_with("use super::") && !is_helper || from.is_some_and(|it| it != "support")
        };
        text.lines().filter(stranger).map(|line| format!("{path}: {line}")).collect::<Vec<_>>()
    });
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn no_type_of_the_tests_is_defined_twice() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for File { path, text } in files(&["tests/it"]) {
        for line in text.lines() {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let name = line.strip_prefix("struct ").or_else(|| line.strip_prefix("enum "));
            if let Some(name) = name.map(identifier) {
                places.entry(name.to_owned()).or_default().push(path.clone());
            }
        }
    }
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    let faults: Vec<String> =
        twice.map(|(name, of)| format!("{name}: {}", of.join(", "))).collect();
    assert_none(&faults);
}

#[test]
fn riddles_and_every_form_of_a_test_are_seen() {
    let text = "#[test]\nfn one() {}\n#[cfg(unix)]\n#[test]\n#[ignore]\nfn two() {}\ncorpusdb_test!(three, |t| {});\n\
                corpusdb_test!(\n    /// Why.\n    four,\n    |t| {}\n);\nfn helper() {}\n";
    assert_eq!(tests(text), ["one", "two", "three", "four"]);
    let riddles = ["what_is_kept", "a_stop_is_told", "it_is_none", "a_source_of_which_nothing_is"];
    assert!(riddles.into_iter().all(is_riddle));
    assert!(!is_riddle("somewhat_longer_texts_are_toldered"));
}
