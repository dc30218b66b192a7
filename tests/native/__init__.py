"""Tests of the native layer with programs in C."""
