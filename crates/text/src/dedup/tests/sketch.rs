//! Tests of the published signature, by vectors that `benches/peers/signature_vectors.py` made with numpy.

use crate::dedup::sketch::{Permutations, Sketch};
use crate::dedup::{Fingerprinter, bands};
use model::{Policy, Profile};
use xxhash_rust::xxh3::xxh3_64_with_seed;

fn slots(sketch: &Sketch) -> Vec<u32> {
    sketch.as_bytes().as_chunks::<4>().0.iter().map(|slot| u32::from_le_bytes(*slot)).collect()
}

/// Sum of every number times its place, counted from one.
fn digest(numbers: impl IntoIterator<Item = u64>) -> u64 {
    (1..).zip(numbers).fold(0, |sum: u64, (at, x)| sum.wrapping_add(x.wrapping_mul(at)))
}

fn policy(hashes: u32, bands: u32, rows: u32) -> Policy {
    Policy { hashes, bands, rows, ..Policy::of(Profile::Bigcode) }
}

/// The sketch of no n-gram at all.
fn none(hashes: u32) -> Sketch {
    Permutations::new(hashes).sketch(std::iter::empty())
}

fn sketch(text: &str, hashes: u32) -> Sketch {
    let print = Fingerprinter::new(&policy(hashes, 1, 1)).fingerprint(text);
    print.sketch.unwrap_or_else(|| none(hashes))
}

#[test]
fn permutations_are_those_of_numpy() {
    let permutations = Permutations::new(4096);
    let pairs = permutations.pairs();
    assert_eq!(
        pairs[..2],
        [
            (2_297_359_619_001_564_596, 1_396_682_528_897_996_046),
            (1_973_689_801_170_867_272, 1_819_927_849_474_927_636)
        ]
    );
    assert_eq!(pairs[4095], (2_276_170_742_898_580_294, 368_755_380_940_465_457));
    assert_eq!(digest(pairs.iter().map(|(a, _)| *a)), 50_971_584_429_665_204);
    assert_eq!(digest(pairs.iter().map(|(_, b)| *b)), 11_752_598_363_837_889_057);
}

/// Text; its seven slots; the digest of its 256 slots; its two bands of three as they are published.
type Vector = (&'static str, [u32; 7], u64, [&'static str; 2]);

const VECTORS: &[Vector] = &[
    (
        "",
        [
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
        ],
        141_287_244_136_320,
        [
            "00000000ffffffff00000000ffffffff00000000ffffffff",
            "00000000ffffffff00000000ffffffff00000000ffffffff",
        ],
    ),
    (
        "one two three four",
        [
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
            4_294_967_295,
        ],
        141_287_244_136_320,
        [
            "00000000ffffffff00000000ffffffff00000000ffffffff",
            "00000000ffffffff00000000ffffffff00000000ffffffff",
        ],
    ),
    (
        "a b c d e",
        [
            1_325_523_712,
            3_176_138_254,
            1_937_760_049,
            3_728_888_456,
            1_180_060_769,
            8_997_195,
            2_882_256_340,
        ],
        68_104_642_421_447,
        [
            "000000004f01e30000000000bd50060e00000000737fdf31",
            "00000000de4252880000000046564c61000000000089494b",
        ],
    ),
    (
        "int main(void) { return 0; }\n",
        [675_747_979, 632_864_719, 389_292_757, 789_697_047, 798_693_242, 10_827_509, 372_366_872],
        16_249_252_556_492,
        [
            "000000002847188b0000000025b8bfcf00000000173422d5",
            "000000002f11d217000000002f9b177a0000000000a536f5",
        ],
    ),
    (
        "def f(x):\n    return x + 1  # naïve, 爱 λ\ndef f(x):\n    return x + 1  # naïve, 爱 λ\ndef f(x):\n    return x + 1  # naïve, 爱 λ\n",
        [20_703_400, 118_123_680, 775_457_019, 358_980_198, 104_205_208, 79_774_285, 87_260_697],
        6_107_640_544_434,
        [
            "00000000013be8a800000000070a6ca0000000002e3888fb",
            "0000000015659a660000000006360b980000000004c1424d",
        ],
    ),
    (
        "Deduplication is so much fun and easy! I wish spider dogs could do it as well.",
        [332_893_512, 188_024_531, 153_484_115, 95_590_748, 249_778_142, 168_365_702, 193_144_566],
        9_390_401_413_556,
        [
            "0000000013d78d48000000000b3506d3000000000925fb53",
            "0000000005b2995c000000000ee34fde000000000a090e86",
        ],
    ),
    (
        "我爱北京天安门,天安门上太阳升。",
        [
            69_485_849,
            1_783_422_080,
            775_457_019,
            655_868_050,
            943_730_829,
            1_535_104_327,
            2_233_105_623,
        ],
        77_892_226_399_525,
        [
            "0000000004244519000000006a4cdc80000000002e3888fb",
            "000000002717c092000000003840308d000000005b7fd547",
        ],
    ),
    (
        "MinHash 的 signature 函数 f_1(x) 用 SHA-1 与 2^61-1。",
        [29_102_611, 130_905_734, 390_497_790, 27_459_789, 137_780_981, 92_234_769, 52_929_413],
        7_739_524_271_646,
        [
            "0000000001bc12130000000007cd768600000000174685fe",
            "0000000001a300cd0000000008365ef500000000057f6411",
        ],
    ),
    (
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb c d e f",
        [
            253_960_919,
            2_415_839_611,
            586_736_123,
            56_340_154,
            327_908_201,
            1_127_795_736,
            28_415_953,
        ],
        36_741_705_261_856,
        [
            "000000000f2322d7000000008ffec97b0000000022f8e1fb",
            "00000000035baeba00000000138b7b69000000004338cc18",
        ],
    ),
];

