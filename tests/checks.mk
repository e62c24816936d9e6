# Tests and checks; included by the Makefile. The steps of .ci/run are targets, which work alone on a fresh clone and
# install what they need: `make check-page`. `.ci/run check-page` does the same with warnings as errors and
# HEED_STRICT=1, which turns skipped checks into failures. Two steps that build into the same folder must not run at the
# same time: .ci/run lists them on one line.

.PHONY: deps deps-dev deps-page
deps: ; @sh tests/install.sh check
deps-dev: ; @sh tests/install.sh check dev dist use report firefox page machines torch
deps-page: ; @sh tests/install.sh page
ifneq (,$(filter-out check-format check-names,$(filter check-%,$(MAKECMDGOALS))))
$(MAKECMDGOALS): | deps-dev
endif

# ---- suites ----

ifneq (,$(filter test test-suites test-isas test-tsan test-oom $(BUILD)/test_heed,$(MAKECMDGOALS)))
ifeq (,$(shell pkg-config --exists check 2> /dev/null && echo there))
$(error The tests need Check, which pkg-config does not find. Run: make deps test)
endif
endif
$(BUILD)/tests/%.o: CHECK_CFLAGS = $(CHECK_INCLUDES) $(NO_WRAP)
CHECK_INCLUDES = $(eval CHECK_INCLUDES := $(shell pkg-config --cflags check))$(CHECK_INCLUDES)
$(BUILD)/test_heed: LINK_WITH = $(WRAPPED) $(shell pkg-config --libs check)
# System calls that tests make fail. Where the linker has no --wrap, as on macOS, these tests are skipped.
CALLS    := access close fchmod fclose fflush fopen fread fstat fsync open rename stat unlink write
WRAPPED   = $(eval WRAPPED := $(shell printf 'int main(void){}' | $(CC) -Wl,--wrap=open -x c - -o /dev/null \
                2> /dev/null && echo $(addprefix -Wl$(comma)--wrap=,$(CALLS))))$(WRAPPED)
NO_WRAP   = $(if $(WRAPPED),,-DHEED_NO_WRAP $(foreach c,$(CALLS),-D__real_$c=$c))

# make test SUITE=softmax, SUITE='ops/ -softmax', SUITE=:parity (tests/main.c) or TEST=NAME runs only some suites.
.PHONY: test test-suites test-programs test-isas test-headers test-tsan test-oom oom-programs
test: test-suites $(if $(SUITE)$(TEST),,test-programs)
test-suites: $(BUILD)/test_heed
	@$(BUILD)/test_heed $(SUITE) $(TEST:%='TEST=%')
test-programs: $(EXAMPLES)
	@CC="$(LINK)" sh tests/programs/quick.sh $(BUILD)

# Each instruction set runs with a different number of threads: no result may depend on that number. Files, pages, command
# lines and failing allocations do not depend on the instruction set.
test-isas: $(BUILD)/test_heed $(EXAMPLES)
	@threads=0; for isa in baseline v3 v4; do \
	    threads=$$((threads + 1)); \
	    if HEED_ISA=$$isa $(BUILD)/test_heed --has-isa; then \
	        echo "== HEED_ISA=$$isa HEED_NUM_THREADS=$$threads"; \
	        export HEED_ISA=$$isa HEED_NUM_THREADS=$$threads; \
	        sh tests/programs/outputs.sh $(BUILD) && \
	            $(BUILD)/test_heed tensor/ autograd/ ops/ nn/ gpt generate sample next_token char_gpt || exit 1; \
	    else echo "== HEED_ISA=$$isa: not supported on this machine"; fi; done

