"""Sources and transformations that few pipelines have."""
