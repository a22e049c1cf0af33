//! Shares with their uncertainty, against what the curve of the bands predicts.

use corpusdb::Policy;

/// Trials that succeeded, and what each was expected to do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Trials.
    pub trials: u64,
    /// Of these, successes.
    pub hits: u64,
    expected: f64,
    variance: f64,
}

impl Share {
    /// Adds a trial that was expected to succeed with probability `expected`.
    pub fn add(&mut self, hit: bool, expected: f64) {
        self.trials += 1;
        self.hits += u64::from(hit);
        self.expected += expected;
        self.variance += expected * (1.0 - expected);
    }

    /// Adds the trials of another.
    pub fn merge(&mut self, other: &Self) {
        self.trials += other.trials;
        self.hits += other.hits;
        self.expected += other.expected;
        self.variance += other.variance;
    }

    /// Successes among the trials; 1 when there were none.
    pub fn measured(&self) -> f64 {
        ratio(self.hits, self.trials)
    }

    /// What the share was expected to be; 1 without trials.
    pub fn predicted(&self) -> f64 {
        if self.trials == 0 { 1.0 } else { self.expected / self.trials as f64 }
    }

    /// Whether so few successes are beyond chance, if the trials held only `independent` of that many: more
    /// than four standard errors below what was expected, and, since few failures are not normally
    /// distributed, as improbable as that (one in 30,000) by the Poisson distribution too.
    pub fn is_below_chance(&self, independent: u64) -> bool {
        const ERRORS: f64 = 4.0;
        const IMPROBABLE: f64 = 1.0 / 30_000.0;
        let trials = self.trials.max(1) as f64;
        let weight = (independent.max(1) as f64 / trials).min(1.0);
        let missed = (self.trials - self.hits) as f64 * weight;
        let expected = (trials - self.expected).max(0.0) * weight;
        let error = (self.variance.max(0.0) * weight).sqrt();
        missed > expected + ERRORS * error + 1e-6
            && at_least(missed.floor() as u64, expected) < IMPROBABLE
    }

    /// Wilson's interval that holds the true share in 95 of 100 cases, were the trials independent.
    pub fn interval(&self) -> (f64, f64) {
        const Z: f64 = 1.96;
        if self.trials == 0 {
            return (0.0, 1.0);
        }
        let (n, p) = (self.trials as f64, self.measured());
        let middle = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + Z * Z / n;
        (((middle - half) / whole).max(0.0), ((middle + half) / whole).min(1.0))
    }
}

/// Probability that a Poisson variable of this mean is `count` or more.
fn at_least(count: u64, mean: f64) -> f64 {
    let (mut term, mut below) = ((-mean).exp(), 0.0);
    for k in 0..count {
        below += term;
        term *= mean / (k + 1) as f64;
    }
    1.0 - below
}

/// `part` of `whole`; 1 of nothing.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Jaccard similarity of sets of `a` and `b` members that share `shared`.
pub fn jaccard(shared: usize, a: usize, b: usize) -> f64 {
    let union = a + b - shared;
    if union == 0 { 0.0 } else { shared as f64 / union as f64 }
}

/// What the curve `1 - (1 - J^r)^b` of a policy predicts for a pair. Documents too short for a sketch are
/// found if and only if their tokens are equal, which is similarity 1.
pub fn predict(policy: &Policy, jaccard: f64, sketched: bool) -> f64 {
    if sketched { policy.detection(jaccard) } else { f64::from(u8::from(jaccard >= 1.0)) }
}