# A program with heed.h in several standards of C and in C++17: the public header must cause none of these warnings.
$(BUILD)/c_api_%: LANGUAGE = c
$(BUILD)/c_api_c++%: LANGUAGE = c++ -fno-exceptions
$(BUILD)/c_api_c++%: STRICT += -Wno-missing-field-initializers
$(BUILD)/c_api_%: tests/package/c_api.c $(LIBRARY)
	$(call step,cc $< ($*))
	$(CC) -x $(LANGUAGE) -std=$* -Isrc $(OPTIMISE) $(SYMBOLS) -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
	    -Wsign-conversion $(WERROR) $(GIVEN) $(LDFLAGS) $< -x none $(LIBRARY) -o $@ $(LDLIBS_)
test-headers: $(addprefix $(BUILD)/c_api_,c11 c17 c2x c++17)
	@for test in $^; do $$test || { echo "$$test failed"; exit 1; }; done
	@sh tests/package/keywords.sh $(CC) gcc clang

# ThreadSanitizer with the multithreaded suites. Needs gcc: clang links its runtime statically, so the runtime would
# call the functions in WRAPPED too early.
test-tsan:
	$(call needs,gcc,make deps-dev)
	@$(MAKE) CC="$(if $(findstring gcc,$(CC)),$(CC),gcc)" BUILD=$(BUILD)/tsan OPTIMISE=-O1 EXTRA="-fsanitize=thread" \
	    $(BUILD)/tsan/test_heed
	$(BUILD)/tsan/test_heed thread parallel forks determinism unread error backward saved accumulate grad apply \
	    random_graphs generator torch_multihead_attention gpt generate sample

# Makes each memory allocation fail, alone and with all later ones: first in the suite, then in programs that request
# every tensor from the system. check-oom is the short form: at most 200 allocations of each program.
OOM := $(BUILD)/oom
test-oom: $(BUILD)/test_heed oom-programs
	HEED_OOM=all $(BUILD)/test_heed oom/
	sh tests/oom/oom.sh $(OOM)
check-oom: oom-programs
	sh tests/oom/oom.sh $(OOM) 200
oom-programs:
	@$(MAKE) BUILD=$(OOM) EXTRA="$(EXTRA) -DHEED_SYSTEM_ALLOCATOR" $(addprefix $(OOM)/,$(notdir $(FOLDERS)) starve fail_alloc.so)
$(BUILD)/fail_alloc.so: LINK_WITH = -fPIC -shared -ldl
$(BUILD)/starve $(BUILD)/fail_alloc.so: $(BUILD)/%: tests/oom/programs
	$(call step,cc $</$*)
	$(CC) $(BASE) $(OPTIMISE) $(LDFLAGS) $</$(*:.so=).c -o $@ $(LINK_WITH)

# ---- fuzzers: each tests/fuzz/NAME.c is one ----

# make fuzz runs all of them with clang's libFuzzer, FUZZ_SECONDS each, and keeps their inputs in FUZZ_CORPUS; make
# fuzz-NAME runs one. make fuzz-replay needs no clang: it checks the same FUZZ_RUNS inputs per fuzzer each time.
# fuzz-graphs makes random graphs of all operations. check-fuzz is the short form: fixed inputs for all.
FUZZ_SECONDS ?= 60
FUZZ_RUNS    ?= 3000
FUZZ_CC      ?= clang
FUZZ_CORPUS  ?= $(BUILD)/fuzz/corpus
FUZZ_LIMIT   ?= -max_total_time=$(FUZZ_SECONDS)
FUZZ_GRAPHS  ?= $$(date +%s)000000 1000000000 $(FUZZ_SECONDS)
$(FUZZERS:%=$(BUILD)/fuzz_%): LINK_WITH = -fsanitize=fuzzer
# -malloc_limit_mb: no input may make Heed allocate a larger block.
.PHONY: fuzz fuzz-replay fuzz-graphs $(FUZZERS:%=fuzz-%)
fuzz: fuzz-graphs ; @for f in $(FUZZERS); do $(MAKE) fuzz-$$f || exit 1; done
$(FUZZERS:%=fuzz-%): fuzz-%:
	$(call needs,$(FUZZ_CC),make deps-dev)
	@$(MAKE) CC="$(FUZZ_CC)" BUILD=$(BUILD)/fuzz EXTRA="-fsanitize=fuzzer-no-link,address,undefined \
	    -fno-sanitize-recover=all" $(BUILD)/fuzz/fuzz_$*
	@mkdir -p $(FUZZ_CORPUS)/$*
	$(BUILD)/fuzz/fuzz_$* $(FUZZ_LIMIT) -max_len=2000 -timeout=20 -malloc_limit_mb=256 \
	    -artifact_prefix=$(BUILD)/fuzz/$*- -print_final_stats=1 $(FUZZ_CORPUS)/$*
