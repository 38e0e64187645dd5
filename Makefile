# GNU make. Everything that is made stays in this folder: .venv, build, dist and out.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
LSSVM_DATA ?= ../shared/data
DATA ?= $(LSSVM_DATA)
FLAGS = $(if $(QUICK),--quick) $(if $(JOBS),--jobs $(JOBS)) $(if $(EXECUTOR),--executor "$(EXECUTOR)")
BENCHMARKS := $(filter-out %/__init__.py %/mrf_peers.py %/letters_solvers.py %/passes.py %/harvest_duals.py %/sizes.py %/growth.py %/workers.py,$(wildcard experiments/benchmarks/*.py))
SOURCES := pyproject.toml setup.py $(wildcard cython_ext/*) $(wildcard experiments/*/*.pyx)
# An installation for development is enough for everything else.
READY := $(firstword $(wildcard $(VENV)/dev.installed) $(VENV)/run.installed)
# Those that take longest come first.
EXPERIMENTS := motif-yeast relation mssvm-figure4 mssvm-table3 parsing motif-pbm mssvm-table4 ohsumed coref \
	mssvm-table2 figure2 mssvm-figure3 ner motif-promoters mq2008 mssvm-draws constraints alignment \
	taxonomy taxonomy-simulated alignment-balibase bags motif-planted mssvm-figure2 mssvm-figure5
NEEDED = lssvm needs Python 3.11 or later; choose one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)

.DEFAULT_GOAL := help
.PHONY: help run docs test fuzz lint faults experiments papers $(EXPERIMENTS) parsing-longer photographs bench bench-letters bench-passes bench-sizes bench-growth bench-workers build wheel clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
	@echo "Experiments read $(DATA) (DATA=DIR or the variable LSSVM_DATA), write to $(OUT) (OUT=DIR),"
	@echo "use all cores (JOBS=N) or workers of Dask (EXECUTOR=dask, EXECUTOR=dask:ADDRESS), and have a"
	@echo "short form (QUICK=1)."

run: $(READY) ## train on the yeast DNA in data/motif, test, and write model, sites, motif and logo to out/
	@mkdir -p "$(OUT)"
	$(BIN)/lssvm-learn configs/motif.yaml "$(OUT)/motif.model"
	$(BIN)/lssvm-classify configs/motif.yaml "$(OUT)/motif.model" "$(OUT)/sites.tsv" --metrics "$(OUT)/metrics.json"
	@$(BIN)/lssvm show "$(OUT)/motif.model" --top 0 --export meme="$(OUT)/motif.meme" --export logo="$(OUT)/motif.png" > "$(OUT)/motif.txt"
	@echo "wrote to $(OUT): motif.model, sites.tsv, metrics.json, motif.meme, motif.png, motif.txt"

test: lint ## check style and types, and run all tests
	$(BIN)/python -m pytest -n 2

docs: $(VENV)/dev.installed ## build the documentation as web pages in out/docs
	$(BIN)/python -m sphinx -W -q -b html docs "$(OUT)/docs"

fuzz: $(VENV)/dev.installed ## give damaged files to every command (MINUTES=10, or CASES=N; SEED=N)
	$(BIN)/python tests/fuzz.py $(if $(CASES),--cases $(CASES),--minutes $(or $(MINUTES),10)) \
		--seed $(or $(SEED),0) $(if $(JOBS),--jobs $(JOBS)) --keep "$(OUT)/fuzz"

lint: $(VENV)/dev.installed ## check style and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

faults: $(VENV)/dev.installed ## stop every command at random times (SHOTS=100 SECONDS=0 SEED=0)
	$(BIN)/python -u tests/faults.py --shots $(or $(SHOTS),100) --seconds $(or $(SECONDS),0) --seed $(or $(SEED),0)

# Two at a time, each with half of the processes, so that no core waits for the last task of a target;
# an error of one does not stop the others.
experiments: $(VENV)/dev.installed ## run all experiments, two at a time, then make papers
	@$(MAKE) --no-print-directory --keep-going --output-sync=target --jobs=2 \
		JOBS=$$(( ($(or $(JOBS),$$(getconf _NPROCESSORS_ONLN)) + 1) / 2 )) $(EXPERIMENTS); \
	code=$$?; $(MAKE) --no-print-directory papers && exit $$code

papers: $(VENV)/dev.installed ## set the results in out/ beside the papers' tables: papers.html, papers.md (KEEP=1: and in docs)
	$(BIN)/python -m experiments.papers.page --out "$(OUT)" $(if $(KEEP),--keep)

motif-planted: $(VENV)/dev.installed ## planted motifs, compared with the oracle that knows them
	$(BIN)/python -m experiments.yu_joachims_2009.motif_planted --out "$(OUT)/motif-planted" $(FLAGS)

motif-pbm: $(VENV)/dev.installed ## motifs of protein-binding arrays (Kumar, Packer & Koller 2010)
	$(BIN)/python -m experiments.kumar_2010.motif_pbm --data "$(DATA)/pbm-motif-spl" --out "$(OUT)/motif-pbm" $(FLAGS)

