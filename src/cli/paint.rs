//! The colours of parts of a line, and the marks that stand for them without colours.

/// The colour of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// No colour.
    Plain,
    /// What to look at.
    Highlight,
    /// Text that only the earlier one of two has.
    Removed,
    /// Text that only the later one of two has.
    Added,
    /// A verdict that is good.
    Good,
    /// A verdict that is bad.
    Bad,
    /// Tokens that a model is trained on.
    Trained,
    /// Tokens that it is not trained on.
    Untrained,
}

impl Paint {
    /// The marks before and behind a part; without colours, brackets around what was removed and added.
    pub(super) const fn marks(self, has_colours: bool) -> (&'static str, &'static str) {
        match (self, has_colours) {
            (Self::Plain, _) | (Self::Good | Self::Bad, false) => ("", ""),
            (Self::Good, true) => ("\x1b[32m", "\x1b[0m"),
            (Self::Bad, true) => ("\x1b[1;31m", "\x1b[0m"),
            (Self::Highlight, true) => ("\x1b[1;33m", "\x1b[0m"),
            (Self::Highlight, false) => ("[[", "]]"),
            (Self::Removed, true) => ("\x1b[31m[-", "-]\x1b[0m"),
            (Self::Removed, false) => ("[-", "-]"),
            (Self::Added, true) => ("\x1b[32m{+", "+}\x1b[0m"),
            (Self::Added, false) => ("{+", "+}"),
            (Self::Trained, true) => ("\x1b[1;32m", "\x1b[0m"),
            (Self::Untrained, true) => ("\x1b[2m", "\x1b[0m"),
            (Self::Untrained, false) => ("⟦", "⟧"),
            (Self::Trained, false) => ("", ""),
        }
    }
}
