//! The page against a small engine, and hostile texts in everything it shows.

mod engine;

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_chat::{Address, AnswerDraft, ChatPort, Delivery, Finding, Outbound, Reconciliation};
use adjutant_fakes::conformance::{HOSTILE, Platform, Seen, check_all};
use async_trait::async_trait;
pub(crate) use engine::Engine;

use crate::PasskeyLine;
use crate::pages::{self, Frame};
use crate::views::{
    AccountLine, Asked, Asks, Badge, Bar, Cell, Details, Drawing, DrawnArrow, DrawnStep, Edit, Entry, Field,
    FieldKind, Hit, Hits, LogLine, LoginOffer, Moment, Note, NotifyOf, Now, Outcome, PageAction, PersonLine,
    Plan, PlanLine, PlanStep, Planned, QuestionLine, Row, RowKind, Run, RunLine, RunStep, Said, Session,
    SettingsEdit, SettingsField, SettingsInput, SettingsPage, SettingsPreview, SettingsSection, Spent,
    Started, Table, TableRow, Timeline, Turn, Usage, UsageDay, UsageLine, Viewer, WorkflowLine, WorkflowPage,
    Workflows,
};
use crate::{Settings, Web};

/// The port as the engine uses it: a message is in the outbox before it is delivered.
struct Journalled {
    web: Web,
    engine: Arc<Engine>,
}

#[async_trait]
impl ChatPort for Journalled {
    fn channel(&self) -> &str {
        self.web.channel()
    }
    fn limits(&self) -> adjutant_chat::Limits {
        self.web.limits()
    }
    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        self.web.show_draft(draft).await
    }
    fn draft_pace(&self, address: &Address) -> std::time::Duration {
        self.web.draft_pace(address)
    }
    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        self.engine.outbox.lock().unwrap().push(outbound.clone());
        self.web.deliver(outbound).await
    }
    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        self.web.reconcile(outbound).await
    }
}

#[derive(Default)]
struct World(Arc<Engine>);

fn said(outbound: &Outbound) -> Said {
    Said {
        key: outbound.id.clone(),
        by: None,
        assistant: "A".into(),
        channel: "web".into(),
        at: Moment::default(),
        text: outbound.text.clone(),
        file: None,
        choices: outbound.choices.clone(),
        asks: None,
        outcomes: Vec::new(),
        attached: Vec::new(),
        delivery: None,
    }
}

/// What a browser makes of a part of a page: its text, and the values of its buttons with their labels.
fn read(html: &str) -> (String, Vec<adjutant_chat::Choice>) {
    let plain = |text: &str| {
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    };
    let (mut text, mut choices, mut button) = (String::new(), Vec::new(), None);
    for piece in html.split('<').skip(1) {
        let (tag, behind) = piece.split_once('>').unwrap_or((piece, ""));
        if tag.starts_with("button") {
            button = tag.split("value=\"").nth(1).and_then(|rest| rest.split('"').next()).map(plain);
        } else if tag.starts_with("/p") || tag.starts_with("br") || tag.starts_with("/pre") {
            text.push('\n');
        }
        match button.take_if(|_| !behind.is_empty()) {
            Some(id) => choices.push(adjutant_chat::Choice { id, label: plain(behind) }),
            None => text.push_str(&plain(behind)),
        }
    }
    (text, choices)
}

#[async_trait]
impl Platform for World {
    fn connect(&self) -> Arc<dyn ChatPort> {
        let listen = "127.0.0.1:8090".parse().unwrap();
        let public_url = "http://127.0.0.1:8090".into();
        let web = Web::new(Settings {
            channel: "web".into(),
            listen,
            public_url,
            push_hosts: Vec::new(),
            assistant: "A".into(),
        });
        web.connect(self.0.clone());
        Arc::new(Journalled { web, engine: self.0.clone() })
    }
    fn address(&self) -> Address {
        Address { channel: "web".into(), place: "ada".into() }
    }
    async fn seen(&self) -> Vec<Seen> {
        let outbox = self.0.outbox.lock().unwrap();
        let seen = |outbound: &Outbound| {
            let (text, choices) = read(&pages::message_part(&said(outbound)));
            Seen { text, choices, file: None }
        };
        outbox.iter().map(seen).collect()
    }
}

