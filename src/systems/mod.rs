//! One file per machine API: objects to claims, allocations to writes. Pure.
