//! Every sentence that people read. The sentences stand in `messages/en/*.ftl`, in the syntax of Fluent; the build turns
//! each file into a module and each message into a function whose parameters are the message's variables, in order of
//! their appearance. So a message that doesn't exist, or is called with too few arguments, doesn't compile.
//!
//! A variable that selects a plural form is a [`Count`]; every other one is anything that can be shown.

use std::fmt::Display;
use std::sync::LazyLock;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource, FluentValue};

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// A number that chooses between "1 task" and "2 tasks".
pub trait Count: Copy {
    /// The number as Fluent takes it.
    fn value(self) -> FluentValue<'static>;
}

macro_rules! counts {
    ($($integer:ty)*) => {
        $(impl Count for $integer {
            fn value(self) -> FluentValue<'static> {
                self.into()
            }
        })*
    };
}
counts!(i64 u64 u32 usize);

struct Messages(FluentBundle<FluentResource>);

impl Messages {
    fn new(source: &str) -> Self {
        // The build has parsed the same text, so there are no errors.
        let resource = FluentResource::try_new(source.to_owned()).unwrap_or_else(|(resource, _)| resource);
        let mut bundle = FluentBundle::new_concurrent(Vec::new());
        // Marks around arguments, for texts that mix directions of writing: chat apps show them as boxes.
        bundle.set_use_isolating(false);
        bundle.add_resource_overriding(resource);
        Self(bundle)
    }

    fn text<const N: usize>(&self, message: &str, args: [(&'static str, FluentValue<'static>); N]) -> String {
        let args: FluentArgs<'_> = args.into_iter().collect();
        let pattern = self.0.get_message(message).and_then(|message| message.value());
        pattern.map_or_else(
            || message.to_owned(),
            |pattern| self.0.format_pattern(pattern, Some(&args), &mut Vec::new()).into_owned(),
        )
    }
}

fn shown(value: impl Display) -> FluentValue<'static> {
    FluentValue::String(value.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_chooses_the_form_and_arguments_stay_as_they_are() {
        let messages = Messages::new(
            "done = { $count ->\n    [one] { $count } task\n   *[other] { $count } tasks\n} of { $name }\n",
        );
        let text = |count: usize, name: &str| {
            messages.text("done", [("count", count.value()), ("name", shown(name))])
        };
        assert_eq!(text(1, "Ada"), "1 task of Ada");
        assert_eq!(text(12_345, "{ $count }\n\u{2068}x"), "12345 tasks of { $count }\n\u{2068}x");
    }
}