#[tokio::test]
async fn it_passes_the_suite_of_all_adapters() {
    check_all(World::default).await;
}

/// A message with this text everywhere.
fn message(text: &str, by: Option<&str>) -> Said {
    let choice = adjutant_chat::Choice { id: "q:1".into(), label: text.into() };
    let file = adjutant_chat::OutgoingFile { name: text.into(), text: text.into() };
    let (badge, at) = (Badge::Done, Moment::default());
    Said {
        key: "k".into(),
        by: by.map(str::to_owned),
        assistant: text.into(),
        channel: text.into(),
        at: Moment::default(),
        text: text.into(),
        file: Some(file),
        choices: vec![choice],
        asks: Some(Asks { question: "q".into(), plan: None }),
        outcomes: vec![Outcome { badge, what: text.into(), at, place: text.into() }],
        attached: vec![("f".into(), text.into())],
        delivery: None,
    }
}

/// A turn with this text everywhere.
fn a_turn(text: &str) -> Turn {
    let row = |depth, kind| Row {
        execution: "e".into(),
        depth,
        kind,
        badge: Badge::Running,
        title: text.into(),
        about: text.into(),
        needs: vec![text.into()],
        tainted: true,
        figures: vec![text.into()],
        micros: 7,
        bar: Some(Bar { from: 0, to: 9, work: vec![(1, 2)] }),
    };
    Turn {
        key: "t".into(),
        person: "p".into(),
        can_repeat: true,
        lasted: 9,
        badge: Badge::Waiting,
        is_open: true,
        asked: vec![message(text, Some(text))],
        rows: vec![row(0, RowKind::Orchestrator), row(1, RowKind::Agent), row(2, RowKind::Skill)],
        hidden: 3,
        figures: vec![text.into()],
        replies: vec![message(text, None)],
    }
}

/// A drawing with this text everywhere.
fn a_drawing(text: &str) -> Drawing {
    let step = DrawnStep {
        place: (1, 2),
        size: (3, 4),
        radius: 5,
        texts: vec![text.into(), text.into()],
        whole: text.into(),
        state: Some((Badge::Done, text.into())),
    };
    let arrow = DrawnArrow { path: "M0 0".into(), label: Some((1, 2, text.into())) };
    Drawing { size: (9, 9), line: 18, steps: vec![step], arrows: vec![arrow] }
}

/// The pages about workflows with this text everywhere.
fn workflow_pages(frame: &Frame<'_>, text: &str) -> Vec<String> {
    let field =
        |kind| Field { name: text.into(), about: text.into(), kind, is_required: true, value: text.into() };
    let fields = vec![
        field(FieldKind::Text),
        field(FieldKind::Line),
        field(FieldKind::Number),
        field(FieldKind::YesNo),
    ];
    let (about, explained) = (text.to_owned(), text.to_owned());
    let page = WorkflowPage { name: text.into(), about, explained, drawing: a_drawing(text), fields };
    let badge = Badge::Done;
    let step = RunStep { name: text.into(), by: text.into(), badge, notes: vec![text.into()] };
    let run = Run {
        key: "r".into(),
        workflow: text.into(),
        is_known: true,
        badge,
        at: Moment::default(),
        inputs: vec![(text.into(), text.into())],
        drawing: a_drawing(text),
        steps: vec![step],
        figures: vec![text.into()],
        warnings: vec![text.into()],
        output: text.into(),
        again: vec![text.into()],
        turn: a_turn(text),
    };
    let (by, at) = (Some(text.to_owned()), Moment::default());
    let line = RunLine { key: "r".into(), workflow: text.into(), by, badge, at, lasted: text.into() };
    let workflows = vec![WorkflowLine { name: text.into(), about: text.into() }];
    vec![
        pages::workflows(frame, &Workflows { workflows, runs: vec![line] }),
        pages::workflow(frame, &page, Some(&Planned::Plan(text.into()))),
        pages::workflow(frame, &page, Some(&Planned::Problems(vec![text.into()]))),
        pages::started(frame, "k", &Started::Run(Box::new(run))),
        pages::started(frame, "k", &Started::Turn(Box::new(a_turn(text)))),
    ]
}

