//! Which code points a reader can't see, or would take for others.
//!
//! Properties come from the Unicode Character Database, look-alikes from the confusables of UTS 39.

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, GeneralCategory, GeneralCategoryGroup, Script},
};
use unicode_security::confusable_detection::skeleton;

/// Why a code point is shown as its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// Nothing is seen of it, or not what it does: controls, fillers, spaces of other widths, piled-up marks.
    Unseen,
    /// It looks like a letter of the word around it, and is another.
    LookAlike,
}

/// Drawn as nothing, although by their category they are letters and symbols.
const BLANK: [char; 6] = ['\u{2800}', '\u{FFFC}', '\u{13441}', '\u{13442}', '\u{16FE4}', '\u{1D159}'];
/// A letter carries no more marks than this in any script in use.
const MOST_MARKS: usize = 4;

/// The text's characters, each with what is wrong with it. A Windows line break is one `\n`.
pub(super) fn suspicions(text: &str) -> Vec<(char, Option<Suspicion>)> {
    let text: Vec<char> = text.replace("\r\n", "\n").chars().collect();
    let mut found: Vec<_> = text.iter().map(|&c| (c, is_unseen(c).then_some(Suspicion::Unseen))).collect();
    pile_ups(&mut found);
    look_alikes(&mut found);
    found
}

fn is_unseen(c: char) -> bool {
    use GeneralCategory::{
        Control, EnclosingMark, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator,
        Surrogate, Unassigned,
    };
    if matches!(c, '\n' | '\t' | ' '..='~') {
        return false;
    }
    let unseen = matches!(
        category(c),
        Control
            | EnclosingMark
            | Format
            | LineSeparator
            | ParagraphSeparator
            | PrivateUse
            | SpaceSeparator
            | Surrogate
            | Unassigned
    );
    unseen || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c) || BLANK.contains(&c)
}

/// Marks on what carries none ("1" struck through), and the fifth and later ones on a letter.
fn pile_ups(text: &mut [(char, Option<Suspicion>)]) {
    let (mut on_letter, mut marks) = (false, 0);
    for (c, suspicion) in text {
        if !GeneralCategoryGroup::Mark.contains(category(*c)) {
            (on_letter, marks) = (GeneralCategoryGroup::Letter.contains(category(*c)), 0);
            continue;
        }
        marks += 1;
        if !on_letter || marks > MOST_MARKS {
            suspicion.get_or_insert(Suspicion::Unseen);
        }
    }
}

fn look_alikes(text: &mut [(char, Option<Suspicion>)]) {
    let latin = text.iter().filter(|(c, _)| is_latin(*c)).count();
    let others = text
        .iter()
        .filter(|(c, _)| c.is_alphabetic() && !is_latin(*c) && ascii_alike(*c).is_none())
        .count();
    for word in text.chunk_by_mut(|(before, _), (after, _)| is_of_word(*before) && is_of_word(*after)) {
        if word.iter().any(|(c, _)| is_latin(*c)) {
            // A word of Latin letters, so every other letter is an intruder.
            let intruders = word.iter_mut().filter(|(c, _)| is_intruder(*c));
            intruders.for_each(|(_, suspicion)| *suspicion = suspicion.or(Some(Suspicion::LookAlike)));
        } else if latin > others && word.iter().all(|(c, _)| c.is_ascii() || ascii_alike(*c).is_some()) {
            // A word that can be read as Latin from its first to its last letter, in a text of Latin words.
            let alike = word.iter_mut().filter(|(c, _)| ascii_alike(*c).is_some());
            alike.for_each(|(_, suspicion)| *suspicion = suspicion.or(Some(Suspicion::LookAlike)));
        }
    }
}

