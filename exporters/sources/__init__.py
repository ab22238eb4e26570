"""What the exporters of other frameworks consist of: their models as graphs over variables."""
