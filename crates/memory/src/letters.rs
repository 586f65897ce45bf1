//! The letters of a text as they are compared: whatever the accents, points, ligatures and widths.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A text without accents, and with each ligature as the letters that people type for it.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut before = ' ';
    for character in text.nfkd() {
        // "й" is a letter of its own, on which endings depend.
        let is_retained = !is_accent(character) || (character == '\u{306}' && matches!(before, 'и' | 'И'));
        match ligature(character) {
            Some(letters) => plain.push_str(letters),
            None if is_retained => plain.push(character),
            None => {}
        }
        before = character;
    }
    plain.nfc().collect()
}

/// Whether a character belongs to a word. In some scripts words have marks that are no letters.
pub(super) fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

/// A text with "ä", "ö" and "ü" as they are written where a keyboard hasn't got them.
pub(super) fn spelled_out(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for character in text.nfc() {
        match character {
            'ä' | 'ö' | 'ü' | 'Ä' | 'Ö' | 'Ü' => {
                spelled.extend(character.nfd().take(1));
                spelled.push('e');
            }
            _ => spelled.push(character),
        }
    }
    spelled
}

/// Accents, the points of Hebrew and Arabic, what makes a picture of a sign, and signs that are seen only where a line
/// breaks.
fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}'
        | '\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{ad}'
        | '\u{200b}' | '\u{2060}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}')
}

/// Letters that nothing decomposes.
fn ligature(character: char) -> Option<&'static str> {
    Some(match character {
        'ß' | 'ẞ' => "ss",
        'æ' => "ae",
        'Æ' => "Ae",
        'œ' => "oe",
        'Œ' => "Oe",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'þ' => "th",
        'Þ' => "Th",
        'ı' => "i",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_points_and_ligatures_make_no_difference() {
        for (written, compared) in [
            ("résumé", "resume"),
            ("Straße", "Strasse"),
            ("Łódź", "Lodz"),
            ("smørrebrød", "smorrebrod"),
            ("Διεύθυνση", "Διευθυνση"),
            ("ᾠδή", "ωδη"),
            ("новый ёж", "новый еж"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
            ("ﾘﾖﾝ", "リヨン"),
            ("ガス", "ガス"),
            ("Ｌｙｏｎ", "Lyon"),
            ("Donau\u{ad}dampf", "Donaudampf"),
            ("1\u{fe0f}\u{20e3}", "1"),
        ] {
            assert_eq!(plain(written), compared, "{written}");
        }
    }

    #[test]
    fn umlauts_are_spelled_out() {
        assert_eq!(spelled_out("Müller, O\u{308}l und Ärger"), "Mueller, Oel und Aerger");
    }
}
