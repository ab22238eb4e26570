"""Looking at functions: profiles, placement, descriptions, values from their middle."""
