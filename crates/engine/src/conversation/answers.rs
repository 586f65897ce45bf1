//! Reads typed texts and buttons as answers to the open questions.

use adjutant_store::questions::QuestionRow;
use adjutant_types::{Answer, IN_WORDS, MEANT_OTHER, QuestionId, QuestionKind, pointed_at};

use super::command::{is_command, is_run};
use super::verdicts::{self, Verdicts, verdict, verdict_on_all};

/// A preview without names. A text that agrees with it says no more than “yes, send it”.
const ONLY_PRONOUNS: &str = "email";

/// The meaning of a typed text for the open questions.
#[derive(Debug, PartialEq)]
pub(super) enum Typed {
    /// These answers, by the indexes of the questions.
    Answers(Vec<(usize, Answer)>),
    /// A yes or a no, but not to which of them.
    Unclear,
}

impl Typed {
    pub(super) fn approves(&self) -> bool {
        let is_yes = |(_, answer): &(usize, Answer)| matches!(answer, Answer::Approve | Answer::Continue);
        matches!(self, Self::Answers(answers) if answers.iter().any(is_yes))
    }
}

pub(super) fn typed(text: &str, kind: &QuestionKind) -> Option<Answer> {
    let text = text.trim();
    // A command is never an answer: `/stop` must end the turn that asks, and `/run` begin another.
    if text.is_empty() || is_command(text) || is_run(text) {
        return None;
    }
    let word = plain(text);
    match (kind, word.as_str()) {
        (QuestionKind::Input { .. }, _) => Some(Answer::Text(text.to_owned())),
        (QuestionKind::Choice { options, .. }, _) => {
            let is_word = |word: &str| options.iter().position(|option| plain(option) == word);
            let by_word = is_word(&word).or_else(|| is_word(verdicts::after_yes(&word)?));
            let by_number = || word.parse::<usize>().ok()?.checked_sub(1);
            let labels: Vec<&str> = options.iter().map(String::as_str).collect();
            let number = by_word.or_else(by_number).or_else(|| pointed_at(text, &labels))?;
            options.get(number).cloned().map(Answer::Text)
        }
        (QuestionKind::Plan { .. }, word) => about_plan(text, word),
        // The numbers are those of the buttons, as a terminal shows them.
        (QuestionKind::Continue { needs_owner: true, .. }, "2") => Some(Answer::Stop),
        (QuestionKind::Continue { .. }, "summarise" | "summarize" | "2") => Some(Answer::Summarise),
        (QuestionKind::Continue { .. }, "1") => Some(Answer::Continue),
        (QuestionKind::Continue { .. }, "3") => Some(Answer::Stop),
        (QuestionKind::Continue { .. }, "approve" | "reject") => None,
        (QuestionKind::Continue { .. }, word) => {
            Some(if verdict_on_all(word)? { Answer::Continue } else { Answer::Stop })
        }
        (QuestionKind::Approval { .. }, "1") => Some(Answer::Approve),
        (QuestionKind::Approval { .. }, "2") => Some(Answer::Reject),
        (QuestionKind::Approval { rule: Some(_), .. }, word) if says_always(word) => Some(Answer::Approve),
        (QuestionKind::Approval { preview, .. }, word) => {
            let is_yes = verdict(word)
                .or_else(|| verdicts::agrees_on(word, preview).then_some(true))
                .or_else(|| verdicts::verdict_on_both(word, preview));
            Some(if is_yes? { Answer::Approve } else { Answer::Reject })
        }
    }
}

/// Reads a text as an answer about a plan: “run”, “cancel”, “change: without the invitation”.
fn about_plan(text: &str, word: &str) -> Option<Answer> {
    match word {
        "run" | "run it" | "go" | "1" => return Some(Answer::Approve),
        "3" => return Some(Answer::Reject),
        "change" | "change it" | "2" => return Some(Answer::change("")),
        _ => {}
    }
    if let Some(is_yes) = verdict_on_all(word) {
        return Some(if is_yes { Answer::Approve } else { Answer::Reject });
    }
    let (first, rest) = text.split_once([':', ',', ' ', '\n'])?;
    if !first.eq_ignore_ascii_case("change") {
        return None;
    }
    // “change: X” asks for X, “change the date to Friday” says it whole.
    let is_label = text[first.len()..].starts_with([':', ',']);
    Some(Answer::change(if is_label { rest } else { text }))
}

