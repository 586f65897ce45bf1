//! What a platform sends to our own HTTP endpoint, where it speaks that way.

/// A request to `POST /hooks/CHANNEL`. Nothing in it is the platform's before its signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRequest {
    /// Its headers: names in lower case; values that are no text are left out.
    pub headers: Vec<(String, String)>,
    /// Its body, as it came.
    pub body: Vec<u8>,
}

/// What is answered to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body, plain text.
    pub body: String,
}

impl HookAnswer {
    /// Nobody listens there.
    pub fn not_found() -> Self {
        Self { status: 404, body: String::new() }
    }
}
