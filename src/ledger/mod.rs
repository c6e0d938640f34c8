//! How allocations are kept in ConfigMaps, and what a compare-and-swap changes.
