//! Sending (RFC 5321), in steps that tell what surely was not sent from what may have been.

use std::error::Error as _;
use std::time::Duration;

use lettre::Address;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Quit, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use lettre::transport::smtp::response::Response;
use lettre::transport::smtp::{Error, commands};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::compose::address;
use crate::connect::{Wire, connect, cut, guarded, within};
use crate::{Envelope, Fault, Kind, Server, Tls};

/// A letter's content may take so many times the time-out of a command, and its final answer too.
const PATIENCE: u32 = 4;

/// So long a server may take over our good-bye.
const FAREWELL: Duration = Duration::from_secs(2);

/// A longer answer before TLS is none of SMTP.
const LINES: usize = 64;

/// A server that takes letters.
#[derive(Debug)]
pub struct Smtp {
    server: Server,
}

impl Smtp {
    /// Nothing is connected yet.
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self { server }
    }

    /// Logs in and leaves.
    ///
    /// # Errors
    /// When the server can't be reached, isn't trusted, or doesn't accept the login.
    pub async fn check(&self) -> Result<(), Fault> {
        let mut smtp = self.open().await?;
        leave(&mut smtp).await;
        Ok(())
    }

    /// Sends a letter, to all its recipients or to none. When every recipient is accepted, `before_data` is
    /// awaited, and only when it is well the content is handed over. Returns the server's words on accepting it.
    ///
    /// # Errors
    /// With [`Fault::may_have_happened`] when the connection was lost while the content was handed over and
    /// before the server's final answer; else it was surely not sent.
    pub async fn send(
        &self,
        envelope: &Envelope,
        letter: &[u8],
        before_data: impl Future<Output = Result<(), String>>,
    ) -> Result<String, Fault> {
        if envelope.to.is_empty() {
            return Err(Fault::new(Kind::Params, "there is nobody to send it to"));
        }
        let from = address(&envelope.from)?;
        let to = envelope.to.iter().map(|to| address(to)).collect::<Result<Vec<_>, _>>()?;
        let mut smtp = self.open().await?;
        let addressed = guarded(self.address(&mut smtp, from, to)).await;
        let ready = match addressed {
            Ok(()) => before_data.await.map_err(|why| Fault::new(Kind::Tool, format!("not sent: {why}"))),
            Err(fault) => Err(fault),
        };
        let ready = match ready {
            Ok(()) => guarded(self.command(&mut smtp, Data)).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = ready {
            if !matches!(fault.kind, Kind::Network | Kind::Timeout) {
                let _ = guarded(within(FAREWELL, command(&mut smtp, Rset))).await;
                leave(&mut smtp).await;
            }
            return Err(fault);
        }
        let handing = async { Ok(smtp.message(letter).await) };
        match guarded(within(self.server.timeout * PATIENCE, handing)).await {
            Ok(Ok(answer)) => {
                leave(&mut smtp).await;
                Ok(answer.message().collect::<Vec<_>>().join(" "))
            }
            // Only an answer tells that it was not taken.
            Ok(Err(error)) if error.status().is_some() => Err(fault(&error)),
            Ok(Err(error)) => Err(fault(&error).unsure()),
            Err(fault) => Err(fault.unsure()),
        }
    }

    async fn open(&self) -> Result<AsyncSmtpConnection, Fault> {
        let mut wire = connect(&self.server).await?;
        if self.server.tls == Tls::StartTls {
            within(self.server.timeout, start_tls(&mut wire)).await?;
            wire = within(self.server.timeout, wire.encrypt(&self.server)).await?;
            // The greeting came before TLS, and the library waits for one.
            wire = wire.preceded_by(b"220 \r\n");
        }
        let opening = async {
            let us = ClientId::default();
            let smtp = AsyncSmtpConnection::connect_with_transport(Box::new(wire), &us).await;
            let mut smtp = smtp.map_err(|error| fault(&error))?;
            let credentials = Credentials::new(self.server.username.clone(), self.server.password.0.clone());
            let login = smtp.auth(&[Mechanism::Plain, Mechanism::Login], &credentials).await;
            login.map_err(|error| not_logged_in(&error))?;
            Ok(smtp)
        };
        guarded(within(self.server.timeout, opening)).await
    }

    async fn address(
        &self,
        smtp: &mut AsyncSmtpConnection,
        from: Address,
        to: Vec<Address>,
    ) -> Result<(), Fault> {
        let mut parameters = Vec::new();
        if let Some(beyond) = [&from].into_iter().chain(&to).find(|address| !is_ascii(address)) {
            if !smtp.server_info().supports_feature(Extension::SmtpUtfEight) {
                let words =
                    format!("{beyond}: the server does not take addresses beyond ASCII (no SMTPUTF8)");
                return Err(Fault::new(Kind::Params, words));
            }
            parameters.push(MailParameter::SmtpUtfEight);
        }
        let named =
            |address: &Address, fault: Fault| Fault::new(fault.kind, format!("{address}: {}", fault.words));
        self.command(smtp, Mail::new(Some(from.clone()), parameters)).await.map_err(|it| named(&from, it))?;
        for recipient in to {
            let refused = self.command(smtp, Rcpt::new(recipient.clone(), Vec::new())).await;
            refused.map_err(|fault| named(&recipient, fault))?;
        }
        Ok(())
    }

    async fn command(
        &self,
        smtp: &mut AsyncSmtpConnection,
        what: impl std::fmt::Display,
    ) -> Result<Response, Fault> {
        within(self.server.timeout, command(smtp, what)).await
    }
}