/// Reads a text as an answer to a question, or to those of the same message; `None` if it is something else.
pub(super) fn read(text: &str, question: &QuestionRow, asked: &[QuestionRow]) -> Option<Typed> {
    if let Some(answer) = by_number(text, question) {
        let index = asked.iter().position(|row| row.id == question.id)?;
        return Some(Typed::Answers(vec![(index, answer)]));
    }
    if let Some(answer) = typed(text, &question.kind).filter(|_| asked.len() < 2) {
        return Some(Typed::Answers(vec![(0, answer)]));
    }
    let is_approval = matches!(question.kind, QuestionKind::Approval { .. });
    if !is_approval || is_command(text) || is_run(text) {
        return None;
    }
    let open = || (0..).zip(asked).filter(|(_, row)| row.is_open());
    if let Some(no) = verdicts::declined(text) {
        // Both of what, its message must say.
        if verdicts::rejects_both(&no) {
            return read(&no, question, asked).filter(|meaning| *meaning != Typed::Unclear);
        }
        let all: Vec<_> = open().map(|(index, _)| (index, Answer::Reject)).collect();
        return (!all.is_empty()).then_some(Typed::Answers(all));
    }
    // "Yes to Carol", where one of them is for her.
    let is_meant = |row: &QuestionRow| match &row.kind {
        QuestionKind::Approval { preview, .. } => verdicts::agrees_on(&plain(text), preview),
        _ => false,
    };
    let mut meant = open().filter(|(_, row)| is_meant(row));
    if let (Some((index, _)), None) = (meant.next(), meant.next()) {
        return Some(Typed::Answers(vec![(index, Answer::Approve)]));
    }
    to_approvals(text, asked)
}

/// The answer in "yes to 34", if that is the question's number in the list of all open ones.
pub(super) fn by_number(text: &str, question: &QuestionRow) -> Option<Answer> {
    let word = plain(text);
    let rest = word.strip_suffix(&question.number().to_string())?.strip_suffix(' ')?;
    let words = rest.strip_suffix(" to").unwrap_or(rest);
    // What somebody writes in their own words may end with any number.
    typed(words, &question.kind).filter(|_| !matches!(question.kind, QuestionKind::Input { .. }))
}

/// The answers of a press, each with its question: a button may be for all questions of its message.
pub(super) fn press(text: &str, question: &QuestionRow, asked: &[QuestionRow]) -> Vec<(QuestionRow, Answer)> {
    let Some((_, which)) = button(text) else { return Vec::new() };
    if let Some((_, answer)) = ALL.iter().find(|(name, _)| *name == which) {
        return asked.iter().map(|question| (question.clone(), answer.clone())).collect();
    }
    pressed(which, &question.kind).map(|answer| vec![(question.clone(), answer)]).unwrap_or_default()
}

/// Reads a text as an answer to the approvals of one message, by the numbers that it shows or those of the list of all
/// open questions: `yes`, `yes to 1`, `1 and 3`, `all except the second`.
fn to_approvals(text: &str, asked: &[QuestionRow]) -> Option<Typed> {
    // May be a question's number or a button's.
    if asked.len() > 1 && is_number(&plain(text)) {
        return Some(Typed::Unclear);
    }
    // Of one thing "all" says nothing.
    if asked.len() < 2 && !verdicts::decides(text) {
        return None;
    }
    let open: Vec<usize> =
        asked.iter().enumerate().filter(|(_, row)| row.is_open()).map(|(index, _)| index).collect();
    let index_of = |number: usize| {
        let by_list = || asked.iter().position(|row| usize::try_from(row.number()) == Ok(number));
        number.checked_sub(1).filter(|index| *index < asked.len()).or_else(by_list)
    };
    let shown = |index: &usize| match &asked[*index].kind {
        QuestionKind::Approval { preview, .. } => {
            Some((index + 1, preview.as_str(), asked[*index].body.as_str()))
        }
        _ => None,
    };
    let named = verdicts::with_number(text, &open.iter().filter_map(shown).collect::<Vec<_>>());
    let text = named.as_deref().or(verdicts::before_change(text)).unwrap_or(text);
    Some(match verdicts::read(text, asked.len(), &open, index_of)? {
        Verdicts::Unclear => Typed::Unclear,
        Verdicts::Of(by_index) => {
            let answer = |is_yes| if is_yes { Answer::Approve } else { Answer::Reject };
            Typed::Answers(by_index.into_iter().map(|(index, is_yes)| (index, answer(is_yes))).collect())
        }
    })
}

