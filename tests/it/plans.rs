//! Stored plans: what is refused leaves none behind, and each is forgotten after those that go on from it.

use crate::epochs::{Place, SPECIALS};
use crate::support::corpusdb;

fn plans(place: &Place) -> usize {
    let listed = corpusdb(&["epoch", "list", &place.corpus, "--json"]).good();
    listed.stdout.lines().count()
}

/// The recipe was planned and the plan stored, with a snapshot, before the output was looked at.
#[test]
fn a_build_into_a_directory_in_use_leaves_no_plan() {
    let place = Place::holding(60);
    place.scratch.write("taken/theirs.txt", "precious");
    for out in [place.scratch.arg("taken"), ".".to_owned()] {
        place.recipe("build", SPECIALS, &["--out", &out]).fails(&["--out"]);
    }
    assert_eq!(plans(&place), 0);
    place.build(SPECIALS, "out", &[]);
    assert_eq!(plans(&place), 1);
}

/// It said that the plan does not fit this corpus, and to plan again.
#[test]
fn a_plan_that_another_one_goes_on_from_is_dropped_after_it() {
    let place = Place::holding(60);
    place.recipe("plan", SPECIALS, &[]).good();
    place.run("extend", "1", &["--consumed", "1"]).good();
    let refused = place.run("drop", "1", &[]);
    assert!(!refused.stderr.contains("again"), "{refused}");
    refused.fails(&["plan 2 goes on from plan 1", "drop plan 2 first"]);
    place.run("drop", "2", &[]).good();
    place.run("drop", "1", &[]).good();
    assert_eq!(plans(&place), 0);
}
