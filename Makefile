# Heed: make demo | make deps test | make help

# All output goes to BUILD; use BUILD=build/other for a separate variant. DEBUG=1 is another variant, which
# reports the use of freed tensors (docs/errors.md).
ifeq ($(origin DEBUG)$(DEBUG),command line1)
BUILD    ?= build/debug
OPTIMISE ?= -Og
SYMBOLS  := -g -DHEED_DEBUG
else ifeq ($(origin DEBUG),command line)
ifneq ($(filter-out 0,$(DEBUG)),)
$(error DEBUG=$(DEBUG): use DEBUG=1 for a debug build, or CFLAGS=-g to see variables in a debugger)
endif
endif
BUILD   ?= build
CC      ?= cc
PREFIX  ?= /usr/local
VERSION := $(shell sed -n 's/^\#define HEED_VERSION  *"\(.*\)"/\1/p' src/heed.h)

# CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are the user's and come last. EXTRA is passed to every compiler
# and linker call (for sanitizers, for example), and WERROR=-Werror turns warnings into errors. -g1 gives
# backtraces and valgrind their line numbers.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wdouble-promotion
WERROR   ?=
EXTRA    ?=
OPTIMISE ?= -O2
SYMBOLS  ?= -g1
# gcc fills and copies structs with rep stos and rep movs, which have a high startup cost; library calls do not.
# (They took a fifth of a training step of the toy model.)
STRUCTS  := -mmemset-strategy=libcall:-1:noalign -mmemcpy-strategy=libcall:-1:noalign
STRUCTS  := $(shell $(CC) -Werror $(STRUCTS) -E -x c /dev/null > /dev/null 2>&1 && echo "$(STRUCTS)")
# The x87 unit of 32-bit x86 computes in extended precision; SSE2 rounds to float and double.
MACHINE  := $(shell $(CC) $(CPPFLAGS) $(CFLAGS) -dM -E -x c /dev/null | grep -oE '__x86_64__|__i386__|__APPLE__')
SSE2     := $(if $(filter __i386__,$(MACHINE)),-msse2 -mfpmath=sse)
# _DARWIN_C_SOURCE: with _POSIX_C_SOURCE alone, macOS hides O_NOFOLLOW and the number of processors.
STANDARD := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DARWIN_C_SOURCE
PTHREAD  := -pthread
BASE     := $(STANDARD) -Isrc -I. $(SYMBOLS) $(PTHREAD) $(WARNINGS) $(WERROR) -MMD -MP $(STRUCTS) $(SSE2)
# initial-exec: a thread reaches its state without a call, a fifth of the toy's step. dlopen then needs 1 KB of static
# TLS, of which glibc keeps 1.6 KB for all libraries; musl's dlopen refuses. TLS_MODEL=global-dynamic always loads.
ifeq (,$(TLS_MODEL))
TLS_MODEL := $(if $(shell $(CC) $(CPPFLAGS) $(CFLAGS) -include features.h -dM -E -x c /dev/null 2> /dev/null | \
                 grep __GLIBC__),initial-exec,global-dynamic)
endif
# The archive and the shared library consist of the same objects: position-independent, exporting public names alone.
# gcc calls public functions directly, or inlines them, as clang does. (Kernels have the same instructions as without
# these flags.) emcc would produce slower code; clang for macOS does not know the last flag.
PIC      ?= -fPIC -fvisibility=hidden -ftls-model=$(TLS_MODEL) \
            $(if $(filter __APPLE__,$(MACHINE)),,-fno-semantic-interposition)
GIVEN    := $(EXTRA) $(CPPFLAGS) $(CFLAGS)
CFLAGS_  := $(BASE) $(OPTIMISE) -ffp-contract=off $(GIVEN)
LDLIBS_  := -lm $(PTHREAD) $(LDLIBS)
LINK      = $(CC) $(CFLAGS_) $(LDFLAGS)

# Keeps the objects of programs, which make would delete as intermediate files and compile again the next time.
.SECONDARY:

# ---- jobs and their output ----

# One job per core, unless -j was given: to this make, where it takes precedence, or to a make that calls it, which
# passes it on in the environment.
ifeq (,$(findstring -j,$(shell echo "$$MAKEFLAGS")))
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN)
endif

