"""A variational autoencoder of handwritten digits (Kingma and Welling, ICLR 2014)."""
