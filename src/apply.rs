//! Records and writes what the plan says: many in flight, each guarded, with bounded retries.
