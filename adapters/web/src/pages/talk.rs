//! The conversation.

use adjutant_chat::{Choice, sanitized};
use adjutant_l10n::{page, page_talk, plans};
use maud::{Markup, html};
use url::form_urlencoded;

use super::Frame;
use super::layout::{MAX_FILES, badge, clock, token};
use super::tree::tree;
use crate::markdown::{linked, markdown, plain, without_code};
use crate::session::once;
use crate::views::{Asks, Badge, Entry, Outcome, Said, Timeline, Turn};

/// The longest message, in characters.
pub(crate) const MAX_LENGTH: usize = 20_000;

pub(crate) fn talk(frame: &Frame<'_>, timeline: &Timeline, is_newest: bool) -> String {
    let is_own = frame.viewer.is_some_and(|viewer| viewer.person == timeline.person);
    frame.page(&html! {
        h1 class=(if is_own { "hidden" } else { "small" }) {
            @if is_own { (page::conversation()) } @else { (plain(&page_talk::conversation_of(&timeline.name))) }
        }
        (channels(timeline))
        div #live role="log" aria-live="off" aria-label=(page::conversation()) {
            @if let Some(older) = timeline.older {
                p.older {
                    a href={ (address(timeline, &timeline.channel)) "&before=" (older) } { (page_talk::older()) }
                }
            }
            @if timeline.entries.is_empty() {
                p.empty { (page_talk::nothing_said()) }
            }
            @for (day, entry) in by_day(&timeline.entries) {
                @if let Some(day) = day { h2.day { (day) } }
                @match entry {
                    Entry::Turn(it) => (turn(it, frame.token)),
                    Entry::Said(it) => (said(it, frame.token)),
                }
            }
        }
        @if !is_newest {
            p { a href=(address(timeline, &timeline.channel)) { (page_talk::newest()) } }
        } @else if is_own {
            (composer(frame.token, timeline.speech))
        }
    })
}

/// The conversation on this channel, or on all of them.
fn address(timeline: &Timeline, channel: &str) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("/talk?person={}&channel={}", encoded(&timeline.person), encoded(channel))
}

/// What limits the conversation to one channel.
fn channels(timeline: &Timeline) -> Markup {
    let all = std::iter::once("").chain(timeline.channels.iter().map(String::as_str));
    html! {
        @if timeline.channels.len() > 1 {
            nav.jump aria-label=(page::channels()) {
                @for one in all {
                    a href=(address(timeline, one)) aria-current=[(one == timeline.channel).then_some("true")] {
                        @if one.is_empty() { (page_talk::all_channels()) } @else { (plain(one)) }
                    }
                }
            }
        }
    }
}

/// The entries, each with its day if that is another one than before.
fn by_day(entries: &[Entry]) -> Vec<(Option<&str>, &Entry)> {
    let mut last = "";
    let mut all = Vec::new();
    for entry in entries {
        let day = entry.day();
        let is_new = !day.is_empty() && day != last;
        all.push((is_new.then_some(day), entry));
        last = if is_new { day } else { last };
    }
    all
}

/// With a microphone, if so many seconds of speech would be transcribed.
fn composer(form_token: &str, speech: Option<u64>) -> Markup {
    html! {
        form #composer method="post" action="/say" {
            (token(form_token))
            input type="hidden" name="once" value=(once());
            p.left #left aria-live="polite" {}
            label.hidden for="text" { (page_talk::message()) }
            ul.attached #files {}
            div.box {
                label.attach for="file" { span aria-hidden="true" { "+" } span.hidden { (page_talk::attach()) } }
                input.hidden #file type="file" multiple data-most=(MAX_FILES);
                textarea #text name="text" rows="1" required data-most=(MAX_LENGTH)
                    placeholder=(page_talk::write_message()) {}
                @if let Some(seconds) = speech {
                    button.quiet #speak type="button" hidden data-most=(seconds) data-send=(page_talk::send_speech())
                        data-recording=(page_talk::recording()) data-refused=(page_talk::no_microphone()) {
                        span aria-hidden="true" { "🎤" } span.hidden { (page_talk::speak()) }
                    }
                }
                button type="submit" { (page_talk::send()) }
            }
        }
    }
}