fuzz-replay: $(FUZZERS:%=$(BUILD)/replay_%)
	@for f in $(FUZZERS); do $(BUILD)/replay_$$f $(FUZZ_RUNS) || exit 1; done
fuzz-graphs: $(BUILD)/fuzz_graphs
	$(BUILD)/fuzz_graphs --broken 1 1000
	$(BUILD)/fuzz_graphs $(FUZZ_GRAPHS)
check-fuzz: fuzz-replay
	@rm -rf $(BUILD)/fuzz/short
	$(MAKE) fuzz FUZZ_CORPUS=$(BUILD)/fuzz/short FUZZ_LIMIT="-runs=1000 -seed=1" FUZZ_GRAPHS="1 3000"

# ---- PyTorch: build/torch/bin/python, which every BUILD shares; PYTORCH is another Python that has it ----

PYTORCH ?= build/torch/bin/python
CASES   ?= 2000
SEED    ?= 1
.PHONY: torch fixtures differential
torch: build/torch/installed
build/torch/installed: tests/fixtures/torch.sh
	sh $< $(@D)
# The results of PyTorch that tests compare with: what is missing or was changed, or all of an operation.
fixtures: $(if $(filter default file,$(origin PYTORCH)),torch)
	$(PYTORCH) -B tests/fixtures/generate.py $(if $(OP),--op $(OP),--missing)
# Random graphs, modules, optimisers, generators and files; the check has fixed cases, and the faults that it must find.
DIFFERENTIAL := build/torch/bin/python -B tests/differential/run.py $(BUILD)/shared/libheed.so
differential: torch shared
	$(DIFFERENTIAL) --cases $(CASES) --seed $(SEED)
check-differential: torch shared
	$(DIFFERENTIAL) --self-test
	$(DIFFERENTIAL) --cases 3000 --seed 1

# Mutation testing: make mutate MUTANTS=1000 FILES='src/autograd/*' SUITES='scope apply' LEAST=98 CONTINUE=1
# QUICK=1 (tests/mutate/mutate.py). Fails if tests detect less than LEAST percent. log.txt lists the result of each mutant.
.PHONY: mutate coverage machines
mutate:
	$(call needs,python3,make deps-dev)
	@python3 tests/mutate/mutate.py --build $(BUILD)/mutate --cc "$(CC)" $(MUTANTS:%=--mutants %) $(SEED:%=--seed %) \
	    $(if $(FILES),--files '$(FILES)') $(if $(SUITES),--suites '$(SUITES)') $(LEAST:%=--least %) \
	    $(if $(CONTINUE),--continue) $(if $(QUICK),--quick)
coverage: ; @sh tests/source/coverage.sh $(BUILD)/coverage
machines: ; @sh tests/machines/machines.sh
check-machines: ; @sh tests/machines/machines.sh --short

# ---- structure and style ----

.PHONY: layers size core names format lint
layers: $(OBJECTS)
	$(call needs,python3 nm,make deps-dev)
	@python3 tests/source/layers.py $(BUILD)

