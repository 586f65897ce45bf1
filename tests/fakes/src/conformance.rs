//! The test suite that every chat adapter passes. The adapter's tests bring a [`Platform`]: a way to connect a
//! port to a (fake) platform, and to see what a reader of that platform sees.
//!
//! Every function panics if the adapter breaks the promise in its name.

use std::sync::Arc;

use adjutant_chat::{
    Address, AgentProgress, AnswerDraft, ChatPort, Choice, Delivery, Form, Outbound, OutgoingFile, Progress,
    Reconciliation, Retract,
};
use async_trait::async_trait;

/// A platform with one empty place, as a test sees it.
#[async_trait]
pub trait Platform: Send + Sync {
    /// The longest text of a message; of a platform without a limit, more than any other's.
    const LONGEST: usize = 8_000;
    /// Connects a port; the second call is what a restarted process does.
    fn connect(&self) -> Arc<dyn ChatPort>;
    /// The place to write to.
    fn address(&self) -> Address;
    /// Our messages as a reader of that place sees them now.
    async fn seen(&self) -> Vec<Seen>;
    /// The platform's ids of messages that arrived from that place.
    fn arrived(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A message as its reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The text, without the platform's markup.
    pub text: String,
    /// The buttons, each with the id that pressing it sends.
    pub choices: Vec<Choice>,
    /// The attached file.
    pub file: Option<OutgoingFile>,
}

/// Runs the whole suite, each test on a fresh platform.
pub async fn check_all<P: Platform>(fresh: impl Fn() -> P) {
    delivers_exactly_once(&fresh()).await;
    shows_choices_that_can_be_pressed(&fresh()).await;
    reconciles_what_was_sent(&fresh()).await;
    delivers_long_text_whole(&fresh()).await;
    for text in HOSTILE {
        disarms_hostile_text(&fresh(), text).await;
    }
    shows_progress_without_failing(&fresh()).await;
    turns_what_was_shown_into_the_answer(&fresh()).await;
    shows_an_answer_while_it_is_written(&fresh()).await;
    takes_away_what_is_closed(&fresh()).await;
    sends_a_file_after_its_text(&fresh()).await;
    sends_plainer_forms_and_finds_them(&fresh()).await;
}

/// Sends all parts, as the engine does: each with its checkpoint.
async fn deliver<P: Platform>(platform: &P, port: &dyn ChatPort, outbound: &Outbound) -> Delivery {
    let mut outbound = outbound.clone();
    let mut last = Delivery::Unknown;
    for part in 0..port.parts(&outbound) {
        outbound.part = part;
        port.seed(&outbound.address, &platform.arrived()).await;
        outbound.checkpoint = port.checkpoint(&outbound.address).await;
        last = port.deliver(&outbound).await;
        if !matches!(last, Delivery::Sent(_)) {
            return last;
        }
    }
    last
}

/// A delivery returns a receipt, and the reader sees the text once.
pub async fn delivers_exactly_once<P: Platform>(platform: &P) {
    let port = platform.connect();
    assert_eq!(
        port.channel(),
        platform.address().channel,
        "the address is on another channel than the port's"
    );
    for (number, text) in ["The **first** message.", "The second."].iter().enumerate() {
        let sent = deliver(platform, &*port, &outbound(platform, number, text)).await;
        assert!(matches!(&sent, Delivery::Sent(receipt) if !receipt.is_empty()), "no receipt: {sent:?}");
    }
    let all = text_of(&platform.seen().await);
    for text in ["first", "The second."] {
        assert_eq!(all.matches(text).count(), 1, "“{text}” is not there exactly once: {all:?}");
    }
    assert!(all.find("first") < all.find("The second."), "out of order: {all:?}");
}

/// Buttons are under their text, and pressing one sends its id unchanged.
pub async fn shows_choices_that_can_be_pressed<P: Platform>(platform: &P) {
    let mut asked = outbound(platform, 1, "Continue?");
    asked.choices = vec![
        choice("0f3Zx:continue", "Continue"),
        // The longest id that is allowed, and a label that is markup on some platform.
        choice(&"k".repeat(64), "Summarise <b>*now*</b>"),
        choice("stop", "Stop"),
    ];
    let sent = deliver(platform, &*platform.connect(), &asked).await;
    assert!(matches!(sent, Delivery::Sent(_)), "not sent: {sent:?}");
    let seen = platform.seen().await;
    let choices: Vec<Choice> = seen.iter().flat_map(|message| message.choices.clone()).collect();
    assert_eq!(choices, asked.choices, "other buttons than asked for");
    assert_eq!(text_of(&seen).matches("Continue?").count(), 1, "the question is not there once: {seen:?}");
}

/// A message that was sent is found, also by the next process; one that was not is not.
pub async fn reconciles_what_was_sent<P: Platform>(platform: &P) {
    let port = platform.connect();
    port.seed(&platform.address(), &platform.arrived()).await;
    let checkpoint = port.checkpoint(&platform.address()).await;
    let marked =
        |number, text| Outbound { checkpoint: checkpoint.clone(), ..outbound(platform, number, text) };
    let (sent, unsent) = (marked(1, "I was sent."), marked(2, "I was not sent."));
    assert_eq!(port.reconcile(&sent).await, Reconciliation::NotSent, "found before it was sent");
    let delivery = port.deliver(&sent).await;
    assert!(matches!(delivery, Delivery::Sent(_)), "not sent: {delivery:?}");
    let Delivery::Sent(receipt) = delivery else { return };
    for port in [port, platform.connect()] {
        assert_eq!(port.reconcile(&sent).await, Reconciliation::Sent(receipt.clone()), "sent, but not found");
        assert_eq!(port.reconcile(&unsent).await, Reconciliation::NotSent, "not sent, but found");
    }
    assert_eq!(text_of(&platform.seen().await).matches("I was").count(), 1, "reconciling sent something");
}

/// A text far longer than one message arrives whole and in order, its buttons once.
pub async fn delivers_long_text_whole<P: Platform>(platform: &P) {
    let port = platform.connect();
    let wanted = P::LONGEST * 3;
    let mut text = String::new();
    for number in 0.. {
        if text.len() > wanted {
            break;
        }
        text.push_str(&format!("word{number:05} 🦀 & **bold{number:05}** <i>it{number:05}</i>\n"));
        if number % 40 == 39 {
            text.push_str(&format!("\n```\ncode{number:05}\n  more{number:05}\n```\n\n"));
        }
    }
    let mut long = outbound(platform, 1, &text);
    long.choices = vec![choice("go", "Go on")];
    let sent = deliver(platform, &*port, &long).await;
    assert!(matches!(sent, Delivery::Sent(_)), "not sent: {sent:?}");
    let seen = platform.seen().await;
    let all = text_of(&seen);
    let is_word = |char: char| char.is_ascii_alphanumeric();
    let numbered = |text: &str| -> Vec<String> {
        let words = text.split(|char| !is_word(char));
        words
            .filter(|word| word.len() > 5 && word.ends_with(|char: char| char.is_ascii_digit()))
            .map(String::from)
            .collect()
    };
    assert_eq!(numbered(&all), numbered(&text), "words are missing, doubled or out of order");
    assert_eq!(all.matches('🦀').count(), text.matches('🦀').count(), "characters were cut in two");
    let buttons: usize = seen.iter().map(|message| message.choices.len()).sum();
    assert_eq!(buttons, 1, "the buttons are not there once");
}

/// Texts that were written to break something, each with `plain words` in it.
pub const HOSTILE: [&str; 9] = [
    "plain words <script>alert(1)</script> and </b></code> & &amp;",
    "Ada <ada@example.org> wrote plain words",
    "plain words ` with ``` an unclosed *mark _and [a bracket](",
    "```\nplain words in a fence that never closes",
    "plain words \u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{8}\u{8}\u{0}",
    "plain words &#27;[31m and [a link](https://example.org/&#27;[31m)",
    "plain words <@U123> <!channel> @everyone <#C1|general>",
    "> plain words\n> | a | b |\n- [x] *",
    "plain words \\ \\* {{ }} {} %s ${HOME} $(reboot) \u{202e}drow",
];

/// A hostile text arrives, can be read, and holds nothing that could control the reader's screen.
pub async fn disarms_hostile_text<P: Platform>(platform: &P, text: &str) {
    let sent = deliver(platform, &*platform.connect(), &outbound(platform, 1, text)).await;
    assert!(matches!(sent, Delivery::Sent(_)), "{text:?} was not sent: {sent:?}");
    let all = text_of(&platform.seen().await);
    assert_eq!(all.matches("plain words").count(), 1, "{text:?} can't be read: {all:?}");
    for literal in ["<script>alert(1)</script>", "ada@example.org", "$(reboot)"] {
        assert!(!text.contains(literal) || all.contains(literal), "{literal} can't be read: {all:?}");
    }
    let harmful = |char: char| char.is_control() && char != '\n' && char != '\t';
    assert!(!all.contains(harmful), "control characters came through: {all:?}");
}

/// Progress may come at any time and never harms what is delivered.
pub async fn shows_progress_without_failing<P: Platform>(platform: &P) {
    let port = platform.connect();
    let agent = |agent_id: &str, status: &str| AgentProgress {
        agent_id: agent_id.to_owned(),
        status: status.to_owned(),
        mission: "find <b>it</b>\n\u{1b}[2J".repeat(40),
        skill: Some("tasks.search".to_owned()),
        depends_on: vec!["a".to_owned(), "nobody".to_owned()],
        elapsed_ms: 1_234,
    };
    let progress = |step: Option<&str>, agents: Vec<AgentProgress>| Progress {
        address: platform.address(),
        turn: "turn".to_owned(),
        step: step.map(String::from),
        agents,
        live: None,
    };
    port.progress(&progress(None, Vec::new())).await;
    port.progress(&progress(Some("thinking"), Vec::new())).await;
    port.progress(&progress(Some("thinking"), vec![agent("a", "running"), agent("b", "pending")])).await;
    port.progress(&progress(Some("thinking"), vec![agent("a", "completed"), agent("c", "no such status")]))
        .await;
    let sent = deliver(platform, &*port, &outbound(platform, 1, "The answer.")).await;
    assert!(matches!(sent, Delivery::Sent(_)), "not sent after progress: {sent:?}");
    port.progress(&progress(Some("thinking"), vec![agent("a", "running")])).await;
    port.progress(&progress(None, Vec::new())).await;
    let elsewhere = Address { place: "nowhere".to_owned(), ..platform.address() };
    port.progress(&Progress { address: elsewhere, ..progress(Some("thinking"), Vec::new()) }).await;
    assert_eq!(
        text_of(&platform.seen().await).matches("The answer.").count(),
        1,
        "the answer is not there once"
    );
}

/// The progress message becomes the first part of the answer, also if the next process does it again; and showing
/// progress again edits it.
pub async fn turns_what_was_shown_into_the_answer<P: Platform>(platform: &P) {
    let port = platform.connect();
    if !port.limits().edits {
        return;
    }
    let shown = port.show(&platform.address(), None, "At *work*.").await;
    let receipt = &receipt_of(&shown);
    assert_eq!(port.show(&platform.address(), Some(receipt), "Still at work.").await, shown);
    let seen = platform.seen().await;
    assert_eq!((seen.len(), seen[0].text.trim()), (1, "Still at work."), "{seen:?}");
    let mut answer = outbound(platform, 1, "The **answer**.");
    answer.edit_of = Some(receipt.clone());
    answer.choices = vec![choice("go", "Go on")];
    for port in [port, platform.connect()] {
        assert_eq!(port.deliver(&answer).await, shown, "the answer is not in the shown message's place");
    }
    let seen = platform.seen().await;
    assert_eq!((seen.len(), seen[0].text.trim()), (1, "The answer."), "{seen:?}");
    assert_eq!(seen[0].choices, answer.choices);
}

/// An answer that was shown while it was written stands there once, and nothing else of it, also if the next process sends
/// it.
pub async fn shows_an_answer_while_it_is_written<P: Platform>(platform: &P) {
    for is_restarted in [false, true] {
        let port = platform.connect();
        let (address, turn, event) = (&platform.address(), "turn", None);
        let mut receipt = String::new();
        // The third is another try of the model.
        for text in ["One", "One **half", "The **whole", "The **whole** answer"] {
            let draft = AnswerDraft {
                turn,
                event,
                address,
                receipt: Some(receipt.as_str()).filter(|receipt| !receipt.is_empty()),
                text,
            };
            let shown = port.show_draft(&draft).await;
            // Nothing is shown there.
            if matches!(shown, Delivery::Refused(_)) {
                return;
            }
            assert!(matches!(shown, Delivery::Sent(_)), "{text}: {shown:?}");
            let Delivery::Sent(shown) = shown else { return };
            receipt = shown;
        }
        let port = if is_restarted { platform.connect() } else { port };
        port.seed(address, &platform.arrived()).await;
        let mut answer = outbound(platform, if is_restarted { 2 } else { 1 }, "The **whole** answer.");
        answer.edit_of = Some(receipt).filter(|receipt| !receipt.is_empty());
        let sent = deliver(platform, &*port, &answer).await;
        assert!(matches!(sent, Delivery::Sent(_)), "not sent: {sent:?}");
        let all = text_of(&platform.seen().await);
        assert_eq!(all.matches("The").count(), 1 + usize::from(is_restarted), "not there once: {all:?}");
        assert!(!all.contains("half"), "a part is left: {all:?}");
    }
}

/// A closed question loses its buttons, and a progress message can be deleted.
pub async fn takes_away_what_is_closed<P: Platform>(platform: &P) {
    let port = platform.connect();
    if !port.limits().edits {
        return;
    }
    let mut asked = outbound(platform, 1, "Continue?");
    asked.choices = vec![choice("stop", "Stop")];
    let receipt = receipt_of(&deliver(platform, &*port, &asked).await);
    let shown = receipt_of(&port.show(&platform.address(), None, "At work.").await);
    for _ in 0..2 {
        port.retract(&platform.address(), &receipt, Retract::Buttons).await;
        port.retract(&platform.address(), &shown, Retract::Message).await;
    }
    let seen = platform.seen().await;
    assert_eq!((seen.len(), seen[0].text.trim()), (1, "Continue?"), "{seen:?}");
    assert!(seen[0].choices.is_empty(), "{seen:?}");
}

/// A file arrives once, unchanged, after its text. It is found afterwards, also by the next process, and no other
/// file is mistaken for it.
pub async fn sends_a_file_after_its_text<P: Platform>(platform: &P) {
    let port = platform.connect();
    if !port.limits().files {
        return;
    }
    let text = "# Title\n\n<b>ü</b> 🦀 ``` @everyone\r\n\"last\"\n".repeat(400);
    let file = |name: &str| Some(OutgoingFile { name: name.to_owned(), text: text.clone() });
    let mut report = Outbound { file: file("visit-report.md"), ..outbound(platform, 1, "The **report**.") };
    assert_eq!(port.parts(&report), 2, "the file is no part of its own");
    port.seed(&report.address, &platform.arrived()).await;
    for part in 0..2 {
        (report.part, report.checkpoint) = (part, port.checkpoint(&report.address).await);
        assert_eq!(
            port.reconcile(&report).await,
            Reconciliation::NotSent,
            "part {part} is found before it was sent"
        );
        let receipt = receipt_of(&port.deliver(&report).await);
        for port in [&port, &platform.connect()] {
            assert_eq!(
                port.reconcile(&report).await,
                Reconciliation::Sent(receipt.clone()),
                "part {part} is not found"
            );
        }
    }
    let other = Outbound { file: file("other.md"), id: format!("0Conformance{:010}", 2), ..report.clone() };
    assert_eq!(port.reconcile(&other).await, Reconciliation::NotSent, "another file is taken for it");
    let seen = platform.seen().await;
    assert_eq!(text_of(&seen).matches("report").count(), 1, "the text is not there once: {seen:?}");
    let files: Vec<&OutgoingFile> = seen.iter().filter_map(|message| message.file.as_ref()).collect();
    assert!(
        files == [report.file.as_ref().unwrap_or(&OutgoingFile { name: String::new(), text: String::new() })],
        "the file is not there once, as it is"
    );
    assert!(seen.last().is_some_and(|message| message.file.is_some()), "the file is not behind its text");
}

/// What is refused with markup is sent without, then in smaller parts, then as a file; each is found by the next process.
pub async fn sends_plainer_forms_and_finds_them<P: Platform>(platform: &P) {
    let port = platform.connect();
    // The others are our own, and refuse nothing.
    if !port.limits().edits {
        return;
    }
    port.seed(&platform.address(), &platform.arrived()).await;
    let long =
        outbound(platform, 1, &format!("It **begins**.\n\n{}", "It goes on.\n\n".repeat(P::LONGEST / 20)));
    let file = OutgoingFile { name: "answer.md".to_owned(), text: long.text.clone() };
    for (number, form, parts) in
        [(2, Form::Plain, 1..=1), (3, Form::Small(0), 2..=5), (4, Form::File(0), 1..=1)]
    {
        let file = Some(file.clone()).filter(|_| form == Form::File(0));
        let id = format!("0Conformance{number:010}");
        let mut message = Outbound { form, id, file, ..long.clone() };
        assert!(parts.contains(&port.parts(&message)), "{form:?}: {} parts", port.parts(&message));
        for part in 0..port.parts(&message) {
            (message.part, message.checkpoint) = (part, port.checkpoint(&message.address).await);
            let receipt = receipt_of(&port.deliver(&message).await);
            let found = platform.connect().reconcile(&message).await;
            assert_eq!(found, Reconciliation::Sent(receipt), "part {part} of {form:?} is not found");
        }
    }
    let seen = platform.seen().await;
    let texts = text_of(&seen).matches("goes on").count();
    assert_eq!(texts, 2 * (P::LONGEST / 20), "the text is not there twice, as its file once: {seen:?}");
    assert_eq!(seen.iter().filter(|message| message.file.is_some()).count(), 1);
}

fn receipt_of(delivery: &Delivery) -> String {
    let receipt = match delivery {
        Delivery::Sent(receipt) => receipt.clone(),
        _ => String::new(),
    };
    assert!(!receipt.is_empty(), "no receipt: {delivery:?}");
    receipt
}

fn outbound<P: Platform>(platform: &P, number: usize, text: &str) -> Outbound {
    Outbound {
        id: format!("0Conformance{number:010}"),
        address: platform.address(),
        turn: Some("turn".to_owned()),
        answers: Vec::new(),
        text: text.to_owned(),
        choices: Vec::new(),
        form: Form::Rich,
        part: 0,
        checkpoint: None,
        edit_of: None,
        file: None,
        voice: None,
    }
}

fn choice(id: &str, label: &str) -> Choice {
    Choice { id: id.to_owned(), label: label.to_owned() }
}

fn text_of(seen: &[Seen]) -> String {
    seen.iter().map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n")
}
