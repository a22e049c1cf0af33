//! Tests of personal data: what is found, whatever stands beside it, and which numbers are of another kind.

use super::pii::{CALLING_CODES, IBANS, PersonalData, iban, pii};
use proptest::prelude::*;

fn found(text: &str) -> Vec<(&'static str, &str)> {
    pii(text).map(|(what, place)| (what.name(), &text[place])).collect()
}

#[test]
fn personal_data_are_found_where_they_stand() {
    for (text, expected) in [
        ("Write to <ann.lee+x@mail.example.org>.", vec![("email", "ann.lee+x@mail.example.org")]),
        ("mail é@ü.de, a@b, .a@b.co", vec![("email", "é@ü.de"), ("email", "a@b.co")]),
        ("host 8.8.8.8, not 10.0.0.1 or 1.2.3.4.5 or 999.1.1.1", vec![("ipv4", "8.8.8.8")]),
        ("At 93.184.216.34. Then", vec![("ipv4", "93.184.216.34")]),
        ("[2a00:1450:4001:82b::200e] and 2001:db8::1", vec![("ipv6", "2a00:1450:4001:82b::200e")]),
        ("std::vec 2::", vec![]),
        ("call +44 20 7946 0958 now", vec![("phone", "+44 20 7946 0958")]),
        ("call +44 (20) 7946-0958 now", vec![("phone", "+44 (20) 7946-0958")]),
        ("call +44 (0)20 7946 0958 now", vec![("phone", "+44 (0)20 7946 0958")]),
        (
            "(212) 555-0123 or 212-555-0123",
            vec![("phone", "(212) 555-0123"), ("phone", "212-555-0123")],
        ),
        ("2024-01-02, 123-456-7890-1, 1+23456789", vec![]),
        ("card 4111 1111 1111 1111.", vec![("card", "4111 1111 1111 1111")]),
        ("3782-822463-10005", vec![("card", "3782-822463-10005")]),
        ("not 4111 1111 1111 1112 and not 0000000000000000", vec![]),
        ("378282246310005", vec![("card", "378282246310005")]),
        ("IBAN DE89 3704 0044 0532 0130 00, please", vec![("iban", "DE89 3704 0044 0532 0130 00")]),
        ("GB82WEST12345698765432", vec![("iban", "GB82WEST12345698765432")]),
        ("GB82WEST12345698765431 XDE89370400440532013000", vec![]),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

const VALUES: [(&str, &str); 7] = [
    ("card", "4111 1111 1111 1111"),
    ("phone", "+49 30 901820"),
    ("phone", "212-555-0123"),
    ("ipv4", "93.184.216.34"),
    ("ipv6", "2a00:1450:4001:82b::200e"),
    ("iban", "DE89 3704 0044 0532 0130 00"),
    ("email", "ann@example.org"),
];

#[test]
fn whatever_makes_no_longer_word_of_it_may_stand_beside() {
    for (before, behind) in [
        ("“", "”"),
        ("«", "»"),
        ("\u{a0}", "\u{a0}"),
        ("—", "—"),
        ("电话", "。"),
        ("：", "，"),
        ("\u{3000}", "\u{3000}"),
        ("•", "…"),
        ("\u{200f}", "\u{200f}"),
        ("", "।"),
        ("전화", "으로"),
        ("\u{2067}", "\u{2069}"),
        ("は", "です"),
        ("ติดต่อ", "ครับ"),
        ("№", "¹"),
        ("nº", "²"),
        ("\u{feff}", "\u{200b}"),
        ("הטלפון\u{a0}", "׃"),
        ("...", "..."),
    ] {
        for (kind, value) in VALUES {
            let text = format!("see {before}{value}{behind} or not");
            assert_eq!(found(&text), [(kind, value)], "{text}");
        }
    }
    for (kind, value) in VALUES.iter().filter(|(kind, _)| *kind != "email") {
        for text in [format!("see _{value}"), format!("see é{value}"), format!("see {value}ж")] {
            let whole = found(&text).contains(&(*kind, *value));
            assert!(!whole, "{text}");
        }
    }
}

#[test]
fn spaces_and_hyphens_within_numbers_are_of_any_kind() {
    for gap in ["\u{a0}", "\u{202f}", "\u{2009}", "\u{2007}", "\u{3000}"] {
        for value in [
            "4111 1111 1111 1111",
            "+49 30 901820",
            "DE89 3704 0044 0532 0130 00",
            "(212) 555-0123",
        ] {
            let value = value.replace(' ', gap);
            assert_eq!(found(&value).first().map(|one| one.1), Some(value.as_str()), "{value}");
        }
    }
    for hyphen in ["\u{2010}", "\u{2011}", "\u{2013}", "\u{ad}", "－"] {
        for value in ["4111-1111-1111-1111", "+49-30-901820", "212-555-0123"] {
            let value = value.replace('-', hyphen);
            assert_eq!(found(&value).first().map(|one| one.1), Some(value.as_str()), "{value}");
        }
    }
    // The longest sequence of groups that is one: a year and a check number are none of it.
    assert_eq!(found("4111 1111 1111 1111 123"), [("card", "4111 1111 1111 1111")]);
    assert_eq!(found("+44 20 7946 0958 2024-01-02"), [("phone", "+44 20 7946 0958")]);
}

#[test]
fn numbers_with_a_sign_or_a_point_are_numbers() {
    for text in [
        "grew by +100 000 000 last year, and +49 123 456, +358 123 456, +1\u{a0}000\u{a0}000\u{a0}000",
        "at +48.8566140, +2.3522219 and +48.856614012 2.3522",
        "@@ -1 +1 @@\n-20240430,\n+20240501,\n+123456789\n",
        "an error of +1.23456789 percent, +0.123456789, +999 123456789, +12 345 678.90",
        "0.4111111111111111, .4111111111111111, -0,4111111111111111, 17.4111111111111111",
        "978-4111111111111111 and 4111111111111111.5 and 4 1111 1111 1111 111",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
    for phone in [
        "+49 30 901820",
        "+442079460958",
        "+1.212.555.0123",
        "+1.212-555-0123",
        "+7 495 123-45-67",
        "+39 06 1234567",
    ] {
        assert_eq!(found(&format!("call {phone} now")), [("phone", phone)]);
    }
    assert_eq!(found("id,5,4111111111111111"), [("card", "4111111111111111")]);
}

#[test]
fn addresses_have_letters_of_every_script() {
    for address in [
        "jörg@example.org",
        "jo\u{308}rg@example.org",
        "michał.k@example.org",
        "иван@example.org",
        "o'neil@example.org",
        "ann@bücher.example",
        "info@example.рф",
        "अजय@example.भारत",
        "ann@xn--e1afmkfd.xn--p1ai",
        "علي@example.org",
    ] {
        assert_eq!(found(&format!("to '{address}', today")), [("email", address)]);
    }
    for (text, address) in [
        ("请联系ann@example.org谢谢", "ann@example.org"),
        ("メールはann@example.co.jpへ", "ann@example.co.jp"),
        ("지금ann@example.org으로", "ann@example.org"),
        ("ann@example.org의", "ann@example.org"),
        ("ann@почта.рф¹", "ann@почта.рф"),
        ("ann@example.org-", "ann@example.org"),
        ("ann@例子.中国", "ann@例子.中国"),
    ] {
        assert_eq!(found(text), [("email", address)], "{text}");
    }
    assert_eq!(found("邮箱是@example.org"), []);
}

#[test]
fn accounts_of_every_country_of_the_registry_are_known() {
    let entries: Vec<&str> = IBANS.split(' ').collect();
    assert!(entries.len() == 89 && entries.is_sorted());
    assert!(entries.iter().all(|entry| entry.len() == 4 && entry[2..].parse::<usize>().is_ok()));
    // Examples of the registry.
    for account in [
        "BI4210000100010000332045181",
        "HN88CABF00000000000250005469",
        "NI45BAPR00000013000003558124",
        "SO211000001001000100141",
        "ST23000100010051845310146",
        "SV62CENR00000000000000700025",
        "TL380080012345678910157",
        "VA59001123000012345678",
        "VG96VPVG0000012345678901",
        "YE15CBYE0001018861234567891234",
    ] {
        assert_eq!(iban(account, 0), Some(account.len()), "{account}");
    }
}

#[test]
fn every_calling_code_has_its_lengths() {
    for country in CALLING_CODES.split(' ') {
        let (code, lengths) = country.split_once(':').unwrap();
        assert!((1..=3).contains(&code.len()) && code.parse::<u16>().is_ok(), "{country}");
        let (least, most) = lengths.split_once('-').unwrap_or((lengths, lengths));
        assert!(least.parse::<u8>().unwrap() <= most.parse::<u8>().unwrap(), "{country}");
    }
}

#[test]
fn an_address_takes_nothing_that_was_found_before() {
    assert_eq!(found("a@b.co@d.org"), [("email", "a@b.co")]);
    assert_eq!(PersonalData::Card.name(), "card");
}

// Names of pictures, packages and remotes, and products of matrices, were addresses.
#[test]
fn signs_in_code_make_no_address_of_it() {
    for text in [
        "url(icon@2x.png), logo@3x.webp 3x, logo@2x.jpg 2x, flag@2x.de.png, a@next.min.js",
        "https://cdn.example/lodash@next.pro.js, jquery@3.6.0.min.js, tool@1.0.dev, getty@tty1.service",
        "y = a@b.T + c@d.shape, (q@k.transpose(1, 2)) @ v, w@x.to(device), (a@b.int())",
        "app@sha256.abc, image@sha256:0123456789abcdef, image@sha512.feed, @app.route('/x'), @babel/core@7.1.0",
        "git clone git@github.com:org/repo.git, git@gitlab.example.org:group/project",
        "scp x deploy@web.example.org:/srv, rsync ann@host.example.org:~/pages . ann@host.example.org:repo.git",
        "ssh://git@github.com/org/repo, postgres://ann:secret@db.example.org:5432/x, https://ann@git.example.org/x",
        "a = b[2001::4], m[:, 2001::4], f(x)[2001::4], a[0][2001::2]",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn addresses_beside_signs_of_code_are_addresses() {
    for (text, address) in [
        ("<a href='mailto:ann.lee@skerrow.example'>", "ann.lee@skerrow.example"),
        ("mailto://ann@example.org", "ann@example.org"),
        // A login and its password in a list.
        ("ann@example.org:hunter2", "ann@example.org"),
        ("ftp://anonymous:ann@example.org@ftp.example.org/", "ann@example.org"),
        ("Cc: git@vger.kernel.org: patches", "git@vger.kernel.org"),
        ("see https://example.org/?mail=ann@example.org", "ann@example.org"),
        ("ann@sha256.org", "ann@sha256.org"),
        ("wang@163.com", "wang@163.com"),
        ("ann@example.org.Then she left", "ann@example.org"),
        ("ann@example.org(work)", "ann@example.org"),
        ("root@machine.local", "root@machine.local"),
        ("joe@psuvm.BITNET", "joe@psuvm.BITNET"),
        ("ANN@EXAMPLE.ORG", "ANN@EXAMPLE.ORG"),
    ] {
        assert_eq!(found(text), [("email", address)], "{text}");
    }
    for (text, address) in [
        ("from unknown[2a00:1450::200e]:25", "2a00:1450::200e"),
        ("http://[2600::1]/", "2600::1"),
        ("host 2600::1", "2600::1"),
    ] {
        assert_eq!(found(text), [("ipv6", address)], "{text}");
    }
}

proptest! {
    #[test]
    fn spans_ascend_within_any_text(
        text in "(\\PC|[0-9@.:+()/\\[ -]|a@b.co|:/|[A-Z]{2}[0-9]{2}|[é\u{301}中カ\u{a0}\u{2011}]){0,60}",
    ) {
        let mut before = 0;
        for (_, place) in pii(&text) {
            prop_assert!(before <= place.start && place.start < place.end);
            prop_assert!(text.get(place.clone()).is_some());
            before = place.end;
        }
    }
}