pub(crate) fn turn(turn: &Turn, form_token: &str) -> Markup {
    let messages: Vec<&Said> = turn.asked.iter().chain(&turn.replies).collect();
    html! {
        article.turn id={ "turn-" (turn.key) } aria-label=(page_talk::request()) {
            @for (at, one) in messages.iter().enumerate() {
                (said_after(one, at.checked_sub(1).map(|before| messages[before]), Some(&turn.key), form_token))
            }
            (work(turn, form_token))
        }
    }
}

/// How a request is doing, in one line, and what can be done with it.
fn work(turn: &Turn, form_token: &str) -> Markup {
    html! {
        div.work {
            (badge(turn.badge))
            (running(turn))
            @if !turn.rows.is_empty() { (tree(turn, turn.is_open)) }
            @if turn.is_open { (stop(turn, form_token)) }
            @if turn.can_repeat {
                form.inline method="post" action="/repeat" {
                    (token(form_token))
                    button.quiet.later type="submit" name="turn" value=(turn.key) { (again(turn.badge)) }
                }
            }
            @if !turn.is_open && !turn.replies.is_empty() {
                button.quiet.later.copy type="button" { (page::copy()) }
            }
        }
    }
}

/// For how long a request has been running, and how far its agents are.
pub(super) fn running(turn: &Turn) -> Markup {
    let (minutes, seconds) = (turn.lasted / 60_000, turn.lasted / 1_000 % 60);
    let (ended, all) = turn.agents();
    html! {
        @if turn.badge == Badge::Running {
            span {
                span.clock data-ms=(turn.lasted) { (minutes) ":" (format!("{seconds:02}")) }
                @if all > 0 { " · " (page_talk::agents_done(all, ended)) }
            }
        }
    }
}

/// The button that stops a request; a screen reader hears which.
pub(super) fn stop(turn: &Turn, form_token: &str) -> Markup {
    let about = turn.asked.first().map(|said| said.text.chars().take(80).collect::<String>());
    stop_named(&turn.key, about.map(page_talk::stop_this).as_deref(), form_token)
}

/// The same for a request of this key.
pub(super) fn stop_named(key: &str, label: Option<&str>, form_token: &str) -> Markup {
    html! {
        form.inline method="post" action="/stop" {
            (token(form_token))
            button.quiet type="submit" name="turn" value=(key) aria-label=[label.map(sanitized)] { (page_talk::stop()) }
        }
    }
}

/// What a button says that asks for the same once more.
fn again(badge: Badge) -> String {
    if badge == Badge::Done { page_talk::ask_again() } else { page_talk::try_again() }
}

/// A message alone.
#[cfg(test)]
pub(crate) fn message_part(it: &Said) -> String {
    let whole = said(it, "").into_string();
    // Without the line that says who and when.
    whole.split_once("</p>").map(|(_, rest)| rest.to_owned()).unwrap_or_default()
}

pub(super) fn said(said: &Said, form_token: &str) -> Markup {
    said_after(said, None, None, form_token)
}

