//! Templates for models, with untrusted text in blocks.

use adjutant_config::template::{Segment, segments};

use super::template::{Template, TemplateError, Values, render};

/// Puts a text into the block of a name, if that is an outside one.
pub(super) type Block<'b> = &'b dyn Fn(&str, &str) -> Option<String>;

impl Template {
    /// As [`Template::render`], for a model: what an expression with an outside name gives is put into the `block` of that
    /// name. A template with statements is filled with `marked`, where each such text already is in a block. Expressions with a
    /// name that `is_blank` become nothing.
    pub fn for_model(
        &self,
        values: &Values,
        marked: &dyn Fn() -> Values,
        (is_outside, block): (&dyn Fn(&str) -> bool, Block<'_>),
        is_blank: &dyn Fn(&str) -> bool,
    ) -> Result<String, TemplateError> {
        if !self.names().iter().any(|name| is_outside(name) || is_blank(name)) {
            return self.render(values);
        }
        let segments = segments(self.source());
        if segments.iter().any(|segment| matches!(segment, Segment::Statement(_))) {
            return self.render(&marked());
        }
        let mut text = String::new();
        for segment in segments {
            match segment {
                Segment::Expression(source) => {
                    let names = Self::new(source)?.names().to_vec();
                    if names.iter().any(|name| is_blank(name)) {
                        continue;
                    }
                    let rendered = render(source, values)?;
                    let in_block = names.iter().find_map(|name| block(name, &rendered));
                    text.push_str(in_block.as_ref().unwrap_or(&rendered));
                }
                // Comments are dropped.
                Segment::Text(source) | Segment::Statement(source) => text.push_str(&render(source, values)?),
            }
        }
        Ok(text)
    }
}
