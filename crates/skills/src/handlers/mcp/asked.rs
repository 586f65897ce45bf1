//! Questions of a server that must be answered before it goes on with a call.
//!
//! - All its texts are from outside: cut, and with hidden characters made visible.
//! - A person answers field by field. Only what they gave goes back, checked against what was asked for.
//! - Nothing that looks like a password or a key is asked for: the protocol forbids it in a chat.

use std::collections::BTreeMap;

use adjutant_l10n::mcp;
use adjutant_turn::wording::asked::How;
use adjutant_types::invisible_chars::{line, shown};
use adjutant_types::text::shortened;
use reqwest::Url;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::field::{DECLINE, Field, Given, Said, names_secret};

/// How often a server may ask during one call.
pub(super) const MAX_ROUNDS: u32 = 5;
/// The most fields of one form, and questions of one round.
const MAX_FIELDS: usize = 10;
/// The longest message of a server, in characters and lines.
const MAX_MESSAGE: usize = 1000;
const MAX_LINES: usize = 15;
/// The longest address that is shown.
const MAX_ADDRESS: usize = 2000;
/// The longest state that is stored for a server.
const MAX_STATE: usize = 64 * 1024;

/// The word that says yes, and the one that says no, to a question without fields.
const YES: &str = "Yes";
const NO: &str = "No";
/// The word that says that an address was opened.
const DONE: &str = "Done";

/// A server's questions, with the answers so far. The journal stores them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The state that the server wants back with the answers.
    pub(super) state: Option<String>,
    /// Whether the call is still under way in a connection of one process.
    #[serde(rename = "is_held")]
    is_call_open: bool,
    /// Whether pages have to be opened before the call is made at all.
    #[serde(default)]
    opens_first: bool,
    /// How often it has asked during this call.
    pub(super) rounds: u32,
    asks: Vec<Ask>,
    /// Why the last answer didn't fit.
    misfit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ask {
    key: String,
    message: String,
    kind: AskKind,
    reply: Option<Reply>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AskKind {
    /// A form. One without fields asks for a yes.
    Form(Vec<Field>),
    /// An address that the person should open.
    Address(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Accepted,
    Declined,
    Cancelled,
}

/// The next question for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompted {
    /// In a few words, for a list of questions.
    pub subject: String,
    /// The server's words.
    pub words: String,
    /// The labels of the buttons, and the words that each stands for.
    pub buttons: Vec<(String, String)>,
    pub how: How,
    /// Why the last answer didn't fit.
    pub misfit: Option<String>,
}

impl Ask {
    /// Reads a question, or says why nobody is asked.
    pub(super) fn read(key: &str, params: &ElicitRequestParams) -> Result<Self, String> {
        let (message, kind) = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let required = requested_schema.required.as_deref().unwrap_or_default();
                let names = requested_schema.property_order.iter().flatten();
                let fields: Vec<Field> = names
                    .filter_map(|name| {
                        let schema = serde_json::to_value(requested_schema.properties.get(name)?).ok()?;
                        Some(Field::new(name, schema, required.contains(name)))
                    })
                    .collect();
                if fields.len() > MAX_FIELDS {
                    return Err(mcp::asks_too_much(fields.len(), MAX_FIELDS));
                }
                let asks_in_words = fields.iter().any(Field::is_text) && names_secret(message);
                if asks_in_words || fields.iter().any(Field::asks_for_secret) {
                    return Err(mcp::asks_secret());
                }
                (message, AskKind::Form(fields))
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                (message, AskKind::Address(address(url)?))
            }
            _ => return Err(mcp::asks_unsupported()),
        };
        Ok(Self { key: key.to_owned(), message: cut(message), kind, reply: None })
    }

    /// The answer for the server; none while it is open.
    pub(super) fn result(&self) -> Option<ElicitResult> {
        let action = match self.reply? {
            Reply::Accepted => ElicitationAction::Accept,
            Reply::Declined => ElicitationAction::Decline,
            Reply::Cancelled => ElicitationAction::Cancel,
        };
        let result = ElicitResult::new(action.clone());
        let AskKind::Form(fields) = &self.kind else { return Some(result) };
        if action != ElicitationAction::Accept {
            return Some(result);
        }
        let given = fields.iter().filter_map(|field| match &field.given {
            Some(Given::Value(value)) => Some((field.name.clone(), value.clone())),
            _ => None,
        });
        Some(result.with_content(Value::Object(given.collect::<Map<_, _>>())))
    }

    /// The field that is asked for now.
    fn field(&self) -> Option<&Field> {
        match &self.kind {
            AskKind::Form(fields) => fields.iter().find(|field| field.given.is_none()),
            AskKind::Address(_) => None,
        }
    }

    fn take(&mut self, words: &str) -> Result<(), String> {
        let AskKind::Form(fields) = &mut self.kind else {
            return self.close_by(words, DONE, mcp::neither_done_nor_no);
        };
        let Some(field) = fields.iter_mut().find(|field| field.given.is_none()) else {
            return self.close_by(words, YES, mcp::neither_yes_nor_no);
        };
        match field.read(words) {
            Said::Declined => self.reply = Some(Reply::Declined),
            Said::Misfit(why) => return Err(why),
            Said::Given(given) => field.given = Some(given),
        }
        if self.reply.is_none() && self.field().is_none() {
            self.reply = Some(Reply::Accepted);
        }
        Ok(())
    }

    fn close_by(
        &mut self,
        words: &str,
        yes: &str,
        neither: impl FnOnce(String) -> String,
    ) -> Result<(), String> {
        let yes = yes.to_lowercase();
        self.reply = match words.trim().trim_end_matches(['.', '!']).to_lowercase().as_str() {
            text if text == yes || text == format!("{yes} please") => Some(Reply::Accepted),
            "no" | "no thanks" | "decline" => Some(Reply::Declined),
            _ => return Err(neither(line(words, 40))),
        };
        Ok(())
    }
}

