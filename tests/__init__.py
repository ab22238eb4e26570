"""The tests of tfx; ``tests/unit`` mirrors the source tree."""
