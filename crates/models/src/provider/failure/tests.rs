use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-0123456789";

proptest! {
    #[test]
    fn no_body_makes_a_message_that_is_long_or_holds_the_key(
        status in 300_u16..600, before in ".{0,400}", after in ".{0,400}", shape in 0..3,
    ) {
        let text = format!("{before}{KEY}{after}");
        let body = match shape {
            0 => text,
            1 => serde_json::json!({"error": {"message": text}}).to_string(),
            _ => serde_json::json!([{"error": text}]).to_string(),
        };
        let error = of_status(status, &body, &HeaderMap::new(), KEY);
        prop_assert!(!error.message.contains(KEY));
        prop_assert!(error.message.chars().count() < 420, "{}", error.message);
        prop_assert!(!error.message.contains('\n'));
    }

    #[test]
    fn no_key_is_half_cut(length in 250_usize..310) {
        let words = clean(&format!("{}{KEY}", "x".repeat(length)), KEY);
        prop_assert!(!words.contains("sk-"), "{}", words);
    }

    #[test]
    fn any_event_is_some_error(body in ".{0,200}") {
        let value = serde_json::from_str(&body).unwrap_or(Value::String(body));
        prop_assert!(!of_event(&value, "").message.is_empty());
    }
}