fn is_ascii(address: &Address) -> bool {
    let whole: &str = address.as_ref();
    whole.is_ascii()
}

async fn command(smtp: &mut AsyncSmtpConnection, what: impl std::fmt::Display) -> Result<Response, Fault> {
    smtp.command(what).await.map_err(|error| fault(&error))
}

/// What is said now changes nothing any more.
async fn leave(smtp: &mut AsyncSmtpConnection) {
    let _ = guarded(within(FAREWELL, command(smtp, Quit))).await;
}

/// As far as TLS may begin (RFC 3207).
async fn start_tls(wire: &mut Wire) -> Result<(), Fault> {
    answer(wire, "220").await?;
    for (command, expected) in
        [(commands::Ehlo::new(ClientId::default()).to_string(), "250"), ("STARTTLS\r\n".to_owned(), "220")]
    {
        wire.write_all(command.as_bytes()).await.map_err(cut)?;
        answer(wire, expected).await.map_err(|fault| {
            if fault.kind == Kind::Network || expected == "250" {
                return fault;
            }
            Fault::new(Kind::Network, format!("the server does not offer STARTTLS: {}", fault.words))
        })?;
    }
    Ok(())
}

/// Byte by byte, so that nothing that was said before TLS is taken for something said under it.
async fn answer(wire: &mut Wire, expected: &str) -> Result<(), Fault> {
    for _ in 0..LINES {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') && line.len() < 1000 {
            line.push(wire.read_u8().await.map_err(cut)?);
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.get(3..4) == Some("-") {
            continue;
        }
        return if line.starts_with(expected) { Ok(()) } else { Err(Fault::new(Kind::Tool, line)) };
    }
    Err(Fault::new(Kind::Tool, "the server's answer has no end"))
}

fn not_logged_in(error: &Error) -> Fault {
    let fault = fault(error);
    match error.status().map(|code| code.to_string().parse().unwrap_or(500)) {
        Some(500u16..) => Fault { kind: Kind::Auth, ..fault },
        None if error.is_client() => {
            Fault::new(Kind::Auth, "the server offers no login by PLAIN or LOGIN here")
        }
        _ => fault,
    }
}

/// The server's words after its code, or what happened to the connection.
fn fault(error: &Error) -> Fault {
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    let Some(code) = error.status() else {
        return Fault::new(Kind::Network, format!("the connection was cut: {error}"));
    };
    let code = code.to_string();
    Fault::new(kind(&code, &said), format!("{code} {said}"))
}

/// What kind a refusal is of, by its code (RFC 5321 §4.2) and its enhanced code (RFC 3463).
fn kind(code: &str, said: &str) -> Kind {
    let enhanced = said.split_whitespace().next().unwrap_or_default();
    match code {
        "421" => Kind::Network,
        _ if code.starts_with('4') => Kind::RateLimit,
        "530" | "534" | "535" | "538" => Kind::Auth,
        _ if enhanced.starts_with("5.1.") => Kind::NotFound,
        _ if enhanced.starts_with("5.7.") || said.contains("relay") => Kind::Permission,
        _ if enhanced == "5.3.4" => Kind::Params,
        _ if enhanced.starts_with("5.") => Kind::Tool,
        "550" | "551" | "553" => Kind::NotFound,
        _ => Kind::Tool,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, kind};

    #[test]
    fn refusals_are_of_a_kind() {
        assert_eq!(kind("421", "4.3.2 going down"), Kind::Network);
        assert_eq!(kind("450", "4.2.0 greylisted"), Kind::RateLimit);
        assert_eq!(kind("452", "4.2.2 mailbox full"), Kind::RateLimit);
        assert_eq!(kind("535", "5.7.8 bad password"), Kind::Auth);
        assert_eq!(kind("550", "5.1.1 no such user"), Kind::NotFound);
        assert_eq!(kind("550", "no such user"), Kind::NotFound);
        assert_eq!(kind("550", "relaying denied"), Kind::Permission);
        assert_eq!(kind("552", "5.2.2 mailbox full"), Kind::Tool);
        assert_eq!(kind("552", "5.3.4 too big"), Kind::Params);
    }
}