# $(call step,cc file) begins a recipe: it prints cc file and creates the folder. V=1 shows the commands instead,
# make -s nothing.
V ?= 0
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
folder  = $(if $(wildcard $(@D)),,@mkdir -p $(@D))
ifeq ($(V)$(silent),0)
.SILENT:
step = $(info $(1))$(folder)
else
step = $(folder)
endif

# $(call needs,PROGRAMS,COMMAND) in a recipe: fails if a program is missing; COMMAND installs it.
needs = @for program in $(1); do command -v $$program > /dev/null || { \
            echo "make $(or $(MAKECMDGOALS),$@): needs $$program; run: $(2)" >&2; exit 1; }; done

# Goals that run something run one after another, in the given order.
RUNS := clean deps deps-dev deps-page demo page lessons tasks task% test test-suites test-programs test-isas test-tsan test-headers test-oom layers size core mutate format lint bench shared dist release install uninstall
earlier :=
$(foreach goal,$(filter $(RUNS) check-%,$(MAKECMDGOALS)),\
    $(if $(earlier),$(eval $(goal): | $(earlier)))$(eval earlier := $(goal)))
ifneq (,$(filter clean,$(MAKECMDGOALS)))
.NOTPARALLEL:
endif

# ---- the library ----

SOURCES := $(wildcard src/*/*.c src/*/*/*.c)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
LIBRARY := $(BUILD)/libheed.a
$(OBJECTS): CFLAGS_ += $(PIC)

# In examples/ each file is a program, and so is each folder with a main.c, there and in examples/lab; its other files
# are its parts. lab/common is shared by the programs of the lab. The tests are linked with all parts.
# Only `make mpi` builds toys_mpi. The page is built by `make page`, and tasks have a Makefile of their own.
FOLDERS      := $(patsubst examples/%/main.c,%,$(wildcard examples/*/main.c examples/lab/*/main.c))
EXAMPLES     := $(patsubst examples/%.c,$(BUILD)/%,$(wildcard examples/*.c)) \
                $(addprefix $(BUILD)/,$(notdir $(FOLDERS)))
parts         = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c,$(wildcard examples/$(1)/*.c)))
COMMON_PARTS := $(call parts,lab/common) $(BUILD)/view.o
PART_OBJECTS := $(foreach f,$(FOLDERS),$(call parts,$(f))) $(COMMON_PARTS)
# What the page takes from the program gpt: models in files.
PAGE_OF_GPT  := $(patsubst %,$(BUILD)/examples/lab/gpt/%.o,model checkpoint options tokenizer bpe)
PAGE_PARTS   := $(filter-out %/browser_file.o,$(call parts,page)) $(PAGE_OF_GPT)
LESSONS      := $(filter $(BUILD)/lesson%,$(EXAMPLES))

# The rooms of tests/ that contain suites, and what they share.
TEST_ROOMS   := common tensor autograd ops misuse nn check programs oom
TEST_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c $(TEST_ROOMS:%=tests/%/*.c)))

.PHONY: all lib demo lessons test test-isas deps deps-dev layers format check-format lint clean help

all: $(LIBRARY) $(EXAMPLES)

lib: $(LIBRARY)

help:
	@echo "make demo          train the toy model and show its attention; builds only what that needs"
	@echo "make lessons       build and run every lesson of examples/README.md"
	@echo "make toys          train small models on tasks with known answers and look inside; one groks: half a minute"
	@echo "make toys-results  make the figures of docs/toys.md in $(BUILD)/toys-results: hours; it continues what was begun"
	@echo "make task1         compile and grade task 1 of docs/tasks.md, HINT=1: with a hint; make tasks: what is done so far"
	@echo "make deps test     install Check if it is missing, and run all tests; make test SUITE=softmax or TEST=NAME: some"
	@echo "make check-NAME    one step of .ci/run, for example check-valgrind; tests/checks.mk describes all"
	@echo "make deps-dev      install the tools that .ci/run needs"
	@echo "make all           build the library and the examples in $(BUILD)/ (the default); make lib: only the library"
	@echo "make fuzz          fuzz file readers, command lines and graphs for FUZZ_SECONDS=$(FUZZ_SECONDS) each (needs clang);"
	@echo "                   fuzz-NAME: tests/fuzz/NAME.c alone; fuzz-replay: FUZZ_RUNS=$(FUZZ_RUNS) fixed inputs each"
	@echo "make mutate        change src/ in MUTANTS places (all), one at a time, and print the changes that no test detects"
	@echo "make differential  compare CASES=$(CASES) random cases with PyTorch, which it installs in build/torch"
	@echo "make test-oom      make each memory allocation fail in turn; takes minutes"
	@echo "make bench         benchmark Heed against PyTorch and others; bench/README.md lists bench-..."
	@echo "make test-isas     run the tests with each HEED_ISA that this machine supports"
	@echo "make mpi           build toys_mpi, for several processes or machines (needs mpicc)"
	@echo "make test-tsan     run the multithreaded suites with ThreadSanitizer (needs gcc)"
	@echo "make coverage      list the lines of src/ that no test reaches (needs gcovr)"
	@echo "make machines      build and test for musl, 32-bit x86, aarch64 and macOS (on Debian)"
	@echo "make test-headers  compile a program with heed.h as C11, C17, C23 and C++17, with strict warnings"
	@echo "make page          build attention.html, a web page that explains attention (make deps-page installs emcc, esbuild)"
	@echo "make layers        check that includes and calls go one way only: check -> nn -> autograd -> tensor"
	@echo "make size          how many lines, files and functions there are, beside their limits"
	@echo "make core          the files of src/ that a small program takes from the library, and their lines"
	@echo "make format        clang-format everything; check-format only checks"
	@echo "make lint          run cppcheck"
	@echo "make pictures      make the pictures of README and docs/ again (needs Graphviz and Chromium)"
	@echo "make shared        build the shared library, $(BUILD)/shared/libheed.so"
	@echo "make install       install headers and libraries under PREFIX=$(PREFIX); also LIBDIR=, DESTDIR=;"
	@echo "                   make uninstall removes them"
	@echo "make fixtures      compute the results of PyTorch that tests compare with, if they are missing; OP=exp: those of exp again"
	@echo "make amalgamation  join Heed into heed.h and heed.c in $(BUILD)/amalgamation/"
	@echo "make dist          write the release's tarball, $(BUILD)/heed-$(VERSION).tar.gz"
	@echo "make task-kit      write the tasks and Heed in two files, for a class: $(BUILD)/release/heed-tasks.tar.gz"
	@echo "make release       write a release into $(BUILD)/release: tarball, attention.html, attention_check.py, tasks, SHA256SUMS"
	@echo "make clean         remove $(BUILD)/"
	@echo
	@echo "All cores are used unless -j is given; V=1 shows the commands. CC, CPPFLAGS, CFLAGS,"
	@echo "LDFLAGS and LDLIBS are honoured; BUILD=build/other keeps a separate variant. DEBUG=1 builds one that reports mistakes."

lessons: $(LESSONS)
	@for lesson in $(LESSONS); do echo "== $$lesson"; $$lesson || exit 1; done

# The toys: nothing learns the lottery; induction heads; grokking, with a page. Then every figure of docs/toys.md.
.PHONY: toys toys-results
toys: $(BUILD)/toys
	$< lottery --seeds 4 --steps 300
	$< induction --until 0.98 --scores --patch
	$< modadd --until 0.99 --spectrum --report $(BUILD)/toys.html --force
	@echo "$(BUILD)/toys.html is the page of the last run; docs/toys.md says more"

toys-results: $(BUILD)/toys
	sh examples/lab/toys/results.sh $(BUILD)

# The tasks of examples/tasks; HINT=1 or HINT=2 adds hints.
TASKS := $(addprefix task,1 2 3 4 5 6 7 8 9 10)
.PHONY: tasks $(TASKS)
tasks $(TASKS): $(LIBRARY)
	@$(MAKE) --no-print-directory -s -C examples/tasks $@ OUT=$(abspath $(BUILD))/tasks INCLUDE=../../src \
	    HEED=$(abspath $(LIBRARY))

$(LIBRARY): $(OBJECTS)
	$(call step,ar $@)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	$(call step,cc $<)
	$(CC) $(CFLAGS_) $(CHECK_CFLAGS) -c $< -o $@

$(BUILD)/%: $(BUILD)/examples/%.o $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

define folder_rule
$(BUILD)/$(notdir $(1)): $(BUILD)/examples/$(1)/main.o $(call parts,$(1)) $(COMMON_PARTS) $(LIBRARY)
	$$(call step,link $$@)
	$$(LINK) $$^ -o $$@ $$(LDLIBS_)
endef
$(foreach f,$(FOLDERS),$(eval $(call folder_rule,$(f))))

# The page of reports, as an array of its lines.
$(BUILD)/view.c: examples/lab/view.html
	$(call step,sed $<)
	{ echo 'extern const char *const view_lines[];'; echo 'const char *const view_lines[] = {'; \
	  sed -e 's/[\\"?]/\\&/g' -e 's/.*/    "&",/' $<; echo '    0};'; } > $@

