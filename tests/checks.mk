# Tests and checks; included by the Makefile. A step of .ci/run is a target here, or a script of tests/, whose first lines
# describe it: `make check-course` runs tests/*/course.sh with BUILD, after `make all`. Each installs what it needs.
# `.ci/run check-course` does the same with warnings as errors and HEED_STRICT=1, which turns skipped checks into
# failures. Two steps that build into the same folder must not run at the same time: .ci/run lists them on one line.

.PHONY: deps deps-dev deps-page
deps: ; @sh tests/install.sh check
deps-dev: ; @sh tests/install.sh check dev dist use report page arm64 torch
deps-page: ; @sh tests/install.sh page
ifneq (,$(filter-out check-format,$(filter check-%,$(MAKECMDGOALS))))
$(MAKECMDGOALS): | deps-dev
endif

# Scripts choose the jobs of the makes that they call.
RUN := unset MAKEFLAGS MAKELEVEL;
check-%: all
	$(RUN) sh $(or $(wildcard tests/*/$*.sh),$(error there is no script tests/*/$*.sh)) $(BUILD)

# ---- suites ----

ifneq (,$(filter test test-suites test-isas $(BUILD)/test_heed,$(MAKECMDGOALS)))
ifeq (,$(shell pkg-config --exists check 2> /dev/null && echo there))
$(error The tests need Check, which pkg-config does not find. Run: make deps test)
endif
endif
# Tests drop results: of calls that fail, or that only count.
$(BUILD)/tests/%.o: CHECK_CFLAGS = $(CHECK_INCLUDES) -Wno-unused-result
CHECK_INCLUDES = $(eval CHECK_INCLUDES := $(shell pkg-config --cflags check))$(CHECK_INCLUDES)
# System calls that tests make fail.
$(BUILD)/test_heed: LINK_WITH = $(patsubst %,-Wl$(comma)--wrap=%,access fchmod fclose fflush fopen fread fstat fsync \
    rename stat unlink write) $(shell pkg-config --libs check)

# make test SUITE=softmax, SUITE='ops/ -softmax' (tests/main.c) or TEST=NAME runs only some suites.
.PHONY: test test-suites test-programs test-isas
test: test-suites $(if $(SUITE)$(TEST),,test-programs)
test-suites: $(BUILD)/test_heed
	@$(BUILD)/test_heed $(SUITE) $(TEST:%='TEST=%')
test-programs: $(EXAMPLES)
	@CC="$(LINK)" sh tests/programs/quick.sh $(BUILD)

# Another instruction set, with another number of threads: no result may depend on that number. Files, pages, command lines
# and failing allocations do not depend on the instruction set.
test-isas: export HEED_ISA = baseline
test-isas: export HEED_NUM_THREADS = 3
test-isas: $(BUILD)/test_heed $(EXAMPLES)
	sh tests/programs/outputs.sh $(BUILD)
	$(BUILD)/test_heed tensor/ autograd/ ops/ nn/ gpt generate next_token char_gpt

# Variants of the library and the tests, in build/NAME, and the suites that they run. Sanitizers take one process a suite, as
# a fork and its leak check take longer than most tests. Absurdly large allocations must fail with an error. Short stack
# traces and a small quarantine make them faster. ThreadSanitizer runs the multithreaded suites, with gcc: clang links its
# runtime statically, so the runtime would call the wrapped system calls too early. It is a debug build too (make DEBUG=1).
SANITIZE            := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
VARIANT_asan        := EXTRA="$(SANITIZE)" CC=clang
VARIANT_clang       := CC=clang
VARIANT_tsan        := EXTRA="-fsanitize=thread -DHEED_DEBUG" CC=gcc OPTIMISE=-O1
RUNS_asan           := --one-process
RUNS_tsan           := scope thread parallel forks determinism error backward saved accumulate grad apply \
                       torch_multihead_attention gpt generate
check-asan: export ASAN_OPTIONS  = allocator_may_return_null=1:detect_leaks=1:malloc_context_size=6:quarantine_size_mb=32
check-asan: export UBSAN_OPTIONS = print_stacktrace=1
$(addprefix check-,asan clang tsan): check-%:
	$(MAKE) $(VARIANT_$*) BUILD=build/$* build/$*/test_heed $(if $(filter clang,$*),all)
	$(if $(filter clang,$*),$(RUN) sh tests/programs/outputs.sh build/clang)
	build/$*/test_heed $(RUNS_$*)

# make fuzz runs each tests/fuzz/NAME.c with clang's libFuzzer for FUZZ_SECONDS, and random graphs of all operations; make
# fuzz-NAME runs one. Inputs are kept in FUZZ_CORPUS. check-fuzz is the short form: fixed inputs.
FUZZ_SECONDS ?= 60
FUZZ_CORPUS  ?= $(BUILD)/fuzz/corpus
FUZZ_LIMIT   ?= -max_total_time=$(FUZZ_SECONDS)
FUZZ_GRAPHS  ?= $$(date +%s)000000 1000000000 $(FUZZ_SECONDS)
$(FUZZERS:%=$(BUILD)/fuzz_%): LINK_WITH = -fsanitize=fuzzer
.PHONY: fuzz fuzz-programs fuzz-graphs $(FUZZERS:%=fuzz-%)
fuzz: fuzz-graphs $(FUZZERS:%=fuzz-%)
fuzz-graphs: $(BUILD)/fuzz_graphs
	$< --broken 1 1000
	$< $(FUZZ_GRAPHS)
fuzz-programs:
	@$(MAKE) CC=clang BUILD=$(BUILD)/fuzz EXTRA="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all" \
	    $(FUZZERS:%=$(BUILD)/fuzz/fuzz_%)
