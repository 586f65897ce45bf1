//! Requests of platforms that push events to our own HTTP endpoint.

/// A request to `POST /hooks/CHANNEL`. Anybody can send one: check the signature before trusting anything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRequest {
    /// The headers: names in lower case, without values that aren't text.
    pub headers: Vec<(String, String)>,
    /// The body, as it came.
    pub body: Vec<u8>,
}

/// Our response to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body, plain text.
    pub body: String,
}

impl WebhookResponse {
    /// The response of a channel without a webhook.
    pub fn not_found() -> Self {
        Self { status: 404, body: String::new() }
    }
}
