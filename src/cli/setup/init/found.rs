//! Language models that are here already: on this machine, or at a provider whose key is in the environment. Before the
//! person's yes, only this machine is asked, and only for the names of its models.

use std::time::Duration;

use adjutant_config::{Env, is_loopback};
use futures::future::join_all;
use reqwest::{Client, Response, redirect};
use serde::Deserialize;

use super::draft::Draft;
use super::model::{SUGGESTIONS, set_provider};
use super::terminal::Terminal;
use crate::cli::Result;

/// Servers that people run on their own machine, and where these listen.
const LOCAL: &str = "Ollama=http://127.0.0.1:11434/v1/,LM Studio=http://127.0.0.1:1234/v1/,\
                     llama.cpp=http://127.0.0.1:8080/v1/,vLLM=http://127.0.0.1:8000/v1/";
/// Replaces [`LOCAL`]; `none` asks nobody.
const VARIABLE: &str = "ADJUTANT_LOCAL_MODELS";

/// How long a server on this machine may take.
const PATIENCE: Duration = Duration::from_millis(300);
/// The longest answer that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// A model that can be used as it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    question: String,
    provider: String,
    name: String,
    base_url: Option<String>,
    /// The environment variable with the key.
    key: Option<String>,
}

/// Looks for models: first those that cost nothing.
pub(super) async fn find(env: &Env) -> Vec<Found> {
    // Another one would be asked through a proxy, or sent elsewhere.
    let client = Client::builder().no_proxy().redirect(redirect::Policy::none()).timeout(PATIENCE).build();
    let servers = env.text(VARIABLE).unwrap_or(LOCAL).split(',').filter_map(|server| server.split_once('='));
    let servers = servers.filter(|(_, url)| is_loopback(url));
    let here = match &client {
        Ok(client) => join_all(servers.map(|(server, url)| local(client, server, url))).await,
        Err(_) => Vec::new(),
    };
    here.into_iter().flatten().chain(with_key(env)).collect()
}

/// What a server on this machine offers; nothing if it isn't one of models.
async fn local(client: &Client, server: &str, url: &str) -> Option<Found> {
    #[derive(Deserialize)]
    struct List {
        data: Vec<Entry>,
    }
    #[derive(Deserialize)]
    struct Entry {
        id: String,
    }
    let answer = client.get(format!("{url}models")).send().await.ok()?.error_for_status().ok()?;
    let list: List = serde_json::from_slice(&limited(answer).await?).ok()?;
    let is_name = |id: &String| id.len() < 200 && id.chars().all(|c| c.is_ascii_graphic());
    let mut names = list.data.into_iter().map(|entry| entry.id).filter(is_name);
    let name = names.find(|name| !name.contains("embed"))?;
    let is_ollama = LOCAL.contains(&format!("Ollama={url}"));
    Some(Found {
        question: format!("I found {server} with {name} on this machine. Use it?"),
        provider: if is_ollama { "ollama" } else { "openai" }.to_owned(),
        name,
        // Where Ollama listens elsewhere, it's asked in OpenAI's protocol, like the others.
        base_url: (!is_ollama).then(|| url.to_owned()),
        key: None,
    })
}

/// An answer of ordinary size; nothing of a longer one.
pub(in crate::cli) async fn limited(mut answer: Response) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return None;
        }
    }
    Some(body)
}

/// The providers whose keys are in the environment.
fn with_key(env: &Env) -> impl Iterator<Item = Found> {
    let keys = SUGGESTIONS.iter().map(|model| (model, format!("{}_API_KEY", model.provider.to_uppercase())));
    keys.filter(|(_, key)| env.text(key).is_some()).map(|(model, key)| Found {
        question: format!(
            "I found a key in ${key}. Use {} with {}, which gets your messages and charges for them?",
            model.title, model.model
        ),
        provider: model.provider.to_owned(),
        name: model.model.to_owned(),
        base_url: None,
        key: Some(key),
    })
}

/// Offers one after the other; whether the person took one, which is in the draft then.
pub(super) fn offer(found: &[Found], draft: &mut Draft, terminal: &mut Terminal) -> Result<bool> {
    for model in found {
        if terminal.yes(&model.question, true)? {
            set_provider(draft, &model.provider);
            draft.set_text(&["model"], "name", &model.name);
            draft.set_text(&["model"], "base_url", model.base_url.as_deref().unwrap_or_default());
            if let Some(key) = &model.key {
                draft.set_secret(&["model"], "api_key", &format!("env:{key}"));
            }
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A server on this machine that answers everything with this; its address.
    fn server(answer: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                // Whoever has read enough hangs up.
                let _ = stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{answer}").as_bytes());
            }
        });
        url
    }

    async fn found(list: &str, vars: &[(&str, &str)]) -> Vec<Found> {
        adjutant_models::provider::install_tls();
        let vars = [&[(VARIABLE, list)][..], vars].concat();
        find(&Env::made_up(vars, "/nowhere")).await
    }

    #[tokio::test]
    async fn a_server_of_models_is_found_and_nothing_else_is_one() {
        let models = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| format!("{{\"id\": \"{name}\"}}")).collect();
            server(format!("{{\"data\": [{}]}}", names.join(", ")))
        };
        let good = models(&["nomic-embed-text", "qwen3:8b"]);
        let list = [
            format!("Page={}", server("<!DOCTYPE html><title>It works!</title>".to_owned())),
            format!("Long={}", server(format!("{{\"data\": [{}", "{\"id\": \"x\"},".repeat(9_000)))),
            format!("Empty={}", models(&[])),
            format!("Control={}", models(&["\\u001b[2J"])),
            "Gone=http://127.0.0.1:1/v1/".to_owned(),
            "Elsewhere=http://192.0.2.1/v1/".to_owned(),
            format!("Ollama={good}"),
        ];
        let found = found(&list.join(","), &[]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].question, "I found Ollama with qwen3:8b on this machine. Use it?");
        assert_eq!((found[0].provider.as_str(), found[0].base_url.as_ref()), ("openai", Some(&good)));
    }

    #[tokio::test]
    async fn keys_of_the_environment_are_offered_with_what_it_means() {
        let found = found("none", &[("ANTHROPIC_API_KEY", "sk-secret"), ("OPENAI_API_KEY", "")]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        insta::assert_snapshot!(found[0].question, @"I found a key in $ANTHROPIC_API_KEY. Use Anthropic with claude-sonnet-4-5, which gets your messages and charges for them?");
        assert!(!format!("{found:?}").contains("sk-secret"));
    }
}
