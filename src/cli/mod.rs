//! clap types only: what can be typed.
