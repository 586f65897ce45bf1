//! Whether a domain takes mail: its records, asked from a resolver of the configuration (RFC 1035, RFC 5321 §5.1).

use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, RCODE, TYPE};
use tokio::net::UdpSocket;

use crate::{Fault, Kind};

/// More than an answer over UDP holds.
const ANSWER: usize = 4096;

/// So often it is asked: a datagram may get lost.
const TRIES: u32 = 2;

/// Whether mail to an address can be delivered anywhere, as far as the domain's records tell: it has a mail server, or,
/// without any named, an address of its own; and does not say that it takes none (RFC 7505).
///
/// # Errors
/// When the resolver can't be asked, or the address is none.
pub async fn takes_mail(resolver: SocketAddr, address: &str, patience: Duration) -> Result<bool, Fault> {
    let domain = crate::compose::address(address)?.domain().to_owned();
    let servers = ask(resolver, &domain, TYPE::MX, patience).await?;
    if !servers.is_empty() {
        return Ok(servers.contains(&true));
    }
    for kind in [TYPE::A, TYPE::AAAA] {
        if ask(resolver, &domain, kind, patience).await?.contains(&true) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// For each record of this kind whether mail can go there.
async fn ask(resolver: SocketAddr, domain: &str, kind: TYPE, patience: Duration) -> Result<Vec<bool>, Fault> {
    for _ in 0..TRIES {
        let answer = tokio::time::timeout(patience / TRIES, exchange(resolver, domain, kind)).await;
        if let Ok(answer) = answer {
            return answer;
        }
    }
    Err(Fault::new(Kind::Timeout, format!("the resolver {resolver} does not answer")))
}

async fn exchange(resolver: SocketAddr, domain: &str, kind: TYPE) -> Result<Vec<bool>, Fault> {
    let failed = |error: &dyn Display| {
        Fault::new(Kind::Network, format!("the resolver {resolver} can't be asked: {error}"))
    };
    let name = Name::new(domain);
    let name = name.map_err(|_| Fault::new(Kind::Params, format!("`{domain}` is no domain")))?;
    let question = Question::new(name, QTYPE::TYPE(kind), QCLASS::CLASS(CLASS::IN), false);
    // Another one each time: whoever answers without having heard the question must guess it.
    let [high, low, ..] = RandomState::new().hash_one(domain).to_be_bytes();
    let mut query = Packet::new_query(u16::from_be_bytes([high, low]));
    query.set_flags(PacketFlag::RECURSION_DESIRED);
    query.questions.push(question);
    let bytes = query.build_bytes_vec().map_err(|error| failed(&error))?;
    let local: SocketAddr = match resolver.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // A port of its own, and connected: an answer of anybody else is not heard.
    let socket = UdpSocket::bind(local).await.map_err(|error| failed(&error))?;
    socket.connect(resolver).await.map_err(|error| failed(&error))?;
    socket.send(&bytes).await.map_err(|error| failed(&error))?;
    let mut buffer = [0; ANSWER];
    loop {
        let length = socket.recv(&mut buffer).await.map_err(|error| failed(&error))?;
        let Ok(answer) = Packet::parse(buffer.get(..length).unwrap_or_default()) else { continue };
        let asked = |packet: &Packet<'_>| {
            packet.questions.first().map(|one| (one.qname.to_string().to_lowercase(), one.qtype))
        };
        let is_ours = answer.id() == query.id() && asked(&answer) == asked(&query);
        match answer.rcode() {
            _ if !is_ours => {}
            RCODE::NoError | RCODE::NameError => {
                return Ok(answer.answers.iter().filter_map(|record| takes(&record.rdata, kind)).collect());
            }
            code => return Err(Fault::new(Kind::Tool, format!("the resolver {resolver} answers {code:?}"))),
        }
    }
}

/// Whether mail can go where a record says; nothing if it is of another kind, such as an alias on the way.
fn takes(data: &RData<'_>, kind: TYPE) -> Option<bool> {
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

    const PATIENCE: Duration = Duration::from_secs(2);

    #[tokio::test]
    async fn a_domain_tells_whether_it_takes_mail() {
        let resolver = resolver::start().unwrap();
        for (address, takes) in [
            ("bob@served.test", true),
            ("bob@bücher.test", true),
            ("bob@bare.test", true),
            ("bob@none.test", false),
            ("bob@nowhere.test", false),
        ] {
            assert_eq!(takes_mail(resolver, address, PATIENCE).await, Ok(takes), "{address}");
        }
        let fault = takes_mail(resolver, "bob@broken.test", PATIENCE).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Tool);
        assert_eq!(takes_mail(resolver, "bob", PATIENCE).await.unwrap_err().kind, Kind::Params);
    }

    #[tokio::test]
    async fn a_resolver_that_is_silent_or_away_is_told() {
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let at = silent.local_addr().unwrap();
        let fault = takes_mail(at, "bob@served.test", Duration::from_millis(100)).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Timeout);
        drop(silent);
        let fault = takes_mail(at, "bob@served.test", PATIENCE).await.unwrap_err();
        assert_eq!(fault.kind, Kind::Network);
    }
}
