"""An object of Python whose methods change it, which programs of tests call."""

from __future__ import annotations


class Counter:
    def __init__(self, start=0):
        self.count = start
        self.items = []
        self.last = None

    def change(self):
        self.count += 1

    def keep(self, x):
        self.last = x

    def add(self, x):
        self.items.append(x)

    def same(self):
        self.count = self.count * 1

    def total(self):
        return self.count
