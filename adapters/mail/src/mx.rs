//! Whether a domain accepts mail, by its DNS records (RFC 1035, RFC 5321 §5.1).

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};
use tokio::net::UdpSocket;

use crate::{ErrorKind, MailError};

/// Larger than any answer over UDP.
const MAX_ANSWER: usize = 4096;

/// How often the resolver is asked: datagrams get lost.
const ATTEMPTS: u32 = 2;

/// Whether a domain's records allow mail to an address: it has a mail server, or else an address of its own, and
/// doesn't refuse all mail (RFC 7505).
pub async fn accepts_mail(resolver: SocketAddr, address: &str, timeout: Duration) -> Result<bool, MailError> {
    let domain = crate::address::parse_address(address)?.domain().to_owned();
    let servers = query(resolver, &domain, TYPE::MX, timeout).await?;
    if !servers.is_empty() {
        return Ok(servers.contains(&true));
    }
    for kind in [TYPE::A, TYPE::AAAA] {
        if query(resolver, &domain, kind, timeout).await?.contains(&true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For each record of this kind, whether mail can go there.
async fn query(
    resolver: SocketAddr,
    domain: &str,
    kind: TYPE,
    timeout: Duration,
) -> Result<Vec<bool>, MailError> {
    for _ in 0..ATTEMPTS {
        let answer = tokio::time::timeout(timeout / ATTEMPTS, exchange(resolver, domain, kind)).await;
        if let Ok(answer) = answer {
            return answer;
        }
    }
    Err(MailError::new(ErrorKind::Timeout, format!("the DNS resolver {resolver} does not answer")))
}

async fn exchange(resolver: SocketAddr, domain: &str, kind: TYPE) -> Result<Vec<bool>, MailError> {
    let failed = |error: &dyn Display| {
        MailError::network(format!("the DNS resolver {resolver} can't be reached: {error}"))
    };
    let name = Name::new(domain);
    let name = name.map_err(|_| MailError::params(format!("`{domain}` isn't a domain")))?;
    let question = Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false);
    // Random: a forger must see the query to answer it.
    let [high, low, ..] = RandomState::new().hash_one(domain).to_be_bytes();
    let mut packet = Packet::new_query(u16::from_be_bytes([high, low]));
    packet.set_flags(PacketFlag::RECURSION_DESIRED);
    packet.questions.push(question);
    let bytes = packet.build_bytes_vec().map_err(|error| failed(&error))?;
    let local: SocketAddr = match resolver.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // A connected socket on its own port receives answers from the resolver only.
    let socket = UdpSocket::bind(local).await.map_err(|error| failed(&error))?;
    socket.connect(resolver).await.map_err(|error| failed(&error))?;
    socket.send(&bytes).await.map_err(|error| failed(&error))?;
    let mut buffer = [0; MAX_ANSWER];
    loop {
        let length = socket.recv(&mut buffer).await.map_err(|error| failed(&error))?;
        let Ok(answer) = Packet::parse(buffer.get(..length).unwrap_or_default()) else { continue };
        let question_of = |packet: &Packet<'_>| {
            packet.questions.first().map(|one| (one.qname.to_string().to_lowercase(), one.qtype))
        };
        let is_ours = answer.id() == packet.id() && question_of(&answer) == question_of(&packet);
        match answer.rcode() {
            _ if !is_ours => {}
            RCODE::NoError | RCODE::NameError => {
                return Ok(answer.answers.iter().filter_map(|record| accepts(&record.rdata, kind)).collect());
            }
            code => {
                return Err(MailError::tool(format!("the DNS resolver {resolver} answered {code:?}")));
            }
        }
    }
}

/// Whether mail can go where a record points; `None` for other kinds, such as an alias.
fn accepts(data: &RData<'_>, kind: TYPE) -> Option<bool> {
    match data {
        RData::MX(mx) if kind == TYPE::MX => Some(!mx.exchange.get_labels().is_empty()),
        RData::A(_) if kind == TYPE::A => Some(true),
        RData::AAAA(_) if kind == TYPE::AAAA => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use adjutant_fakes::resolver;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(2);

    #[tokio::test]
    async fn a_domain_tells_whether_it_takes_mail() {
        let resolver = resolver::start().unwrap();
        for (address, accepts) in [
            ("bob@served.test", true),
            ("bob@bücher.test", true),
            ("bob@bare.test", true),
            ("bob@none.test", false),
            ("bob@nowhere.test", false),
        ] {
            assert_eq!(accepts_mail(resolver, address, TIMEOUT).await, Ok(accepts), "{address}");
        }
        let error = accepts_mail(resolver, "bob@broken.test", TIMEOUT).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Tool);
        assert_eq!(accepts_mail(resolver, "bob", TIMEOUT).await.unwrap_err().kind, ErrorKind::Params);
    }

    #[tokio::test]
    async fn a_resolver_that_is_silent_or_away_is_told() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = silent.local_addr().unwrap();
        let error = accepts_mail(at, "bob@served.test", Duration::from_millis(100)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Timeout);
        drop(silent);
        let error = accepts_mail(at, "bob@served.test", TIMEOUT).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Network);
    }
}
