//! Whether a transcript is to be believed. Speech recognition invents sentences in silence, and a person who is misheard
//! must be asked, not obeyed.

use super::Transcript;

/// Why a transcript isn't acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LowConfidence {
    NoWords,
    /// These are words that speech recognition is known to hear in silence.
    Silence,
    /// It is in a language that the person doesn't speak.
    Language,
    /// More was heard than anybody can say in this time.
    TooMuch,
    /// The service itself isn't sure.
    Unsure,
}

/// Phrases that speech recognition hears in silence, in several languages: the ends of the films in its training data.
const ENDS_OF_FILMS: &str = include_str!("doubt/ends_of_films.txt");

/// Phrases that appear only in a film's credits.
const CREDITS: [&str; 12] = [
    "amara.org",
    "subtitles by",
    "subtitled by",
    "untertitel im auftrag",
    "untertitel der",
    "untertitelung",
    "sous-titrage",
    "sous-titres réalisés",
    "sottotitoli",
    "subtítulos realizados",
    "субтитры",
    "字幕",
];

/// The most characters that people say in a second; quick speakers say twenty.
const QUICKEST: u64 = 40;
/// The most characters of a note that seems to have no length.
const BRIEF: u64 = 80;

/// Below this mean logarithm of a word's probability, the words are guesses.
const GUESSED: f64 = -1.0;
/// Above this, the service thinks that nobody spoke.
const NOBODY: f64 = 0.6;

/// Why a transcript of so many seconds can't be believed, if it can't. `typed` is what the person typed before.
pub fn doubt(
    transcript: &Transcript,
    seconds: u64,
    languages: &[String],
    typed: &[String],
) -> Option<LowConfidence> {
    let words = plain(&transcript.text);
    if !words.chars().any(char::is_alphanumeric) {
        return Some(LowConfidence::NoWords);
    }
    let is_credit = CREDITS.iter().any(|credit| words.contains(credit));
    if is_credit || ENDS_OF_FILMS.lines().any(|phrase| phrase == repeated(&words)) {
        return Some(LowConfidence::Silence);
    }
    if transcript.silence.is_some_and(|silence| silence > NOBODY)
        && transcript.confidence.is_none_or(|confidence| confidence < -0.5)
    {
        return Some(LowConfidence::Silence);
    }
    if transcript.text.chars().count() as u64 > BRIEF + QUICKEST * seconds {
        return Some(LowConfidence::TooMuch);
    }
    let is_theirs = match (&transcript.language, languages) {
        (_, []) => script(&transcript.text).is_none_or(|script| knows(typed, script)),
        (Some(language), spoken) => spoken.iter().any(|code| is_language(language, code)),
        (None, _) => true,
    };
    if !is_theirs {
        return Some(LowConfidence::Language);
    }
    transcript.confidence.filter(|confidence| *confidence < GUESSED).map(|_| LowConfidence::Unsure)
}

/// The words alone.
fn plain(text: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || char.is_whitespace() || "'.-".contains(char);
    let text: String = text.to_lowercase().replace('’', "'").chars().filter(|char| is_plain(*char)).collect();
    text.trim_matches(['.', ' ', '-']).to_owned()
}

/// The repeated sentence of a text that has no other; else the text.
fn repeated(words: &str) -> &str {
    let sentence = words.split('.').map(str::trim).find(|sentence| !sentence.is_empty()).unwrap_or(words);
    let all = words.split('.').map(str::trim).filter(|other| !other.is_empty());
    if all.clone().all(|other| other == sentence) { sentence } else { words }
}

/// A script other than Latin that most letters of a text are in.
fn script(text: &str) -> Option<Script> {
    let letters = text.chars().filter(|char| char.is_alphabetic());
    let (mut all, mut of) = (0, [0; Script::ALL.len()]);
    for char in letters {
        all += 1;
        if let Some(at) = Script::ALL.iter().position(|script| script.has(char)) {
            of[at] += 1;
        }
    }
    Script::ALL.into_iter().zip(of).find(|(_, count)| count * 2 > all).map(|(script, _)| script)
}

/// Whether somebody has typed in this script, or has typed too little to tell.
fn knows(typed: &[String], script: Script) -> bool {
    let letters = || typed.iter().flat_map(|text| text.chars()).filter(|char| char.is_alphabetic());
    letters().count() < 20 || letters().any(|char| script.has(char))
}

#[derive(Debug, Clone, Copy)]
enum Script {
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Indic,
    Thai,
    EastAsian,
}

