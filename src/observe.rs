//! Reads the world: records first, then owners, then a live look at every owner that seems gone.
