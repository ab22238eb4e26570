"""L2HMC: a sampler that learns how to move (Levy, Hoffman, Sohl-Dickstein, ICLR 2018)."""