/// The pages about plans with this text everywhere.
fn plan_pages(frame: &Frame<'_>, text: &str) -> Vec<String> {
    let (by, at) = (Some(text.to_owned()), Moment::default());
    let line = PlanLine {
        key: "p".into(),
        goal: text.into(),
        by,
        badge: Badge::Waiting,
        at: at.clone(),
        act: Some(PageAction::DeletePlan),
    };
    let step = PlanStep {
        name: text.into(),
        role: text.into(),
        task: text.into(),
        criteria: text.into(),
        badge: Some(Badge::Done),
        notes: vec![text.into()],
        verdict: Some(text.into()),
    };
    let asks = Some(Asks { question: "q".into(), plan: Some("p".into()) });
    let plan = Plan {
        key: "p".into(),
        goal: text.into(),
        version: 2,
        badge: Badge::Waiting,
        at,
        note: String::new(),
        questions: vec![Said { asks, ..message(text, None) }, message(text, None)],
        drawing: a_drawing(text),
        steps: vec![step],
        uncertain: vec![text.into()],
        will_ask: vec![text.into()],
        forecast: text.into(),
        spent: vec![text.into()],
        warnings: vec![text.into()],
        output: text.into(),
        turn: a_turn(text),
    };
    vec![
        pages::plans(frame, &[line], Some((text, text))),
        pages::started(frame, "/plans/p", &Started::Plan(Box::new(plan))),
    ]
}

/// The pages of the settings with this text everywhere.
fn settings_pages(frame: &Frame<'_>, text: &str) -> Vec<String> {
    let choices = vec![("true", text.to_owned())];
    let inputs = [
        SettingsInput::Line,
        SettingsInput::Lines,
        SettingsInput::Choice(choices),
        SettingsInput::Secret(text.into()),
    ];
    let field = |input| SettingsField {
        key: text.into(),
        about: text.into(),
        example: text.into(),
        input,
        value: text.into(),
    };
    let fields = inputs.map(field).to_vec();
    let section = SettingsSection { title: text.into(), test: Some(text.into()), fields };
    let page = SettingsPage {
        digest: "d".into(),
        sections: vec![section],
        problems: vec![text.into()],
        needs_restart: vec![text.into()],
        changes: vec![(text.into(), text.into(), Moment::default())],
        can_undo: true,
    };
    let typed = BTreeMap::from([(text.to_owned(), text.to_owned())]);
    let edit = SettingsEdit { digest: text.into(), typed, is_undo: true, is_confirmed: false };
    let preview = |command| SettingsPreview {
        lines: vec![(true, text.into()), (false, text.into())],
        needs_restart: vec![text.into()],
        command,
    };
    vec![
        pages::settings(frame, &page, &edit.typed, (&[text.to_owned()], &[Finding::error(text, text)])),
        pages::settings_change(frame, &edit, &preview(None)),
        pages::settings_change(frame, &edit, &preview(Some(text.into()))),
    ]
}

fn viewer(name: &str) -> Viewer {
    Viewer {
        person: "p".into(),
        name: name.into(),
        assistant: name.into(),
        is_owner: true,
        session: "s".into(),
        zone: None,
        waiting: 2,
    }
}

/// The pages of the accounts with this text everywhere.
fn account_pages(frame: &Frame<'_>, text: &str) -> Vec<String> {
    let mut all = [false, true]
        .map(|needs_login| {
            let account = AccountLine {
                key: "a".into(),
                label: text.into(),
                address: text.into(),
                about: text.into(),
                needs_login,
                help: Some("https://example.org/passwords"),
                is_own: true,
                is_mail_default: Some(false),
                is_events_default: Some(true),
                busy: text.into(),
                used: Some((Moment::default(), Some("t".into()))),
            };
            pages::accounts(frame, &[account])
        })
        .to_vec();
    all.extend([false, true].map(|is_by_password| {
        let offer = LoginOffer { person: text.into(), provider: text.into(), is_by_password };
        pages::connect("nonce", &offer, Some(text))
    }));
    all
}

