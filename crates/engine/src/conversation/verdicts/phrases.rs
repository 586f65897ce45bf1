//! The words of a yes or a no in English, German and Japanese, and those that make a text more than that.

/// What a word or a phrase contributes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token {
    /// "yes", "no".
    Lead(bool),
    /// A yes that may just as well be for what was said last: "ok".
    Mild,
    /// The same, and it may be for any text that was read last: "perfect".
    Praise,
    /// "do it", "cancel".
    Act(bool),
    /// "do 2". Alone it is Thursday, in German.
    Do,
    All,
    Both,
    /// A no to all.
    Nothing,
    /// A no to the only thing, to none of several.
    NotThat,
    Except,
    /// What comes before it is left out, as in Japanese.
    Excepted,
    /// Nothing but what it names.
    Only,
    Rest,
    /// A number as it was shown; [`LAST`] for the last.
    Number(usize),
    /// Carries nothing: "please", "to", "and".
    Link,
    /// The same, but alone with a yes or a no it leaves open to what: "yes to".
    To,
    /// "Wait", which says nothing but beside a no.
    Pause,
}

impl Token {
    pub(super) fn is_filler(self) -> bool {
        matches!(self, Self::Link | Self::To | Self::Pause)
    }
}

pub(super) const LAST: usize = usize::MAX;

#[rustfmt::skip]
pub(super) const PHRASES: &[(Token, &[&str])] = &[
    (Token::Lead(true), &[
        "yes", "yeah", "yea", "yep", "yup", "y", "ja", "jo", "jep", "gerne", "gern", "in ordnung", "einverstanden", "はい",
        "ええ", "オッケー",
    ]),
    (Token::Mild, &[
        "ok", "okay", "okey", "k", "go", "sure", "sure thing", "👍", "👌", "klar", "klar doch", "うん", "了解",
    ]),
    (Token::Praise, &[
        "of course", "sounds good", "sounds great", "looks good", "looks good to me", "looks great", "lgtm",
        "that's fine", "thats fine", "that is fine", "that's ok", "thats ok", "that works", "works for me",
        "fine by me", "absolutely", "is fine", "are fine", "is good", "are good", "fine", "great", "good", "cool",
        "super", "perfect", "right", "that's right", "thats right", "correct", "exactly", "alright", "all right",
        "passt", "passt so", "genau",
    ]),
    (Token::Lead(false), &["no", "nope", "nah", "n", "👎", "nein", "nee", "nö", "いいえ", "いや"]),
    (Token::Act(true), &[
        "approve", "approved", "continue", "go on", "go ahead", "go for it", "do it", "do them", "do that", "do so",
        "send", "send it", "send it off", "send it over", "send them", "send them off", "send that", "run", "run it",
        "please do", "mach es", "mach das", "mach sie", "mach weiter", "genehmigt", "genehmigen", "senden",
        "schick es ab", "schick ab", "schick's ab", "schick sie ab", "schick sie", "お願いします", "お願い", "承認", "承認します",
        "送って", "送ってください", "送信して", "やって", "やってください", "進めて", "進めてください",
    ]),
    (Token::Do, &["do"]),
    (Token::Act(false), &[
        "reject", "stop", "cancel", "cancel it", "cancel them", "cancel that", "dont", "dont do it", "dont send it",
        "don't", "don't do it", "don't do that", "don't send it", "don't send them", "don't send", "do not",
        "do not do it", "do not send it", "never mind", "nevermind", "leave it", "forget it", "drop it", "scrap it",
        "stopp", "abbrechen", "ablehnen", "lass es", "lass das", "lieber nicht", "bitte nicht", "nicht", "やめて",
        "やめてください", "しないで", "しないでください", "だめ", "ダメ", "却下", "キャンセル", "中止",
    ]),
    (Token::All, &["all", "everything", "alle", "allen", "alles", "allem", "全部", "全て", "すべて"]),
    (Token::Both, &["both", "beide", "beiden", "beides", "両方", "どちらも"]),
    (Token::Nothing, &[
        "none", "none of it", "none of that", "none of these", "none of those", "neither", "nothing",
        "keine", "keins", "keines", "keinen", "keine von beiden", "nichts",
    ]),
    (Token::NotThat, &["not that one", "not this one"]),
    (Token::Except, &[
        "except", "except for", "but", "but not", "without", "apart from", "außer", "ausser", "bis auf", "ohne",
        "aber nicht",
    ]),
    (Token::Excepted, &["以外"]),
    (Token::Only, &["only", "but only", "nur", "aber nur"]),
    (Token::Rest, &["the rest", "the others", "rest", "den rest", "dem rest", "der rest", "残り", "他"]),
    (Token::Number(1), &["first", "erste", "ersten", "erstes", "一番目", "一つ目", "最初"]),
    (Token::Number(2), &["second", "zweite", "zweiten", "zweites", "二番目", "二つ目"]),
    (Token::Number(3), &["third", "dritte", "dritten", "drittes", "三番目", "三つ目"]),
    (Token::Number(4), &["fourth", "vierte", "vierten", "viertes", "四番目", "四つ目"]),
    (Token::Number(5), &["fifth", "fünfte", "fünften", "fünftes", "五番目", "五つ目"]),
    (Token::Number(LAST), &["last", "letzte", "letzten", "letztes", "最後"]),
    (Token::To, &["to", "and", "zu", "und", "と"]),
    (Token::Pause, &["wait", "hold on", "hang on", "oh", "halt", "warte", "moment", "待って"]),
    (Token::Link, &[
        "please", "pls", "plz", "thanks", "thank you", "thx", "ty", "then", "now", "just", "the", "of them", "number",
        "one", "ones", "that's it", "thats it", "that is it", "bitte", "danke", "das", "die", "der", "dem",
        "den", "nummer", "nr", "von ihnen", "davon",
        "ください", "ありがとう", "は", "を", "も", "に", "の", "で", "です", "番", "番目", "つ目",
    ]),
];

