//! A name server that knows four domains, and whichever services it is told.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use simple_dns::rdata::{A, MX, RData, SRV};
use simple_dns::{CLASS, Name, Packet, QTYPE, RCODE, ResourceRecord, TYPE};

/// Starts it, for as long as the process lasts: `served.test` and `bücher.test` have a mail server, `bare.test` an
/// address alone, `none.test` takes no mail, and of `broken.test` it can't tell. `served.test` names two servers for
/// IMAP, and says that it has none for sending. What comes first is never its answer.
///
/// # Errors
/// When there is no port.
pub fn start() -> io::Result<SocketAddr> {
    naming(Vec::new())
}

/// The same, which names this machine at these ports as the server of these services, such as `_imaps._tcp.home.test`.
///
/// # Errors
/// When there is no port.
pub fn naming(services: Vec<(&'static str, u16)>) -> io::Result<SocketAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = socket.local_addr()?;
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let question = buffer.get(..length).unwrap_or_default();
            for datagram in answers(question, &services).unwrap_or_default() {
                let _ = socket.send_to(&datagram, from);
            }
        }
    });
    Ok(at)
}

/// Nonsense, an answer to somebody else, and the answer.
fn answers(question: &[u8], services: &[(&'static str, u16)]) -> simple_dns::Result<Vec<Vec<u8>>> {
    let mut answer = Packet::parse(question)?.into_reply();
    let Some((name, kind)) = answer.questions.first().map(|one| (one.qname.clone(), one.qtype)) else {
        return Ok(Vec::new());
    };
    let mx = |exchange| Some(RData::MX(MX { preference: 10, exchange }));
    let srv = |priority, target, port| RData::SRV(SRV { priority, weight: 0, port, target });
    if (name.to_string().as_str(), kind) == ("_imaps._tcp.served.test", QTYPE::TYPE(TYPE::SRV)) {
        let second = srv(20, Name::new_unchecked("imap2.served.test"), 993);
        answer.answers.push(ResourceRecord::new(name.clone(), CLASS::IN, 60, second));
    }
    let asked = name.to_string();
    let named = services.iter().find(|(service, _)| *service == asked);
    let data = match (asked.as_str(), kind) {
        (_, QTYPE::TYPE(TYPE::SRV)) if named.is_some() => {
            named.map(|(_, port)| srv(0, Name::new_unchecked("localhost"), *port))
        }
        ("_imaps._tcp.served.test", QTYPE::TYPE(TYPE::SRV)) => {
            Some(srv(10, Name::new_unchecked("imap.served.test"), 1993))
        }
        ("_submissions._tcp.served.test", QTYPE::TYPE(TYPE::SRV)) => {
            Some(srv(0, Name::new_with_labels(&[]), 0))
        }
        ("served.test" | "xn--bcher-kva.test", QTYPE::TYPE(TYPE::MX)) => {
            mx(Name::new_unchecked("mail.served.test"))
        }
        ("none.test", QTYPE::TYPE(TYPE::MX)) => mx(Name::new_with_labels(&[])),
        ("bare.test" | "none.test", QTYPE::TYPE(TYPE::A)) => {
            Some(RData::A(A { address: Ipv4Addr::new(192, 0, 2, 1).into() }))
        }
        ("broken.test" | "_imaps._tcp.broken.test", _) => {
            *answer.rcode_mut() = RCODE::ServerFailure;
            None
        }
        _ => None,
    };
    let mut other = answer.clone();
    other.set_id(answer.id().wrapping_add(1));
    answer.answers.extend(data.map(|data| ResourceRecord::new(name, CLASS::IN, 60, data)));
    Ok(vec![b"nonsense".to_vec(), other.build_bytes_vec()?, answer.build_bytes_vec()?])
}
