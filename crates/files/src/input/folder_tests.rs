//! Tests of which files of a folder are read, and why the others are left.

use super::file_names::{is_data, is_part};
use super::folders::{
    FolderContents, FolderEntry, FolderFault, FolderForm, FolderLook, SeenContent, path_fields,
    sort_out,
};
use super::leftovers::leftover;
use super::table_formats::LakeFormat;
use proptest::prelude::*;
use std::path::Path;

/// What an ingest would make of a file with such a name: also `x.json` and what is called `rows` hold records.
fn named(name: &&str) -> SeenContent {
    let file = name.rsplit('/').next().unwrap_or_default();
    match () {
        () if file.contains("bad") => SeenContent::Foreign,
        () if is_data(file) || is_part(file) || file.contains("rows") => SeenContent::Records,
        () if file == "x.json" || file.contains(".jsonl") => SeenContent::Records,
        () => SeenContent::Text,
    }
}

fn sorted(
    names: &[&'static str],
    form: FolderForm,
    pattern: &str,
) -> Result<FolderContents<&'static str>, FolderFault> {
    let entries = names.iter().map(|name| FolderEntry { name: (*name).to_owned(), item: *name });
    let look = FolderLook { form, pattern, read: &|_| None, content: &named };
    sort_out(entries.collect(), &look)
}

