//! Undoing: a corpus on which verbs were run and undone stands as one on which they were not; and what the command says.

use crate::support::world::{init, kin, options, page_of, policies, policy};
use crate::support::{
    Page, Random, StopAt, StopWhen, TestDir, corpusdb_test, lines, part, pour, reader, seeds,
    sound_digest, writer,
};
use corpusdb::curate::{BlockReach, NewField};
use corpusdb::dedup::{MatchKind, Standing};
use corpusdb::{Context, CorpusWriter, DedupMode, DocId, Error, FieldKind, Policy};
use roaring::RoaringTreemap;
use std::collections::BTreeSet;

/// What is done to a corpus, in the numbers of one on which nothing was undone.
#[derive(Clone, Debug)]
enum Change {
    Ingest { file: usize, batch: u64, reread: bool },
    Remove(Vec<u64>, BlockReach),
    Restore(Vec<u64>),
    Redo(Policy),
}

/// A corpus on which every change stands, and one on which others were made and undone in between.
struct Twins {
    scratch: TestDir,
    plain: CorpusWriter,
    undone: CorpusWriter,
    /// The document of `undone` that each one of `plain` is.
    ids: Vec<u64>,
    /// Source, path and pages.
    files: Vec<(String, String, Vec<Page>)>,
    log: Vec<String>,
}

impl Twins {
    fn new(policy: &Policy) -> Self {
        let scratch = TestDir::new();
        let open = |name: &str| {
            let path = scratch.path(name);
            init(&path, policy);
            writer(&path)
        };
        let (plain, undone) = (open("plain"), open("undone"));
        Self { scratch, plain, undone, ids: Vec::new(), files: Vec::new(), log: Vec::new() }
    }

    /// A change drawn by chance, whose files lie there.
    fn draw(&mut self, random: &mut Random, texts: &[String], policies: &[Policy]) -> Change {
        let stored = self.ids.len();
        let batch = *random.pick(&[600, 1 << 20]);
        match random.below(100) {
            choice if stored == 0 || choice < 45 => {
                let keys = random.chance(70).then_some(9);
                let pages: Vec<Page> =
                    (0..random.between(1, 10)).map(|_| page_of(random, texts, keys)).collect();
                let (file, source) = (self.files.len(), *random.pick(&["web", "mirror"]));
                let path = self.scratch.write(&format!("{file}.jsonl"), lines(&pages));
                self.files.push((source.to_owned(), path, pages));
                Change::Ingest { file, batch, reread: false }
            }
            choice if choice < 60 => {
                let file = random.below(self.files.len());
                Change::Ingest { file, batch, reread: random.chance(40) }
            }
            choice if choice < 78 => {
                let ids = (0..random.between(1, 5)).map(|_| random.below(stored) as u64);
                let ids: BTreeSet<u64> = ids.collect();
                let reaches = [BlockReach::Nothing, BlockReach::Exact, BlockReach::Normalised];
                Change::Remove(ids.into_iter().collect(), *random.pick(&reaches))
            }
            choice if choice < 90 => {
                let removed = self.plain.view().documents_standing(Standing::Removed).unwrap();
                Change::Restore(removed.iter().filter(|_| random.chance(60)).collect())
            }
            _ => Change::Redo(random.pick(policies).clone()),
        }
    }

    /// Makes a change. Answers whether it made a commit.
    fn make(&mut self, change: &Change, on_undone: bool) -> bool {
        let writer = if on_undone { &mut self.undone } else { &mut self.plain };
        let of = |ids: &[u64]| -> RoaringTreemap {
            let id = |id: &u64| if on_undone { self.ids[*id as usize] } else { *id };
            ids.iter().map(id).collect()
        };
        let (before, context) = (writer.view().commit(), Context::new());
        match change {
            Change::Ingest { file, batch, reread } => {
                let (source, path, pages) = &self.files[*file];
                let options =
                    corpusdb::IngestOptions { reread: *reread, ..options(source, *batch, pages) };
                pour(writer, std::slice::from_ref(path), &options);
            }
            Change::Remove(ids, reach) => drop(writer.remove(&of(ids), *reach, &context).unwrap()),
            Change::Restore(ids) => drop(writer.restore(&of(ids), &context).unwrap()),
            Change::Redo(policy) => {
                writer.redo(policy, &context).unwrap();
                writer.switch(policy, &context).unwrap();
            }
        }
        writer.view().commit() != before
    }

