"""Variables of graphs: scopes, sharing by name, initialization, assignment."""
