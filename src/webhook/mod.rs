//! Admission of launcher pods over TLS: each gets references to the claims of its machine.
//!
//! | file | what is in it |
//! |---|---|
//! | `review` | what an API server asks, and the answer; pure |
//! | `pod` | what a launcher pod has to say; pure |
//! | `look` | reads what decides about a pod |
//! | `server` | listens, answers, stops when asked to |
//! | `figures` | what is counted and measured |
//! | `tls` | the certificate, and its next version |
//! | `own` | a certificate of one's own, kept in a Secret |

mod figures;
mod look;
pub mod own;
pub mod pod;
pub mod review;
pub mod server;
pub mod tls;
