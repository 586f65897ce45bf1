//! Triage of 100 mails in the morning briefing: model calls and their size. `cargo bench --bench triage`.

#![cfg(test)] // so that the lints know the helpers for tests

#[expect(dead_code, reason = "the flows use more of it")]
#[path = "../tests/flows/app.rs"]
mod app;
#[path = "../tests/flows/bases.rs"]
mod bases;

use std::process::ExitCode;

use adjutant_config::{Config, MailConfig, MailServer, People, Secret, Tls};
use adjutant_fakes::mail_server::{self, Server};
use adjutant_test_support::scripted;

use app::{TestApp, scripted_with};
use scripted::{Scripted, Who, text};

const MAILS: usize = 100;

fn account(server: &Server, port: u16) -> MailServer {
    MailServer {
        host: "localhost".into(),
        port,
        tls: Tls::Implicit,
        user: "bot@example.test".into(),
        password: Secret::new("bot-secret"),
        ca_file: Some(server.file("ca.pem")),
    }
}

/// Long names, subjects and texts, as they come.
fn fill(server: &Server) {
    let inbox = server.file("store/bot@example.test/Maildir/new");
    for n in 0..MAILS {
        let letter = format!(
            "From: Person Number {n} of a Rather Long Name <person-{n}@some-company.elsewhere.test>\r\nTo: bot@example.test\r\n\
             Message-ID: <{n}@elsewhere.test>\r\nDate: Fri, 20 Nov 2026 09:00:00 +0000\r\n\
             Subject: Question {n} about the offer of last week and what we said on the phone about it\r\n\r\n{}\r\n",
            "Could you have a look at this, please, and tell me what you think? ".repeat(20)
        );
        mail_server::plant(&inbox, &format!("1.{n}.test"), &letter).unwrap();
    }
}

async fn table(server: &Server) -> bool {
    let mail = MailConfig {
        from: "Bot <bot@example.test>".into(),
        internal_domains: Vec::new(),
        self_copy: false,
        smtp: account(server, server.submissions),
        imap: Some(account(server, server.imaps)),
        people: People::default(),
        label: "shared".into(),
    };
    let model = Scripted::new().plain(|_| text(r#"[{"n": 1, "asked": "a look", "sure": 1}]"#));
    let app: TestApp = scripted_with(model, |config: &mut Config| config.mail = Some(mail)).await;
    // Whoever looks into a mailbox first makes it.
    app.says("ada", "/run morning-briefing").await;
    fill(server);
    let before = app.requests(Who::Plain).len();
    app.says("ada", "/run morning-briefing").await;
    let requests = app.requests(Who::Plain).split_off(before);
    let bytes: usize = requests.iter().map(|request| serde_json::to_string(request).unwrap().len()).sum();
    println!("| what | measured | target |\n| --- | --- | --- |");
    println!("| model calls to triage {MAILS} mails | {} | 2 |", requests.len());
    println!("| their size together | {bytes} bytes | 20,480 bytes |");
    app.ends_well().await;
    requests.len() <= 2 && bytes <= 20_480
}

fn main() -> ExitCode {
    // Nothing can be said of mail without one.
    let Some(server) = mail_server::shared().unwrap() else { return ExitCode::FAILURE };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if runtime.block_on(table(server)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
