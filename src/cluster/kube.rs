//! A Kubernetes API as the cluster.
