//! From the delivery of a mail to its telling.

fn main() {}
