//! What a person has to be asked and told before a channel of a platform can be set up.

/// How a channel of a platform is set up by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The platform's name, as people write it.
    pub platform: &'static str,
    /// What is asked for, in this order.
    pub questions: Vec<Question>,
    /// Where people find their own id there.
    pub own_id: &'static str,
}

/// A secret of the platform's that a person has to bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its key in the channel's table of the configuration.
    pub key: &'static str,
    /// What it is, such as "The bot's token".
    pub what: &'static str,
    /// How one comes to it, with the link and the names of what to press; a step each.
    pub steps: Vec<String>,
}
