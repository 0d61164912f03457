"""A Kubernetes of two nodes in namespaces of its own, and what manometer must do with it."""
