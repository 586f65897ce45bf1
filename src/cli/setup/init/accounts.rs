//! Asks for the mail, calendar and contacts accounts, and for the applications with which people connect their own.

use adjutant_skills::accounts::back_at;

use super::check::Part;
use super::draft::Draft;
use super::terminal::Terminal;
use super::wizard::ask_part;
use crate::cli::Result;

/// Ports that start in plain text and upgrade by STARTTLS.
const STARTTLS: [u16; 3] = [25, 143, 587];
/// Ports that are encrypted from the start.
const IMPLICIT: [u16; 2] = [465, 993];

pub(super) async fn ask(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    terminal.say(
        "\nEmail, calendar and contacts. Without them, the assistant keeps its own calendar and contacts, and saves emails \
         as files.",
    )?;
    let is_any = ["mail", "calendar", "contacts", "connect"].iter().any(|section| draft.has(&[section]));
    if !terminal.yes("Connect any of them now?", is_any)? {
        return terminal.say("  You can do that later: run `adjutant init` again.");
    }
    for (section, what) in [("mail", "an email"), ("calendar", "a calendar"), ("contacts", "a contacts")] {
        let is_there = draft.has(&[section]);
        if terminal.yes(&format!("Connect {what} account?"), is_there)? {
            let mut questions = |draft: &mut Draft, terminal: &mut Terminal| match section {
                "mail" => mail(draft, terminal),
                _ => account(draft, terminal, section),
            };
            ask_part(draft, terminal, &Part::Accounts(section), &mut questions).await?;
        } else if is_there {
            terminal
                .say(&format!("  [{section}] stays in the file; delete it there if you don't need it."))?;
        }
    }
    connect(draft, terminal).await
}

/// Asks for what people can connect themselves.
async fn connect(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    terminal.say(
        "\nWith /connect in a chat, people log in to their own email and calendar. Nobody else can see it.",
    )?;
    let is_there = draft.has(&["connect"]);
    if !terminal.yes("Let people connect their own accounts?", is_there)? {
        if is_there {
            terminal.say("  [connect] stays in the file; delete it there if you don't want it.")?;
        }
        return Ok(());
    }
    let config = draft.read_without_secrets().ok();
    let page = config.and_then(|config| config.page().map(|(_, url)| back_at(url)));
    let mut questions = |draft: &mut Draft, terminal: &mut Terminal| {
        if !draft.has(&["connect", "people"]) {
            draft.set_text(&["connect"], "people", "everybody");
        }
        for application in [google(page.as_deref()), microsoft(page.as_deref())] {
            application.ask(draft, terminal)?;
        }
        terminal.say("  iCloud, Fastmail, GMX and others need nothing here: people use an app password.")
    };
    ask_part(draft, terminal, &Part::Connect, &mut questions).await.map(drop)
}

