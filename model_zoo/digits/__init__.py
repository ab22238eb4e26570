"""A convolutional classifier of handwritten digits (scikit-learn's ``load_digits``)."""