# How large Heed may be (make size). Limits are only lowered.
SIZES := src=21850 files=77 functions=328 core=18100 tests=65500 examples=43400 lab=9600 repository=143400 data=4260
# Small programs: the core is what they take from the library.
CORE_PROGRAMS := quickstart gradcheck $(filter lesson1% lesson2% lesson3% lesson4% lesson5% lesson6%,$(LESSONS:$(BUILD)/%=%))
size core: $(CORE_PROGRAMS:%=$(BUILD)/core/%.map)
	$(call needs,python3,make deps-dev)
	@CC="$(CC)" python3 -B tests/source/$@.py $(BUILD) $(if $(filter size,$@),"$(SIZES)") \
	    $(foreach p,$(CORE_PROGRAMS),$(p) $(BUILD)/core/$(p).map)
$(BUILD)/core/%.map: $(BUILD)/examples/%.o $(LIBRARY)
	$(call step,link $*)
	$(LINK) -Wl,-Map=$@ $^ -o $(BUILD)/core/$* $(LDLIBS_)

# The tables of docs/pytorch.md: a row for each operation of heed.h
names check-names:
	$(call needs,python3,make deps-dev)
	@CC="$(CC)" python3 -B package/names.py $(if $(filter check-%,$@),--check)

# PyTorch's numbers are long tables in few lines.
FORMATTED = $(shell find src examples tests bench -path tests/fixtures -prune -o -name '*.[ch]' -print -o -name '*.[ch]pp' -print)
format check-format:
	$(call needs,clang-format,make deps-dev)
	clang-format $(if $(filter format,$@),-i,--dry-run -Werror) $(FORMATTED)

lint:
	$(call needs,cppcheck,make deps-dev)
	cppcheck --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --quiet -Isrc -D__x86_64__ $(filter-out src/tensor/kernels/%,$(SOURCES))

# ---- steps of .ci/run that run scripts, which choose the jobs of the makes that they call ----

RUN := unset MAKEFLAGS MAKELEVEL; sh

# make deps test, as in the README
check-test:
	$(MAKE) deps test
# Pages: names, links, lists, wording; their code is compiled and run
check-docs: all
	$(RUN) tests/source/docs.sh
	$(RUN) tests/source/words.sh
	$(RUN) tests/source/docs_code.sh
# The Makefile: flags, jobs, what it prints; nothing is written outside build/
check-make:
	$(MAKE) demo
	$(RUN) tests/source/build.sh
# Programs as users run them: output, exit status, signals, full disks
check-programs: all
	$(RUN) tests/programs/programs.sh
	$(RUN) tests/programs/gpt_programs.sh $(BUILD)
	$(RUN) tests/programs/stories.sh $(BUILD)
# Toys: what learns and what cannot, with three seeds each; under two minutes
check-toys: all
	$(RUN) tests/programs/toys.sh $(BUILD)
# The course: its edits, made in copies of the lessons, print what the pages show
check-course: all
	$(RUN) tests/programs/course.sh $(BUILD)
# The graders of the tasks: wrong and right solutions, mutants of the model solutions
check-tasks: all
	unset MAKEFLAGS MAKELEVEL; python3 -B tests/tasks/tasks.py $(BUILD) --mutants
	$(RUN) tests/tasks/kit.sh $(BUILD)
# Reports of training runs, in a browser
check-report: all
	$(RUN) tests/page/report.sh $(BUILD)
# The page, built with emcc, in two browsers
check-page: $(addprefix $(BUILD)/,page_hash page_story page_logits gpt)
	$(MAKE) page
	$(RUN) tests/page/bits.sh $(BUILD)
	$(RUN) tests/page/page.sh $(BUILD)
# Everything that "Break it" says, for all switches with ten seeds; check-page does it for four switches and its seeds
check-breaks-long:
	$(MAKE) page
	build=$(BUILD); . tests/page/browser.sh; $$python -B tests/page/breaks.py $(BUILD)/page/attention.html
