//! What a person said, and whether that names a target.

use super::Act;

/// Words that tell one thing from another as little as an article does.
const COMMON: [&str; 62] = [
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "did", "do",
    "for", "from", "has", "have", "he", "her", "his", "i", "if", "in", "is", "it", "its", "me", "my", "not",
    "of", "on", "or", "our", "please", "re", "fwd", "she", "so", "that", "the", "their", "them", "then",
    "there", "they", "this", "to", "us", "was", "we", "what", "when", "which", "who", "will", "with",
    "would", "you", "your", "yes",
];
/// Words that name a kind of thing and so none of them.
const GENERIC: [&str; 44] = [
    "task",
    "todo",
    "mail",
    "email",
    "message",
    "letter",
    "event",
    "calendar",
    "appointment",
    "contact",
    "address",
    "memory",
    "reminder",
    "schedule",
    "list",
    "inbox",
    "folder",
    "invite",
    "invitation",
    "note",
    "today",
    "tomorrow",
    "yesterday",
    "week",
    "month",
    "year",
    "day",
    "morning",
    "afternoon",
    "evening",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "new",
    "next",
    "last",
    "open",
    "due",
    "unread",
    "important",
];

/// The verbs that ask for a kind of effect, and at the end those that ask for none.
const VERBS: [(&[Act], &[&str]); 8] = [
    (
        &[Act::Send],
        &[
            "send", "mail", "email", "reply", "answer", "respond", "write", "forward", "invite", "tell",
            "ask", "post", "notify", "inform", "share", "thank", "confirm", "accept", "decline", "schedule",
            "arrange", "propose", "say", "let", "rsvp", "contact", "ping", "book", "set", "meet", "cc",
            "message", "resend", "remind",
        ],
    ),
    (
        &[Act::Create],
        &[
            "add", "create", "make", "put", "book", "schedule", "plan", "arrange", "set", "remind", "note",
            "remember", "save", "keep", "store", "record", "block", "new", "enter", "jot", "track", "repeat",
            "every", "draft", "write", "prepare", "invite", "follow", "task", "todo", "reminder", "organise",
            "organize",
        ],
    ),
    (
        &[Act::Change],
        &[
            "change",
            "move",
            "update",
            "rename",
            "reschedule",
            "shift",
            "postpone",
            "push",
            "delay",
            "bring",
            "make",
            "set",
            "edit",
            "correct",
            "fix",
            "replace",
            "extend",
            "shorten",
            "mark",
            "complete",
            "finish",
            "done",
            "tick",
            "check",
            "close",
            "reopen",
            "pause",
            "resume",
            "stop",
            "add",
            "put",
            "turn",
            "switch",
            "invite",
            "prioritise",
            "prioritize",
            "undo",
        ],
    ),
    (
        &[Act::Delete],
        &[
            "delete", "remove", "cancel", "drop", "clear", "forget", "erase", "discard", "scrap", "bin",
            "rid", "call", "undo", "uninvite",
        ],
    ),
    (
        &[Act::Sort],
        &[
            "move", "archive", "mark", "flag", "unflag", "star", "file", "label", "sort", "clean", "tidy",
            "put", "trash", "delete", "junk", "spam",
        ],
    ),
    (
        &[Act::Fetch],
        &[
            "fetch",
            "open",
            "read",
            "look",
            "visit",
            "browse",
            "get",
            "check",
            "load",
            "see",
            "download",
            "summarise",
            "summarize",
            "verify",
            "validate",
            "search",
            "find",
            "go",
            "show",
            "what",
            "compare",
        ],
    ),
    (
        &[Act::Send, Act::Create, Act::Change, Act::Delete, Act::Sort, Act::Fetch],
        &["handle", "process", "act"],
    ),
    (
        &[],
        &[
            "summarise",
            "summarize",
            "summary",
            "read",
            "show",
            "list",
            "what",
            "whats",
            "who",
            "when",
            "where",
            "how",
            "which",
            "find",
            "search",
            "look",
            "check",
            "tell",
            "give",
            "any",
            "anything",
            "compare",
            "explain",
            "translate",
            "count",
            "is",
            "are",
            "do",
            "does",
            "did",
            "have",
            "has",
            "see",
            "view",
            "review",
            "overview",
        ],
    ),
];

/// What the person said: in this turn, and in this conversation before. Text from outside is never part of it.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// This turn's message and what they said before, as written.
    written: String,
    /// That, in small letters.
    all: String,
    tokens: Vec<String>,
    verbs: Vec<String>,
}