pub(super) const REASONS: [&str; 7] = ["i", "i've", "because", "since", "already", "weil", "ich"];

/// Words of conditions, of wishes and for something more: what holds one is more than a reason.
#[rustfmt::skip]
pub(super) const WISHES: &[&str] = &[
    "if", "unless", "until", "when", "then", "instead", "want", "need", "would", "should", "must", "will", "prefer",
    "change", "aber", "wenn", "falls", "sondern", "statt", "stattdessen", "dann", "möchte", "brauche", "soll", "muss",
    "too", "also", "either", "neither", "well", "and", "auch", "und", "two", "three", "four", "five", "six", "seven",
    "eight", "nine", "ten", "eleven", "twelve", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht",
    "neun", "zehn", "elf", "zwölf",
];

/// Words that narrow a yes or turn it around.
#[rustfmt::skip]
pub(super) const LIMITS: &[&str] = &[
    "not", "never", "no", "none", "nor", "cannot", "only", "just", "one", "ones", "other", "others", "another",
    "first", "later", "today", "tomorrow", "tonight", "before", "after", "again", "nicht", "nie", "kein", "keine",
    "nur", "andere", "anderen", "erst", "später", "heute", "morgen", "vorher", "nochmal", "now", "yet", "jetzt",
];
/// Pronouns for whom and what a question is about, and verbs for an email.
#[rustfmt::skip]
pub(super) const PRONOUNS: &[&str] = &["it", "that", "this", "them", "him", "her", "es", "sie", "ihn", "ihm", "ihr", "ihnen"];
pub(super) const MAILING: &[&str] =
    &["ask", "tell", "write", "answer", "mail", "frag", "sag", "schreib", "antworte"];
/// How a wish for a change of one thing begins, beside [`MAILING`], and of which.
pub(super) const CHANGING: &[&str] =
    &["make", "change", "move", "call", "set", "put", "mach", "nenn", "verschieb"];
pub(super) const ONE: &[&str] = &["it", "that", "this", "him", "her", "es", "ihn", "ihm"];
/// What may come before a no, and a mark: "eh? no".
pub(super) const STARTLED: &[&str] = &["eh", "huh", "what", "hey", "uh", "hä", "was", "äh"];
/// How questions begin.
#[rustfmt::skip]
pub(super) const ASKING: &[&str] = &[
    "what", "whats", "whens", "why", "who", "whose", "where", "how", "which", "was", "wann", "warum", "wieso", "wer",
    "wo", "woher", "wie", "welche", "welcher", "welches",
];
/// The same of those that end with a question mark.
pub(super) const VERBS_ASKING: &[&str] = &["when", "did", "does", "is", "are", "has", "ist", "hat"];
/// What makes a no depend on something.
pub(super) const CONDITIONS: &[&str] = &["if", "unless", "until", "aber", "wenn", "falls", "sondern"];
