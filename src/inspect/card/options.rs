//! Options of a report.

/// What a report tells, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ReportOptions {
    /// The number of a stored plan; the report adds what its first epoch contains.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub plan: Option<u32>,
    /// Excerpts of texts: ten documents, and examples of duplicates. By default they are shown.
    #[cfg_attr(feature = "cli", arg(id = "texts", long = "no-texts", action = clap::ArgAction::SetFalse))]
    pub texts: bool,
    /// The seed by which the documents that are shown are drawn.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 0))]
    pub seed: u64,
    /// Documents that are shown with the beginnings of their texts.
    #[cfg_attr(feature = "cli", arg(skip = 10_usize))]
    pub samples: usize,
    /// Sources with a row of duplicates and a distribution of numbers.
    #[cfg_attr(feature = "cli", arg(skip = 12_usize))]
    pub sources: usize,
    /// Largest clusters.
    #[cfg_attr(feature = "cli", arg(skip = 6_usize))]
    pub clusters: usize,
    /// Show this many domains.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 50, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1000)))]
    pub domains: usize,
    /// Whether the tenth of the domains with most text is listed, too.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub domains_by_text: bool,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            plan: None,
            texts: true,
            seed: 0,
            samples: 10,
            sources: 12,
            clusters: 6,
            domains: 50,
            domains_by_text: false,
        }
    }
}