impl Script {
    const ALL: [Self; 7] =
        [Self::Cyrillic, Self::Greek, Self::Arabic, Self::Hebrew, Self::Indic, Self::Thai, Self::EastAsian];

    fn has(self, char: char) -> bool {
        let range = match self {
            Self::Cyrillic => '\u{400}'..='\u{52F}',
            Self::Greek => '\u{370}'..='\u{3FF}',
            Self::Arabic => '\u{600}'..='\u{77F}',
            Self::Hebrew => '\u{590}'..='\u{5FF}',
            Self::Indic => '\u{900}'..='\u{DFF}',
            Self::Thai => '\u{E00}'..='\u{E7F}',
            Self::EastAsian => '\u{1100}'..='\u{D7FF}',
        };
        range.contains(&char)
    }
}

/// Languages by code and by the name that Whisper gives them, each on a line.
const LANGUAGES: &str = include_str!("doubt/languages.txt");

/// Whether a service means this language, by its code or its name.
fn is_language(named: &str, code: &str) -> bool {
    let base = |code: &str| code.split(['-', '_']).next().unwrap_or(code).to_lowercase();
    let mut languages = LANGUAGES.lines().filter_map(|line| line.split_once(' '));
    let by_name = languages.find(|(_, name)| *name == named).map(|(code, _)| code);
    by_name.unwrap_or(&base(named)) == base(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(text: &str) -> Transcript {
        Transcript { text: text.into(), ..Transcript::default() }
    }

    fn of(text: &str) -> Option<LowConfidence> {
        doubt(&transcript(text), 3, &[], &[])
    }

    #[test]
    fn what_silence_sounds_like_is_doubted() {
        for text in [
            "Thank you.",
            "Thanks for watching!",
            " you",
            "Thank you. Thank you. Thank you.",
            "Subtitles by the Amara.org community",
            "Untertitel im Auftrag des ZDF, 2020",
            "ご視聴ありがとうございました",
            "Продолжение следует...",
            "[Music]",
        ] {
            assert_eq!(of(text), Some(LowConfidence::Silence), "{text}");
        }
        for text in ["", "...", " ♪♪ ", "!"] {
            assert_eq!(of(text), Some(LowConfidence::NoWords), "{text}");
        }
        for text in
            ["Yes.", "Move the review to 3pm", "Thank Ada for the cake", "Add subtitles to the film", "7"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn an_essay_was_not_said_in_three_seconds() {
        let essay = "and then the reviewers moved on to the next item ".repeat(20);
        assert_eq!(of(&essay), Some(LowConfidence::TooMuch));
        assert_eq!(doubt(&transcript(&essay), 60, &[], &[]), None);
    }

    #[test]
    fn a_foreign_language_is_doubted() {
        let in_language = |language: &str, spoken: &[&str]| {
            let transcript =
                Transcript { language: Some(language.into()), ..transcript("verschiebe das Treffen") };
            doubt(&transcript, 3, &spoken.iter().map(|code| (*code).to_owned()).collect::<Vec<_>>(), &[])
        };
        assert_eq!(in_language("german", &["en"]), Some(LowConfidence::Language));
        assert_eq!(in_language("german", &["en", "de-AT"]), None);
        assert_eq!(in_language("de", &["de"]), None);
        assert_eq!(in_language("german", &[]), None, "any");
        // Without a setting, what the person types tells.
        let typed = ["please move the review to three".to_owned()];
        assert_eq!(doubt(&transcript("뉴스 이덕영입니다"), 3, &[], &typed), Some(LowConfidence::Language));
        assert_eq!(doubt(&transcript("뉴스 이덕영입니다"), 3, &[], &[]), None, "nothing is known of them");
        assert_eq!(
            doubt(&transcript("перенеси встречу"), 3, &[], &["добавь задачу на завтра".to_owned()]),
            None
        );
    }

    #[test]
    fn a_service_that_is_not_sure_is_not_believed() {
        let with = |silence, confidence| {
            doubt(&Transcript { silence, confidence, ..transcript("call Ada") }, 3, &[], &[])
        };
        assert_eq!(with(Some(0.9), Some(-0.8)), Some(LowConfidence::Silence));
        assert_eq!(with(Some(0.9), Some(-0.1)), None, "it is sure of the words");
        assert_eq!(with(Some(0.1), Some(-1.4)), Some(LowConfidence::Unsure));
        assert_eq!(with(Some(0.1), Some(-0.4)), None);
        assert_eq!(with(None, None), None);
    }
}