#[test]
fn signatures_and_bands_are_those_of_the_published_function() {
    for (text, seven, all, expected) in VECTORS {
        let sketch_of_seven = sketch(text, 7);
        assert_eq!(slots(&sketch_of_seven), seven, "{text:?}");
        assert_eq!(digest(slots(&sketch(text, 256)).into_iter().map(u64::from)), *all, "{text:?}");
        let hashes: Vec<u64> = (0..)
            .zip(expected)
            .map(|(band, hex)| {
                let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
                xxh3_64_with_seed(&bytes, band) >> 24
            })
            .collect();
        // The seventh slot is left over.
        assert_eq!(bands(&sketch_of_seven, &policy(7, 2, 3)), hashes, "{text:?}");
        assert_eq!(bands(&sketch_of_seven, &policy(7, 3, 3)), hashes, "{text:?}");
    }
}

/// The worked example of the BigCode article: trigrams, five hashes, two bands of two rows.
#[test]
fn the_worked_example_of_the_article() {
    let of = |text: &str| {
        let words: Vec<&str> =
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let trigrams: Vec<String> = words.windows(3).map(|words| words.join(" ")).collect();
        Permutations::new(5).sketch(trigrams.iter().map(|trigram| trigram.as_bytes()))
    };
    for (trigram, hashes) in [
        (
            "Deduplication is so",
            [403_996_643, 2_764_117_407, 3_550_129_378, 3_548_765_886, 2_353_686_061],
        ),
        ("is so much", [3_594_692_244, 3_595_617_149, 1_564_558_780, 2_888_962_350, 432_993_166]),
        ("so much fun", [1_556_191_985, 840_529_008, 1_008_110_251, 3_095_214_118, 3_194_813_501]),
    ] {
        assert_eq!(slots(&of(trigram)), hashes, "{trigram}");
    }
    let documents = [
        "Deduplication is so much fun!",
        "Deduplication is so much fun and easy!",
        "I wish spider dog is a thing.",
    ];
    let sketches = documents.map(of);
    let [first, second, third] = sketches.each_ref().map(slots);
    assert_eq!(first, [403_996_643, 840_529_008, 1_008_110_251, 2_888_962_350, 432_993_166]);
    assert_eq!(second, [403_996_643, 840_529_008, 1_008_110_251, 1_998_729_813, 432_993_166]);
    assert_eq!(third, [166_417_565, 213_933_364, 1_129_612_544, 1_419_614_622, 1_370_935_710]);
    let [first, second, third] = sketches.map(|sketch| bands(&sketch, &policy(5, 2, 2)));
    assert_eq!((first.len(), first[0]), (2, second[0]), "the first two documents share a band");
    assert_ne!(first[1], second[1]);
    assert!(first[0] != third[0] && second[0] != third[0]);
}

#[test]
fn texts_without_ngrams_have_no_sketch() {
    let print = |text: &str| Fingerprinter::new(&policy(256, 25, 10)).fingerprint(text);
    assert!(slots(&none(9)).iter().all(|slot| *slot == u32::MAX));
    for (text, tokens) in [("", 0), (" \n", 0), ("a b c d", 4), ("f(x)", 3)] {
        let print = print(text);
        assert_eq!((print.tokens, print.sketch), (tokens, None), "{text:?}");
        assert_eq!(print.shingles.len(), usize::from(tokens > 0), "{text:?}");
    }
    let print = print("f(x);\n");
    assert_eq!((print.tokens, print.shingles.len(), print.sketch.is_some()), (5, 1, true));
}

#[test]
fn estimates_at_full_width_are_the_share_of_equal_slots() {
    let words: Vec<String> = (0..400).map(|n| format!("w{}", n * 7919 % 1009)).collect();
    let one = words.join(" ");
    let other = [&words[..350], &["x".to_owned()], &words[350..]].concat().join(" ");
    let mut fingerprinter = Fingerprinter::new(&Policy::of(Profile::Bigcode));
    let (a, b) = (fingerprinter.fingerprint(&one), fingerprinter.fingerprint(&other));
    let shared = f64::from(crate::dedup::shared(&a.shingles, &b.shingles));
    let jaccard = shared / ((a.shingles.len() + b.shingles.len()) as f64 - shared);
    let (a, b) = (a.sketch.unwrap(), b.sketch.unwrap());
    let equal = slots(&a).iter().zip(slots(&b)).filter(|(a, b)| **a == *b).count();
    assert!((a.estimate(&b) - equal as f64 / 256.0).abs() < 1e-12);
    assert!((a.estimate(&b) - jaccard).abs() < 0.05, "{} for {jaccard}", a.estimate(&b));
    assert_eq!(a.estimate(&none(256)), 0.0);
    assert_eq!(a.estimate(&none(255)), 0.0, "other numbers of slots do not compare");
}
