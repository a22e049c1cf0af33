//! The workflows name what there is, by hashes that nobody can move: targets of make, scripts, actions.

use crate::support::{assert_none, repository};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Actions that stand without a hash, each with the reason.
const UNPINNED: &[(&str, &str)] = &[];

/// A file of `.github/` that runs something.
struct Workflow {
    path: String,
    text: String,
}

/// What stands under a `run:` or in a script for a container, a line of it with its number.
struct WorkflowStep<'t> {
    line: usize,
    text: &'t str,
}

// ---- what is read ----

/// The files that end with `ending` under a folder of the repository, those of its folders included.
fn files_under(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, ending, found);
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
}

/// The workflows, and the actions of this repository that they share.
fn workflows() -> Vec<Workflow> {
    let mut paths = Vec::new();
    for folder in [".github/workflows", ".github/actions"] {
        files_under(&repository(folder), ".yml", &mut paths);
    }
    paths.sort();
    let read = |path: PathBuf| Workflow {
        text: std::fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(repository("")).unwrap().display().to_string(),
    };
    paths.into_iter().map(read).collect()
}

fn targets() -> BTreeSet<String> {
    targets_of(&std::fs::read_to_string(repository("Makefile")).unwrap())
}

/// The targets that a Makefile has rules for. Its assignments are `NAME := value`, and a rule has no space before its colon.
fn targets_of(makefile: &str) -> BTreeSet<String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_'))
    };
    let rule = |line: &str| line.split_once(':').map(|(name, _)| name.to_owned());
    makefile.lines().filter_map(rule).filter(|name| is_name(name)).collect()
}

/// The column in which a line begins, the dash of a list being a space.
fn column(line: &str) -> usize {
    line.chars().take_while(|c| matches!(c, ' ' | '-')).count()
}

/// What is run: behind `run:`, or in the block under it. The same of `before-script-linux:`, which runs in a container.
fn steps(text: &str) -> Vec<WorkflowStep<'_>> {
    let mut steps = Vec::new();
    let mut block: Option<usize> = None;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        if let Some(opened) = block {
            if line.trim().is_empty() || column(line) > opened {
                steps.push(WorkflowStep { line: line_number, text: line });
                continue;
            }
            block = None;
        }
        let entry = line.trim_start_matches([' ', '-']);
        let run = ["run:", "before-script-linux:"].iter().find_map(|key| entry.strip_prefix(key));
        match run.map(str::trim) {
            Some(header) if header.starts_with(['|', '>']) => block = Some(column(line)),
            Some(command) => steps.push(WorkflowStep { line: line_number, text: command }),
            None => {}
        }
    }
    steps
}

/// The words of a line of a shell, without quotes; what stands behind `#` is none.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t', ';', '(', ')', '|', '&', '`', '"', '\''])
        .filter(|word| !word.is_empty())
        .take_while(|word| !word.starts_with('#'))
}

// ---- what is asked ----

/// What is given to make and is no target.
fn unknown_targets(workflow: &Workflow, targets: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    for step in steps(&workflow.text) {
        for command in step.text.split("&&").flat_map(|part| part.split([';', '|'])) {
            let mut words = words(command).skip_while(|word| word.contains('='));
            if words.next() != Some("make") {
                continue;
            }
            // Options, variables and what a matrix fills in are none.
            let given = words.take_while(|word| !word.starts_with('$'));
            for word in given.filter(|word| !word.starts_with('-') && !word.contains('=')) {
                if !targets.contains(word) {
                    let Workflow { path, .. } = workflow;
                    faults.push(format!("{path}:{}: make has no target `{word}`", step.line));
                }
            }
        }
    }
    faults
}

/// Paths under `scripts/` that name nothing, in whatever the workflow says.
fn absent_scripts(workflow: &Workflow, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in workflow.text.lines().enumerate() {
        for (at, _) in line.match_indices("scripts/") {
            // Not the end of another path.
            if line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                continue;
            }
            let is_of_path =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
            let path = line[at..].split(|c| !is_of_path(c)).next().unwrap().trim_end_matches('.');
            if !exists(path) {
                faults.push(format!("{}:{}: there is no {path}", workflow.path, index + 1));
            }
        }
    }
    faults
}

/// Whether an action is named by a full hash, with the version that it is of beside it.
fn is_pinned(uses: &str) -> bool {
    let Some((action, rest)) = uses.split_once('@') else { return false };
    let (hash, version) = rest.split_once(" # v").unwrap_or((rest, ""));
    let is_hash = hash.len() == 40 && hash.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    !action.is_empty() && is_hash && version.starts_with(|c: char| c.is_ascii_digit())
}