impl Asked {
    /// A question in the middle of a call that is open.
    pub(super) fn in_open_call(ask: Ask, rounds: u32) -> Self {
        Self { is_call_open: true, rounds, asks: vec![ask], ..Self::default() }
    }

    /// The questions of a result, or why nobody is asked.
    pub(super) fn read(result: &InputRequiredResult, rounds: u32) -> Result<Self, String> {
        let requests = result.input_requests.iter().flatten();
        let asks: Vec<Ask> = requests
            .map(|(key, request)| match request {
                InputRequest::Elicitation(request) => Ask::read(key, &request.params),
                InputRequest::ListRoots(_) => Err(mcp::asks_for_folders()),
                _ => Err(mcp::asks_for_model()),
            })
            .collect::<Result<_, _>>()?;
        if asks.len() > MAX_FIELDS {
            return Err(mcp::asks_many_questions(asks.len(), MAX_FIELDS));
        }
        let state = result.request_state.clone();
        if state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
            return Err(mcp::state_too_long());
        }
        Ok(Self { state, rounds, asks, ..Self::default() })
    }

    /// Whether the call is still under way in a connection of one process.
    pub(super) fn is_call_open(&self) -> bool {
        self.is_call_open
    }

    /// The pages that a server wants opened before it is called again, as its error names them; or why nobody is asked.
    pub(super) fn first(error: &Value, rounds: u32) -> Result<Self, String> {
        let pages: Vec<ElicitRequestParams> =
            serde_json::from_value(error["elicitations"].clone()).map_err(|_| mcp::names_no_page())?;
        match pages.len() {
            0 => return Err(mcp::names_no_page()),
            1..=MAX_FIELDS => {}
            count => return Err(mcp::names_many_pages(count, MAX_FIELDS)),
        }
        let asks = pages.iter().map(|page| Ask::read("", page)).collect::<Result<_, _>>()?;
        Ok(Self { rounds, asks, opens_first: true, ..Self::default() })
    }

    /// Whether a page that had to be opened first wasn't.
    pub(super) fn is_in_vain(&self) -> bool {
        self.opens_first && self.asks.iter().any(|ask| ask.reply != Some(Reply::Accepted))
    }

    /// The next question; none once everything is answered.
    pub fn next(&self) -> Option<Prompted> {
        let ask = self.asks.iter().find(|ask| ask.reply.is_none())?;
        let mut words = vec![ask.message.clone()];
        let (buttons, how) = match (&ask.kind, ask.field()) {
            (AskKind::Address(address), _) => {
                let host = Url::parse(address).ok()?.host_str()?.to_owned();
                let how = How::Open { address: address.clone(), host };
                (vec![(mcp::done(), DONE.to_owned()), (mcp::decline(), DECLINE.to_owned())], how)
            }
            (AskKind::Form(_), None) => {
                (vec![(mcp::yes(), YES.to_owned()), (mcp::no(), NO.to_owned())], How::Confirm)
            }
            (AskKind::Form(_), Some(field)) => {
                words.push(field.described());
                words.extend(field.listed());
                let how = How::Write {
                    several: field.takes_several(),
                    optional: !field.required,
                    suggested: field.suggestion(),
                };
                let buttons = field.buttons();
                (buttons.clone(), if buttons.is_empty() { how } else { How::Choose })
            }
        };
        words.retain(|words| !words.is_empty());
        Some(Prompted {
            subject: line(&ask.message, 80),
            words: words.join("\n"),
            buttons,
            how,
            misfit: self.misfit.clone(),
        })
    }

    /// Takes a person's words, or that nobody answered. A no is a no to all that is still open.
    pub fn take(&mut self, words: Option<&str>) {
        self.misfit = None;
        let Some(ask) = self.asks.iter_mut().find(|ask| ask.reply.is_none()) else { return };
        match words.map(|words| ask.take(words)) {
            None => ask.reply = Some(Reply::Cancelled),
            Some(Ok(())) => {}
            Some(Err(why)) => self.misfit = Some(why),
        }
        if let Some(no @ (Reply::Declined | Reply::Cancelled)) = ask.reply {
            self.asks.iter_mut().for_each(|ask| ask.reply = ask.reply.or(Some(no)));
        }
    }

    /// Whether it wants nothing from a person, only to be called again.
    pub(super) fn is_pause(&self) -> bool {
        self.asks.is_empty()
    }

    /// The answer to the question of a call that is open.
    pub(super) fn result(&self) -> Option<ElicitResult> {
        self.asks.first().and_then(Ask::result)
    }

    /// The answers by their keys. That a page was opened is no answer.
    pub(super) fn responses(&self) -> BTreeMap<String, Value> {
        let response = |ask: &Ask| Some((ask.key.clone(), serde_json::to_value(ask.result()?).ok()?));
        self.asks.iter().filter(|_| !self.opens_first).filter_map(response).collect()
    }
}