/// Letters, digits, marks, and what hides between them.
fn is_of_word(c: char) -> bool {
    let group = category(c);
    GeneralCategoryGroup::Letter.contains(group)
        || GeneralCategoryGroup::Mark.contains(group)
        || GeneralCategoryGroup::Number.contains(group)
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// An ordinary Latin letter, with or without its accents. Those of full width are for text in East Asian scripts.
fn is_latin(c: char) -> bool {
    script(c) == Script::Latin && !matches!(c, '\u{FF00}'..='\u{FFEF}')
}

/// Whether a letter has no place in a Latin word. East Asian text writes Latin words without a space beside its own.
fn is_intruder(c: char) -> bool {
    const BESIDE_LATIN: [Script; 5] =
        [Script::Han, Script::Hiragana, Script::Katakana, Script::Hangul, Script::Bopomofo];
    let script = script(c);
    let common = matches!(script, Script::Latin | Script::Common | Script::Inherited);
    ascii_alike(c).is_some() || c.is_alphabetic() && !common && !BESIDE_LATIN.contains(&script)
}

/// The ASCII text that a letter or digit of another script looks like.
fn ascii_alike(c: char) -> Option<String> {
    if c.is_ascii() || is_latin(c) || !c.is_alphanumeric() {
        return None;
    }
    let mut buffer = [0; 4];
    let alike: String = skeleton(c.encode_utf8(&mut buffer)).collect();
    alike.is_ascii().then_some(alike)
}

fn category(c: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(c)
}

fn script(c: char) -> Script {
    CodePointMapData::<Script>::new().get(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<u32> {
        let shown = suspicions(text).into_iter().filter(|(_, suspicion)| suspicion.is_some());
        shown.map(|(c, _)| u32::from(c)).collect()
    }

    #[test]
    fn nothing_invisible_stays_invisible() {
        let ranges = [
            0x00..=0x08,
            0x0B..=0x1F,
            0x7F..=0xA0,
            0xAD..=0xAD,
            0x034F..=0x034F,
            0x061C..=0x061C,
            0x115F..=0x1160,
            0x1680..=0x1680,
            0x17B4..=0x17B5,
            0x180B..=0x180F,
            0x2000..=0x200F,
            0x2028..=0x202F,
            0x205F..=0x206F,
            0x2800..=0x2800,
            0x3000..=0x3000,
            0x3164..=0x3164,
            0xE000..=0xE100,
            0xFDD0..=0xFDEF,
            0xFE00..=0xFE0F,
            0xFEFF..=0xFEFF,
            0xFFA0..=0xFFA0,
            0xFFF0..=0xFFFC,
            0xFFFE..=0xFFFF,
            0x16FE4..=0x16FE4,
            0x1D173..=0x1D17A,
            0x1FFFE..=0x1FFFF,
            0xE0000..=0xE01EF,
            0xF0000..=0xF0010,
            0x0010_FFFE..=0x0010_FFFF,
        ];
        for code in ranges.into_iter().flatten() {
            let c = char::from_u32(code).expect("no surrogates here");
            assert_eq!(shown(&format!("a{c}b")), [code], "U+{code:04X}");
        }
    }

    #[test]
    fn letters_of_another_script_in_a_latin_word() {
        for (text, expected) in [
            ("p\u{430}ypal", vec![0x430]),
            ("\u{410}pprove", vec![0x410]),
            ("refund t\u{3BF} customer", vec![0x3BF]),
            ("Appro\u{475}e", vec![0x475]),
            ("p\u{200B}\u{430}y", vec![0x200B, 0x430]),
            ("acc\u{FF4F}unt", vec![0xFF4F]),
            ("send \u{1D429}\u{1D41A}\u{1D432} now", vec![0x1D429, 0x1D41A, 0x1D432]),
            ("visit \u{440}\u{430}\u{443} today please", vec![0x440, 0x430, 0x443]),
            ("w\u{561}rning", vec![0x561]),
            ("n\u{5E1}w", vec![0x5E1]),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn honest_text_is_left_alone() {
        for text in [
            "Headphones arrived broken, customer sent photos. – “Please” refund 50 % (half) at 10:41…",
            "Größe passt nicht; café crème, naïve, Łódź, Ærø, Đorđe, kapı, ışık, Nguyễn Thị",
            "e\u{301}te\u{301} a\u{323}\u{302}",
            "Заказ приехал разбитым, клиент прислал фото. Рос, ухо, сор",
            "Η παραγγελία ήρθε σπασμένη. Αλέξανδρος Παπαδόπουλος",
            "注文の品が壊れていました。iPhoneケース、USBケーブル",
            "iPhone을 주문했습니다",
            "המוצר הגיע שבור",
            "المنتج وصل مكسورا",
            "सामान टूटा हुआ आया",
            "Bestellung 🎧 kaputt 👍",
            "Привет, order #1044, INR 8,999.00",
            "line one\nline two\tand a tab",
        ] {
            assert_eq!(shown(text), Vec::<u32>::new(), "{text}");
        }
    }

    #[test]
    fn marks_that_hide_what_they_stand_on() {
        assert_eq!(shown("INR 1\u{336}0"), [0x336], "a digit struck through");
        assert_eq!(shown("\u{301}x"), [0x301], "a mark on nothing");
        assert_eq!(shown("1\u{20DD}"), [0x20DD], "a circle around a digit");
        let pile = format!("a{}", "\u{323}".repeat(40));
        assert_eq!(shown(&pile).len(), 36);
    }
}
