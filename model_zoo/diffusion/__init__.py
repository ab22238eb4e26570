"""Diffusion: digits out of noise, step by step (Ho, Jain, Abbeel, NeurIPS 2020)."""
