"""Policy gradient (REINFORCE): a cart learns to keep its pole upright."""
