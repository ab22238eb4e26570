"""Computing a part again for its gradient: the same random numbers and variables as before."""