/// An address that can be shown to a person as it is.
fn address(written: &str) -> Result<String, String> {
    let Ok(url) = Url::parse(written) else { return Err(mcp::address_unreadable()) };
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if !(url.scheme() == "https" || (url.scheme() == "http" && is_local)) {
        return Err(mcp::address_insecure());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(mcp::address_disguised());
    }
    let shown = url.to_string();
    if shown.len() > MAX_ADDRESS { Err(mcp::address_too_long()) } else { Ok(shown) }
}

/// A message with its lines, cut.
fn cut(message: &str) -> String {
    let shown = shown(&message.replace("\r\n", "\n"));
    let text = shown.trim().lines().take(MAX_LINES).collect::<Vec<_>>().join("\n");
    match shown.trim().lines().count() > MAX_LINES {
        true => shortened(&format!("{text}\n…"), MAX_MESSAGE),
        false => shortened(&text, MAX_MESSAGE),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(message: &str, schema: Value) -> Result<Ask, String> {
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        Ask::read("k", &serde_json::from_value(params).unwrap())
    }

    fn open(url: &str) -> Result<Ask, String> {
        let params = json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"});
        Ask::read("k", &serde_json::from_value(params).unwrap())
    }

    fn asked(ask: Ask) -> Asked {
        Asked { asks: vec![ask], ..Asked::default() }
    }

    #[test]
    fn a_form_is_asked_field_by_field_in_its_own_order() {
        let schema = json!({"type": "object", "required": ["zoo"], "properties": {
            "zoo": {"type": "string", "title": "Zoo"}, "age": {"type": "integer"}, "wild": {"type": "boolean"}}});
        let mut asked = asked(form("Which animal?", schema).unwrap());
        let next = asked.next().unwrap();
        assert_eq!((next.words.as_str(), next.subject.as_str()), ("Which animal?\nZoo", "Which animal?"));
        asked.take(Some("Berlin"));
        asked.take(Some("old"));
        let next = asked.next().unwrap();
        assert_eq!(next.misfit.as_deref(), Some("“old” isn't a whole number"));
        assert!(matches!(next.how, How::Write { optional: true, .. }));
        asked.take(Some("skip"));
        let buttons = asked.next().unwrap().buttons;
        let labels: Vec<&str> = buttons.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["Yes", "No", "Skip", "Decline"]);
        // The journal keeps it in between.
        let mut asked: Asked = serde_json::from_str(&serde_json::to_string(&asked).unwrap()).unwrap();
        asked.take(Some("No"));
        assert_eq!(asked.next(), None);
        let wanted = json!({"k": {"action": "accept", "content": {"zoo": "Berlin", "wild": false}}});
        assert_eq!(json!(asked.responses()), wanted);
    }

    #[test]
    fn a_no_or_no_answer_gives_the_server_nothing() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        for (words, action) in [(Some("decline"), "decline"), (None, "cancel")] {
            let mut asked = asked(form("What?", schema.clone()).unwrap());
            asked.take(Some("this"));
            asked.take(words);
            assert_eq!(json!(asked.responses()), json!({"k": {"action": action}}));
        }
        let mut confirmed = asked(form("Sure?", json!({"type": "object", "properties": {}})).unwrap());
        assert_eq!(confirmed.next().unwrap().how, How::Confirm);
        confirmed.take(Some("what does it do?"));
        assert!(confirmed.next().unwrap().misfit.is_some(), "neither a yes nor a no");
        confirmed.take(Some("Yes please!"));
        assert_eq!(json!(confirmed.responses()), json!({"k": {"action": "accept", "content": {}}}));
    }

    #[test]
    fn nobody_is_asked_for_secrets_too_much_or_a_disguised_address() {
        let text = json!({"type": "object", "properties": {"value": {"type": "string"}}});
        assert!(form("What is your password?", text).unwrap_err().contains("forbids"));
        let key = json!({"type": "object", "properties": {"apiKey": {"type": "string"}}});
        assert!(form("One more thing", key).unwrap_err().contains("forbids"));
        let yes = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
        assert!(form("Replace the token?", yes).is_ok());
        let many: Map<String, Value> =
            (0..11).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        assert!(form("All of it", json!({"type": "object", "properties": many})).is_err());
        for url in ["http://evil.example", "https://bank.example@evil.example/", "javascript:alert(1)", "no"]
        {
            assert!(open(url).is_err(), "{url}");
        }
        let how = asked(open("https://b\u{430}nk.example/x").unwrap()).next().unwrap().how;
        assert!(matches!(how, How::Open { host, .. } if host == "xn--bnk-6cd.example"), "as it really is");
    }

    #[test]
    fn a_servers_words_are_cut_and_show_what_they_hide() {
        let schema = json!({"type": "object", "properties": {}});
        let long = form(&"x".repeat(5000), schema.clone()).unwrap();
        assert_eq!(long.message.chars().count(), MAX_MESSAGE + 1);
        let lines = form(&"x\n".repeat(50), schema.clone()).unwrap();
        assert_eq!(lines.message.lines().count(), MAX_LINES + 1);
        assert_eq!(form("a\u{202e}b", schema).unwrap().message, "a\\u{202e}b");
    }
}
