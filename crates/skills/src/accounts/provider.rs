//! What differs between providers: where one logs in, what the scopes mean, whose account it is, and how tokens are
//! revoked.

use std::time::Duration;

use adjutant_config::{ConnectConfig, OAuthConfig, scopes};
use adjutant_l10n::connect;
use adjutant_types::{AccountService, Own, ProviderKind, ours};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::handlers::http::{lost, read};
use crate::handlers::{HttpClient, host};
use crate::oauth::{Reply, ask};
use crate::{ErrorKind, SkillError};

/// How long a question about the person may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What an account's row says in `settings`, as JSON: its servers and what the person has chosen. No secret is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountSettings {
    /// The servers of an account by password; those of a provider come from the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imap: Option<MailHost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smtp: Option<MailHost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caldav: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carddav: Option<String>,
    /// The ends of hosts that the login may be sent to besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether its servers must have public addresses, because no table of ours named them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_public_only: bool,
    /// The calendars that count for free and busy; none: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_calendars: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailHost {
    pub host: String,
    pub port: u16,
    /// Whether TLS begins by STARTTLS, not with the first byte.
    #[serde(default)]
    pub is_starttls: bool,
}

impl AccountSettings {
    /// Those of a row; what can't be read is as if it weren't there.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }
}

/// What people call a provider.
pub fn provider_name(provider: ProviderKind) -> String {
    match provider {
        ProviderKind::Google => connect::google(),
        ProviderKind::Microsoft => connect::microsoft(),
        ProviderKind::Password => connect::other_provider(),
    }
}

/// "email, calendar and contacts".
pub fn services_in_words(services: &[AccountService]) -> String {
    let name = |service: &AccountService| match service {
        AccountService::Mail => connect::mail(),
        AccountService::Calendar => connect::calendar(),
        AccountService::Contacts => connect::contacts(),
    };
    let names: Vec<String> = services.iter().map(name).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => connect::and(first.join(", "), last),
        _ => names.concat(),
    }
}

/// Our application at a provider; none where one logs in by password.
pub(super) fn application(connect: &ConnectConfig, provider: ProviderKind) -> Option<&OAuthConfig> {
    match provider {
        ProviderKind::Google => connect.google.as_ref().map(|google| &google.oauth),
        ProviderKind::Microsoft => connect.microsoft.as_ref().map(|microsoft| &microsoft.oauth),
        ProviderKind::Password => None,
    }
}

/// Where errors say that an application is configured.
pub(super) fn section(provider: ProviderKind) -> String {
    format!("[connect.{provider}]")
}

/// The services of which the person has allowed all scopes. A reply without any grants what was asked for (RFC 6749 §5.1).
pub(super) fn granted(provider: ProviderKind, scope: Option<&str>) -> Vec<AccountService> {
    // Microsoft writes them with the address of its API before them, and in any case.
    // https://learn.microsoft.com/entra/identity-platform/scopes-oidc
    let has = |wanted: &str| {
        scope.is_none_or(|scope| {
            scope.split_whitespace().any(|one| {
                one.eq_ignore_ascii_case(wanted)
                    || one.rsplit('/').next().is_some_and(|end| end.eq_ignore_ascii_case(wanted))
            })
        })
    };
    let all = scopes(provider);
    let is_granted = |service: &AccountService| {
        let mut of_service = all.iter().filter(|(one, _)| one == service).peekable();
        of_service.peek().is_some() && of_service.all(|(_, scope)| has(scope))
    };
    AccountService::ALL.iter().copied().filter(is_granted).collect()
}

/// The email address of the account that the person logged in to.
pub(super) async fn address(
    connect: &ConnectConfig,
    provider: ProviderKind,
    http: &HttpClient,
    reply: &Reply,
) -> Result<String, SkillError> {
    let address = match (provider, &connect.microsoft) {
        (ProviderKind::Microsoft, Some(microsoft)) => {
            let token = reply.access_token.as_deref().unwrap_or_default();
            me(&microsoft.api_url, http, token).await?
        }
        _ => reply.id_token.as_deref().and_then(email_in),
    };
    let address = address.filter(|address| address.contains('@'));
    address.ok_or_else(|| SkillError::tool(ours!(connect::no_address, Own(provider_name(provider)))))
}

