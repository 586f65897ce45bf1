//! The verbs of tasks that a model does with nothing but what it is given and what it may read.

/// A verb, and who does it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verb {
    /// The step's id.
    pub(super) word: &'static str,
    /// The agent's name.
    pub(super) doer: &'static str,
    /// It makes anything, so that its object must say that it is a text.
    pub(super) makes: bool,
}

const fn verb(word: &'static str, doer: &'static str) -> Verb {
    Verb { word, doer, makes: false }
}

const fn maker(word: &'static str) -> Verb {
    Verb { word, doer: "Writer", makes: true }
}

static VERBS: &[Verb] = &[
    verb("analyse", "Analyst"),
    verb("analyze", "Analyst"),
    verb("assess", "Assessor"),
    verb("brainstorm", "Thinker"),
    verb("calculate", "Calculator"),
    verb("check", "Checker"),
    verb("choose", "Chooser"),
    verb("classify", "Sorter"),
    verb("collect", "Collector"),
    verb("combine", "Editor"),
    verb("compare", "Analyst"),
    verb("compile", "Collector"),
    verb("compose", "Writer"),
    verb("condense", "Editor"),
    verb("critique", "Critic"),
    verb("decide", "Judge"),
    verb("describe", "Writer"),
    verb("determine", "Analyst"),
    verb("draft", "Writer"),
    verb("edit", "Editor"),
    verb("estimate", "Estimator"),
    verb("evaluate", "Assessor"),
    verb("examine", "Analyst"),
    verb("explain", "Explainer"),
    verb("explore", "Researcher"),
    verb("extract", "Collector"),
    verb("find", "Finder"),
    verb("formulate", "Writer"),
    verb("gather", "Collector"),
    verb("group", "Sorter"),
    verb("identify", "Finder"),
    verb("improve", "Editor"),
    verb("interpret", "Analyst"),
    verb("investigate", "Researcher"),
    verb("judge", "Judge"),
    verb("list", "Collector"),
    verb("look", "Researcher"),
    verb("merge", "Editor"),
    verb("name", "Finder"),
    verb("outline", "Planner"),
    verb("paraphrase", "Editor"),
    verb("pick", "Chooser"),
    verb("plan", "Planner"),
    verb("polish", "Editor"),
    verb("prioritise", "Sorter"),
    verb("prioritize", "Sorter"),
    verb("proofread", "Editor"),
    verb("propose", "Thinker"),
    verb("rank", "Sorter"),
    verb("rate", "Judge"),
    verb("read", "Reader"),
    verb("recommend", "Thinker"),
    verb("refine", "Editor"),
    verb("rephrase", "Editor"),
    verb("research", "Researcher"),
    verb("review", "Reviewer"),
    verb("revise", "Editor"),
    verb("rewrite", "Editor"),
    verb("score", "Judge"),
    verb("search", "Researcher"),
    verb("select", "Chooser"),
    verb("shorten", "Editor"),
    verb("simplify", "Editor"),
    verb("sketch", "Planner"),
    verb("sort", "Sorter"),
    verb("structure", "Editor"),
    verb("study", "Researcher"),
    verb("suggest", "Thinker"),
    verb("sum", "Editor"),
    verb("summarise", "Editor"),
    verb("summarize", "Editor"),
    verb("think", "Thinker"),
    verb("translate", "Translator"),
    verb("verify", "Checker"),
    verb("weigh", "Judge"),
    verb("work", "Thinker"),
    verb("write", "Writer"),
];

static MAKERS: &[Verb] = &[
    maker("build"),
    maker("create"),
    maker("give"),
    maker("make"),
    maker("prepare"),
    maker("produce"),
    maker("turn"),
];

/// What a maker's text is called.
const TEXTS: &[&str] = &[
    "agenda",
    "analysis",
    "answer",
    "article",
    "bio",
    "brief",
    "briefing",
    "checklist",
    "comparison",
    "draft",
    "essay",
    "faq",
    "headline",
    "letter",
    "list",
    "mail",
    "markdown",
    "memo",
    "minutes",
    "outline",
    "overview",
    "paragraph",
    "plan",
    "poem",
    "post",
    "profile",
    "proposal",
    "ranking",
    "report",
    "script",
    "sentence",
    "slogan",
    "story",
    "summary",
    "table",
    "text",
];

/// The verb that a text begins with; none for a word that is none of these, or that makes what is no text.
pub(super) fn verb_of(text: &str) -> Option<&'static Verb> {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty());
    let first = words.next()?.to_lowercase();
    let known = VERBS.iter().chain(MAKERS).find(|verb| verb.word == first)?;
    let is_text = |word: &str| {
        let word = word.to_lowercase();
        TEXTS.iter().any(|text| *text == word || word.strip_suffix('s') == Some(text))
    };
    (!known.makes || words.any(is_text)).then_some(known)
}

/// Whether a word is a verb of any task, or of something that is done outside.
pub(super) fn is_verb(word: &str) -> bool {
    let word = word.to_lowercase();
    VERBS.iter().chain(MAKERS).any(|verb| verb.word == word) || EFFECTS.contains(&word.as_str())
}

/// What a model can't do with words alone.
const EFFECTS: &[&str] = &[
    "archive", "book", "buy", "call", "cancel", "delete", "email", "forward", "invite", "mail", "notify",
    "order", "pay", "phone", "post", "publish", "remember", "remind", "remove", "reply", "save", "schedule",
    "send", "show", "submit", "upload", "wait",
];

/// Whether a text asks, after "and" or a comma, for something that words alone don't do.
pub(super) fn has_effect(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let opens = pair[0].ends_with([',', ':', '.', '!'])
            || ["and", "then", "&"].contains(&pair[0].to_lowercase().as_str());
        let word =
            pair[1].trim_matches(|c: char| !c.is_alphanumeric() && c != '-').replace('-', "").to_lowercase();
        opens && EFFECTS.contains(&word.as_str())
    })
}

/// Whether words that a pattern took hold another request: "alice and summarise them".
pub(super) fn goes_on(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).any(|three| {
        let opens =
            three[0].ends_with(',') || ["and", "then", "&"].contains(&three[0].to_lowercase().as_str());
        opens && is_verb(three[1])
    })
}
