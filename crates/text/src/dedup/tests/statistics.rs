//! Statistical tests of sketch estimates, over many random sets of a fixed seed.

use crate::dedup::Sketch;
use model::mix64;

/// Sets of `each` members that share `common` of them, the `trial`-th pair of a seed.
fn pair(each: u64, common: u64, seed: u64, trial: u64) -> (Vec<u64>, Vec<u64>) {
    let base = mix64(mix64(seed).wrapping_add(trial));
    let member = |k: u64| mix64(base ^ mix64(k));
    ((0..each).map(member).collect(), (each - common..2 * each - common).map(member).collect())
}

/// Errors of estimates of one similarity: mean error, and root mean square error relative to that of 256 independent
/// slots of any width, `sqrt(J (1 - J) / 256)`.
struct Errors {
    jaccard: f64,
    bias: f64,
    relative: f64,
}

fn errors(each: u64, jaccard: f64, trials: u64) -> Errors {
    let common = (each as f64 * 2.0 * jaccard / (1.0 + jaccard)).round() as u64;
    let jaccard = common as f64 / (2 * each - common) as f64;
    let (mut sum, mut squares) = (0.0, 0.0);
    for trial in 0..trials {
        let (a, b) = pair(each, common, each << 20 | common, trial);
        let error = Sketch::of(&a).estimate(&Sketch::of(&b)) - jaccard;
        sum += error;
        squares += error * error;
    }
    let independent = (jaccard * (1.0 - jaccard) / 256.0).sqrt();
    let trials = trials as f64;
    Errors { jaccard, bias: sum / trials, relative: (squares / trials).sqrt() / independent }
}

/// No estimate is off on average, and none is worse than independent slots would make it.
#[test]
fn estimates_are_unbiased_at_any_similarity_and_size() {
    for (each, trials) in
        [(5, 6000), (20, 6000), (100, 6000), (600, 5000), (2000, 4000), (5000, 3000)]
    {
        for jaccard in [0.3, 0.5, 0.7, 0.8, 0.9] {
            let Errors { jaccard, bias, relative } = errors(each, jaccard, trials);
            assert!(bias.abs() <= 0.002, "bias {bias} for n = {each}, J = {jaccard}");
            // Nothing is left to err about where the sets are equal.
            let most = if each < 2000 { 0.98 } else { 1.03 };
            assert!(jaccard == 1.0 || relative <= most, "{relative} for n = {each}, J = {jaccard}");
        }
    }
}

/// Three rounds of buckets with a K-way fallback make estimates this much better than independent slots at
/// J = 0.8 (measured with slots of full width, two decimals). Slots of 8 bits agree by chance in 1/256 of
/// what is left: `sqrt(p (1 - p)) / (1 - 1/256)` for p = 0.8 + 0.2/256, 0.2 % more. The rest allows for the
/// error of so many trials, three standard deviations.
#[test]
fn errors_are_those_of_bucket_rounds() {
    for (each, trials, reference) in [(20, 20_000, 0.89), (300, 12_000, 0.74), (1000, 8000, 0.89)] {
        let Errors { relative, .. } = errors(each, 0.8, trials);
        let p: f64 = 0.8 + 0.2 / 256.0;
        let narrow = ((p * (1.0 - p)) / (0.8 * 0.2)).sqrt() / (1.0 - 1.0 / 256.0);
        let noise = 3.0 / (2.0 * trials as f64).sqrt();
        let most = (reference + 0.005) * narrow * (1.0 + noise);
        assert!(relative <= most, "relative error {relative}, not {most}, for n = {each}");
        assert!(relative >= reference * 0.9, "{relative} is too good to be true for n = {each}");
    }
}

/// Frozen: the slots of sets that fill all slots in the rounds, and of sets that need the last step.
#[test]
fn known_sketches() {
    let set = |n: u64| (1..=n).map(mix64).collect::<Vec<_>>();
    for (n, expected) in [
        (1, "8d3d06df463c7364ca44916661acd8c9"),
        (2, "ec770fa2c1ebed9eb5491057aa1eb499"),
        (20, "b49b8d724426e0755bf6ef9a5ab5ed7a"),
        (150, "15b7c8cd170f8fbadbea4030c967d314"),
        (600, "79638b5423ab83831dc5b3f0eeb80cf5"),
        (2000, "a903de4891a4a08ef8fc184e402ecd4e"),
        (20000, "3e3e65fc6776dea58d6a83e113c49145"),
    ] {
        let digest = blake3::hash(Sketch::of(&set(n)).as_bytes()).to_hex();
        assert_eq!(&digest.as_str()[..32], expected, "{n} members");
    }
    assert_eq!(Sketch::of(&[]).as_bytes(), [0; 256]);
    assert_eq!(Sketch::of(&[u64::MAX]), Sketch::of(&[u64::MAX, u64::MAX]));
}

#[test]
fn unlike_sets_are_estimated_near_zero() {
    for n in [5, 50, 500, 5000] {
        let mean: f64 = (0..200)
            .map(|t| {
                let set = |s: u64| {
                    (0..n).map(|k| mix64(mix64(s + 1) ^ mix64(k << 32))).collect::<Vec<_>>()
                };
                Sketch::of(&set(2 * t)).estimate(&Sketch::of(&set(2 * t + 1)))
            })
            .sum::<f64>()
            / 200.0;
        assert!(mean < 0.003, "{mean} for n = {n}");
    }
}
