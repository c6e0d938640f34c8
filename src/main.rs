//! mipam
fn main() {}
