//! Other forms in which a word counts, for less than the word itself: as a part of a longer word, with another ending,
//! or in another spelling. English endings are gone already.

use super::words::{Word, stem};

/// The shortest part of a word that is found in it, and what must stand before it, in characters.
const PART: usize = 4;
const BEFORE: usize = 3;
/// The same in Hebrew, where "in" and "the" are written as part of a word.
const HEBREW_PART: usize = 3;
const HEBREW_BEFORE: [usize; 2] = [1, 2];
/// How many parts of a word are stored.
const MAX: usize = 24;
/// Begins a part where words are stored: no word contains it.
const MARK: char = '~';
/// The shortest word that is left without an ending.
const WITHOUT_ENDING: usize = 4;

/// The parts that are stored beside a text's word, so that "Dach" finds "Gartenhausdach", and "猫" a text that ends
/// with "黒猫".
pub(super) fn parts(word: &Word) -> Vec<String> {
    if word.is_last_pair {
        // No syllables.
        let last = word.plain.chars().next_back().filter(|c| !('\u{3040}'..='\u{30ff}').contains(c));
        return last.map(String::from).into_iter().collect();
    }
    let starts: Vec<usize> = word.plain.char_indices().map(|(at, _)| at).collect();
    // Numbers and codes have no parts.
    if word.plain.chars().any(char::is_numeric) {
        return Vec::new();
    }
    let part = |at: usize| format!("{MARK}{}", &word.plain[starts[at]..]);
    if is_hebrew(word) {
        return HEBREW_BEFORE.into_iter().filter(|at| at + HEBREW_PART <= starts.len()).map(part).collect();
    }
    // An English ending is no part: "rant" isn't found in "restaurant". But "Haus" is no plural.
    let stem = word.stem.chars().count();
    let length = if stem + 1 < starts.len() { stem } else { starts.len() };
    let last = (length + 1).saturating_sub(PART);
    (BEFORE.max(last.saturating_sub(MAX))..last).map(part).collect()
}

/// How a question's word is looked for inside longer words, if it's long enough.
pub(super) fn part(word: &Word) -> Option<String> {
    let same = word.plain.chars().zip(word.stem.chars()).take_while(|(plain, stem)| plain == stem);
    let stem: String = same.map(|(letter, _)| letter).collect();
    let shortest = if is_hebrew(word) { HEBREW_PART } else { PART };
    let is_long = |part: &&str| part.chars().count() >= shortest && !part.contains(char::is_numeric);
    let is_stem = word.plain.chars().count() <= stem.chars().count() + 1;
    let part =
        Some(&*stem).filter(is_long).or_else(|| Some(&*word.plain).filter(|_| is_stem).filter(is_long))?;
    Some(format!("{MARK}{part}"))
}

/// A question's word without a German ending, and with "ue" for "ü" taken back.
pub(super) fn variants(word: &Word) -> Vec<String> {
    if !word.plain.is_ascii() {
        return Vec::new();
    }
    let mut variants: Vec<String> = Vec::new();
    let mut add = |plain: &str| {
        let variant = stem(plain);
        if variant != word.stem && !variants.contains(&variant) {
            variants.push(variant);
        }
    };
    for ending in ["ern", "en", "er", "em", "e", "n"] {
        if let Some(base) = word.plain.strip_suffix(ending).filter(|base| base.len() >= WITHOUT_ENDING) {
            add(base);
        }
    }
    if let Some(plain) = with_umlauts(&word.plain) {
        add(&plain);
    }
    variants
}

/// The word with "ae", "oe" and "ue" as umlauts without their points; none if it has none of them.
fn with_umlauts(plain: &str) -> Option<String> {
    let letters = plain.as_bytes();
    let is_vowel = |at: usize| matches!(letters.get(at), Some(b'a' | b'e' | b'i' | b'o' | b'u' | b'q'));
    // Not "neue", and not "blue".
    let is_umlaut = |at: usize| {
        matches!(letters[at], b'a' | b'o' | b'u')
            && letters.get(at + 1) == Some(&b'e')
            && at + 2 < letters.len()
            && !at.checked_sub(1).is_some_and(is_vowel)
    };
    let is_left_out = |at: usize| at.checked_sub(1).is_some_and(is_umlaut);
    let left: String =
        plain.char_indices().filter(|(at, _)| !is_left_out(*at)).map(|(_, letter)| letter).collect();
    (left.len() < plain.len()).then_some(left)
}

fn is_hebrew(word: &Word) -> bool {
    word.plain.chars().next().is_some_and(|c| ('\u{5d0}'..='\u{5ea}').contains(&c))
}

#[cfg(test)]
mod tests {
    use super::super::words::all_words;
    use super::*;

    fn only(text: &str) -> Word {
        all_words(text).remove(0)
    }

    #[test]
    fn a_long_word_is_kept_with_its_parts() {
        let found = parts(&only("Gartenhausdach"));
        assert_eq!((found.len(), found[0].as_str()), (8, "~tenhausdach"));
        assert_eq!(found.last().map(String::as_str), part(&only("Dach")).as_deref());
        assert_eq!(parts(&only("Rathaus")), ["~haus"]);
        assert_eq!(parts(&only("restaurant")), ["~taurant"]);
        assert_eq!(parts(&only("בירושלים")), ["~ירושלים", "~רושלים"]);
        assert_eq!(parts(&only("黒猫")), ["猫"]);
        for short in ["budget", "meetings", "です", "猫", "a1b2c3d4e5f6", "2026"] {
            assert_eq!(parts(&only(short)), [""; 0], "{short}");
        }
        assert_eq!(parts(&only(&"x".repeat(60))).len(), MAX);
    }

    #[test]
    fn a_short_word_is_not_looked_for_inside_others() {
        assert_eq!(part(&only("Amt")), None);
        assert_eq!(part(&only("went")), None);
        for (word, found) in [("batteries", "~batteri"), ("books", "~book"), ("Haus", "~haus")] {
            assert_eq!(part(&only(word)).as_deref(), Some(found));
        }
    }

    #[test]
    fn a_word_is_also_looked_for_without_a_german_ending() {
        assert_eq!(variants(&only("Wohnungen")), ["wohnung"]);
        assert_eq!(variants(&only("Häuser")), [stem("haus")]);
        assert_eq!(variants(&only("Mueller")), ["muell", "muller"]);
        for none in ["tea", "blue", "query", "διεύθυνση"] {
            assert_eq!(variants(&only(none)), [""; 0], "{none}");
        }
    }
}
