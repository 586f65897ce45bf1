//! What a domain's DNS records (RFC 1035) tell: whether it accepts mail (RFC 5321 §5.1), and which servers it has
//! (RFC 2782).

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};
use tokio::net::UdpSocket;

use crate::{ErrorKind, MailError, Result};

/// Larger than any answer over UDP.
const MAX_ANSWER: usize = 4096;

/// How often the resolver is asked: datagrams get lost.
const ATTEMPTS: u32 = 2;

/// Whether a domain's records allow mail to an address: it has a mail server, or else an address of its own, and
/// doesn't refuse all mail (RFC 7505).
pub async fn accepts_mail(resolver: SocketAddr, address: &str, timeout: Duration) -> Result<bool> {
    let domain = crate::address::parse_address(address)?.domain().to_owned();
    let servers = query(resolver, &domain, TYPE::MX, timeout, accepts).await?;
    if !servers.is_empty() {
        return Ok(servers.contains(&true));
    }
    for kind in [TYPE::A, TYPE::AAAA] {
        if query(resolver, &domain, kind, timeout, accepts).await?.contains(&true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The host and port of a service of an email address's domain, such as `_imaps._tcp` (RFC 6186, 6764, 8314). `None` if it
/// has none.
pub async fn service_host(
    resolver: SocketAddr,
    service: &str,
    address: &str,
    timeout: Duration,
) -> Result<Option<(String, u16)>> {
    let domain = crate::address::parse_address(address)?.domain().to_owned();
    let found = query(resolver, &format!("{service}.{domain}"), TYPE::SRV, timeout, offers).await?;
    let best = found.into_iter().min_by_key(|(priority, ..)| *priority);
    Ok(best.map(|(_, host, port)| (host, port)))
}

/// What is read from each record of this kind.
async fn query<T>(
    resolver: SocketAddr,
    domain: &str,
    kind: TYPE,
    timeout: Duration,
    read: fn(&RData<'_>, TYPE) -> Option<T>,
) -> Result<Vec<T>> {
    for _ in 0..ATTEMPTS {
        let answer = tokio::time::timeout(timeout / ATTEMPTS, exchange(resolver, domain, kind, read)).await;
        if let Ok(answer) = answer {
            return answer;
        }
    }
    Err(MailError::new(ErrorKind::Timeout, format!("the DNS resolver {resolver} does not answer")))
}

async fn exchange<T>(
    resolver: SocketAddr,
    domain: &str,
    kind: TYPE,
    read: fn(&RData<'_>, TYPE) -> Option<T>,
) -> Result<Vec<T>> {
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
                return Ok(answer.answers.iter().filter_map(|record| read(&record.rdata, kind)).collect());
            }
            code => return Err(MailError::tool(format!("the DNS resolver {resolver} answered {code:?}"))),
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

/// The priority, host and port of a service; a root as its host means that there is none.
fn offers(data: &RData<'_>, _: TYPE) -> Option<(u16, String, u16)> {
    let RData::SRV(srv) = data else { return None };
    let has_host = !srv.target.get_labels().is_empty();
    has_host.then(|| (srv.priority, srv.target.to_string(), srv.port))
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
    async fn a_domain_tells_where_its_servers_are() {
        let resolver = resolver::start().unwrap();
        let found = async |service, address| service_host(resolver, service, address, TIMEOUT).await;
        let first = Ok(Some(("imap.served.test".to_owned(), 1993)));
        assert_eq!(found("_imaps._tcp", "bob@served.test").await, first);
        assert_eq!(found("_submissions._tcp", "bob@served.test").await, Ok(None), "it says that it has none");
        assert_eq!(found("_imaps._tcp", "bob@bare.test").await, Ok(None));
        assert_eq!(found("_imaps._tcp", "bob@broken.test").await.unwrap_err().kind, ErrorKind::Tool);
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
