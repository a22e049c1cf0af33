//! Tokenizers: text to token ids and back, and how they are loaded, converted, trained, extended and measured.
//!
//! Use it to encode without a corpus ([`Tokenizer`]), to read what others published ([`convert`]), and to say what is
//! trained, extended and registered ([`TrainOptions`], [`TermOptions`], [`GrowthOptions`], [`TokenizerRegistration`]).
//! [`analyse`] measures tokenizers against each other, and [`KneserNey`] says how likely ids are after those before them.
//!
//! ```
//! use corpusdb::tokenizer::Tokenizer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = br#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
//!     {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, "page": 2}, "unk_token": "<unk>"}}"#;
//! let tokenizer = Tokenizer::load(file, &[])?;
//! let mut ids = Vec::new();
//! tokenizer.encoder().encode("a whole page", &mut ids)?;
//! assert_eq!(ids, [1, 0, 2]);
//! # Ok(())
//! # }
//! ```

#[doc(inline)]
pub use tokenizer::{
    BestSegmentations, CheckCase, CheckVerdict, ConvertedTokenizer, DigitSplit, EmbeddingMap,
    EmbeddingRow, Encoder, EncoderBackend, EncoderLibrary, EngineTexts, ExtendError, FAST,
    FormReport, GrowthOptions, KneserNey, MOST_SEGMENTATIONS, MergeScore, ModelKind,
    NAMED_PATTERNS, NgramCounts, PretokenPattern, REFERENCE, RoundTrip, SENTENCEPIECE,
    ScoredSegmentation, Segmentation, TermCounts, TermForms, TermOptions, TermOutcome, TermReport,
    TextTotals, TokenOffsets, TokenOrigin, TokenPiece, Tokenizer, TokenizerCheck, TokenizerError,
    TokenizerExtension, TokenizerInput, TokenizerRegistration, TrainGroupReport, TrainOptions,
    TrainReport, UnicodeForm, VocabularyDiff, WrittenModel, convert, from_vocab_and_merges,
};

/// Tokenizers measured against each other on the same texts.
pub mod analyse {
    #[doc(inline)]
    pub use tokenizer::analyse::{
        AnalysedTokenizer, AnalysisCase, AnalysisCaseKind, AnalysisReport, AnalysisTally,
        BaselineTally, CensusRow, CostlyDocument, CostlyWord, CoveredShare, CurvePoint, DigitRun,
        GranularityBaseline, GroupMetrics, GroupWordCosts, Knee, ListedToken, MergeCounts,
        PatternHint, PretokenCounter, PretokenTable, RankedCount, ReachClass, ReachRow, SizePrice,
        TextCounts, TextWords, TokenLengthBin, TokenizerAnalysis, VocabularyCensus,
        VocabularyCurve, VocabularyUse, WordCostTally, WordCosts,
    };
}
