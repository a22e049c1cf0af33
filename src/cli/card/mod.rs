//! A corpus as one HTML page, the data card: no server, no script, no other file.
//!
//! One section a file, in the order of the page: `opening`, `sizes`, `lengths`, `duplicates`, `losses`, `numbers`,
//! `contamination`, `domains`, `history`, `plan`, `method`. Above each picture a sentence says what it shows in this
//! corpus (`words`). What comes from the corpus is escaped by the forms of `super::page`, and cut where it is long: no
//! page grows with the corpus. `signals` is a page of its own.

mod contamination;
mod domains;
mod duplicates;
mod figure;
mod history;
mod lengths;
mod losses;
mod method;
mod numbers;
mod opening;
mod plan;
mod signals;
mod sizes;
#[cfg(test)]
mod tests;
mod words;

use super::page::document;
use super::page::html::cut;
use corpusdb::epoch::Explanation;
use corpusdb::query::QualityReport;
use corpusdb::report::{CorpusReport, DuplicatesReport};
use figure::Section;

/// The page of a report.
pub fn page(report: &CorpusReport) -> String {
    let sections: Vec<Section> = [
        Some(opening::section(report)),
        Some(sizes::section(report)),
        lengths::section(report),
        report
            .duplicates
            .as_ref()
            .map(|found| duplicates::section(found, report.sizes.all.documents)),
        Some(losses::section(report)),
        numbers::section(report),
        Some(contamination::section(&report.contamination)),
        Some(domains::section(report)),
        Some(history::section(report)),
        report.plan.as_ref().map(|plan| plan::section(&plan.epoch, Some(plan))),
        Some(method::section(report)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let opening = format!("{}{}", opening::lead(report), figure::contents(&sections));
    let sections: String = sections.iter().map(Section::html).collect();
    document(&format!("Data card: {}", cut(&report.name)), &opening, &sections)
}

/// The duplicates of a corpus of so many documents, called `name`, alone.
pub(crate) fn duplicates_page(report: &DuplicatesReport, stored: u64, name: &str) -> String {
    let section = duplicates::section(report, stored);
    document(&format!("Duplicates: {}", cut(name)), "", &section.html())
}

/// What a run gets of a corpus called `name`, alone.
pub(crate) fn epoch_page(epoch: &Explanation, name: &str) -> String {
    document(&format!("Epoch of {}", cut(name)), "", &plan::section(epoch, None).html())
}

/// What published rules would remove of a corpus called `name`, alone.
pub fn signals_page(report: &QualityReport, name: &str) -> String {
    let sections = signals::sections(report);
    let opening = format!("{}{}", signals::lead(report), figure::contents(&sections));
    let sections: String = sections.iter().map(Section::html).collect();
    document(&format!("Signals of {}", cut(name)), &opening, &sections)
}