motif-yeast: $(VENV)/dev.installed ## motifs of yeast origins of replication (Yu & Joachims 2009, Table 1)
	$(BIN)/python -m experiments.yu_joachims_2009.motif_yeast --data "$(DATA)/yeast-ars" --out "$(OUT)/motif-yeast" $(FLAGS)

motif-promoters: $(VENV)/dev.installed ## motifs of E. coli promoters, leave-one-out
	$(BIN)/python -m experiments.yu_joachims_2009.motif_promoters --data "$(DATA)/uci-promoters" --out "$(OUT)/motif-promoters" $(FLAGS)

ohsumed: $(VENV)/dev.installed ## precision at k on LETOR 3 (Yu & Joachims 2009, Table 3)
	$(BIN)/python -m experiments.yu_joachims_2009.ohsumed --data "$(DATA)/letor3-ohsumed" --out "$(OUT)/ohsumed" $(FLAGS)

mq2008: $(VENV)/dev.installed ## the same on LETOR 4
	$(BIN)/python -m experiments.yu_joachims_2009.ohsumed --data "$(DATA)/letor4-mq2008" --out "$(OUT)/mq2008" $(FLAGS)

coref: $(VENV)/dev.installed ## coreference on LitBank and GUM (Yu & Joachims 2009, Table 2)
	$(BIN)/python -m experiments.yu_joachims_2009.coref --data "$(DATA)" --out "$(OUT)/coref" $(FLAGS)

figure2: $(VENV)/dev.installed ## CCCP iterations for growing C (Yu & Joachims 2009, Figure 2)
	$(BIN)/python -m experiments.yu_joachims_2009.figure2 --data "$(DATA)" --out "$(OUT)/figure2" $(FLAGS)

taxonomy: $(VENV)/dev.installed ## classes in a taxonomy, few examples (Tsochantaridis et al. 2004, Table 1)
	$(BIN)/python -m experiments.tsochantaridis_2004.taxonomy_table --data "$(DATA)/hmc-taxonomy" --out "$(OUT)/taxonomy" $(FLAGS)

taxonomy-simulated: $(VENV)/dev.installed ## when the tree helps: simulated classes that share features by level
	$(BIN)/python -m experiments.tsochantaridis_2004.simulated_taxonomy --data "$(DATA)/hmc-taxonomy" --out "$(OUT)/taxonomy-simulated" $(FLAGS)

ner: $(VENV)/dev.installed ## named entities in Spanish (Tsochantaridis et al. 2004, section 4.3)
	$(BIN)/python -m experiments.tsochantaridis_2004.ner_table --data "$(DATA)/conll2002-spanish" --out "$(OUT)/ner" $(FLAGS)

parsing: $(VENV)/dev.installed ## parsing with grammars of GUM's trees (Tsochantaridis et al. 2004, section 4.5)
	$(BIN)/python -m experiments.tsochantaridis_2004.parsing --data "$(DATA)/gum" --out "$(OUT)/parsing" $(FLAGS)

parsing-longer: $(VENV)/dev.installed ## the same for sentences of up to 40 tokens, which is not in experiments (45 minutes)
	$(BIN)/python -m experiments.tsochantaridis_2004.parsing_longer --data "$(DATA)/gum" --out "$(OUT)/parsing-longer" $(FLAGS)

alignment: $(VENV)/dev.installed ## homologs among decoys, simulated (Tsochantaridis et al. 2004, section 4.4)
	$(BIN)/python -m experiments.tsochantaridis_2004.alignment --out "$(OUT)/alignment" $(FLAGS)

alignment-balibase: $(VENV)/dev.installed ## learn to align proteins of BAliBASE, compared with BLOSUM62
	$(BIN)/python -m experiments.tsochantaridis_2004.alignment_balibase --data "$(DATA)/balibase3" --out "$(OUT)/alignment-balibase" $(FLAGS)

constraints: $(VENV)/dev.installed ## number of constraints of n-slack and of Algorithm 1 to the letter for growing numbers of examples, two data sets
	$(BIN)/python -m experiments.tsochantaridis_2004.constraints --data "$(DATA)" --out "$(OUT)/constraints" $(FLAGS)

mssvm-table2: $(VENV)/dev.installed ## models of hidden variables on a chain and a grid (Ping et al. 2014, Table 2)
	$(BIN)/python -m experiments.ping_2014.table2 --out "$(OUT)/mssvm-table2" $(FLAGS)

mssvm-table3: $(VENV)/dev.installed ## the same for hidden variables of all degrees of certainty (Table 3)
	$(BIN)/python -m experiments.ping_2014.table3 --out "$(OUT)/mssvm-table3" $(FLAGS)

mssvm-figure2: $(VENV)/dev.installed ## convergence of (sub)gradient descent for the three models (Figure 2)
	$(BIN)/python -m experiments.ping_2014.figure2 --out "$(OUT)/mssvm-figure2" $(FLAGS)

