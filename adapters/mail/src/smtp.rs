//! Sends messages (RFC 5321), and distinguishes "certainly not sent" from "may have been sent".

use std::error::Error as _;
use std::time::Duration;

use adjutant_credential::Credential;
use lettre::Address as SmtpAddress;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Quit, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use lettre::transport::smtp::response::Response;
use lettre::transport::smtp::{Error, commands};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::address::parse_address;
use crate::connection::{Connection, connect, connection_lost, guarded, within};
use crate::{Envelope, ErrorKind, MailError, Result, Server, Tls};

/// Sending the content and waiting for the final response may take this many times the timeout.
const TIMEOUT_FACTOR: u32 = 4;

/// How long a server may take to answer QUIT.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that sends more lines before TLS doesn't speak SMTP.
const MAX_LINES: usize = 64;

#[derive(Debug)]
pub struct Smtp {
    server: Server,
}

impl Smtp {
    pub fn new(server: Server) -> Self {
        Self { server }
    }

    pub async fn check(&self) -> Result<()> {
        let mut smtp = self.open().await?;
        quit(&mut smtp).await;
        Ok(())
    }

    /// Sends a message to all its recipients or to none. Once the server has accepted every recipient, `before_data`
    /// is awaited; the content is sent only if that succeeds. Returns the text with which the server accepted it.
    ///
    /// [`MailError::may_have_happened`] is set if the connection was lost after the content had begun and before the
    /// final response.
    pub async fn send(
        &self,
        envelope: &Envelope,
        message: &[u8],
        before_data: impl Future<Output = Result<(), String>>,
    ) -> Result<String> {
        if envelope.to.is_empty() {
            return Err(MailError::params("the message has no recipients"));
        }
        let from = parse_address(&envelope.from)?;
        let to = envelope.to.iter().map(|to| parse_address(to)).collect::<Result<Vec<_>, _>>()?;
        let mut smtp = self.open().await?;
        let ready = async {
            guarded(self.send_envelope(&mut smtp, from, to)).await?;
            before_data.await.map_err(|error| MailError::tool(format!("not sent: {error}")))?;
            guarded(self.command(&mut smtp, Data)).await
        };
        if let Err(error) = ready.await {
            if !matches!(error.kind, ErrorKind::Network | ErrorKind::Timeout) {
                let _ = guarded(within(QUIT_TIMEOUT, command(&mut smtp, Rset))).await;
                quit(&mut smtp).await;
            }
            return Err(error);
        }
        let mut is_refused = false;
        let sending = async {
            smtp.message(message).await.map_err(|error| {
                is_refused = error.status().is_some();
                smtp_error(&error)
            })
        };
        match guarded(within(self.server.timeout * TIMEOUT_FACTOR, sending)).await {
            Ok(response) => {
                quit(&mut smtp).await;
                Ok(response.message().collect::<Vec<_>>().join(" "))
            }
            // Only a response proves that it was not accepted.
            Err(error) if is_refused => Err(error),
            Err(error) => Err(error.outcome_unknown()),
        }
    }

    /// Connects and logs in; once more with another token if the server refuses the first.
    async fn open(&self) -> Result<AsyncSmtpConnection> {
        let secret = self.server.secret(None).await?;
        match self.log_in(&secret).await {
            Err(error) if self.server.is_worth_renewing(&error) => {
                self.log_in(&self.server.secret(Some(&secret)).await?).await
            }
            done => done,
        }
    }

    async fn log_in(&self, secret: &str) -> Result<AsyncSmtpConnection> {
        let mut connection = connect(&self.server).await?;
        if self.server.tls == Tls::StartTls {
            within(self.server.timeout, start_tls(&mut connection)).await?;
            connection = within(self.server.timeout, connection.encrypt(&self.server)).await?;
            // The greeting came before TLS, but lettre waits for one.
            connection.prefix = b"220 \r\n";
        }
        let opening = async {
            let us = ClientId::default();
            let smtp = AsyncSmtpConnection::connect_with_transport(Box::new(connection), &us).await;
            let mut smtp = smtp.map_err(|error| smtp_error(&error))?;
            let credentials = Credentials::new(self.server.username.clone(), secret.to_owned());
            let mechanisms: &[Mechanism] = match &self.server.credential {
                Credential::Password(_) => &[Mechanism::Plain, Mechanism::Login],
                // https://developers.google.com/workspace/gmail/imap/xoauth2-protocol
                Credential::Bearer(_) => &[Mechanism::Xoauth2],
            };
            if smtp.server_info().get_auth_mechanism(mechanisms).is_none() {
                return Err(not_offered(&self.server.credential));
            }
            let login = smtp.auth(mechanisms, &credentials).await;
            login.map_err(|error| self.login_error(&error))?;
            Ok(smtp)
        };
        guarded(within(self.server.timeout, opening)).await
    }

    fn login_error(&self, error: &Error) -> MailError {
        match error.status().map(|code| code.to_string().parse().unwrap_or(500)) {
            Some(500u16..) => self.server.refused(smtp_error(error)),
            // A server explains in a challenge why it refuses a token, and lettre expects none.
            None if error.is_client() => MailError::new(ErrorKind::Auth, "the server rejected the login"),
            _ => smtp_error(error),
        }
    }

