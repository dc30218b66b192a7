# `make check` is what CI runs, step by step, the cheapest first.
PYTHON ?= python3

.PHONY: check format lint types imports test docs bench

check: lint types imports test

format:
	ruff format .
	ruff check --fix .

lint:
	ruff format --check .
	ruff check .

types:
	mypy

imports:
	lint-imports

test:
	$(PYTHON) -m pytest -n 2

docs:
	$(PYTHON) docs/generate.py

bench:
	$(PYTHON) benchmarks/overhead.py
