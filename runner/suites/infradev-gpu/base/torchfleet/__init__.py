"""Training and rollout of a small transformer over the ranks of one host."""
