use super::*;

fn check(name: &str, finding: Finding) -> Check {
    Check { name: name.to_owned(), finding }
}

#[test]
fn a_report_says_what_stands_and_what_to_do() {
    let checks = [
        check("configuration", Finding::ok("config.toml is right")),
        check("secrets", Finding::warning("everybody can read them", "chmod 600 config.toml")),
        check("channels.main", Finding::error("the token is\nrefused", "set another one")),
    ];
    insta::assert_snapshot!(text(&checks), @r"
✓ configuration  config.toml is right
! secrets        everybody can read them
                 → chmod 600 config.toml
✗ channels.main  the token is refused
                 → set another one

1 to mend, 1 to look at.
");
    insta::assert_snapshot!(json(&checks[1..]).unwrap(), @r#"
{
  "ok": false,
  "checks": [
    {
      "name": "secrets",
      "verdict": "warning",
      "reason": "everybody can read them",
      "mend": "chmod 600 config.toml"
    },
    {
      "name": "channels.main",
      "verdict": "fault",
      "reason": "the token is\nrefused",
      "mend": "set another one"
    }
  ]
}
"#);
    assert!(text(&checks[..1]).ends_with("\nAll is well.\n"));
    assert!(text(&checks[..2]).ends_with("\nIt works; 1 to look at.\n"));
}