/// Whether a text doesn't say which of several open questions it is for: it has no number that the question shows.
pub(super) fn is_bare(text: &str, kind: &QuestionKind, asked: &[QuestionRow]) -> bool {
    let is_number = matches!(kind, QuestionKind::Continue { .. } | QuestionKind::Approval { .. })
        && is_number(&plain(text));
    is_number
        || matches!(kind, QuestionKind::Plan { .. })
        || certainty(text, kind) == Certainty::AskedFor
        || says_always(text)
        || verdicts::agrees_on(&plain(text), ONLY_PRONOUNS)
        || (verdicts::is_any(text) && !(asked.len() > 1 && verdicts::names_numbers(text)))
}

/// Whether a typed answer or a button approves for the future, too.
pub(super) fn says_always(text: &str) -> bool {
    let word = plain(text).replace(',', " ");
    let words: Vec<&str> = word.split_whitespace().collect();
    let words = match words.as_slice() {
        ["/answer", _, rest @ ..] => rest,
        all => all,
    };
    // "always to 34" names the question.
    let words = match words {
        [rest @ .., "to", number] | [rest @ .., number] if !rest.is_empty() && is_number(number) => rest,
        all => all,
    };
    // The third button, as a terminal shows it.
    matches!(
        words,
        ["always" | "immer" | "いつも" | "3"] | ["yes", "always"] | ["always", "yes"] | ["ja", "immer"]
    )
}

pub(super) fn agrees(text: &str) -> bool {
    verdict(text) == Some(true)
}

/// How surely a text is for a question, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Certainty {
    /// No more than a number or praise, which may be for what stands above the question.
    Vague,
    /// An "ok" or another word that may be for what came last.
    Mild,
    /// A yes or a no, even if something else was said since.
    Firm,
    /// A word that the question itself asks for.
    AskedFor,
}

pub(super) fn certainty(text: &str, kind: &QuestionKind) -> Certainty {
    let word = plain(text);
    let is_asked_for = match kind {
        QuestionKind::Plan { .. } => {
            matches!(word.as_str(), "run" | "run it" | "cancel") || word.starts_with("change:")
        }
        QuestionKind::Continue { .. } => {
            matches!(word.as_str(), "continue" | "summarise" | "summarize" | "stop")
        }
        _ => false,
    };
    let has_numbers = matches!(kind, QuestionKind::Choice { .. } | QuestionKind::Input { .. });
    let (is_firm, is_number) = (verdicts::is_firm(text), is_number(&word));
    match () {
        () if is_asked_for => Certainty::AskedFor,
        () if !has_numbers && (is_number || verdicts::is_praise(text)) => Certainty::Vague,
        () if is_firm && !is_number && !matches!(word.as_str(), "stop" | "stopp") => Certainty::Firm,
        () => Certainty::Mild,
    }
}