/// The address in an ID token. It comes from the token endpoint by TLS, so its signature says nothing new (OpenID Connect
/// Core §3.1.3.7).
fn email_in(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Claims {
        email: Option<String>,
    }
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok()?.email
}

/// The person's address, as Microsoft Graph has it. https://learn.microsoft.com/graph/api/user-get
async fn me(api_url: &str, http: &HttpClient, token: &str) -> Result<Option<String>, SkillError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Me {
        mail: Option<String>,
        user_principal_name: Option<String>,
    }
    let url = Url::parse(&format!("{api_url}/me?$select=mail,userPrincipalName"));
    let url = url.map_err(|error| SkillError::tool(ours!("{}", Own(error))))?;
    let host = host(&url).to_owned();
    // An address that the owner chose may be in a private network.
    let client = http.for_url(&url, std::slice::from_ref(&host))?;
    let request = client.get(url).bearer_auth(token).header("prefer", "IdType=\"ImmutableId\"");
    let response = request.timeout(PATIENCE).send().await.map_err(|error| lost(&error, &host, false))?;
    let (text, _) = read(response).await.map_err(|error| lost(&error, &host, false))?;
    let me: Option<Me> = serde_json::from_str(&text).ok();
    Ok(me.and_then(|me| me.mail.or(me.user_principal_name)))
}

/// Ends a login at its provider, where that is possible: Microsoft lets nobody but the person do it.
// https://developers.google.com/identity/protocols/oauth2/web-server#tokenrevoke
pub(super) async fn revoke(connect: &ConnectConfig, provider: ProviderKind, http: &HttpClient, token: &str) {
    let (ProviderKind::Google, Some(google)) = (provider, &connect.google) else { return };
    let form = [("token", token)];
    let asked = ask(http, &google.oauth, &section(provider), &google.revoke_url, &form).await;
    if let Err(error) = asked {
        // The tokens are erased all the same, and the provider ends them when they aren't used.
        tracing::warn!(%error, "a login couldn't be ended at its provider");
    }
}

/// An error of which the person reads our sentence alone.
pub(super) fn refused(sentence: String) -> SkillError {
    SkillError::new(ErrorKind::Auth, ours!("{}", Own(sentence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccountService::{Calendar, Contacts, Mail};

    #[test]
    fn a_service_is_granted_with_all_its_scopes() {
        let google = |scope: &str| granted(ProviderKind::Google, Some(scope));
        assert_eq!(granted(ProviderKind::Google, None), [Mail, Calendar, Contacts]);
        assert_eq!(google("openid https://www.googleapis.com/auth/calendar"), [Calendar]);
        assert_eq!(google("openid email"), []);
        let microsoft = |scope: &str| granted(ProviderKind::Microsoft, Some(scope));
        assert_eq!(microsoft("Mail.ReadWrite contacts.readwrite"), [Contacts], "mail can't be sent");
        assert_eq!(
            microsoft("https://graph.microsoft.com/Mail.ReadWrite https://graph.microsoft.com/mail.send"),
            [Mail]
        );
        assert_eq!(granted(ProviderKind::Password, None), []);
    }

    #[test]
    fn an_id_token_says_whose_account_it_is() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"email":"ada@acme.test","sub":"1"}"#);
        assert_eq!(email_in(&format!("e30.{claims}.sig")).as_deref(), Some("ada@acme.test"));
        for token in ["", "a.b.c", "e30.e30.sig"] {
            assert_eq!(email_in(token), None, "{token}");
        }
    }

    #[test]
    fn services_are_named_as_people_do() {
        assert_eq!(services_in_words(&[Mail, Calendar, Contacts]), "email, calendar and contacts");
        assert_eq!(services_in_words(&[Calendar]), "calendar");
    }

    #[test]
    fn settings_survive_and_hold_no_more_than_they_must() {
        let settings = AccountSettings {
            imap: Some(MailHost { host: "imap.x.test".into(), port: 993, is_starttls: false }),
            busy_calendars: Some(vec!["Work".into()]),
            ..AccountSettings::default()
        };
        assert_eq!(AccountSettings::read(&settings.to_json()), settings);
        assert_eq!(AccountSettings::default().to_json(), "{}");
    }
}