    async fn send_envelope(
        &self,
        smtp: &mut AsyncSmtpConnection,
        from: SmtpAddress,
        to: Vec<SmtpAddress>,
    ) -> Result<()> {
        let mut parameters = Vec::new();
        if let Some(address) = [&from].into_iter().chain(&to).find(|address| !is_ascii(address)) {
            if !smtp.server_info().supports_feature(Extension::SmtpUtfEight) {
                let message =
                    format!("{address}: the server only accepts ASCII addresses (it has no SMTPUTF8)");
                return Err(MailError::params(message));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        self.command(smtp, Mail::new(Some(from.clone()), parameters)).await.map_err(|it| named(&from, it))?;
        for recipient in to {
            let refused = self.command(smtp, Rcpt::new(recipient.clone(), Vec::new())).await;
            refused.map_err(|error| named(&recipient, error))?;
        }
        Ok(())
    }

    async fn command(
        &self,
        smtp: &mut AsyncSmtpConnection,
        what: impl std::fmt::Display,
    ) -> Result<Response> {
        within(self.server.timeout, command(smtp, what)).await
    }
}

/// An error that names the address it is about, once: most servers name it themselves.
fn named(address: &SmtpAddress, error: MailError) -> MailError {
    let address = address.to_string();
    if error.message.to_lowercase().contains(&address.to_lowercase()) {
        return error;
    }
    MailError::new(error.kind, format!("{address}: {}", error.message))
}

fn is_ascii(address: &SmtpAddress) -> bool {
    let whole: &str = address.as_ref();
    whole.is_ascii()
}

async fn command(smtp: &mut AsyncSmtpConnection, what: impl std::fmt::Display) -> Result<Response> {
    smtp.command(what).await.map_err(|error| smtp_error(&error))
}

/// Ends the connection; errors no longer matter.
async fn quit(smtp: &mut AsyncSmtpConnection) {
    let _ = guarded(within(QUIT_TIMEOUT, command(smtp, Quit))).await;
}

/// Up to the point where TLS begins (RFC 3207).
async fn start_tls(connection: &mut Connection) -> Result<()> {
    expect(connection, "220").await?;
    for (command, expected) in
        [(commands::Ehlo::new(ClientId::default()).to_string(), "250"), ("STARTTLS\r\n".to_owned(), "220")]
    {
        connection.write_all(command.as_bytes()).await.map_err(connection_lost)?;
        expect(connection, expected).await.map_err(|error| {
            if error.kind == ErrorKind::Network || expected == "250" {
                return error;
            }
            MailError::network(format!("the server does not offer STARTTLS: {}", error.message))
        })?;
    }
    Ok(())
}

/// Reads byte by byte, so that nothing sent before TLS counts as sent inside it.
async fn expect(connection: &mut Connection, expected: &str) -> Result<()> {
    for _ in 0..MAX_LINES {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') && line.len() < 1000 {
            line.push(connection.read_u8().await.map_err(connection_lost)?);
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.get(3..4) == Some("-") {
            continue;
        }
        return if line.starts_with(expected) { Ok(()) } else { Err(MailError::tool(line)) };
    }
    Err(MailError::tool("the server's response doesn't end"))
}

fn not_offered(credential: &Credential) -> MailError {
    match credential {
        Credential::Password(_) => {
            MailError::new(ErrorKind::Auth, "the server offers neither PLAIN nor LOGIN authentication")
        }
        Credential::Bearer(_) => MailError::tool("the server doesn't offer XOAUTH2 authentication"),
    }
}

/// The server's text after its code, or a connection error.
fn smtp_error(error: &Error) -> MailError {
    let response_text = error.source().map(ToString::to_string).unwrap_or_default();
    let Some(code) = error.status() else {
        return MailError::network(format!("the connection was lost: {error}"));
    };
    let code = code.to_string();
    MailError::new(kind(&code, &response_text), format!("{code} {response_text}"))
}

/// The kind of a refusal, by its code (RFC 5321 §4.2) and enhanced code (RFC 3463).
fn kind(code: &str, response_text: &str) -> ErrorKind {
    let enhanced = response_text.split_whitespace().next().unwrap_or_default();
    match code {
        "421" => ErrorKind::Network,
        _ if code.starts_with('4') => ErrorKind::RateLimit,
        "530" | "534" | "535" | "538" => ErrorKind::Auth,
        _ if enhanced.starts_with("5.1.") => ErrorKind::Recipient,
        _ if enhanced.starts_with("5.7.") || response_text.contains("relay") => ErrorKind::Permission,
        _ if enhanced == "5.3.4" => ErrorKind::Params,
        _ if enhanced.starts_with("5.") => ErrorKind::Tool,
        "550" | "551" | "553" => ErrorKind::Recipient,
        _ => ErrorKind::Tool,
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorKind, MailError, SmtpAddress, kind, named};

    #[test]
    fn an_error_names_its_address_once() {
        let address: SmtpAddress = "bob@x.test".parse().unwrap();
        let error = |message: &str| MailError::new(ErrorKind::Recipient, message);
        let named = |message: &str| named(&address, error(message)).message;
        assert_eq!(named("550 no such user"), "bob@x.test: 550 no such user");
        assert_eq!(named("550 <Bob@X.test> unknown"), "550 <Bob@X.test> unknown");
    }

    #[test]
    fn refusals_are_of_a_kind() {
        assert_eq!(kind("421", "4.3.2 going down"), ErrorKind::Network);
        assert_eq!(kind("450", "4.2.0 greylisted"), ErrorKind::RateLimit);
        assert_eq!(kind("452", "4.2.2 mailbox full"), ErrorKind::RateLimit);
        assert_eq!(kind("535", "5.7.8 bad password"), ErrorKind::Auth);
        assert_eq!(kind("550", "5.1.1 no such user"), ErrorKind::Recipient);
        assert_eq!(kind("550", "no such user"), ErrorKind::Recipient);
        assert_eq!(kind("550", "relaying denied"), ErrorKind::Permission);
        assert_eq!(kind("552", "5.2.2 mailbox full"), ErrorKind::Tool);
        assert_eq!(kind("552", "5.3.4 too big"), ErrorKind::Params);
    }
}
