//! Checks what people connect: our applications at providers, the key of the secrets, and how the accounts stand.

use std::time::Duration;

use adjutant_chat::Finding;
use adjutant_config::{Config, OAuthConfig, People};
use adjutant_models::provider::install_tls;
use adjutant_skills::accounts::{LOOPBACK, SecretStore, back_at};
use adjutant_store::{Store, StoreError, connected};
use adjutant_types::{AccountState, ProviderKind};
use adjutant_workflows::trace::text::several;
use reqwest::{Client, Response, StatusCode, Url};

use super::Checks;

/// How long a provider may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How the accounts of the configuration are understood: whose they are, and what they are called.
pub(super) fn shared(config: &Config, checks: &mut Checks) {
    let mail = config.mail.as_ref().map(|mail| ("mail", &mail.people, &mail.label));
    let dav = [("calendar", &config.calendar), ("contacts", &config.contacts)];
    let dav = dav.into_iter().filter_map(|(name, dav)| {
        let dav = dav.as_ref()?;
        Some((name, &dav.people, &dav.label))
    });
    for (section, people, label) in mail.into_iter().chain(dav) {
        let people = match people {
            People::Owners => "owners only",
            People::Everybody => "everybody who may talk to the assistant",
            People::Listed(_) => "owners, and those whom `people` lists",
        };
        checks.add(section, Finding::ok(format!("a shared account, called “{label}”, of {people}")));
    }
}

/// Begins a login with each application: a provider that doesn't know it says so at once.
pub(in crate::cli) async fn applications(config: &Config) -> Vec<(&'static str, Finding)> {
    let Some(connect) = &config.connect else { return Vec::new() };
    let page = config.page().map(|(_, url)| back_at(url));
    let mut findings = Vec::new();
    if let Some(google) = &connect.google {
        let back = page.as_deref().unwrap_or(LOOPBACK);
        findings.push(("connect.google", known(&google.oauth, Some(back), "connect.google").await));
        if !google.is_internal {
            let reason = "not internal: as long as the project is in testing, only its test users can log in, and for \
                          seven days at a time";
            findings.push(("connect.google", Finding::ok(reason)));
        }
    }
    if let Some(microsoft) = &connect.microsoft {
        let finding = known(&microsoft.oauth, page.as_deref(), "connect.microsoft").await;
        findings.push(("connect.microsoft", finding));
    }
    if connect.offer.contains(&ProviderKind::Password) && page.is_none() {
        let reason = "there is no web page, so accounts with a password are connected only at this machine";
        let fix = "add [channels.web], or use `adjutant account add`";
        findings.push(("connect", Finding::warning(reason, fix)));
    }
    findings
}

/// Whether a provider knows the application. Without a page to return to, it is asked for a device code.
async fn known(oauth: &OAuthConfig, back: Option<&str>, section: &str) -> Finding {
    let fix = format!(
        "check client_id and client_secret in [{section}], and the address that the application returns to"
    );
    match begun(oauth, back).await {
        Ok(None) => Finding::ok("the provider knows the application"),
        Ok(Some(why)) => Finding::error(format!("the provider refuses the application: {why}"), fix),
        Err(error) => {
            let fix = "check this machine's network";
            Finding::error(format!("the provider can't be reached: {}", error.without_url()), fix)
        }
    }
}

/// Begins a login; returns why the provider doesn't go on with it.
async fn begun(oauth: &OAuthConfig, back: Option<&str>) -> Result<Option<String>, reqwest::Error> {
    install_tls();
    let redirect = reqwest::redirect::Policy::none();
    let client = Client::builder().redirect(redirect).timeout(PATIENCE).build()?;
    let scope = oauth.scopes.join(" ");
    let mut fields = vec![("client_id", oauth.client_id.as_str()), ("scope", scope.as_str())];
    let response = match (back, &oauth.auth_url, &oauth.device_url) {
        (Some(back), Some(page), _) => {
            // The example of RFC 7636, appendix B: nobody finishes this login.
            let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
            fields.extend([("response_type", "code"), ("redirect_uri", back), ("state", challenge)]);
            fields.extend([("code_challenge", challenge), ("code_challenge_method", "S256")]);
            let Ok(url) = Url::parse_with_params(page, &fields) else {
                return Ok(Some("auth_url is no address".to_owned()));
            };
            client.get(url).send().await?
        }
        (None, _, Some(device)) => {
            let body = Url::parse_with_params("http://localhost/", &fields);
            let body = body.ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default();
            let form = "application/x-www-form-urlencoded";
            client.post(device).header("content-type", form).body(body).send().await?
        }
        _ => return Ok(None),
    };
    refusal(response).await
}

/// What is wrong with an application, as its provider says it.
async fn refusal(response: Response) -> Result<Option<String>, reqwest::Error> {
    let status = response.status();
    let to = response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or_default();
    // Google sends an unknown application to a page about it.
    if to.contains("/oauth/error") || to.contains("error=") {
        return Ok(Some("it sends the browser to a page about an error".to_owned()));
    }
    if status.is_client_error() || status.is_server_error() {
        return Ok(Some(format!("HTTP {}", status.as_u16())));
    }
    // Microsoft's page says it with 200. https://learn.microsoft.com/entra/identity-platform/reference-error-codes
    let text = if status == StatusCode::OK { response.text().await? } else { String::new() };
    let code = text.split_once("AADSTS").map(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        format!("AADSTS{digits}")
    });
    Ok(code.filter(|code| code.len() > "AADSTS".len()))
}

/// Whether the key fits what is sealed, and whose logins have ended.
pub(super) async fn accounts(config: &Config, store: &Store, checks: &mut Checks) -> Result<(), StoreError> {
    let secrets = SecretStore::new(config);
    secrets.attach(store);
    match secrets.check().await {
        Ok(0) => {}
        Ok(count) => checks.add("secrets", Finding::ok(format!("the key opens all {count} sealed logins"))),
        Err(error) => {
            let fix = "put the key back ([secrets] in the configuration), or let people log in again";
            checks.add("secrets", Finding::error(error.to_string(), fix));
        }
    }
    let rows = connected::all(store).await?;
    let ended = rows.iter().filter(|row| row.state == AccountState::NeedsLogin).count();
    if ended > 0 {
        let reason = format!("{ended} of {} need a new login", several(rows.len(), "connected account"));
        let fix = "their people were told; `adjutant account list` shows them";
        checks.add("accounts", Finding::warning(reason, fix));
    } else if !rows.is_empty() {
        checks.add("accounts", Finding::ok(several(rows.len(), "connected account")));
    }
    Ok(())
}