# Every program under valgrind, in a build that requests each tensor from the system
check-valgrind: all
	$(MAKE) BUILD=$(OOM) EXTRA="$(EXTRA) -DHEED_SYSTEM_ALLOCATOR" all
	$(RUN) tests/programs/valgrind.sh $(OOM) $(notdir $(EXAMPLES))
# Installing and using Heed, without make, and in two files
check-package: all shared
	$(RUN) tests/package/install_use.sh $(BUILD)
check-cc: lib
	$(RUN) tests/package/cc.sh $(BUILD)
# What `make release` writes, and the tree in its tarball
check-release:
	$(RUN) tests/package/release.sh $(BUILD)
# The runs of toys, on 1, 2 and 4 ranks of MPI
check-mpi: $(BUILD)/toys
	$(MAKE) mpi
	$(RUN) tests/programs/mpi.sh $(BUILD)
# A GPT trains on stories as in PyTorch
check-gpt: all
	$(RUN) tests/programs/gpt_job.sh $(BUILD)
# The edits of CONTRIBUTING.md, in a copy of the tree
check-contributing: torch
	$(RUN) tests/source/contributing.sh $(PYTORCH)
# The benchmark, with Heed alone and with peers that fail. It measures times: nothing else may run meanwhile.
check-bench: bench-programs
	$(RUN) tests/programs/bench.sh $(BUILD)
# The debug build: its reports, and the suites
check-debug:
	$(RUN) tests/programs/debug.sh
# Mutants of a few files, with the suites of these files alone: tests detect most of a fixed sample
check-mutate:
	$(MAKE) mutate MUTANTS=20 SEED=1 FILES='src/autograd/ops/[sv]*.c' \
	    SUITES='softmax slice sort split subscript view' QUICK=1 LEAST=80
# The catalogue of wrong and right attentions, with 20 seeds; the long form takes 1,000 and some minutes.
check-attention-long: SEEDS := 1000
check-attention check-attention-long:
	$(MAKE) $(BUILD)/test_heed
	HEED_ATTENTION_SEEDS=$(or $(SEEDS),20) CK_DEFAULT_TIMEOUT=3600 $(BUILD)/test_heed attention_check
# The check for PyTorch over the same catalogue: its verdicts are those of C; the lessons, tasks and toys in Python
check-attention-torch: torch all
	$(PYTORCH) -B tests/programs/attention_check.py $(BUILD)/check_attention
	$(PYTORCH) -B tests/programs/lesson_twins.py $(BUILD)
	unset MAKEFLAGS MAKELEVEL; $(PYTORCH) -B tests/tasks/tasks_pytorch.py $(BUILD)
	$(PYTORCH) -B tests/tasks/notebook.py
	$(RUN) tests/tasks/kit.sh $(BUILD) $(PYTORCH)
	$(RUN) tests/programs/toys_twin.sh $(PYTORCH) $(BUILD)
	$(RUN) tests/programs/gpt2.sh $(PYTORCH) $(BUILD)
# clang: all suites, the lessons, the headers
check-clang:
	$(MAKE) CC=clang BUILD=build/clang all build/clang/test_heed
	$(RUN) tests/programs/outputs.sh build/clang
	build/clang/test_heed
	$(MAKE) CC=clang BUILD=build/clang test-headers
# AddressSanitizer and UndefinedBehaviorSanitizer. One process a suite, as a fork and its leak check take longer than most
# tests. Absurdly large allocations must fail with an error. Short stack traces and a small quarantine make the runs five
# times faster.
check-asan check-clang-asan: export ASAN_OPTIONS  = allocator_may_return_null=1:detect_leaks=1:malloc_context_size=6:quarantine_size_mb=32
check-asan check-clang-asan: export UBSAN_OPTIONS = print_stacktrace=1
check-asan check-clang-asan: check-%asan:
	$(MAKE) $(if $*,CC=clang) BUILD=build/$*asan build/$*asan/test_heed \
	    EXTRA="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
	build/$*asan/test_heed --one-process