/// A table of Yours with this text everywhere.
fn a_table(text: &str) -> Table {
    let cells = vec![Cell::Text(text.into()), Cell::Link(text.into(), format!("/turn/{text}"))];
    let acts = [PageAction::CompleteTask, PageAction::DeleteTask].map(|act| (act, "k".to_owned())).to_vec();
    let edit = |act| {
        let fields = vec![(text.to_owned(), text.to_owned())];
        TableRow {
            edit: Some(Edit { act, key: text.into(), fields }),
            acts: acts.clone(),
            cells: cells.clone(),
        }
    };
    let (columns, rows) =
        (vec!["what".into(), "when".into()], vec![edit(PageAction::EditTask), edit(PageAction::EditMemory)]);
    let field = Some((PageAction::AddTask, "New".into()));
    Table { title: "Tasks".into(), empty: "None.".into(), columns, rows, field }
}

/// Everything on a page with this text wherever a person, a mail or a model can put one.
fn everything(text: &str) -> Vec<String> {
    let viewer = viewer(text);
    let frame = || Frame { title: text.into(), path: "/", viewer: Some(&viewer), token: "t", live: None };
    let (message, turn) = (|by: Option<&str>| message(text, by), a_turn(text));
    let entries = vec![Entry::Turn(turn.clone()), Entry::Said(Box::new(message(Some(text))))];
    let timeline = Timeline {
        person: "q".into(),
        name: text.into(),
        entries,
        older: Some(1),
        channels: vec!["web".into(), text.into()],
        channel: text.into(),
        speech: Some(600),
    };
    let hit = Hit {
        text: text.into(),
        about: text.into(),
        at: Some(Moment::default()),
        to: format!("/turn/{text}"),
    };
    let hits = Hits { title: "Tasks".into(), hits: vec![hit] };
    let asked = || Asked { turn: "t".into(), about: text.into(), message: message(None) };
    let now = Now {
        turns: vec![(text.into(), turn), (text.into(), Turn { person: "q".into(), ..a_turn(text) })],
        questions: vec![asked(), asked()],
        over_budget: 2,
        answered: vec![asked()],
        due: vec![(Moment::default(), text.into())],
        channels: vec![(text.into(), "ok")],
        budgets: vec![crate::views::Budget {
            name: text.into(),
            used: text.into(),
            limit: Some((text.into(), 3)),
        }],
    };
    let details = Details { turn: "t".into(), title: text.into(), parts: vec![(text.into(), text.into())] };
    let session = Session {
        key: "s".into(),
        browser: text.into(),
        since: Moment::default(),
        seen: Moment::default(),
        notified: NotifyOf::News,
        by_passkey: true,
    };
    let passkey = PasskeyLine {
        key: "k".into(),
        browser: text.into(),
        since: Moment::default(),
        used: Some(Moment::default()),
    };
    let (accounts, last) = (vec![text.to_owned()], Moment::default());
    let person = PersonLine { person: "p".into(), name: text.into(), accounts, is_owner: true, last };
    let parts = vec![Spent { tokens: 3, nano_usd: 1 }; 2];
    let days = vec![UsageDay { day: "2026-11-21".into(), parts }];
    let people = vec![text.to_owned()];
    let used = UsageLine { of: "model", name: text.into(), calls: 1, tokens: 2, usd: 0.1 };
    let asked = QuestionLine { name: text.into(), median: text.into(), ..QuestionLine::default() };
    let mut all = vec![
        pages::tables(&frame(), &[a_table(text)]),
        pages::search(&frame(), text, &[hits]),
        pages::note(&frame(), &Note { path: text.into(), text: text.into(), version: text.into() }),
        pages::log(&frame(), text, &[LogLine { at: Moment::default(), level: "WARN", text: text.into() }]),
        pages::usage(&frame(), &Usage { days, people, lines: vec![used], questions: vec![asked] }),
        pages::talk(&frame(), &timeline, true),
        pages::now(&frame(), &now),
        pages::trace(&frame(), &a_turn(text)),
        pages::another(&frame(), text, "code", "/talk"),
        pages::details_page(&frame(), &details),
        pages::sessions(&frame(), &[session], &[passkey], Some("https://bot.example.org")),
        pages::people(&frame(), &[person]),
        pages::message(&frame(), text),
        pages::draft(text, text, text),
    ];
    all.extend(workflow_pages(&frame(), text));
    all.extend(plan_pages(&frame(), text));
    all.extend(settings_pages(&frame(), text));
    all.extend(account_pages(&frame(), text));
    all.push(pages::connect_ended(text));
    all
}

