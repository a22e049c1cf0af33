//! The words of enums: every variant has one, and is found by it.

/// Gives an enum of plain variants its words: `ALL` in this order, `name` and `from_name`.
///
/// ```
/// use model::named;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// pub enum Season {
///     Summer,
///     Winter,
/// }
///
/// named!(Season { Summer = "summer", Winter = "winter" });
///
/// assert_eq!(Season::Summer.name(), "summer");
/// assert_eq!(Season::from_name("winter"), Some(Season::Winter));
/// assert_eq!(Season::from_name("spring"), None);
/// assert_eq!(Season::ALL.len(), 2);
/// ```
#[macro_export]
macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Its word in options, reports and what is stored.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// The one of that name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