/// An application that is registered at a provider.
struct Application {
    section: &'static str,
    /// Whose accounts, as a question says it.
    accounts: &'static str,
    steps: Vec<String>,
    /// A yes-or-no key or one with a text, its question and what Enter takes.
    more: (&'static str, &'static str, Option<&'static str>),
}

// https://developers.google.com/workspace/guides/configure-oauth-consent, https://developers.google.com/identity/protocols/oauth2
fn google(page: Option<&str>) -> Application {
    let kind = match page {
        Some(back) => format!("“Web application” with the redirect URI {back}"),
        None => "“Desktop app”".to_owned(),
    };
    Application {
        section: "google",
        accounts: "Google",
        steps: vec![
            "Create a project: https://console.cloud.google.com/projectcreate".to_owned(),
            "In its API library, enable the Gmail API, the CalDAV API and the CardDAV API.".to_owned(),
            "Under https://console.cloud.google.com/auth/audience choose “Internal” if all are in your own Workspace: that needs \
             no review. With “External”, add people as test users; in testing, they log in again every seven days."
                .to_owned(),
            format!("Under https://console.cloud.google.com/auth/clients create a client: {kind}."),
        ],
        more: ("internal", "Is it internal, for your own Workspace only?", None),
    }
}

// https://learn.microsoft.com/entra/identity-platform/quickstart-register-app
fn microsoft(page: Option<&str>) -> Application {
    let redirect = match page {
        Some(back) => format!("Under “Authentication”, add the platform “Web” with the redirect URI {back}"),
        None => "Under “Authentication”, switch on “Allow public client flows”.".to_owned(),
    };
    Application {
        section: "microsoft",
        accounts: "Microsoft 365 and Outlook.com",
        steps: vec![
            "Register an application: https://entra.microsoft.com (App registrations)".to_owned(),
            redirect,
            "Under “API permissions”, add these of Microsoft Graph, delegated: User.Read, Mail.ReadWrite, Mail.Send, \
             Calendars.ReadWrite, Contacts.ReadWrite, offline_access."
                .to_owned(),
            match page {
                Some(_) => "Under “Certificates & secrets”, make a client secret and copy its value.".to_owned(),
                None => "Leave the client secret empty.".to_owned(),
            },
        ],
        more: ("tenant", "Tenant: common for all, or your organization's id or domain", Some("common")),
    }
}

impl Application {
    fn ask(&self, draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
        let table = ["connect", self.section];
        let is_there = draft.has(&table);
        if !terminal.yes(&format!("Accounts of {}?", self.accounts), is_there)? {
            return Ok(());
        }
        if !is_there {
            for (index, step) in self.steps.iter().enumerate() {
                terminal.say(&format!("  {}. {step}", index + 1))?;
            }
        }
        let client = terminal.line("Client id", &draft.at(&["connect", self.section, "client_id"]))?;
        draft.set_text(&table, "client_id", &client);
        let has_secret = draft.has(&["connect", self.section, "client_secret"]);
        let answer = terminal.secret("Client secret", if has_secret { "keep it" } else { "none" })?;
        if !answer.trim().is_empty() {
            draft.set_secret(&table, "client_secret", answer.trim());
        }
        let (key, question, suggestion) = self.more;
        let path = ["connect", self.section, key];
        match suggestion {
            None => {
                let is_on = draft.item(&path).and_then(|item| item.as_bool()) == Some(true);
                let answer = terminal.yes(question, is_on)?;
                if answer != is_on {
                    draft.set(&table, key, answer);
                }
            }
            Some(default) => {
                let answer = terminal.line(question, &or(draft.at(&path), || default.to_owned()))?;
                let is_default = answer == default && !draft.has(&path);
                draft.set_text(&table, key, if is_default { "" } else { &answer });
            }
        }
        Ok(())
    }
}

fn mail(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    let from =
        terminal.line("Sender, such as Ada Lovelace <ada@example.org>", &draft.at(&["mail", "from"]))?;
    draft.set_text(&["mail"], "from", &from);
    let address = from.rsplit_once('<').map_or(from.as_str(), |(_, rest)| rest.trim_end_matches('>'));
    let domain = address.rsplit_once('@').map(|(_, domain)| domain.to_owned()).unwrap_or_default();
    let guess = |name: &str| if domain.is_empty() { String::new() } else { format!("{name}.{domain}") };

    let smtp = ["mail", "smtp"];
    let server = terminal
        .line("Outgoing server (SMTP), HOST or HOST:PORT", &or(server(draft, &smtp), || guess("smtp")))?;
    set_server(draft, &smtp, &server);
    let user = terminal.line("User name", &or(draft.at(&["mail", "smtp", "user"]), || address.to_owned()))?;
    draft.set_text(&smtp, "user", &user);
    password(draft, terminal, &smtp, None)?;

    let imap = ["mail", "imap"];
    let suggested = or(self::server(draft, &imap), || guess("imap"));
    let server = terminal.optional("Incoming server (IMAP), HOST or HOST:PORT", &suggested)?;
    if server.is_empty() {
        draft.remove(&imap);
        return Ok(());
    }
    set_server(draft, &imap, &server);
    let user = terminal.line("User name", &or(draft.at(&["mail", "imap", "user"]), || user.clone()))?;
    draft.set_text(&imap, "user", &user);
    password(draft, terminal, &imap, Some(&smtp))
}

/// Asks for a calendar or contacts account.
fn account(draft: &mut Draft, terminal: &mut Terminal, section: &str) -> Result<()> {
    let other = ["calendar"];
    let is_second = section != "calendar" && draft.has(&other);
    let from_other =
        |draft: &Draft, key: &str| if is_second { draft.at(&["calendar", key]) } else { String::new() };
    let url = or(draft.at(&[section, "url"]), || from_other(draft, "url"));
    let url = terminal.line("Server address, https://...", &url)?;
    draft.set_text(&[section], "url", &url);
    let user = or(draft.at(&[section, "user"]), || from_other(draft, "user"));
    let user = or(user, || draft.at(&["mail", "smtp", "user"]));
    let user = terminal.line("User name", &user)?;
    draft.set_text(&[section], "user", &user);
    password(draft, terminal, &[section], is_second.then_some(&other))
}

/// Asks for a password; if there is none yet, Enter may take another account's.
fn password(
    draft: &mut Draft,
    terminal: &mut Terminal,
    table: &[&str],
    other: Option<&[&str]>,
) -> Result<()> {
    let is_there = draft.has(&[table, &["password"]].concat());
    let other = other.and_then(|other| draft.item(&[other, &["password"]].concat())?.as_value().cloned());
    let enter = match (is_there, &other) {
        (true, _) => "keep it",
        (false, Some(_)) => "the same",
        (false, None) => "",
    };
    let answer = terminal.secret("Password", enter)?;
    match other {
        _ if !answer.is_empty() => draft.set_secret(table, "password", &answer),
        Some(other) if !is_there => draft.set(table, "password", other),
        _ => {}
    }
    Ok(())
}

/// The server of a table, as people type it.
fn server(draft: &Draft, table: &[&str]) -> String {
    let host = draft.at(&[table, &["host"]].concat());
    match draft.item(&[table, &["port"]].concat()).and_then(|port| port.as_integer()) {
        Some(port) if !host.is_empty() => format!("{host}:{port}"),
        _ => host,
    }
}

/// Sets a server; a well-known port decides the encryption.
pub(super) fn set_server(draft: &mut Draft, table: &[&str], server: &str) {
    if server == self::server(draft, table) {
        return;
    }
    let split = server.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    // Without a valid port, all of it is the name, and reading the configuration reports it.
    let (host, port) = split.map_or((server, None), |(host, port)| (host, Some(port)));
    draft.set_text(table, "host", host);
    match port {
        Some(port) => draft.set(table, "port", i64::from(port)),
        None => draft.remove(&[table, &["port"]].concat()),
    }
    if port.is_some_and(|port| STARTTLS.contains(&port)) {
        draft.set_text(table, "tls", "starttls");
    } else if port.is_none_or(|port| IMPLICIT.contains(&port)) {
        draft.remove(&[table, &["tls"]].concat());
    }
}

fn or(text: String, other: impl FnOnce() -> String) -> String {
    if text.is_empty() { other() } else { text }
}
