"""TensorFlow 1's graphs: operations that are collected now and run by sessions later."""