$(BUILD)/view.o: $(BUILD)/view.c
	$(call step,cc $<)
	$(CC) $(CFLAGS_) -c $< -o $@

# Compiled and linked with the installed MPI's compiler.
MPICC ?= mpicc
.PHONY: mpi mpi-there
mpi: mpi-there $(BUILD)/toys_mpi

mpi-there:
	$(call needs,$(MPICC),make deps-dev)

$(BUILD)/toys_mpi: examples/lab/toys_mpi.c $(call parts,lab/toys) $(COMMON_PARTS) $(LIBRARY)
	$(call step,mpicc $<)
	$(MPICC) $(CFLAGS_) $(LDFLAGS) $(filter-out %.h,$^) -o $@ $(LDLIBS_)

demo: $(BUILD)/next_token
	$<

# ---- the page: library and engine compiled to WebAssembly, and everything put into one file ----

# It is built by a make of its own, whose compiler is emcc.
PAGE     := $(BUILD)/page
STORY    := $(BUILD)/story.bin
PAGE_GPT := $(BUILD)/page_gpt.safetensors
.PHONY: page deps-page
page:
	$(call needs,emcc esbuild,make deps-page)
	@$(MAKE) --no-print-directory $(STORY) $(PAGE_GPT)
	@$(MAKE) --no-print-directory CC=emcc AR=emar BUILD=$(PAGE) EXTRA=-msimd128 PIC= PTHREAD= SYMBOLS= STORY=$(STORY) \
	    PAGE_GPT=$(PAGE_GPT) $(PAGE)/attention.html
	@echo "$(PAGE)/attention.html is built; open it in a browser"

