//! One file per verb: settings in, report out.