    /// Makes a change on the one corpus alone, undoes it, and sometimes that, and that again.
    fn make_and_undo(&mut self, change: &Change, random: &mut Random) {
        let first = self.undone.view().commit().0 + 1;
        if !self.make(change, true) {
            return;
        }
        let did = standings(&self.undone);
        let asked = random.chance(50).then_some(first);
        if random.chance(30) {
            // A stopped one is continued by the same call.
            let stop = StopAt::new(StopWhen::Advance(random.below(3) as u64));
            match self.undone.undo(Some(first), None, &stop.context()) {
                Err(error) if error.is_interrupt() => {
                    self.undone.undo(Some(first), None, &Context::new()).unwrap();
                }
                Err(error) => return assert!(is_nothing(&error), "{error}, {:#?}", self.log),
                Ok(_) => {}
            }
        } else {
            match self.undone.undo(asked.or(Some(first)), None, &Context::new()) {
                Err(error) => return assert!(is_nothing(&error), "{error}, {:#?}", self.log),
                Ok(report) => assert!(report.undone.commit == first, "{report:?}"),
            }
        }
        for _ in 0..random.below(2) {
            let undoing = self.last_verb();
            self.undone.undo(Some(undoing), None, &Context::new()).unwrap();
            assert_eq!(standings(&self.undone), did, "undone twice, {:#?}", self.log);
            let undoing = self.last_verb();
            self.undone.undo(Some(undoing), None, &Context::new()).unwrap();
        }
    }

    /// The first commit of the last verb on the corpus where verbs are undone.
    fn last_verb(&self) -> u64 {
        self.undone.corpus().log(1).unwrap()[0].commit
    }

    /// Makes a change that stands, on both.
    fn make_on_both(&mut self, change: &Change) {
        let (plain, undone) = (self.plain.view().documents(), self.undone.view().documents());
        self.make(change, false);
        self.make(change, true);
        let added = self.plain.view().documents() - plain;
        assert_eq!(self.undone.view().documents() - undone, added, "{:#?}", self.log);
        self.ids.extend(undone..undone + added);
    }

    fn agree(&self) {
        let (plain, undone) = (self.plain.view(), self.undone.view());
        for (one, other) in (0..).zip(&self.ids) {
            let of = |view: &corpusdb::store::View, id: u64| {
                let found = view.match_of(DocId(id)).unwrap();
                let successor = found.filter(|found| found.kind == MatchKind::Superseded);
                (view.standing(DocId(id)).unwrap(), successor.map(|found| found.witness.0))
            };
            let (standing, successor) = of(plain, one);
            let successor = successor.map(|successor| self.ids[successor as usize]);
            assert_eq!(of(undone, *other), (standing, successor), "{one}, {:#?}", self.log);
        }
        let own: RoaringTreemap = self.ids.iter().copied().collect();
        let all: RoaringTreemap = (0..undone.documents()).collect();
        let removed = undone.documents_standing(Standing::Removed).unwrap();
        assert!((all - own).is_subset(&removed), "{:#?}", self.log);
    }
}

/// Whether nothing was there to undo: a removal of what is removed, or an ingest of what is stored.
fn is_nothing(error: &Error) -> bool {
    let error = error.to_string();
    ["it stored no document", "it changed nothing"].iter().any(|why| error.contains(why))
}

fn standings(writer: &CorpusWriter) -> Vec<Standing> {
    let view = writer.view();
    (0..view.documents()).map(|id| view.standing(DocId(id)).unwrap()).collect()
}

#[test]
fn undoing_leaves_the_selection_before() {
    for (at, policy) in part((0..).zip(policies(0.7)), 7) {
        for seed in 0..seeds(1) {
            let mut random = Random::new(7_000 + at * 16 + seed);
            let texts = kin(&mut random, 14);
            let policies = [policy.clone(), Policy { threshold: 0.9, ..policy.clone() }];
            let policies =
                if policy.mode.is_near() { policies } else { [policy.clone(), policy.clone()] };
            let mut twins = Twins::new(&policy);
            for _ in 0..10 {
                if random.chance(70) {
                    let change = twins.draw(&mut random, &texts, &policies);
                    twins.log.push(format!("undone: {change:?}"));
                    twins.make_and_undo(&change, &mut random);
                    twins.agree();
                }
                let change = twins.draw(&mut random, &texts, &policies);
                twins.log.push(format!("{change:?}"));
                twins.make_on_both(&change);
                twins.agree();
            }
            sound_digest(&reader(&twins.scratch.path("undone")));
        }
    }
}

