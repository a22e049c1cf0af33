//! Tests how many rows reports read as a corpus grows.

use super::cost_tests::{CountedCorpus, of, parts_of, rows};
use crate::corpus::Corpus;
use crate::curate::NewSignals;
use crate::inspect::QualityOptions;
use crate::inspect::ReportOptions;
use model::{Context, DedupMode};
use text::signals::SignalSet;

fn opened(place: &CountedCorpus) -> Corpus {
    Corpus::options().memory(32 << 20).open(place.path()).unwrap()
}

#[test]
fn a_report_of_signals_reads_each_unscored_text_once() {
    let place = CountedCorpus::new(DedupMode::None, 150);
    let options = QualityOptions { examples: 0, ..QualityOptions::default() };
    let told = || {
        let corpus = opened(&place);
        rows(|| {
            let report = corpus.signals_report(&options, &Context::new()).unwrap();
            assert_eq!(report.documents.documents, 150);
        })
    };
    let of_texts = told();
    assert_eq!((of(&of_texts, "text_pages"), parts_of(&of_texts)), (150, 150), "{of_texts:?}");
    let new = NewSignals { signals: SignalSet::All.signals(), batch: 64 };
    place.writer().add_signals(&new, &Context::new()).unwrap();
    let stored = told();
    assert_eq!((of(&stored, "text_pages"), parts_of(&stored)), (0, 0), "{stored:?}");
}

#[test]
fn a_data_card_reads_pages_of_documents_and_no_single_one() {
    let read = |documents: u64| {
        let place = CountedCorpus::new(DedupMode::Witness, documents);
        let corpus = opened(&place);
        // Documents are shown in a fixed number.
        let options = ReportOptions { samples: 0, ..ReportOptions::default() };
        rows(|| {
            corpus.report(&options, &Context::new()).unwrap();
        })
    };
    let (small, large) = (read(100), read(200));
    assert!((1..4).contains(&parts_of(&small)), "{small:?}");
    for (family, count) in &large {
        let before = of(&small, family);
        assert!(*count <= before + 8, "{family}: {before} {count}");
    }
}
