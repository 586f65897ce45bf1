//! `update --check` asks whom the owner has named, and nobody else.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::process::Home;

#[test]
fn only_a_configured_address_is_asked_and_the_next_step_is_told() {
    let home = Home::new();
    let unset = home.run(&["update", "--check"]);
    assert_eq!(unset.status, Some(78), "{unset:?}");
    insta::assert_snapshot!(unset.stderr, @"
    adjutant: no address of releases is configured, so nobody was asked
    Next step: set `url` under [update] in the configuration.
    ");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/latest", listener.local_addr().unwrap());
    home.write("config.toml", &format!("[update]\nurl = \"{url}\"\n"));
    assert_eq!(home.run(&["update"]).status, Some(2));
    std::thread::spawn(move || {
        for body in ["{\"tag_name\": \"v99.0.0\"}", "<!DOCTYPE html><title>It works!</title>"] {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
            stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        }
    });
    let newer = home.run(&["update", "--check"]);
    assert_eq!((newer.status, newer.stderr.as_str()), (Some(0), ""), "{newer:?}");
    assert!(newer.stdout.starts_with("Version 99.0.0 is there; this is "), "{newer:?}");
    assert!(newer.stdout.contains("\nNext step: `adjutant db backup FILE`"), "{newer:?}");
    let page = home.run(&["update", "--check"]);
    assert_eq!(page.status, Some(1), "{page:?}");
    assert!(page.stderr.contains("doesn't answer with a version"), "{page:?}");
}