/// The tags and attribute names of a page, in order.
fn skeleton(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let (mut tag, mut quoted, mut end) = (String::new(), false, rest.len());
        for (at, one) in rest.char_indices() {
            match one {
                '"' => quoted = !quoted,
                '>' if !quoted => {
                    end = at;
                    break;
                }
                _ if !quoted => tag.push(one),
                _ => {}
            }
        }
        tags.push(tag);
        rest = &rest[end..];
    }
    tags
}

#[test]
fn no_text_from_elsewhere_changes_a_page() {
    let corpus = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "\" autofocus onfocus=\"alert(1)",
        "</textarea><script>alert(1)</script>",
        "</title><script>alert(1)</script>",
        "<svg/onload=alert(1)>",
        "<!--<img src=\"--><img src=x onerror=alert(1)//\">",
        "<iframe srcdoc='<script>alert(1)</script>'>",
        "javascript:alert(1)",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "\u{202e}<b>turned\u{0}",
        "<a href=\"javascript:alert(1)\">x</a>",
    ];
    // Markdown may make paragraphs and lists, but no other tag.
    let allowed =
        ["p", "/p", "br", "strong", "/strong", "em", "/em", "code", "/code", "pre tabindex=", "/pre"];
    let is_markup = |tag: &String| allowed.contains(&tag.as_str());
    let plain = everything("harmless");
    for text in corpus.iter().chain(HOSTILE.iter().take(2)) {
        for (page, harmless) in everything(text).iter().zip(&plain) {
            let tags =
                |page: &str| skeleton(page).into_iter().filter(|tag| !is_markup(tag)).collect::<Vec<_>>();
            assert_eq!(tags(page), tags(harmless), "{text}");
            assert!(!page.contains("href=\"javascript"), "{text}");
            assert!(!page.contains(['\u{202e}', '\u{0}']), "{text}");
        }
    }
}

#[test]
fn a_paragraph_holds_nothing_that_would_end_it() {
    for page in everything("harmless") {
        let mut is_open = false;
        for tag in skeleton(&page) {
            let name = tag.split(' ').next().unwrap_or_default();
            let is_block = ["form", "div", "ul", "p"].contains(&name);
            assert!(!(is_open && is_block), "<{tag}> in a paragraph: {page}");
            is_open = (is_open || name == "p") && name != "/p";
        }
    }
}

#[test]
fn only_questions_about_a_days_budget_are_answered_together() {
    let viewer = viewer("Ada");
    let frame = Frame { title: "Now".into(), path: "/", viewer: Some(&viewer), token: "t", live: None };
    let asked = |key: &str, answers: &[&str]| {
        let choice = |which: &&str| adjutant_chat::Choice { id: format!("{key}:{which}"), label: "x".into() };
        let choices = answers.iter().map(choice).collect();
        let message = Said { key: key.into(), choices, asks: None, ..message(key, None) };
        Asked { turn: key.into(), about: String::new(), message }
    };
    let questions = vec![
        asked("a", &["continue", "stop"]),
        asked("b", &["continue", "summarise", "stop"]),
        asked("c", &["approve", "reject"]),
        asked("d", &["continue", "stop"]),
    ];
    let page = |over_budget| {
        pages::now(&frame, &Now { questions: questions.clone(), over_budget, ..Now::default() })
    };
    let whole = page(486);
    let at = whole.find("id=\"over-budget\"").unwrap();
    let (together, rest) = whole[at..].split_once("</details>").unwrap();
    assert!(together.contains("486 requests wait") && together.contains("value=\"continue\""), "{together}");
    assert!(["m-a", "m-d"].iter().all(|id| together.contains(id)), "{together}");
    assert!(["m-b", "m-c"].iter().all(|id| !together.contains(id) && rest.contains(id)), "{rest}");
    assert!(!page(1).contains("name=\"all\""), "one is answered by its own buttons");
}

#[test]
fn what_a_browser_loads_is_small() {
    let sizes = crate::assets::ASSETS.map(|(.., content)| content.len());
    assert!(sizes.iter().sum::<usize>() < 100_000, "{sizes:?}");
    assert!(include_str!("../assets/page.css").lines().count() < 600);
}
