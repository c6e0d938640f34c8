//! One printer: tables, diffs, progress, maps.