impl Words {
    /// From this turn's message, and those before it.
    pub fn new<'a>(now: &str, before: impl IntoIterator<Item = &'a str>) -> Self {
        let mut written = now.to_owned();
        for text in before {
            written.push('\n');
            written.push_str(text);
        }
        let all = written.to_lowercase();
        let (tokens, verbs) = (tokens(&all).collect(), tokens(now).collect());
        Self { written, all, tokens, verbs }
    }

    /// Whether they ask for such an effect, or in a language whose verbs we don't know.
    pub(super) fn ask_for(&self, act: Act) -> bool {
        if self.verbs.is_empty() {
            return false;
        }
        let known =
            |list: &[&str]| self.verbs.iter().any(|verb| list.iter().any(|known| is_form(verb, known)));
        let asks = VERBS.iter().any(|(acts, list)| acts.contains(&act) && known(list));
        asks || !VERBS.iter().any(|(_, list)| known(list))
    }

    /// Whether they hold this mail address.
    fn say_address(&self, address: &str) -> bool {
        let address = address.to_lowercase();
        let belongs = |one: char| one.is_alphanumeric() || "@.!#$%&'*+/=?^_`{|}~-\"".contains(one);
        let mut said =
            self.all.split(|one: char| !belongs(one)).map(|word| word.trim_matches(is_punctuation));
        !address.is_empty() && said.any(|word| word == address)
    }

    /// Whether they hold this address of the web, with or without its scheme and its last slash. Capitals in its path
    /// count: they could carry a message to its owner.
    pub fn say_url(&self, url: &str) -> bool {
        let bare = |url: &str| {
            let url = url.split_once("://").map_or(url, |(_, rest)| rest);
            let (host, path) = url.split_at(url.find(['/', '?', '#']).unwrap_or(url.len()));
            (host.to_lowercase(), path.trim_end_matches('/').to_owned())
        };
        let is_edge = |one: char| one.is_whitespace() || "<>()[]\"'“”".contains(one);
        let mut said = self.written.split(is_edge).map(|word| bare(word.trim_matches(is_punctuation)));
        let url = bare(url);
        !url.0.is_empty() && said.any(|word| word == url)
    }

    /// Whether they hold an address, or one of the names that it is known by.
    pub(super) fn say_recipient(&self, address: &str, names: &[String]) -> bool {
        self.say_address(address) || names.iter().any(|name| self.say_name(name))
    }

    /// Whether they hold every part of a name.
    fn say_name(&self, name: &str) -> bool {
        let mut parts = content(name).peekable();
        let is_said = |part: String| self.tokens.contains(&part) || is_inside(&part, &self.all);
        parts.peek().is_some() && parts.all(is_said)
    }

    /// Whether they hold every word of a text that means something.
    pub fn say_all_of(&self, text: &str) -> bool {
        let mut words = content(text).peekable();
        words.peek().is_some() && words.all(|word| self.hold(&word))
    }

    /// Whether they hold a word of a text that tells it from others.
    pub(super) fn name(&self, text: &str) -> bool {
        let is_telling = |word: &String| !GENERIC.iter().any(|generic| is_form(word, generic));
        content(text).filter(is_telling).any(|word| self.hold(&word))
    }

    fn hold(&self, word: &str) -> bool {
        self.tokens.iter().any(|token| is_form(token, word)) || is_inside(word, &self.all)
    }

    /// Whether they mean everything of a kind, or what was shown before.
    pub(super) fn mean_all(&self) -> bool {
        self.verbs
            .iter()
            .any(|word| ["all", "everything", "every", "each", "them", "those", "these"].contains(&&**word))
    }
}

fn is_punctuation(one: char) -> bool {
    ".,;:!?'\"`“”‘’…".contains(one)
}

/// The words of a text in small letters.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    // The parts of an address are no words.
    let plain: Vec<&str> =
        text.split_whitespace().filter(|word| !word.contains('@') && !word.contains("://")).collect();
    let text = plain.join(" ").to_lowercase();
    let words: Vec<String> = text
        .split(|one: char| !one.is_alphanumeric() && one != '\'' && one != '’')
        .map(|word| word.replace(['\'', '’'], ""))
        .filter(|word| !word.is_empty())
        .collect();
    words.into_iter()
}

/// The words that mean something.
fn content(text: &str) -> impl Iterator<Item = String> {
    tokens(text).filter(|word| {
        let is_long = word.chars().count() > 1 || !word.is_ascii();
        (is_long || word.chars().all(|one| one.is_ascii_digit())) && !COMMON.contains(&word.as_str())
    })
}

/// Whether two words are forms of one: "meetings" and "meeting", "cancelled" and "cancel".
fn is_form(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.chars().any(|one| one.is_ascii_digit()) || short.len() < 3 {
        return false;
    }
    let stem = short.strip_suffix('e').unwrap_or(short);
    let Some(rest) = long.strip_prefix(stem) else { return false };
    let doubled = stem.chars().next_back().and_then(|last| rest.strip_prefix(last)).unwrap_or(rest);
    let is_ending = |rest: &str| matches!(rest, "s" | "es" | "e" | "d" | "ed" | "ing" | "er" | "ers");
    is_ending(rest) || is_ending(doubled)
}

/// Scripts without spaces have no words to compare.
fn is_inside(word: &str, text: &str) -> bool {
    word.chars().count() > 1 && word.chars().any(|one| one as u32 > 0x2e80) && text.contains(word)
}