$(BUILD)/attention.html: $(BUILD)/engine.wasm $(STORY) $(PAGE_GPT) \
        $(addprefix examples/page/,page.html page.css story.css gpt.css onward.css build.sh) \
        $(wildcard examples/page/*.js examples/page/*/*.js examples/page/*/*/*.js)
	$(call step,join $@)
	sh examples/page/build.sh $< $(STORY) $(PAGE_GPT) $@

# The weights of the models in the page's story, trained here with the kernels that WebAssembly uses.
$(BUILD)/story.bin: $(BUILD)/page_train
	$(call step,train $@)
	HEED_ISA=baseline $< $@

$(BUILD)/page_train: $(BUILD)/examples/page/train/main.o $(PAGE_PARTS) $(call parts,lab/next_token) $(COMMON_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# What the story must show (tests/page/page.sh).
$(BUILD)/page_story: $(BUILD)/tests/page/story.o $(PAGE_PARTS) $(call parts,lab/next_token) $(COMMON_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# The GPT of the page's map, trained with the kernels that WebAssembly uses.
$(BUILD)/page_gpt.safetensors: $(addprefix $(BUILD)/,stories gpt page_shrink)
	$(call step,train $@)
	$(BUILD)/stories > $(BUILD)/page_gpt.txt
	HEED_ISA=baseline $(BUILD)/gpt train --text $(BUILD)/page_gpt.txt --n-layer 2 --n-head 2 --n-embd 32 --batch 16 \
	    --steps 3000 --lr 8e-3 --eval-every 1000 --save $(BUILD)/page_gpt.trained --force 2> $(BUILD)/page_gpt.log || \
	    { cat $(BUILD)/page_gpt.log >&2; exit 1; }
	$(BUILD)/page_shrink $(BUILD)/page_gpt.trained $@

$(BUILD)/page_shrink: $(BUILD)/examples/page/shrink/main.o $(PAGE_OF_GPT) $(COMMON_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# The logits that the page must show (tests/page/gpt.py).
$(BUILD)/page_logits: $(BUILD)/tests/page/logits.o $(PAGE_OF_GPT) $(COMMON_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# STANDALONE_WASM: without JavaScript of emscripten's.
$(BUILD)/engine.wasm: $(call parts,page) $(PAGE_OF_GPT) $(call parts,lab/next_token) \
        $(foreach f,text flags console recording,$(BUILD)/examples/lab/common/$(f).o) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -sSTANDALONE_WASM --no-entry -sALLOW_MEMORY_GROWTH -o $@

# The hash that the page must show after as many steps (tests/page/page.sh).
$(BUILD)/page_hash: $(BUILD)/tests/page/hash.o $(PAGE_PARTS) $(call parts,lab/next_token) $(COMMON_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

deps-page:
	@sh tests/install.sh page

# ---- tests: linked with the objects, so that every operation is in the registry ----

ifneq (,$(filter test test-suites test-isas test-tsan test-oom $(BUILD)/test_heed,$(MAKECMDGOALS)))
ifeq (,$(filter deps,$(MAKECMDGOALS))$(shell pkg-config --exists check 2> /dev/null && echo there))
$(error The tests need Check, which pkg-config does not find. Run: make deps test)
endif
endif
$(BUILD)/tests/%.o: CHECK_CFLAGS = $(CHECK_INCLUDES) $(NO_WRAP)
CHECK_INCLUDES = $(eval CHECK_INCLUDES := $(shell pkg-config --cflags check))$(CHECK_INCLUDES)

# System calls that tests make fail. Where the linker has no --wrap, as on macOS, these tests are skipped.
comma    := ,
CALLS    := access close fchmod fclose fflush fopen fread fstat fsync open rename stat unlink write
WRAPPED   = $(eval WRAPPED := $(shell printf 'int main(void){}' | $(CC) -Wl,--wrap=open -x c - -o /dev/null \
                2> /dev/null && echo $(addprefix -Wl$(comma)--wrap=,$(CALLS))))$(WRAPPED)
NO_WRAP   = $(if $(WRAPPED),,-DHEED_NO_WRAP $(foreach c,$(CALLS),-D__real_$c=$c))

$(BUILD)/test_heed: $(TEST_OBJECTS) $(PART_OBJECTS) $(PAGE_PARTS) $(OBJECTS)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(WRAPPED) $(shell pkg-config --libs check) $(LDLIBS_)

# make test SUITE=softmax, SUITE='ops/ -softmax', SUITE=:parity (tests/main.c) or TEST=NAME runs only some suites.
.PHONY: test-suites test-programs
test: test-suites $(if $(SUITE)$(TEST),,test-programs)

test-suites: $(BUILD)/test_heed
	@$(BUILD)/test_heed $(SUITE) $(TEST:%='TEST=%')

test-programs: $(EXAMPLES)
	@CC="$(LINK)" sh tests/programs/quick.sh $(BUILD)

# Each instruction set runs with a different number of threads: no result may depend on that number. Files, pages, command
# lines and failing allocations do not depend on the instruction set.
ISA_SUITES := tensor/ autograd/ ops/ nn/ gpt generate sample next_token char_gpt
test-isas: $(BUILD)/test_heed $(EXAMPLES)
	@threads=0; for isa in baseline v3 v4; do \
	    threads=$$((threads + 1)); \
	    if HEED_ISA=$$isa $(BUILD)/test_heed --has-isa; then \
	        echo "== HEED_ISA=$$isa HEED_NUM_THREADS=$$threads"; \
	        export HEED_ISA=$$isa HEED_NUM_THREADS=$$threads; \
	        sh tests/programs/outputs.sh $(BUILD) && $(BUILD)/test_heed $(ISA_SUITES) || exit 1; \
	    else echo "== HEED_ISA=$$isa: not supported on this machine"; fi; done

# A program with heed.h in several standards of C and in C++17: the public headers must cause none of these warnings.
STRICT := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
$(BUILD)/c_api_%: LANGUAGE = c
$(BUILD)/c_api_c++%: LANGUAGE = c++ -fno-exceptions
$(BUILD)/c_api_%: tests/package/c_api.c $(LIBRARY)
	$(call step,cc $< ($*))
	$(CC) -x $(LANGUAGE) -std=$* -Isrc $(OPTIMISE) $(SYMBOLS) $(STRICT) $(WERROR) $(GIVEN) $(LDFLAGS) $< -x none $(LIBRARY) -o $@ $(LDLIBS_)

.PHONY: test-headers
test-headers: $(addprefix $(BUILD)/c_api_,c11 c17 c2x c++17)
	@for test in $^; do $$test || { echo "$$test failed"; exit 1; }; done

# ThreadSanitizer with the multithreaded suites. Needs gcc: clang links its runtime statically, so the runtime would
# call the functions in WRAPPED too early.
TSAN        := $(BUILD)/tsan
TSAN_SUITES := thread parallel forks determinism unread error backward saved accumulate grad apply random_graphs \
               generator torch_multihead_attention gpt generate sample

.PHONY: test-tsan
test-tsan:
	$(call needs,gcc,make deps-dev)
	@$(MAKE) --no-print-directory CC="$(if $(findstring gcc,$(CC)),$(CC),gcc)" BUILD=$(TSAN) OPTIMISE=-O1 \
	    EXTRA="-fsanitize=thread" $(TSAN)/test_heed
	$(TSAN)/test_heed $(TSAN_SUITES)

.PHONY: coverage machines check-machines
coverage:
	@sh tests/source/coverage.sh $(BUILD)/coverage

machines:
	@sh tests/machines/machines.sh

check-machines:
	@sh tests/machines/machines.sh --short

# Makes each memory allocation fail, alone and with all later ones: first in the suite, then in programs that request
# every tensor from the system. check-oom is the short form: at most 200 allocations of each program.
OOM := $(BUILD)/oom
.PHONY: test-oom check-oom oom-programs
test-oom: $(BUILD)/test_heed oom-programs
	HEED_OOM=all $(BUILD)/test_heed oom/
	sh tests/oom/oom.sh $(OOM)

check-oom: oom-programs
	sh tests/oom/oom.sh $(OOM) 200

oom-programs:
	@$(MAKE) --no-print-directory BUILD=$(OOM) EXTRA="$(EXTRA) -DHEED_SYSTEM_ALLOCATOR" \
	    $(addprefix $(OOM)/,$(notdir $(FOLDERS)) starve fail_alloc.so)

$(BUILD)/starve: tests/oom/programs/starve.c
	$(call step,cc $<)
	$(CC) $(BASE) $(OPTIMISE) $(LDFLAGS) $< -o $@

$(BUILD)/fail_alloc.so: tests/oom/programs/fail_alloc.c
	$(call step,cc $<)
	$(CC) $(BASE) $(OPTIMISE) -fPIC -shared $< -o $@ -ldl

# ---- fuzzers: each tests/fuzz/NAME.c is one; tests/fuzz/common/ is shared ----

# make fuzz runs all of them with clang's libFuzzer, FUZZ_SECONDS each, and keeps their inputs in FUZZ_CORPUS.
# make fuzz-NAME runs one. make fuzz-replay needs no clang: it checks the same FUZZ_RUNS inputs per fuzzer each time.
# check-fuzz is the short form: fixed inputs for all.
FUZZERS      := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
FUZZ_SECONDS ?= 60
FUZZ_RUNS    ?= 3000
FUZZ_CC      ?= clang
FUZZ         := $(BUILD)/fuzz
FUZZ_CORPUS  ?= $(FUZZ)/corpus
FUZZ_LIMIT   ?= -max_total_time=$(FUZZ_SECONDS)
FUZZ_FLAGS   := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_PARTS   := $(BUILD)/tests/fuzz/common/fuzz.o $(sort $(PART_OBJECTS))

$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/%.o $(FUZZ_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) -fsanitize=fuzzer $^ -o $@ $(LDLIBS_)

$(BUILD)/replay_%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/common/replay.o $(FUZZ_PARTS) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# -malloc_limit_mb: no input may make Heed allocate a larger block.
.PHONY: fuzz fuzz-replay check-fuzz $(FUZZERS:%=fuzz-%)
fuzz: ; @for f in $(FUZZERS); do $(MAKE) --no-print-directory fuzz-$$f || exit 1; done

$(FUZZERS:%=fuzz-%): fuzz-%:
	$(call needs,$(FUZZ_CC),make deps-dev)
	@$(MAKE) --no-print-directory CC="$(FUZZ_CC)" BUILD=$(FUZZ) EXTRA="$(FUZZ_FLAGS)" $(FUZZ)/fuzz_$*
	@mkdir -p $(FUZZ_CORPUS)/$*
	$(FUZZ)/fuzz_$* $(FUZZ_LIMIT) -max_len=2000 -timeout=20 -malloc_limit_mb=256 \
	    -artifact_prefix=$(FUZZ)/$*- -print_final_stats=1 $(FUZZ_CORPUS)/$*

fuzz-replay: $(FUZZERS:%=$(BUILD)/replay_%)
	@for f in $(FUZZERS); do $(BUILD)/replay_$$f $(FUZZ_RUNS) || exit 1; done

check-fuzz: fuzz-replay
	@sh tests/install.sh dev
	@rm -rf $(FUZZ)/short
	$(MAKE) --no-print-directory fuzz FUZZ_CORPUS=$(FUZZ)/short FUZZ_LIMIT="-runs=1000 -seed=1" FUZZ_GRAPHS="1 3000"

# Random graphs of operations, in graphs/: make fuzz-graphs FUZZ_SECONDS=600. It links all objects, because it checks
# that every registered operation occurs.
FUZZ_GRAPHS ?= $$(date +%s)000000 1000000000 $(FUZZ_SECONDS)
GRAPHS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fuzz/graphs/*.c))
$(BUILD)/fuzz_graphs: $(GRAPHS) $(OBJECTS)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

.PHONY: fuzz-graphs
fuzz: fuzz-graphs
fuzz-graphs: $(BUILD)/fuzz_graphs
	$(BUILD)/fuzz_graphs --broken 1 1000
	$(BUILD)/fuzz_graphs $(FUZZ_GRAPHS)

# Mutation testing: make mutate MUTANTS=1000 FILES='src/autograd/*' SUITES='scope apply' LEAST=98 CONTINUE=1
# QUICK=1 (tests/mutate/mutate.py). Fails if tests detect less than LEAST percent. log.txt lists the result of each mutant.
.PHONY: mutate
mutate:
	$(call needs,python3,make deps-dev)
	@python3 tests/mutate/mutate.py --build $(BUILD)/mutate --cc "$(CC)" $(MUTANTS:%=--mutants %) $(SEED:%=--seed %) \
	    $(if $(FILES),--files '$(FILES)') $(if $(SUITES),--suites '$(SUITES)') $(LEAST:%=--least %) \
	    $(if $(CONTINUE),--continue) $(if $(QUICK),--quick)

# PyTorch, for the differential test and the fixtures: build/torch/bin/python. Every BUILD shares it. PYTORCH is another
# Python that has it.
TORCH   := build/torch
PYTORCH ?= $(TORCH)/bin/python
.PHONY: torch fixtures
# The results of PyTorch that tests compare with: what is missing or was changed, or all of an operation.
fixtures: $(if $(filter default file,$(origin PYTORCH)),torch)
	$(PYTORCH) -B tests/fixtures/generate.py $(if $(OP),--op $(OP),--missing)

torch: $(TORCH)/installed
$(TORCH)/installed: tests/fixtures/torch.sh
	sh $< $(TORCH)

# Random graphs, modules, optimisers, generators and files, compared with PyTorch (tests/differential/run.py).
# check-differential is the short form: fixed cases, and the faults that it must find.
CASES ?= 2000
SEED  ?= 1
DIFFERENTIAL := $(TORCH)/bin/python -B tests/differential/run.py $(BUILD)/shared/libheed.so
.PHONY: differential check-differential
differential: torch shared
	$(DIFFERENTIAL) --cases $(CASES) --seed $(SEED)

check-differential: torch shared
	$(DIFFERENTIAL) --self-test
	$(DIFFERENTIAL) --cases 3000 --seed 1

# ---- benchmarks ----

# The programs are named bench_...; bench/README.md describes what they measure and how.
HEED_BENCH    := $(patsubst %.c,$(BUILD)/%.o,$(wildcard bench/heed/*.c)) $(BUILD)/bench/serve.o \
                 $(call parts,lab/toys) $(COMMON_PARTS) $(BUILD)/examples/lab/gpt/model.o
MACHINE_FLAGS  = -O3 -ffp-contract=fast $(foreach f,-march=$(MACHINE) -mprefer-vector-width=512,\
                     $(shell $(CC) $(f) -E -x c /dev/null > /dev/null 2>&1 && echo $(f)))

$(BUILD)/bench_%: $(BUILD)/bench/%.o $(BUILD)/bench/serve.o $(LIBRARY)
	$(call step,link $@)
	$(LINK) $(filter %.o,$^) $(LIBRARY) -o $@ $(LDLIBS_)

$(BUILD)/bench_generate: $(addprefix $(BUILD)/examples/lab/gpt/,model.o generate.o)
$(BUILD)/bench_heed: $(HEED_BENCH) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_compare: $(BUILD)/bench/compare.o $(BUILD)/bench/runner.o $(BUILD)/bench/serve.o
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_peak:    MACHINE = native
$(BUILD)/bench_peak_v3: MACHINE = haswell
$(BUILD)/bench_peak $(BUILD)/bench_peak_v3: bench/peak.c $(BUILD)/bench/serve.o
	$(call step,cc $<)
	$(CC) $(BASE) $(MACHINE_FLAGS) $(GIVEN) $(LDFLAGS) $^ -o $@ $(LDLIBS_)

# For ISA, ROUNDS, THREADS, WORKLOADS, PYTHONS and PEERS see bench/run.sh and compare.c.
.PHONY: bench bench-programs bench-quick bench-table bench-growth bench-generate bench-profile
bench-programs: $(foreach p,heed peak$(addprefix _,$(filter v3,$(ISA))) compare generate,$(BUILD)/bench_$(p))

bench: bench-programs
	@ISA="$(ISA)" CC="$(CC)" sh bench/run.sh $(BUILD)

bench-table:
	@awk -f bench/table.awk $(BUILD)/bench.tsv

bench-quick: export ROUNDS = 3
bench-quick: export WORKLOADS = w1 w2 w3 w4 mlp gpt.small generate start memory.w4
bench-quick: bench

bench-growth: $(BUILD)/bench_heed
	@HEED_NUM_THREADS=1 $(BUILD)/bench_heed growth

bench-generate: $(BUILD)/bench_generate
	@$(BUILD)/bench_generate

bench-profile: $(BUILD)/bench_heed
	@sh bench/profile.sh $(BUILD)

# ---- dependencies ----

deps:
	@sh tests/install.sh check

# With `make deps test` the tests are built only after the packages are installed.
ifneq (,$(filter deps,$(MAKECMDGOALS)))
$(TEST_OBJECTS) $(BUILD)/test_heed: | deps
endif

deps-dev:
	@sh tests/install.sh check dev dist use report firefox page machines torch

# ---- structure and style ----

layers: $(OBJECTS)
	$(call needs,python3 nm,make deps-dev)
	@python3 tests/source/layers.py $(BUILD)

# How large Heed may be (make size). Limits are only lowered.
SIZES := src=21850 files=70 functions=328 core=18100 tests=65500 examples=43400 lab=9600 repository=143400 data=4260
# Small programs: the core is what they take from the library.
CORE_PROGRAMS := quickstart gradcheck $(filter lesson1% lesson2% lesson3% lesson4% lesson5% lesson6%,$(LESSONS:$(BUILD)/%=%))
CORE_MAPS     := $(foreach p,$(CORE_PROGRAMS),$(p) $(BUILD)/core/$(p).map)
.PHONY: size core
size core: $(CORE_PROGRAMS:%=$(BUILD)/core/%.map)
	$(call needs,python3,make deps-dev)
	@CC="$(CC)" python3 -B tests/source/$@.py $(BUILD) $(if $(filter size,$@),"$(SIZES)") $(CORE_MAPS)

$(BUILD)/core/%.map: $(BUILD)/examples/%.o $(LIBRARY)
	$(call step,link $*)
	$(LINK) -Wl,-Map=$@ $^ -o $(BUILD)/core/$* $(LDLIBS_)

# ---- the pictures of README and docs/ ----

.PHONY: pictures
pictures: page $(addprefix $(BUILD)/,graph gpt stories page_hash)
	sh docs/pictures/make.sh $(BUILD)

# PyTorch's numbers are long tables in few lines.
FORMATTED = $(shell find src examples tests bench -path tests/fixtures -prune -o -name '*.[ch]' -print -o -name '*.[ch]pp' -print)

format:
	$(call needs,clang-format,make deps-dev)
	clang-format -i $(FORMATTED)

check-format:
	$(call needs,clang-format,make deps-dev)
	clang-format --dry-run -Werror $(FORMATTED)

lint:
	$(call needs,cppcheck,make deps-dev)
	cppcheck --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --quiet -Isrc -D__x86_64__ $(filter-out src/tensor/kernels/%,$(SOURCES))

# ---- install, shared library, amalgamation, releases ----

include package/package.mk

# ---- the steps of .ci/run ----

include tests/checks.mk

clean:
	rm -rf $(BUILD)

-include $(wildcard $(BUILD)/*.d) $(shell find $(patsubst %,$(BUILD)/%,bench examples src tests) -name '*.d' 2> /dev/null)
