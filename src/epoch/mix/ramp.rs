//! A stretch on which shares go in a straight line from one mix to another, cut into equal linear pieces.
//!
//! The amount of a source is then a parabola. With `n` pieces, breakpoint `j` is at `length * j / n` and its
//! amount there is exactly `(from * j * (2n - j) + to * j * j) / n^2`: all integers in units of `1 / n^2`, whatever
//! `n`, so any breakpoint costs two products and none is stored. Between breakpoints a line lies within
//! `slope change * length / (8 n^2)` of the parabola.

/// Most pieces, as a power of two: products stay below 128 bits up to a length of 2^50.
const FINEST: u32 = 20;

/// One stretch: what its sources have at breakpoints, relative to its start.
#[derive(Clone, Debug)]
pub(super) struct Parabola {
    /// Its length in amounts.
    pub length: u64,
    /// Pieces, as a power of two.
    pub log_pieces: u32,
    /// Half of what each source would have with the shares of the start, in fractions of an amount.
    from: Vec<u64>,
    /// The same with the shares of the end.
    to: Vec<u64>,
}

impl Parabola {
    /// A ramp within an eighth of `grain` of the parabola; `fraction` is the fraction bits of `from` and `to`.
    pub fn new(length: u64, from: Vec<u64>, to: Vec<u64>, fraction: u32, grain: u64) -> Self {
        // The parabola bends by this over the whole length: twice the difference of the halves.
        let widest = from.iter().zip(&to).map(|(from, to)| from.abs_diff(*to)).max().unwrap_or(0);
        let bend = (u128::from(widest) * 2) >> fraction;
        let mut log_pieces = 0;
        while log_pieces < FINEST && u128::from(grain.max(1)) << (2 * log_pieces) < bend {
            log_pieces += 1;
        }
        Self { length, log_pieces, from, to }
    }

    /// Bits by which amounts here are finer than `from` and `to`.
    pub const fn bits(&self) -> u32 {
        2 * self.log_pieces
    }

    /// What `source` gains over the whole stretch.
    pub fn gain(&self, source: usize) -> u64 {
        let (from, to) = self.ends(source);
        from + to
    }

    fn ends(&self, source: usize) -> (u64, u64) {
        let end = |of: &[u64]| of.get(source).copied().unwrap_or(0);
        (end(&self.from), end(&self.to))
    }

    /// What `source` has at breakpoint `piece`.
    pub fn at(&self, source: usize, piece: u64) -> u128 {
        let (from, to) = self.ends(source);
        let rest = (2 << self.log_pieces) - piece;
        // piece, rest <= 2^21, so their products fit 64 bits.
        u128::from(from) * u128::from(piece * rest) + u128::from(to) * u128::from(piece * piece)
    }

    /// What `source` gains from breakpoint `piece` to the next.
    pub fn rise(&self, source: usize, piece: u64) -> u128 {
        let (from, to) = self.ends(source);
        let rest = (2 << self.log_pieces) - 2 * piece - 1;
        u128::from(from) * u128::from(rest) + u128::from(to) * u128::from(2 * piece + 1)
    }

    /// The first piece by whose end `source` has `amount`; `near` is a guess. The stretch as a whole does get there.
    pub fn piece(&self, source: usize, amount: u128, near: u64) -> u64 {
        let pieces = 1 << self.log_pieces;
        let reached = |piece: u64| self.at(source, piece) >= amount;
        // Breakpoint `low` has not reached it (0 counts as such), breakpoint `high` has.
        let near = near.min(pieces - 1);
        let (mut low, mut high) = (near, pieces);
        if near > 0 && reached(near) {
            (low, high) = (0, near);
        } else {
            let mut step = 1;
            while low + step < pieces {
                if reached(low + step) {
                    high = low + step;
                    break;
                }
                low += step;
                step *= 2;
            }
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if reached(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }
}