/// A text in the form used for comparison.
fn plain(text: &str) -> String {
    text.trim().trim_end_matches(['.', '!']).replace('’', "'").to_lowercase()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A button that shows approvals whole, and answers nothing.
pub(super) const SHOW: &str = "show";

/// A button that approves, and makes the rule that its question offers.
pub(super) const ALWAYS: &str = "always";

pub(super) const ALL: [(&str, Answer); 2] =
    [("approve-all", Answer::Approve), ("reject-all", Answer::Reject)];

/// Whether a button is for a whole message, whichever of its questions it names.
pub fn is_for_all(which: &str) -> bool {
    which == SHOW || ALL.iter().any(|(name, _)| *name == which)
}

/// Reads the id of a question's button, `QUESTION:WHICH`; none if it is another button's.
pub fn button(button: &str) -> Option<(QuestionId, &str)> {
    let (question, which) = button.split_once(':')?;
    let is_button = matches!(which, "continue" | "summarise" | "stop" | "approve" | "change" | "reject")
        || matches!(which, ALWAYS | MEANT_OTHER)
        || is_for_all(which)
        || which.strip_prefix(IN_WORDS).is_some_and(|words| !words.trim().is_empty());
    (is_button || which.parse::<usize>().is_ok()).then(|| (question.into(), which))
}

/// The answer that a button of a question stands for.
fn pressed(which: &str, kind: &QuestionKind) -> Option<Answer> {
    if let Some(words) = which.strip_prefix(IN_WORDS).map(str::trim) {
        return match kind {
            QuestionKind::Plan { .. } => Some(Answer::change(words)),
            QuestionKind::Input { .. } => Some(Answer::Text(words.to_owned())),
            _ => None,
        };
    }
    match kind {
        QuestionKind::Approval { rule: Some(_), .. } if which == ALWAYS => Some(Answer::Approve),
        QuestionKind::Continue { .. } | QuestionKind::Approval { .. } => Answer::parse(kind, which),
        QuestionKind::Choice { options, .. } => {
            options.get(which.parse::<usize>().ok()?).cloned().map(Answer::Text)
        }
        QuestionKind::Plan { .. } if which == "change" => Some(Answer::change("")),
        QuestionKind::Plan { .. } => {
            Answer::parse(kind, which).filter(|answer| matches!(answer, Answer::Approve | Answer::Reject))
        }
        QuestionKind::Input { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use adjutant_types::{Allowance, with_words};

    use super::*;

    fn approval() -> QuestionKind {
        QuestionKind::Approval { preview: String::new(), arguments: String::new(), rule: None, delay: None }
    }

    fn go_on() -> QuestionKind {
        QuestionKind::Continue { text: String::new(), needs_owner: false }
    }

    fn choice(options: &[&str]) -> QuestionKind {
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        QuestionKind::Choice { subject: String::new(), options, draft: None }
    }

    #[test]
    fn the_words_of_the_contract_are_answers_and_nothing_else() {
        let approval = approval();
        let answers = |text| (typed(text, &go_on()), typed(text, &approval));
        for text in ["continue", "Yes", "go on.", "APPROVE!", "no", "Stop", "reject", "summarise"] {
            assert_ne!(answers(text), (None, None), "{text}");
        }
        for text in [
            "yeah",
            "Yep!",
            "ok",
            "okay.",
            "okey",
            "sure",
            "yes please",
            "go ahead",
            "yeah go on",
            "ok, do it",
        ] {
            assert_eq!(answers(text), (Some(Answer::Continue), Some(Answer::Approve)), "{text}");
        }
        for (text, answer) in [
            ("sure, all of them please", Some(Answer::Continue)),
            ("no, none of them", Some(Answer::Stop)),
            ("all of them", None),
            ("yes to all but the second", None),
        ] {
            assert_eq!(answers(text).0, answer, "{text}");
        }
        for text in ["nah", "nope", "no, thanks", "cancel", "don’t", "never mind", "no don't"] {
            assert_eq!(answers(text), (Some(Answer::Stop), Some(Answer::Reject)), "{text}");
        }
        for text in [
            "no, the other one",
            "",
            "yes and no",
            "don't stop",
            "thanks",
            "please",
            "not now",
            "ok, and what is on today?",
            "0",
            "4",
        ] {
            assert_eq!(answers(text), (None, None), "{text}");
        }
        for text in ["/run report", "/spawn scout look around", "/plan a party", "/undo"] {
            assert_eq!(answers(text), (None, None), "{text}");
        }
        assert_eq!(answers("yes!"), (Some(Answer::Continue), Some(Answer::Approve)));
        assert_eq!(answers("1"), (Some(Answer::Continue), Some(Answer::Approve)));
        assert_eq!(answers("2"), (Some(Answer::Summarise), Some(Answer::Reject)));
        assert_eq!(answers("3"), (Some(Answer::Stop), None));
        let owners = QuestionKind::Continue { text: String::new(), needs_owner: true };
        assert_eq!(typed("2", &owners), Some(Answer::Stop), "an owner has two buttons");
        assert_eq!(answers("approve").0, None);
    }

    #[test]
    fn both_are_whom_the_only_question_is_for() {
        let mail = |to: &str| QuestionKind::Approval {
            preview: format!("Send this email to Ann <ann@x.test>: “Hi”{to}\n```\nask x@y.test\n```"),
            arguments: String::new(),
            rule: None,
            delay: None,
        };
        let (two, one) = (mail("\n- cc: Bob <bob@x.test>"), mail(""));
        assert_eq!(typed("yes to both", &two), Some(Answer::Approve));
        assert_eq!(typed("no to both", &two), Some(Answer::Reject));
        for text in ["both", "yes to both and Eve", "yes to both?"] {
            assert_eq!(typed(text, &two), None, "{text}");
        }
        assert_eq!((typed("yes to both", &one), typed("yes to both", &approval())), (None, None));
    }

    #[test]
    fn a_choice_is_typed_as_its_word_or_its_number() {
        let question = choice(&["Send it", "2", "Stop!", "/usr"]);
        let chosen = |text| typed(text, &question).map(|answer| answer.as_str().to_owned());
        assert_eq!(chosen(" send IT. ").as_deref(), Some("Send it"));
        assert_eq!(chosen("1").as_deref(), Some("Send it"));
        assert_eq!(chosen("2").as_deref(), Some("2"), "a word before a number");
        assert_eq!(chosen("stop").as_deref(), Some("Stop!"));
        assert_eq!(chosen("3.").as_deref(), Some("Stop!"));
        assert_eq!(chosen("the send one").as_deref(), Some("Send it"));
        for text in ["ok send it", "Yes, please send it!", "sure, send it please"] {
            assert_eq!(chosen(text).as_deref(), Some("Send it"), "{text}");
        }
        for text in [
            "0",
            "5",
            "-1",
            "99999999999999999999",
            "send",
            "yes",
            "",
            "/stop",
            "/usr",
            "yes stop",
            "ok send it to Bob",
            "no, send it",
            "send it if he asks",
        ] {
            assert_eq!(chosen(text), None, "{text}");
        }
        assert_eq!(typed("1", &choice(&[])), None);
    }

    #[test]
    fn any_words_but_a_command_are_what_was_asked_for() {
        let question = QuestionKind::Input { name: "company".into() };
        for text in ["yes", "Acme GmbH\nand its sister", "/home/ada/leads.csv", "1."] {
            assert_eq!(typed(text, &question), Some(Answer::Text(text.into())));
        }
        for text in ["", "  ", "/stop", "/status now", "/run report", "/spawn scout look"] {
            assert_eq!(typed(text, &question), None, "{text}");
        }
    }

    #[test]
    fn a_plan_is_run_cancelled_or_changed_and_no_wish_is_taken_for_a_yes() {
        let plan = QuestionKind::Plan { goal: "the board meeting".into() };
        let parsed = |text| typed(text, &plan);
        for text in ["run", "Run it!", "yes", "go.", "yes to all", "ok run it"] {
            assert_eq!(parsed(text), Some(Answer::Approve), "{text}");
        }
        for text in ["cancel", "No", "stop."] {
            assert_eq!(parsed(text), Some(Answer::Reject), "{text}");
        }
        let wish = |text| parsed(text).and_then(|answer| answer.wish().map(str::to_owned));
        assert_eq!(wish("change"), Some(String::new()));
        assert_eq!(wish("Change: without the invitation").as_deref(), Some("without the invitation"));
        assert_eq!(wish("change the date to Friday").as_deref(), Some("change the date to Friday"));
        for text in ["run the morning briefing", "changes?", "without the invitation", "/stop", ""] {
            assert_eq!(parsed(text), None, "{text}");
        }
        for words in ["approve", "run", "reject"] {
            let stored = Answer::change(words);
            assert_eq!(Answer::parse(&plan, stored.as_str()), Some(stored), "{words}");
        }
        assert_eq!(
            pressed("change", &plan).and_then(|answer| answer.wish().map(str::to_owned)),
            Some(String::new())
        );
        assert_eq!(pressed("approve", &plan), Some(Answer::Approve));
        assert_eq!(pressed("0", &plan), None);
        let words = with_words(&"q".into(), "run");
        let wish = button(&words).and_then(|(_, which)| pressed(which, &plan));
        assert_eq!(wish.as_ref().and_then(Answer::wish), Some("run"), "a wish, whatever its words");
    }

    #[test]
    fn what_a_question_asks_for_is_for_it_and_an_ok_may_be_for_something_else() {
        let plan = QuestionKind::Plan { goal: "the board meeting".into() };
        for (kind, text, is_for_it) in [
            (&plan, "Run!", true),
            (&plan, "go", false),
            (&plan, "change: without Bob", true),
            (&plan, "change the date to Friday", false),
            (&go_on(), "stop", true),
            (&go_on(), "Summarise", true),
            (&go_on(), "go", false),
            (&approval(), "stop", false),
            (&approval(), "go", false),
            (&approval(), "yes please", true),
            (&approval(), "ok do it", true),
            (&approval(), "ok, thanks", false),
            (&approval(), "perfect", false),
            (&approval(), "2", false),
        ] {
            assert_eq!(certainty(text, kind) >= Certainty::Firm, is_for_it, "{text}");
        }
        for (kind, text, is_vague) in [
            (&approval(), "2.", true),
            (&approval(), "Perfect, thanks!", true),
            (&approval(), "perfect, do it", false),
            (&approval(), "ok", false),
            (&plan, "1", true),
            (&plan, "change: perfect, but without Bob", false),
            (&choice(&["red", "green"]), "1", false),
        ] {
            assert_eq!(certainty(text, kind) == Certainty::Vague, is_vague, "{text}");
        }
        for (kind, text) in [(&plan, "go"), (&plan, "change: without Bob"), (&go_on(), "summarise")] {
            assert!(is_bare(text, kind, &[]), "{text}: it has no number");
        }
    }

    #[test]
    fn a_button_stands_for_an_answer_of_its_own_question_only() {
        let colours = choice(&["red", "continue"]);
        assert_eq!(pressed("1", &colours), Some(Answer::Text("continue".into())));
        for which in ["2", "-1", "x", "continue", ""] {
            assert_eq!(pressed(which, &colours), None, "{which}");
        }
        assert_eq!(pressed("approve", &go_on()), None);
        assert_eq!(pressed("0", &QuestionKind::Input { name: "company".into() }), None);
        assert_eq!(
            pressed("words: Acme: a=b ", &QuestionKind::Input { name: "company".into() }),
            Some(Answer::Text("Acme: a=b".into()))
        );
        let approval = approval();
        for kind in [&go_on(), &approval, &choice(&["approve"])] {
            assert_eq!(pressed("words:approve", kind), None, "only what asks for words takes them");
        }
        let offers = QuestionKind::Approval {
            preview: String::new(),
            arguments: String::new(),
            rule: Allowance::mail("bob@acme.example", "ada@home.example"),
            delay: None,
        };
        assert_eq!((pressed(ALWAYS, &offers), pressed(ALWAYS, &approval)), (Some(Answer::Approve), None));
        assert_eq!(pressed(MEANT_OTHER, &approval), None, "it leaves the question open");
        assert_eq!((typed("Always.", &offers), typed("always", &approval)), (Some(Answer::Approve), None));
        for text in
            ["always", "yes, always", "Immer!", "3", "/answer 34 always", "always to 34", "/answer 34 3"]
        {
            assert!(says_always(text), "{text}");
        }
        for text in ["yes", "always Bob", "not always", "yes to 3", "/answer 3 yes", ""] {
            assert!(!says_always(text), "{text}");
        }
        assert_eq!(button("p:0"), Some(("p".into(), "0")));
        for id in ["p", "p:", "p:dance", "p:-1", "p:words: "] {
            assert_eq!(button(id), None, "{id}");
        }
    }
}
