"""Placeholder."""

from keras.src.random.seed_generator import SeedGenerator as SeedGenerator
from keras.src.random.seed_generator import draw_seed as draw_seed
from keras.src.random.seed_generator import make_default_seed as make_default_seed
