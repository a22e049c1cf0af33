//! The border to a holdout where contents move from key to key within one commit.

use crate::support::holdouts::{Pages, first_crawl, leaks};
use crate::support::{Page, Random, prose};
use corpusdb::dedup::KeepOrder;

/// The page as it is found again.
fn again(page: &Page, key: String) -> Page {
    Page::keyed(key, format!("{} seen again in a later crawl of these pages", page.text))
}

fn keys(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("page-{number}"))
}

#[test]
fn pages_that_move_in_one_commit_stay_on_their_side() {
    for (seed, keep, stubs_first) in [
        (71, KeepOrder::First, false),
        (72, KeepOrder::First, true),
        (73, KeepOrder::Longest, false),
        (74, KeepOrder::Longest, true),
    ] {
        let mut random = Random::new(seed);
        let mut pages = Pages::new(&keep);
        let crawl = first_crawl(&mut random, 60);
        pages.pour(&crawl);
        let before = pages.sides();
        let moved = crawl.iter().zip(keys(60)).map(|(page, key)| again(page, format!("new-{key}")));
        let stub =
            |key| Page::keyed(key, format!("This page has moved. {}", prose(&mut random, 0, 20)));
        let mut file: Vec<Page> = moved.chain(keys(60).map(stub)).collect();
        if stubs_first {
            file.rotate_left(60);
        }
        assert_eq!(pages.pour(&file).commits, 1);
        let after = pages.sides();
        assert_eq!(after.0.len() + after.1.len(), 120, "nothing met another lineage");
        assert_eq!(leaks(&pages, 0.6, &before, &after), 0, "{keep:?}, stubs first {stubs_first}");
        // A later crawl goes on from there.
        let third: Vec<Page> = crawl
            .iter()
            .zip(keys(60))
            .map(|(page, key)| again(page, format!("third-{key}")))
            .collect();
        pages.pour(&third);
        assert_eq!(leaks(&pages, 0.6, &before, &pages.sides()), 0, "{keep:?}, a third time");
    }
}

/// The pages with row numbers as keys, and another page in front.
fn shifted(crawl: &[Page], first: &Page) -> Vec<Page> {
    let rows = std::iter::once(first).chain(crawl).zip(keys(crawl.len() + 1));
    rows.map(|(page, key)| again(page, key)).collect()
}

#[test]
fn keys_that_shift_by_one_move_nothing_over_the_border() {
    for (seed, keep, is_template) in [
        (75, KeepOrder::First, false),
        (76, KeepOrder::Longest, false),
        (78, KeepOrder::First, true),
    ] {
        let mut random = Random::new(seed);
        let mut pages = Pages::new(&keep);
        let crawl = if is_template { fills(&mut random, 80) } else { first_crawl(&mut random, 80) };
        pages.pour(&crawl);
        let before = pages.sides();
        let first = Page::new(prose(&mut random, 0, 60));
        assert_eq!(pages.pour(&shifted(&crawl, &first)).commits, 1);
        let after = pages.sides();
        assert!(
            after.0.len() > 25 && !after.1.is_empty(),
            "{} and {}",
            after.0.len(),
            after.1.len()
        );
        assert_eq!(leaks(&pages, 0.75, &before, &after), 0, "{keep:?}, {is_template}");
    }
}

/// Pages of one template: every bucket of one is crowded, and no two are similar.
fn fills(random: &mut Random, count: usize) -> Vec<Page> {
    let template = prose(random, 0, 50);
    let words: Vec<&str> = template.split(' ').collect();
    keys(count)
        .map(|key| {
            let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            for at in [16, 34] {
                words[at] = format!("fill{}", random.below(1_000_000));
            }
            Page::keyed(key, words.join(" "))
        })
        .collect()
}

#[test]
fn replacing_within_a_commit_costs_a_comparison_a_change() {
    let costs = |count: usize| {
        let mut random = Random::new(77);
        let mut told = Vec::new();
        for crawl in [first_crawl(&mut random, count), fills(&mut random, count)] {
            let mut pages = Pages::new(&KeepOrder::First);
            assert_eq!(pages.pour(&crawl).dedup.heirs, 0, "nothing left");
            assert_eq!(pages.writer().view().kept().unwrap().len() as usize, count);
            let mut crawled = crawl.clone();
            crawled.iter_mut().for_each(|page| page.fields["night"] = 1.into());
            assert_eq!(pages.pour(&crawled).dedup.heirs, 0, "no text changed");
            let footers: Vec<Page> =
                crawl.iter().zip(keys(count)).map(|(page, key)| again(page, key)).collect();
            let same_keys = pages.pour(&footers).dedup.heirs;
            let first = Page::new(prose(&mut random, 0, 60));
            told.push((same_keys, pages.pour(&shifted(&footers, &first)).dedup.heirs));
        }
        told
    };
    let (few, many) = (costs(60), costs(120));
    for (few, many) in few.iter().zip(&many) {
        assert!(
            many.0 <= 2 * few.0 + 20 && many.1 <= 2 * few.1 + 20,
            "{few:?} of 60, {many:?} of 120"
        );
        assert!(few.1 <= 3 * 60, "{few:?} of 60");
    }
}