/// A message after another one. Who writes is said once for several in a row. In a turn, its time leads to it.
fn said_after(said: &Said, before: Option<&Said>, turn: Option<&str>, form_token: &str) -> Markup {
    let goes_on = before.is_some_and(|before| {
        before.by == said.by && before.channel == said.channel && before.at.clock == said.at.clock
    });
    let class = match (&said.by, said.is_question()) {
        (Some(_), _) => "said person",
        (None, true) => "said assistant asks",
        (None, false) => "said assistant",
    };
    html! {
        div class=(class) id={ "m-" (said.key) } {
            p class=(if goes_on { "by hidden" } else { "by" }) {
                b { (plain(said.by.as_ref().unwrap_or(&said.assistant))) } " "
                @if let Some(turn) = turn {
                    // With the keyboard, its steps lead there: the way to the message box is long enough.
                    a.at href={ "/turn/" (turn) "#m-" (said.key) } tabindex="-1" { (clock(&said.at)) }
                } @else { (clock(&said.at)) }
                // The channel is said once for a request, unless it is answered elsewhere.
                @if before.is_none_or(|before| before.channel != said.channel) {
                    " " span.channel { (plain(&said.channel)) }
                }
                @if let Some(why) = &said.delivery {
                    " " span class=(if said.by.is_some() { "queued" } else { "undelivered" }) { (why) }
                }
            }
            @if !said.text.is_empty() || said.by.is_none() {
                div.text id={ "t-" (said.key) } {
                    @if said.by.is_some() { p.verbatim { (linked(&said.text)) } } @else { (markdown(&said.text)) }
                }
            }
            @if !said.attached.is_empty() {
                ul.attached {
                    @for (key, name) in &said.attached {
                        li { a href={ "/sent/" (sanitized(key)) } download { (plain(name)) } }
                    }
                }
            }
            @if let Some(file) = &said.file {
                details.file {
                    summary { (plain(&page_talk::file(&file.name))) }
                    p { a href={ "/file/" (said.key) } download { (page_talk::download()) } }
                    @if file.is_json() { pre tabindex="0" { (plain(&file.text)) } } @else { (markdown(&file.text)) }
                }
            }
            @if let Some(plan) = said.plan() {
                p.ways { a href={ "/plans/" (plan) } { (page_talk::plan_page()) } }
            }
            @for one in &said.outcomes { (outcome(one)) }
            (answers(said, form_token))
        }
    }
}

/// Who answered what, when and where.
pub(super) fn outcome(one: &Outcome) -> Markup {
    html! {
        p.outcome {
            span aria-hidden="true" { (one.badge.look().1) } " " b { (plain(&one.what)) } " · " (clock(&one.at))
            @if !one.place.is_empty() { " · " (plain(&one.place)) }
        }
    }
}

/// An answer that is being written, as it will stand there; nothing of an empty text.
pub(crate) fn draft(assistant: &str, channel: &str, text: &str) -> String {
    let draft = html! {
        @if !text.is_empty() {
            div.said.assistant.draft {
                p.by {
                    b { (plain(assistant)) } " " span.channel { (plain(channel)) } " "
                    span.badge.running { span aria-hidden="true" { "▶" } " " (page_talk::writing()) }
                }
                div.text { (markdown(&without_code(text))) }
            }
        }
    };
    draft.into_string()
}

/// The buttons of a question, and the field for words.
pub(super) fn answers(said: &Said, form_token: &str) -> Markup {
    html! {
        @if said.is_question() {
            div.choices role="group" aria-labelledby={ "t-" (said.key) } {
                @if !said.choices.is_empty() {
                    form.buttons method="post" action="/press" {
                        (token(form_token))
                        @for choice in &said.choices {
                            button class=(weight(choice)) type="submit" name="button" value=(choice.id) {
                                (plain(&choice.label))
                            }
                        }
                    }
                }
                @if let Some(asks) = &said.asks { (words(asks, form_token)) }
            }
        }
    }
}

/// A yes is filled, a no stands out, and all else is one of several.
fn weight(choice: &Choice) -> &'static str {
    match choice.id.rsplit_once(':').map(|(_, which)| which) {
        Some("approve" | "continue") => "yes",
        Some("reject" | "stop") => "no",
        _ => "other",
    }
}

/// The field for an answer in words.
fn words(asks: &Asks, form_token: &str) -> Markup {
    let id = format!("words-{}", asks.question);
    let (label, button) = match asks.plan {
        Some(_) => (plans::what_to_change(), plans::change()),
        None => (page_talk::your_answer(), page_talk::answer()),
    };
    html! {
        form.words method="post" action="/answer" {
            (token(form_token))
            input type="hidden" name="once" value=(once());
            input type="hidden" name="question" value=(asks.question);
            label for=(id) { (label) }
            textarea id=(id) name="words" rows="1" required maxlength="4000" {}
            button.other type="submit" { (button) }
        }
    }
}
