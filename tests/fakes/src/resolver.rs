//! A name server that knows four domains.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use simple_dns::rdata::{A, MX, RData};
use simple_dns::{CLASS, Name, Packet, QTYPE, RCODE, ResourceRecord, TYPE};

/// Starts it, for as long as the process lasts: `served.test` and `bücher.test` have a mail server, `bare.test` an
/// address alone, `none.test` takes no mail, and of `broken.test` it can't tell. What comes first is never its answer.
///
/// # Errors
/// When there is no port.
pub fn start() -> io::Result<SocketAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let at = socket.local_addr()?;
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            for datagram in answers(buffer.get(..length).unwrap_or_default()).unwrap_or_default() {
                let _ = socket.send_to(&datagram, from);
            }
        }
    });
    Ok(at)
}

/// Nonsense, an answer to somebody else, and the answer.
fn answers(question: &[u8]) -> simple_dns::Result<Vec<Vec<u8>>> {
    let mut answer = Packet::parse(question)?.into_reply();
    let Some((name, kind)) = answer.questions.first().map(|one| (one.qname.clone(), one.qtype)) else {
        return Ok(Vec::new());
    };
    let mx = |exchange| Some(RData::MX(MX { preference: 10, exchange }));
    let data = match (name.to_string().as_str(), kind) {
        ("served.test" | "xn--bcher-kva.test", QTYPE::TYPE(TYPE::MX)) => {
            mx(Name::new_unchecked("mail.served.test"))
        }
        ("none.test", QTYPE::TYPE(TYPE::MX)) => mx(Name::new_with_labels(&[])),
        ("bare.test" | "none.test", QTYPE::TYPE(TYPE::A)) => {
            Some(RData::A(A { address: Ipv4Addr::new(192, 0, 2, 1).into() }))
        }
        ("broken.test", _) => {
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
