//! Splits a long text into parts that each fit a limit.
//!
//! Every part fits, nothing is dropped, and the order stays. A part ends between blocks if possible, then between
//! list items or table rows (the header is repeated), then between lines of code (each part is a code block of its
//! own), then between lines, words and finally characters of running text. Only the platform's rendering knows how
//! long a part is, so the caller brings the measure. Where no cut fits (a long address behind one word, a row as long
//! as a message), the text loses its form.

mod inline;
mod table;

use crate::{Block, Inline, RichText};

/// Whether blocks fit into one part.
type Fits<'a> = &'a dyn Fn(&[Block]) -> bool;

/// A front that fits, maybe empty, and the rest.
type Cut = (Vec<Block>, Vec<Block>);

/// Splits `text` into parts for which `measure` is at most `limit`; `measure` must not shrink when text is added.
/// There is always at least one part, and a part is longer than the limit only if not even one character fits.
pub fn split(text: &RichText, limit: usize, measure: impl Fn(&RichText) -> usize) -> Vec<RichText> {
    if measure(text) <= limit {
        return vec![text.clone()];
    }
    let fits = |blocks: &[Block]| measure(&RichText { blocks: blocks.to_vec() }) <= limit;
    let mut parts = Vec::new();
    let mut rest = text.blocks.clone();
    while !rest.is_empty() {
        let (head, left) = take(rest, &fits, true);
        parts.extend((!head.is_empty()).then_some(RichText { blocks: head }));
        rest = left;
    }
    if parts.is_empty() { vec![RichText::default()] } else { parts }
}

/// Takes from the front what fits. With `must` something is always taken, even if a block has to be broken for it.
fn take(mut blocks: Vec<Block>, fits: Fits<'_>, must: bool) -> Cut {
    let mut whole = largest(blocks.len(), |count| fits(&blocks[..count]));
    let Some(next) = blocks.get(whole) else { return (blocks, Vec::new()) };
    let forced = whole == 0 && must;
    let (cut, mut left) = if forced {
        force_cut(next, fits)
    } else {
        let before = &blocks[..whole];
        cut(next, &|more| fits(&[before, more].concat()), false)
    };
    // Forced, and still nothing: the block was empty and goes.
    if cut.is_empty() && !forced {
        // A heading stays with the text below it.
        while whole > 1 && matches!(blocks[whole - 1], Block::Heading { .. }) {
            whole -= 1;
        }
        let rest = blocks.split_off(whole);
        return (blocks, rest);
    }
    left.extend(blocks.drain(whole..).skip(1));
    blocks.extend(cut);
    (blocks, left)
}

/// Cuts a block that doesn't fit; as a last resort it loses its form.
fn force_cut(block: &Block, fits: Fits<'_>) -> Cut {
    let (head, rest) = cut(block, fits, true);
    let last_resort = matches!(block, Block::Paragraph(_) | Block::Rule);
    if !head.is_empty() && (last_resort || fits(&head)) {
        return (head, rest);
    }
    take(unwrapped(block, fits), fits, true)
}

fn cut(block: &Block, fits: Fits<'_>, must: bool) -> Cut {
    match block {
        Block::Paragraph(text) if must => cut_text(text, fits, Block::Paragraph),
        Block::Heading { level, text } if must => {
            cut_text(text, fits, |text| Block::Heading { level: *level, text })
        }
        Block::Code { language, text } if must => cut_code(language.as_ref(), text, fits),
        Block::Rule if must => (vec![Block::Rule], Vec::new()),
        Block::Quote(inner) => {
            let quote =
                |blocks: Vec<Block>| if blocks.is_empty() { vec![] } else { vec![Block::Quote(blocks)] };
            let (head, rest) = take(inner.clone(), &|head| fits(&[Block::Quote(head.to_vec())]), must);
            (quote(head), quote(rest))
        }
        Block::List { start, items } => cut_list(*start, items, fits, must),
        Block::Table { align, header, rows } => table::cut((align, header), rows, fits),
        _ => (Vec::new(), vec![block.clone()]),
    }
}

fn cut_text(text: &[Inline], fits: Fits<'_>, block: impl Fn(Vec<Inline>) -> Block) -> Cut {
    let (head, rest) = inline::take(text.to_vec(), &|head| fits(&[block(head)]));
    let rest = if rest.is_empty() { Vec::new() } else { vec![block(rest)] };
    (vec![block(head)], rest)
}

fn cut_code(language: Option<&String>, text: &str, fits: Fits<'_>) -> Cut {
    let code = |text: &str| Block::Code { language: language.cloned(), text: text.to_owned() };
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let lines = largest(ends.len(), |count| fits(&[code(&text[..ends[count - 1]])]));
    if lines > 0 {
        let end = ends[lines - 1];
        return (vec![code(&text[..end])], vec![code(&text[end + 1..])]);
    }
    // Not even the first line fits: cut it between characters.
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let chars = largest(starts.len(), |count| fits(&[code(&text[..starts[count - 1]])]));
    match chars.checked_sub(1).map(|last| text.split_at(starts[last])) {
        Some((head, rest)) => (vec![code(head)], vec![code(rest)]),
        None => (Vec::new(), vec![code(text)]),
    }
}

fn cut_list(start: Option<u64>, items: &[Vec<Block>], fits: Fits<'_>, must: bool) -> Cut {
    let list = |start: Option<u64>, items: Vec<Vec<Block>>| {
        if items.is_empty() { Vec::new() } else { vec![Block::List { start, items }] }
    };
    let whole = largest(items.len(), |count| fits(&list(start, items[..count].to_vec())));
    if whole > 0 || !must {
        let next = start.map(|first| first.saturating_add(whole as u64));
        return (list(start, items[..whole].to_vec()), list(next, items[whole..].to_vec()));
    }
    let Some((first, others)) = items.split_first() else { return (Vec::new(), Vec::new()) };
    let (head, left) = take(first.clone(), &|head| fits(&list(start, vec![head.to_vec()])), true);
    let rest = if left.is_empty() { Vec::new() } else { vec![left] };
    (list(start, vec![head]), list(start, [rest, others.to_vec()].concat()))
}

/// The block as simpler blocks, for when no cut of it fits.
fn unwrapped(block: &Block, fits: Fits<'_>) -> Vec<Block> {
    match block {
        Block::Quote(inner) => inner.clone(),
        Block::List { items, .. } => items.concat(),
        Block::Heading { text, .. } => vec![Block::Paragraph(text.clone())],
        Block::Table { align, header, rows } => table::unwrapped((align, header), rows, fits),
        Block::Code { text, .. } => {
            let lines = text.split('\n').map(|line| Inline::Text(line.to_owned()));
            let mut inlines: Vec<Inline> = lines.flat_map(|line| [line, Inline::Break]).collect();
            inlines.pop();
            vec![Block::Paragraph(inlines)]
        }
        other => vec![other.clone()],
    }
}

/// The largest count up to `most` that is `ok`. Every smaller one must be too, and 0 is assumed to be. Tries small
/// counts first, so that a short part never costs measuring a long text.
fn largest(most: usize, ok: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut step) = (0, 1);
    while good < most && ok((good + step).min(most)) {
        good = (good + step).min(most);
        step *= 2;
    }
    let mut bad = (good + step).min(most);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if ok(middle) { good = middle } else { bad = middle }
    }
    good
}

#[cfg(test)]
mod tests;
