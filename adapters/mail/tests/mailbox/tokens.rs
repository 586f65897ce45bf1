//! Logins with access tokens, at a real server.

use std::sync::{Arc, Mutex};

use adjutant_credential::{Credential, NoToken};
use adjutant_mail::{ErrorKind, Imap, Server, Smtp, Tls};
use futures::FutureExt;

use crate::{at, server, unique};

/// Gives these tokens one after the other, each once the one before was refused; and what it was asked.
pub(crate) fn tokens<const N: usize>(given: [String; N]) -> (Credential, Arc<Mutex<Vec<Option<String>>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let asks = Arc::clone(&asked);
    let source = move |refused: Option<String>| {
        let next = match &refused {
            None => 0,
            Some(refused) => given.iter().position(|token| token == refused).map_or(N, |at| at + 1),
        };
        asks.lock().unwrap().push(refused);
        let token = given.get(next).cloned().ok_or(NoToken::Ended);
        async move { token }.boxed()
    };
    (Credential::Bearer(Arc::new(source)), asked)
}

#[tokio::test]
async fn a_token_logs_in_and_one_that_has_ended_is_renewed_once() {
    let server = server!();
    let (old, new) = (unique(), unique());
    server.allow(&old, "alice@example.test").unwrap();
    server.revoke(&old).unwrap();
    server.allow(&new, "alice@example.test").unwrap();
    for given in [[new.clone(), old.clone()], [old.clone(), new.clone()]] {
        let is_renewed = given[0] == old;
        let refused = is_renewed.then(|| old.clone());
        let expected: Vec<_> = [None].into_iter().chain(refused.map(Some)).collect();
        let (credential, asked) = tokens(given.clone());
        let imap = Imap::new(Server { credential, ..at(server.imaps, Tls::Implicit, "alice") });
        assert!(!imap.folders().await.unwrap().is_empty());
        assert_eq!(*asked.lock().unwrap(), expected);
        let (credential, asked) = tokens(given);
        let smtp = Smtp::new(Server { credential, ..at(server.submission, Tls::StartTls, "alice") });
        smtp.check().await.unwrap();
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn a_token_opens_no_other_mailbox_and_without_one_nothing_opens() {
    let server = server!();
    let token = unique();
    server.allow(&token, "alice@example.test").unwrap();
    let bob = || at(server.imaps, Tls::Implicit, "bob");
    let (credential, asked) = tokens([token.clone()]);
    let error = Imap::new(Server { credential, ..bob() }).check().await.unwrap_err();
    assert_eq!((error.kind, error.may_have_happened), (ErrorKind::Auth, false), "{error}");
    assert_eq!(error.message, "the login has ended");
    assert_eq!(*asked.lock().unwrap(), [None, Some(token.clone())]);
    let (credential, _) = tokens([token.clone(), format!("{token}-x")]);
    let smtp = Smtp::new(Server { credential, ..at(server.submissions, Tls::Implicit, "bob") });
    let error = smtp.check().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth, "{error}");
    assert!(error.message.starts_with("the server rejected the access token: 535 "), "{error}");
    assert!(!error.message.contains(&token), "{error}");
    let credential = Credential::Bearer(Arc::new(|_: Option<String>| {
        async { Err(NoToken::Unreachable("the provider is away".to_owned())) }.boxed()
    }));
    let error = Imap::new(Server { credential, ..bob() }).check().await.unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::Network, "no access token: the provider is away")
    );
}
