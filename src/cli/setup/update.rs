//! `adjutant update --check`: whether there is a newer release, at the address that the owner has configured.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_config::Config;
use adjutant_models::provider;
use serde_json::Value;

use crate::cli::init::found::limited;
use crate::cli::{CliError, Result, say};

const OURS: &str = env!("CARGO_PKG_VERSION");

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(in crate::cli) async fn run(config: &Config, is_check: bool) -> Result<ExitCode> {
    if !is_check {
        return Err(CliError::Usage(
            "updates are installed by hand; `adjutant update --check` looks for one".to_owned(),
        ));
    }
    let Some(url) = &config.update else {
        let text = "no address of releases is configured, so nobody was asked\n\
                    Next step: set `url` under [update] in the configuration.";
        return Err(CliError::Missing(text.to_owned()));
    };
    let failed = |why: reqwest::Error| {
        CliError::failed(format!("can't ask {url} for the latest version"), why.without_url())
    };
    let client = provider::http_client().map_err(|error| CliError::plain(error.to_string()))?;
    let answer = client.get(url).timeout(PATIENCE).send().await.map_err(failed)?;
    let body = limited(answer.error_for_status().map_err(failed)?).await.unwrap_or_default();
    let latest = latest(&String::from_utf8_lossy(&body));
    let Some(latest) = latest else {
        return Err(CliError::plain(format!("{url} doesn't answer with a version, such as 0.2.0")));
    };
    say(&compared(&latest))
}

/// The version in an answer: JSON with `version` or `tag_name`, or the first line.
fn latest(text: &str) -> Option<String> {
    let json: Option<Value> = serde_json::from_str(text).ok();
    let named = ["version", "tag_name"].iter().find_map(|key| json.as_ref()?.get(key)?.as_str());
    let written = named.or_else(|| text.lines().next())?.trim();
    let version = written.strip_prefix('v').unwrap_or(written);
    numbers(version).map(|_| version.to_owned())
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

fn compared(latest: &str) -> String {
    if numbers(latest) <= numbers(OURS) {
        return format!("This is version {OURS}. There is no newer one.\n");
    }
    format!(
        "Version {latest} is there; this is {OURS}.\n\
         Next step: `adjutant db backup FILE`, install {latest} the way you installed this one, restart the service.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_servers_answer_and_nothing_else() {
        for text in
            ["0.2.0\n", "v0.2.0", "{\"tag_name\": \"v0.2.0\", \"body\": \"x\"}", "{\"version\": \"0.2.0\"}"]
        {
            assert_eq!(latest(text).as_deref(), Some("0.2.0"), "{text}");
        }
        for text in ["", "<!DOCTYPE html>", "{}", "0.2", "latest", "\u{1b}[2J", "0.2.0-rc.1"] {
            assert_eq!(latest(text), None, "{text}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(compared(OURS).ends_with("There is no newer one.\n"));
        assert!(compared("0.0.1").ends_with("There is no newer one.\n"));
        let newer = compared("10.0.0");
        assert!(
            newer.starts_with(&format!("Version 10.0.0 is there; this is {OURS}.\nNext step: ")),
            "{newer}"
        );
    }
}
