//! Telling others of new mail.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::{Answered, Asked, Refusal, State, missing, wrong};

/// Who is told of new mail in a folder.
#[derive(Debug, Clone)]
pub struct Subscription {
    id: String,
    person: String,
    resource: String,
    address: String,
    proof: String,
    until: DateTime<Utc>,
}

impl State {
    pub(super) fn subscribe(&mut self, asked: &Asked, person: &str) -> Answered {
        let body = asked.json(&[
            "changeType",
            "resource",
            "notificationUrl",
            "lifecycleNotificationUrl",
            "clientState",
            "expirationDateTime",
        ])?;
        let [kind, resource, address, proof] =
            ["changeType", "resource", "notificationUrl", "clientState"].map(|name| text(&body, name));
        let folder =
            resource.strip_prefix("me/mailFolders('").and_then(|rest| rest.strip_suffix("')/messages"));
        let is_there = folder.is_some_and(|name| self.mailbox(person).folders.iter().any(|it| it.0 == name));
        let is_told = address.starts_with("https://") && body["lifecycleNotificationUrl"] == address;
        if kind != "created" || !is_there || !is_told || proof.is_empty() || proof.len() > 128 {
            return Err(wrong(format!("a subscription can't be {body}")));
        }
        let until = self.end_of(&body)?;
        self.check_address(&address)?;
        let (id, person) = (self.next("subscription"), person.to_owned());
        self.subscriptions.push(Subscription { id: id.clone(), person, resource, address, proof, until });
        Ok(json!({"id": id, "expirationDateTime": body["expirationDateTime"]}))
    }

    pub(super) fn renew(&mut self, asked: &Asked, person: &str, id: &str) -> Answered {
        let body = asked.json(&["expirationDateTime"])?;
        let (until, now) = (self.end_of(&body)?, self.now);
        let its = |one: &&mut Subscription| one.id == id && one.person == person && one.until > now;
        self.subscriptions.iter_mut().find(its).ok_or_else(missing)?.until = until;
        Ok(json!({"id": id, "expirationDateTime": body["expirationDateTime"]}))
    }

    /// Mail is watched for at most a week.
    fn end_of(&self, body: &Value) -> Result<DateTime<Utc>, Refusal> {
        let until = DateTime::parse_from_rfc3339(&text(body, "expirationDateTime"));
        let until = until.map_err(|error| wrong(error.to_string()))?.to_utc();
        match until > self.now && until <= self.now + TimeDelta::minutes(10_080) {
            true => Ok(until),
            false => Err(wrong("Subscription expiration can only be 10080 minutes in the future")),
        }
    }

    /// Whoever is to be told has to give a token back.
    fn check_address(&self, address: &str) -> Result<(), Refusal> {
        const TOKEN: &str = "Validation: Testing é + <client>";
        let token: String = TOKEN.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.hooks.map(|at| post(at, &format!("{address}?validationToken={token}"), ""));
        let answer = answer.and_then(Result::ok).unwrap_or_default();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let is_plain = head.to_lowercase().contains("content-type: text/plain");
        match head.starts_with("HTTP/1.1 200") && is_plain && body == TOKEN {
            true => Ok(()),
            false => Err(wrong(format!("Subscription validation request failed: {answer}"))),
        }
    }

    /// Tells subscribers that somebody has got mail, or this event of their subscription's life.
    pub fn tell(&self, person: &str, event: Option<&str>) {
        let Some(at) = self.hooks else { return };
        for one in self.subscriptions.iter().filter(|one| one.person == person && one.until > self.now) {
            let mut change = json!({
                "subscriptionId": one.id, "subscriptionExpirationDateTime": one.until.to_rfc3339(),
                "clientState": one.proof, "tenantId": "tenant",
            });
            match event {
                Some(event) => change["lifecycleEvent"] = json!(event),
                None => {
                    change["changeType"] = json!("created");
                    change["resource"] = json!(one.resource);
                }
            }
            let (address, body) = (one.address.clone(), json!({"value": [change]}).to_string());
            std::thread::spawn(move || post(at, &address, &body));
        }
    }

    /// Ends all subscriptions of somebody, and says so.
    pub fn end_subscriptions(&mut self, person: &str) {
        self.tell(person, Some("subscriptionRemoved"));
        self.subscriptions.retain(|one| one.person != person);
    }
}

fn text(body: &Value, name: &str) -> String {
    body[name].as_str().unwrap_or_default().to_owned()
}

/// Sends something to an address, which leads to this one.
fn post(at: SocketAddr, address: &str, body: &str) -> io::Result<String> {
    let path = address.strip_prefix("https://").and_then(|rest| rest.find('/').map(|slash| &rest[slash..]));
    let (mut stream, mut answer) = (TcpStream::connect(at)?, String::new());
    write!(
        stream,
        "POST {} HTTP/1.1\r\nHost: us.test\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        path.unwrap_or("/"),
        body.len()
    )?;
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
