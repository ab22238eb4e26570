"""Energies of molecules by a small network; the forces are its gradient, in the saved graph too."""
