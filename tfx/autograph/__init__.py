"""Python control flow on tensors: conversion of functions, and what converted code calls."""