fn left(names: &[&'static str]) -> Vec<&'static str> {
    let left = sorted(names, FolderForm::Auto, "").unwrap().left;
    left.into_iter().map(|(entry, ..)| entry.item).collect()
}

#[test]
fn descriptions_are_skipped_beside_records_alone() {
    for (names, expected) in [
        (&["README.md", "a.parquet"][..], &["README.md"][..]),
        (&["README.md", "data/a.jsonl.gz", "LICENSE"], &["README.md", "LICENSE"]),
        (&["a.csv", "a.csv.sha256", "metadata.json"], &["a.csv.sha256", "metadata.json"]),
        // A folder of texts alone.
        (&["README.md", "src/main.rs"], &[]),
        (&["README.md", "chapter.md"], &[]),
        (&["a.txt", "old.arc"], &[]),
        (&["_notes.txt", "b.txt"], &[]),
        // One more file beside data: a page was a document as soon as there was any.
        (&["README.md", "chapter.md", "a.csv"], &["README.md", "chapter.md"]),
        (&["LICENSE", "a.jsonl", "load.py", "urls.txt"], &["LICENSE", "load.py", "urls.txt"]),
        (&["LICENSE", "a.jsonl", "plot.bad"], &["LICENSE"]),
        (&["README.md", "x.json"], &["README.md"]),
        (&["README.md", "rows"], &["README.md"]),
        (&["README.md", "docs/a.md", "data/a.jsonl"], &["README.md", "docs/a.md"]),
        // A list of texts gives no records, and texts in a folder of their own are documents.
        (&["index-bad.csv", "a.txt", "b.txt"], &[]),
        (&["books/a.txt", "web/a.jsonl"], &[]),
        (&["licenses/LICENSE", "web/a.jsonl"], &["licenses/LICENSE"]),
        // Data are never descriptions: all records of such files were left.
        (&["readme-00000-of-00002.parquet", "notice.csv", "authors.jsonl"], &[]),
        (&["citation-1.jsonl.gz", "license_x.jsonl", "README.md"], &["README.md"]),
        (&["a.jsonl", "authors_rows.txt", "notice-rows.txt"], &[]),
        // Numbered parts: other files beside them do not belong to the dataset.
        (
            &["README.md", "load.py", "plot.bad", "data/train-00000-of-00002.parquet"],
            &["README.md", "load.py", "plot.bad"],
        ),
        (&["_SUCCESS", "part-00000-0a1b-c000.json", "x.json"], &["_SUCCESS"]),
        (&["_SUCCESS", "part-00000", "part-00001"], &["_SUCCESS"]),
        (&["_SUCCESS", "part-r-00000.gz.parquet", "notes.txt"], &["_SUCCESS", "notes.txt"]),
        (&["lang=de/a.parquet", "lang=de/notes.txt", "LICENSE"], &["lang=de/notes.txt", "LICENSE"]),
        (&["a.parquet", "_temporary/0/b.parquet"], &["_temporary/0/b.parquet"]),
        (&[".git/HEAD", "a.txt", "b/.c"], &[".git/HEAD", "b/.c"]),
        // The older copy won.
        (&["a.jsonl", "a.jsonl~", "b.bak/a.jsonl"], &["a.jsonl~", "b.bak/a.jsonl"]),
        (&["a.jsonl", "a.jsonl.st", "b.jsonl"], &["a.jsonl", "a.jsonl.st"]),
    ] {
        assert_eq!(left(names), expected, "{names:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
    /// What is left stays left, and data stay data, whatever one more file is: a script beside a page and data made the
    /// page a document.
    #[test]
    fn one_more_file_makes_no_document_of_a_description(
        names in prop::collection::btree_set(prop::sample::select(POOL.to_vec()), 1..8),
        more in prop::sample::select(POOL.to_vec()),
    ) {
        let before: Vec<&str> = names.iter().copied().collect();
        let with: Vec<&str> = names.iter().copied().chain([more]).collect();
        let after = left(&with);
        prop_assert!(left(&before).iter().all(|name| after.contains(name)), "{before:?} {more}");
        let is_read = |name: &&str| leftover(name).is_none() && named(name) == SeenContent::Records;
        prop_assert!(!after.iter().any(is_read), "{with:?}: {after:?}");
    }
}

const POOL: [&str; 20] = [
    "README.md",
    "LICENSE",
    "docs/README.md",
    "docs/a.md",
    "notes.txt",
    "load.py",
    "plot.bad",
    "x.json",
    "a.jsonl",
    "data/b.parquet",
    "data/c.csv",
    "index-bad.csv",
    "notice.csv",
    "a.jsonl~",
    "rows",
    "docs/rows.txt",
    "metadata.json",
    "data/part-00000",
    "lang=de/d.jsonl.gz",
    "old.bak/a.jsonl",
];

#[test]
fn files_that_are_asked_for_are_not_left() {
    let names = ["LICENSE", "a.jsonl", "a.jsonl.bak", "b.csv", "chapter.md"];
    for (form, pattern, expected) in [
        (FolderForm::Auto, "*", &["LICENSE", "a.jsonl.bak", "chapter.md"][..]),
        (FolderForm::Auto, "*.bak", &["LICENSE", "chapter.md"]),
        (FolderForm::Records, "", &["LICENSE", "a.jsonl.bak"]),
        (FolderForm::Texts, "", &["a.jsonl.bak"]),
    ] {
        let left = sorted(&names, form, pattern).unwrap().left;
        let left: Vec<_> = left.into_iter().map(|(entry, ..)| entry.item).collect();
        assert_eq!(left, expected, "{form:?} {pattern}");
    }
}

/// Rows that a table had deleted came in, and its metadata were documents.
#[test]
fn a_folder_of_a_table_format_is_refused() {
    for (names, folder, format) in [
        (&["a.parquet", "_delta_log/0.json"][..], "", LakeFormat::Delta),
        (&["x/.hoodie", "x/de/a.parquet", "a.jsonl"], "x", LakeFormat::Hudi),
        (&["t/data/a.parquet", "t/metadata/v1.metadata.json"], "t", LakeFormat::Iceberg),
    ] {
        let fault = sorted(names, FolderForm::Auto, "").err();
        assert_eq!(fault, Some(FolderFault::Table(folder.to_owned(), format)), "{names:?}");
    }
    assert_eq!(left(&["x/.hoodie", "a.jsonl"]), ["x/.hoodie"], "no file of the table is read");
}

#[test]
fn folders_of_partitions_say_fields() {
    let of = |path: &str| path_fields(Path::new(path));
    let field = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
    assert_eq!(
        of("/d/lang=de/dump=2024-10/part-0.parquet"),
        [field("lang", "de"), field("dump", "2024-10")]
    );
    assert_eq!(of("s3://b/a=1%2F2/a=3/x.csv?versionId=k=v"), [field("a", "3")]);
    assert_eq!(of("/d/lang=__HIVE_DEFAULT_PARTITION__/x"), [("lang".to_owned(), None)]);
    assert_eq!(of("/d/=de/lang=/a b=c/1=2/k=v.parquet"), []);
    assert_eq!(of("/d/q=%zz%4/x"), [field("q", "%zz%4")]);
    let escaped = "/d/q=%5F_HIVE_DEFAULT_PARTITION__/x";
    assert_eq!(of(escaped), [field("q", "__HIVE_DEFAULT_PARTITION__")]);
}

#[test]
fn a_saved_dataset_is_the_files_that_it_lists() {
    let state = |files: &str, indices: &str| {
        format!(r#"{{"_data_files":[{files}],"_indices_data_files":{indices}}}"#).into_bytes()
    };
    let sorted = |state: Vec<u8>| {
        let names =
            ["s/state.json", "s/dataset_info.json", "s/a.arrow", "s/b.arrow", "dataset_dict.json"];
        let entries = names.map(|name| FolderEntry { name: name.to_owned(), item: () });
        let look = FolderLook {
            form: FolderForm::Auto,
            pattern: "",
            read: &|()| Some(state.clone()),
            content: &|()| SeenContent::Foreign,
        };
        sort_out(entries.into(), &look)
            .map(|contents| contents.data.into_iter().map(|entry| entry.name).collect::<Vec<_>>())
    };
    let a = r#"{"filename":"a.arrow"}"#;
    assert_eq!(sorted(state(a, "null")).unwrap(), ["s/a.arrow"]);
    assert_eq!(sorted(state(a, "[]")).unwrap(), ["s/a.arrow"]);
    let mapped = sorted(state(a, r#"[{"filename":"i.arrow"}]"#));
    assert_eq!(mapped, Err(FolderFault::Mapped("s/state.json".to_owned())));
    let missing = sorted(state(r#"{"filename":"c.arrow"}"#, "[]"));
    assert_eq!(missing, Err(FolderFault::Missing("s/c.arrow".to_owned())));
}
