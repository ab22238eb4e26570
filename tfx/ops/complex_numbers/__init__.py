"""What operators do with complex numbers, by operators on the pairs of their parts."""
