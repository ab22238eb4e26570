"""A character LSTM, trained on the text that ships with Python."""