corpusdb_test!(an_ingest_is_undone_and_comes_again, |t| {
    t.write("a.jsonl", "{\"id\":\"a\",\"text\":\"first words of a\"}\n{\"id\":\"b\",\"text\":\"other words of b\"}\n");
    t.write("b.jsonl", "{\"id\":\"a\",\"text\":\"newer words of a\"}\n{\"id\":\"c\",\"text\":\"words of c, a third\"}\n");
    t.run("init c");
    t.run("ingest c a.jsonl --source web --id-field id --text-field text");
    t.run("ingest c b.jsonl --source web --id-field id --text-field text");
    let before = t.run("sql c \"SELECT id, standing FROM documents ORDER BY id\"");
    t.run("log c").prints(&["ingest web, 2 documents added", "`corpusdb undo CORPUS 3` undoes it"]);
    t.run("undo c --dry-run")
        .prints(&["would undo commit 3: ingest web", "1 file counts as unread"]);
    t.run("undo c")
        .prints(&["undid commit 3: ingest web", "--no-block --where 'id BETWEEN 2 AND 3'"]);
    t.run("count c --where kept").is("2");
    t.run("sql c \"SELECT key, text FROM documents WHERE standing = 'kept' ORDER BY key\" --json")
        .prints(&["first words of a", "other words of b"]);
    t.sound("c");
    // What came with it is no removal that `restore` takes back.
    t.run("restore c 2").prints(&["restored 0 of 1", "1 document is of an ingest that was undone"]);
    t.run("undo c 4 --dry-run").prints(&["would undo commit 4: undo web (undoes commit 3)"]);
    t.run("ingest c b.jsonl --source web --id-field id --text-field text --json")
        .prints(&["\"added\":2"]);
    t.ran("undo c 4").fails(&["commit 5 stored records of its files again: undo that first"]);
    t.run("undo c");
    t.run("undo c 4").prints(&["undid commit 4: undo web"]);
    let ids = "sql c \"SELECT id, standing FROM documents WHERE id < 4 ORDER BY id\"";
    assert_eq!(t.run(ids).stdout, before.stdout);
    t.sound("c");
});

corpusdb_test!(verbs_that_cannot_be_undone_say_why, |t| {
    t.write("a.jsonl", "{\"id\":\"a\",\"text\":\"first words of a\"}\n{\"id\":\"b\",\"text\":\"other words of b\"}\n");
    t.run("init c");
    t.run("ingest c a.jsonl --source web --id-field id --text-field text");
    t.run("snapshot create c june");
    t.run("compact c");
    t.ran("undo c 3").fails(&[
        "commit 3 (snapshot june) cannot be undone",
        "corpusdb snapshot drop CORPUS june",
    ]);
    t.ran("undo c 4")
        .fails(&["commit 4 (compact) cannot be undone: it changed no row", "corpusdb log"]);
    t.ran("undo c 10").fails(&["commit 10 cannot be undone: the last commit is 4"]);
    t.run("remove c 0 --reason asked");
    t.ran("undo c 2").fails(&["commit 5 removed documents of it: undo that first"]);
    t.run("undo c").prints(&["undid commit 5: remove", "by `corpusdb restore CORPUS 0`"]);
    t.ran("undo c 5").fails(&["it was undone by commit 6"]);
    t.run("purge c 0 --force");
    t.ran("undo c 2").fails(&["1 of its documents were purged"]);
    t.run("log c").prints(&["purge", "cannot be undone: what is purged is gone"]);
    t.write(
        "suite.jsonl",
        "{\"question\":\"a question of some words that are long enough, is it not so\"}\n",
    );
    t.run("contamination add c ours suite.jsonl");
    t.run("log c").prints(&["`corpusdb contamination drop CORPUS ours` undoes it"]);
});

#[test]
fn fields_and_policies_go_back() {
    let scratch = TestDir::new();
    let path = scratch.path("c");
    init(&path, &policy(DedupMode::Witness, 0.7));
    let mut writer = writer(&path);
    let mut random = Random::new(5);
    let texts = kin(&mut random, 30);
    let pages: Vec<Page> = (0..60).map(|_| page_of(&mut random, &texts, None)).collect();
    let file = scratch.write("pages.jsonl", lines(&pages));
    pour(&mut writer, &[file], &options("web", 1 << 20, &pages));
    let context = Context::new();
    let kept = writer.corpus().select("standing = 'kept'").unwrap();
    writer.add_field(&NewField::new("n", FieldKind::Int), &context).unwrap();
    let twos = writer.corpus().select("n = 1").unwrap();
    assert!(!twos.is_empty());
    let other = policy(DedupMode::Witness, 0.95);
    writer.redo(&other, &context).unwrap();
    writer.switch(&other, &context).unwrap();
    assert_ne!(writer.corpus().select("standing = 'kept'").unwrap(), kept);
    let undone = writer.undo(None, Some(7), &context).unwrap();
    assert_eq!((undone.undone.verb.as_str(), writer.view().policy().threshold), ("redo", 0.7));
    assert_eq!(writer.corpus().select("standing = 'kept'").unwrap(), kept);
    let undone = writer.undo(None, None, &context).unwrap();
    assert_eq!((undone.undone.verb.as_str(), undone.undone.subject.as_str()), ("field", "n"));
    assert!(writer.corpus().select("n = 1").is_err());
    // Undoing that declares it again.
    let dropped = writer.corpus().log(1).unwrap()[0].commit;
    writer.undo(Some(dropped), None, &context).unwrap();
    assert_eq!(writer.corpus().select("n = 1").unwrap(), twos);
    sound_digest(&reader(&path));
}