/// Actions of others that a tag or a branch names: either may be moved to other code.
fn loose_actions(workflow: &Workflow, unpinned: &[(&str, &str)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in workflow.text.lines().enumerate() {
        let Some(uses) = line.trim_start_matches([' ', '-']).strip_prefix("uses:") else {
            continue;
        };
        let uses = uses.trim();
        // Of this repository, and so of the commit that is run.
        let is_own = uses.starts_with("./");
        if !is_own && !is_pinned(uses) && !unpinned.iter().any(|(name, _)| *name == uses) {
            faults.push(format!(
                "{}:{}: `{uses}` is not pinned by a hash with `# vN` behind it",
                workflow.path,
                index + 1
            ));
        }
    }
    faults
}

// ---- the workflows as they stand ----

#[test]
fn workflows_call_existing_targets_of_make() {
    let (workflows, targets) = (workflows(), targets());
    let makes = |workflow: &Workflow| {
        steps(&workflow.text)
            .iter()
            .filter(|step| words(step.text).any(|word| word == "make"))
            .count()
    };
    let found: usize = workflows.iter().map(makes).sum();
    assert!(found > 3 && targets.len() > 10, "{found} calls of {} targets", targets.len());
    let faults = workflows.iter().flat_map(|workflow| unknown_targets(workflow, &targets));
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn scripts_that_workflows_name_exist() {
    let exists = |path: &str| repository(path).is_file();
    let workflows = workflows();
    let named: usize = workflows.iter().map(|it| it.text.matches("scripts/").count()).sum();
    assert!(named > 2, "only {named} found");
    let faults = workflows.iter().flat_map(|workflow| absent_scripts(workflow, &exists));
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn actions_are_pinned_by_hashes() {
    let workflows = workflows();
    let used: Vec<&str> = workflows.iter().flat_map(|it| it.text.lines()).collect();
    assert!(used.iter().filter(|line| line.contains("uses:")).count() > 10);
    let faults = workflows.iter().flat_map(|workflow| loose_actions(workflow, UNPINNED));
    assert_none(&faults.collect::<Vec<_>>());
    let gone = UNPINNED.iter().find(|(name, _)| !used.iter().any(|line| line.ends_with(name)));
    assert!(gone.is_none(), "no longer used, strike it off UNPINNED: {gone:?}");
}

/// actionlint comes from elsewhere and is not always there: continuous integration installs it.
#[test]
fn actionlint_finds_nothing() {
    let actionlint = std::env::var_os("ACTIONLINT").unwrap_or_else(|| "actionlint".into());
    let paths = workflows().into_iter().map(|it| it.path).filter(|it| it.contains("/workflows/"));
    match Command::new(&actionlint).args(paths.map(repository)).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let failed = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{said}{failed}");
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("left out: there is no {}", actionlint.display());
        }
        Err(error) => panic!("{}: {error}", actionlint.display()),
    }
}

// ---- the rules can fail ----

fn workflow(text: &str) -> Workflow {
    Workflow { path: "w.yml".to_owned(), text: text.to_owned() }
}

#[test]
fn a_target_that_make_lacks_is_seen() {
    let makefile = "export A ?= b\nX := make\n.PHONY: help\nhelp: ## h\n\t@echo: y\ntest-python: build\n\ncheck:\n";
    let targets = targets_of(makefile);
    assert_eq!(targets.iter().collect::<Vec<_>>(), ["check", "help", "test-python"]);
    for text in [
        "      - run: make tset",
        "      - run: make check && make tset",
        "      - run: A=b make --quiet tset JOBS=1",
        "      - run: |\n          make check\n\n          if true; then x; fi; make check tset\n      - uses: a",
        "    - name: n\n      run: >-\n        make\n        check\n      # make tset\n      run: make tset",
        "          before-script-linux: |\n            make tset\n          sccache: true",
    ] {
        let faults = unknown_targets(&workflow(text), &targets);
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
    }
    let text = "a\n- run: |\n    x\n    make tset\n";
    assert_eq!(unknown_targets(&workflow(text), &targets), ["w.yml:4: make has no target `tset`"]);
    for text in [
        "      - run: make check",
        "      - run: make -j2 test-python ${{ matrix.arguments }}",
        "      - run: make help A=b # and make tset",
        "      - name: make tset",
        "      - run: |\n          make check\n      - name: make tset",
        "      - run: cmake tset && echo remake tset",
    ] {
        assert_none(&unknown_targets(&workflow(text), &targets));
    }
}

#[test]
fn a_script_that_is_absent_is_seen() {
    let exists = |path: &str| path == "scripts/setup.sh";
    for text in [
        "- run: scripts/set-up.sh",
        "- run: |\n    x=$(scripts/rocksdb.sh where | tail -n 1)",
        "paths: [\"scripts/old.sh\", \"scripts/setup.sh\"]",
        "# what ./scripts/gone.py does.",
    ] {
        assert_eq!(absent_scripts(&workflow(text), &exists).len(), 1, "{text}");
    }
    for text in ["- run: scripts/setup.sh", "# As scripts/setup.sh.", "- run: other-scripts/x"] {
        assert_none(&absent_scripts(&workflow(text), &exists));
    }
}

#[test]
fn an_action_that_can_be_moved_is_seen() {
    let hash = "0123456789abcdef0123456789abcdef01234567";
    for uses in [
        "actions/checkout@v4".to_owned(),
        "actions/checkout".to_owned(),
        "actions/checkout@release/v1 # v1".to_owned(),
        format!("actions/checkout@{hash}"),
        format!("actions/checkout@{hash} # main"),
        format!("actions/checkout@{} # v4", &hash[..39]),
        format!("actions/checkout@{} # v4", hash.to_uppercase()),
        "docker://image:latest".to_owned(),
    ] {
        let text = format!("steps:\n  - name: n\n    uses: {uses}\n");
        let faults = loose_actions(&workflow(&text), &[]);
        assert_eq!(faults.len(), 1, "{uses}: {faults:?}");
        assert!(faults[0].starts_with("w.yml:3: "), "{faults:?}");
        assert_none(&loose_actions(&workflow(&text), &[(&uses, "a test")]));
    }
    for uses in [format!("a/b@{hash} # v7.0.1"), format!("a/b/c@{hash} # v4"), "./x".to_owned()] {
        assert_none(&loose_actions(&workflow(&format!("  - uses: {uses}\n")), &[]));
    }
}