mssvm-figure3: $(VENV)/dev.installed ## error and likelihood for growing numbers of training chains (Figures 3 and 5)
	$(BIN)/python -m experiments.ping_2014.figure3 --out "$(OUT)/mssvm-figure3" $(FLAGS)

mssvm-figure5: $(VENV)/dev.installed ## log-likelihood of test labels during SGD (Ping, Liu & Ihler 2014, Figure 5)
	$(BIN)/python -m experiments.ping_2014.figure5 --out "$(OUT)/mssvm-figure5" $(FLAGS)

mssvm-draws: $(VENV)/dev.installed ## variations of details of the simulation that Ping et al. do not state
	$(BIN)/python -m experiments.ping_2014.draws --out "$(OUT)/mssvm-draws" $(FLAGS)

mssvm-figure4: $(VENV)/dev.installed ## a noisy image with missing labels (Figure 4)
	$(BIN)/python -m experiments.ping_2014.figure4 --out "$(OUT)/mssvm-figure4" $(FLAGS)

mssvm-table4: $(VENV)/dev.installed ## objects in partly labelled photographs (Table 4), superpixels
	$(BIN)/python -m experiments.ping_2014.table4 --data "$(DATA)/msrc21-superpixels" --out "$(OUT)/mssvm-table4" $(FLAGS)

relation: $(VENV)/dev.installed ## relations trained for F over the data set (Haffari et al. 2015)
	$(BIN)/python -m experiments.haffari_2015.relation --data "$(DATA)/riedel-nyt-lsvm" --out "$(OUT)/relation" $(FLAGS)

bags: $(VENV)/dev.installed ## binary bags trained for F1 over the data set (multiple-instance learning)
	$(BIN)/python -m experiments.haffari_2015.bags --data "$(DATA)/mil" --out "$(OUT)/bags" $(FLAGS)

photographs: $(VENV)/dev.installed ## the same from photographs and label images, which you have to obtain
	$(BIN)/python -m experiments.ping_2014.photographs --data "$(DATA)/msrc-photographs" --out "$(OUT)/photographs" $(FLAGS)

bench: $(VENV)/dev.installed ## run the scripts in experiments/benchmarks/
	@for script in $(subst /,.,$(BENCHMARKS:.py=)); do echo "$$script"; $(BIN)/python -m "$$script" || exit 1; done

bench-letters: $(VENV)/dev.installed ## every solver on OCR letters, compared with CRFsuite (15 minutes)
	$(BIN)/python -m experiments.benchmarks.letters_solvers --data "$(DATA)/ocr-letters" --out "$(OUT)/bench-letters" $(if $(QUICK),--quick)

bench-passes: $(VENV)/dev.installed ## passes of inference that each solver needs, with and without hidden variables
	$(BIN)/python -m experiments.benchmarks.passes --out "$(OUT)/bench-passes" $(FLAGS)

bench-sizes: $(VENV)/dev.installed ## run real sizes beside CRFsuite and LinearSVC (10 minutes)
	$(BIN)/python -m experiments.benchmarks.sizes --data "$(DATA)" --out "$(OUT)/bench-sizes" $(if $(QUICK),--quick)

bench-growth: $(VENV)/dev.installed ## measure how the time of a pass grows with the data (3 minutes)
	$(BIN)/python -m experiments.benchmarks.growth --out "$(OUT)/bench-growth" $(if $(QUICK),--quick)

bench-workers: $(VENV)/dev.installed ## memory and seconds of workers that read the files themselves (3 minutes)
	$(BIN)/python -m experiments.benchmarks.workers passes
	$(BIN)/python -m experiments.benchmarks.workers memory

build: $(VENV)/dev.installed ## make a wheel and a source distribution in dist/
	rm -rf build/lib.* build/bdist.*
	$(BIN)/python -m build --outdir dist .

wheel: $(VENV)/dev.installed ## make a wheel for many Linux systems in dist/ and try it in new environments (TRY="python3.11 …")
	rm -rf build/wheel build/repaired build/lib.* build/bdist.*
	$(BIN)/python -m build --wheel --outdir build/wheel .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir build/repaired build/wheel/*.whl
	$(BIN)/abi3audit --strict --summary build/repaired/*.whl
	$(BIN)/python tests/try_wheel.py build/repaired/*.whl $(TRY)
	mkdir -p dist && mv build/repaired/*.whl dist && rm -r build/wheel build/repaired

clean: ## remove everything that was made, except the results in out/
	rm -rf $(VENV) build dist lssvm.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f lssvm/kernels/*.so experiments/*/*.so
	find lssvm tests experiments -type d -name __pycache__ -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "$(NEEDED)")'
	@echo "making $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)

$(VENV)/run.installed: EXTRAS = plot,bio
$(VENV)/dev.installed: EXTRAS = dev
$(VENV)/%.installed: $(SOURCES) $(BIN)/python
	@echo "installing lssvm[$(EXTRAS)] into $(VENV), which compiles the kernels"
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --editable ".[$(EXTRAS)]"
	@$(if $(filter dev,$(EXTRAS)),$(BIN)/python experiments/build_kernels.py)
	@touch $@