# -malloc_limit_mb: no input may make Heed allocate a larger block.
$(FUZZERS:%=fuzz-%): fuzz-%: fuzz-programs
	@mkdir -p $(FUZZ_CORPUS)/$*
	$(BUILD)/fuzz/fuzz_$* $(FUZZ_LIMIT) -max_len=2000 -timeout=20 -malloc_limit_mb=256 \
	    -artifact_prefix=$(BUILD)/fuzz/$*- -print_final_stats=1 $(FUZZ_CORPUS)/$*
check-fuzz:
	@rm -rf $(BUILD)/fuzz/short
	$(MAKE) fuzz FUZZ_CORPUS=$(BUILD)/fuzz/short FUZZ_LIMIT="-runs=300 -seed=1" FUZZ_GRAPHS="1 2000"

# ---- PyTorch: build/torch/bin/python, which every BUILD shares; PYTORCH is another Python that has it ----

PYTORCH ?= build/torch/bin/python
.PHONY: torch fixtures
torch: build/torch/installed
build/torch/installed: tests/fixtures/torch.sh
	sh $< $(@D)
# The results of PyTorch that tests compare with: what is missing or was changed, or all of an operation.
fixtures: $(if $(filter default file,$(origin PYTORCH)),torch)
	$(PYTORCH) -B tests/fixtures/generate.py $(if $(OP),--op $(OP),--missing)
# Random graphs, modules, optimisers, generators and files: fixed cases, and the faults that it must find
DIFFERENTIAL := $(PYTORCH) -B tests/differential/run.py $(BUILD)/shared/libheed.so
check-differential: torch shared
	$(DIFFERENTIAL) --self-test
	$(DIFFERENTIAL) --cases 3000 --seed 1

# ---- structure and style ----

.PHONY: layers size core format check-format lint
layers: $(OBJECTS) ; @python3 tests/source/layers.py $(BUILD)

# How large Heed may be (make size). Limits are only lowered.
SIZES := src=19880 files=75 functions=259 core=16510 tests=41345 examples=36856 lab=9630 repository=104811 data=2060
# Small programs: the core is what they take from the library.
CORE_PROGRAMS := quickstart gradcheck $(filter lesson1% lesson2% lesson3% lesson4% lesson5% lesson6%,$(LESSONS:$(BUILD)/%=%))
size core: $(CORE_PROGRAMS:%=$(BUILD)/core/%.map)
	@CC="$(CC)" python3 -B tests/source/$@.py $(BUILD) $(if $(filter size,$@),"$(SIZES)") \
	    $(foreach p,$(CORE_PROGRAMS),$(p) $(BUILD)/core/$(p).map)
$(BUILD)/core/%.map: $(BUILD)/examples/%.o $(LIBRARY)
	$(call step,link $*)
	$(LINK) -Wl,-Map=$@ $^ -o $(BUILD)/core/$* $(LDLIBS_)

# PyTorch's numbers are long tables in few lines.
FORMATTED = $(shell find src examples tests bench -path tests/fixtures -prune -o -name '*.[ch]' -print -o -name '*.[ch]pp' -print)
format: ; clang-format -i $(FORMATTED)
check-format: ; clang-format --dry-run -Werror $(FORMATTED)
lint:
	cppcheck --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --quiet -Isrc -D__x86_64__ $(filter-out src/tensor/kernels/%,$(SOURCES))

# Mutation testing of a few files, with the suites of these files alone: tests detect most of a fixed sample.
check-mutate:
	$(RUN) python3 tests/mutate/mutate.py --mutants 20 --files 'src/autograd/ops/[sv]*.c' --least 80 \
	    --suites 'softmax slice view'

# ---- steps that need more than `make all`, or other scripts ----

check-test: ; $(MAKE) deps test
check-bench: $(BUILD)/bench_heed
check-install_use: shared
check-mpi: mpi
check-bits check-page: $(addprefix $(BUILD)/,page_hash page_story page_logits gpt) page
check-contributing: torch
# The graders of the tasks: wrong and right solutions, mutants of the model solutions
check-tasks: all
	$(RUN) python3 -B tests/tasks/tasks.py $(BUILD) --mutants
	$(RUN) sh tests/tasks/kit.sh $(BUILD)
# A few programs under valgrind, in a build that requests each tensor from the system
check-valgrind:
	$(MAKE) BUILD=build/valgrind EXTRA="$(EXTRA) -DHEED_SYSTEM_ALLOCATOR" $(addprefix build/valgrind/,gpt toys \
	    check_attention custom_module lesson4_math_trick)
	$(RUN) sh tests/programs/valgrind.sh build/valgrind
# The catalogue of wrong and right attentions, with 20 seeds or SEEDS
check-attention: $(BUILD)/test_heed
	HEED_ATTENTION_SEEDS=$(or $(SEEDS),20) CK_DEFAULT_TIMEOUT=3600 $< attention_check
# The check for PyTorch over the same catalogue: its verdicts are those of C; the lessons, tasks and toys in Python
check-attention-torch: export OMP_NUM_THREADS = 1
check-attention-torch: torch all
	$(PYTORCH) -B tests/programs/attention_check.py $(BUILD)/check_attention
	$(PYTORCH) -B tests/programs/attention_forms.py
	$(RUN) sh tests/package/wheel.sh $(abspath $(PYTORCH))
	$(PYTORCH) -B tests/programs/lesson_twins.py $(BUILD)
	$(RUN) $(PYTORCH) -B tests/tasks/tasks_pytorch.py
	$(PYTORCH) -B tests/tasks/notebook.py
	$(RUN) sh tests/tasks/kit.sh $(BUILD) $(PYTORCH)
	$(RUN) sh tests/programs/toys_twin.sh $(PYTORCH) $(BUILD)
	$(RUN) sh tests/programs/gpt2.sh $(PYTORCH) $(BUILD)
