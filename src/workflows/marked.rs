//! Templates for models: what is from outside the house stands in a block.

use super::template::{Piece, Template, TemplateError, Values, pieces, render};
use crate::journal::untrusted;

impl Template {
    /// As [`Template::render`], for a model: what an expression gives that asks for a name from `outside` the house stands
    /// in a block with the mark that `outside` says. Where a template has statements it is filled with `marked`, in
    /// which each such text is in a block. An expression that asks for a name which `is_blank` becomes nothing.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn for_model(
        &self,
        values: &Values,
        marked: &dyn Fn() -> Values,
        outside: &dyn Fn(&str) -> Option<String>,
        is_blank: &dyn Fn(&str) -> bool,
    ) -> Result<String, TemplateError> {
        if !self.names().iter().any(|name| outside(name).is_some() || is_blank(name)) {
            return self.render(values);
        }
        let pieces = pieces(self.source());
        if pieces.iter().any(|piece| matches!(piece, Piece::Statement(_))) {
            return self.render(&marked());
        }
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Expression(source) => {
                    let names = Self::new(source)?.names().to_vec();
                    if names.iter().any(|name| is_blank(name)) {
                        continue;
                    }
                    let rendered = render(source, values)?;
                    match names.iter().find_map(|name| outside(name)) {
                        Some(mark) => text.push_str(&untrusted::block(&mark, &rendered)),
                        None => text.push_str(&rendered),
                    }
                }
                // Comments go.
                Piece::Text(source) | Piece::Statement(source) => text.push_str(&render(source, values)?),
            }
        }
        Ok(text)
    }
}
