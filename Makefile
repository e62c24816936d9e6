# Heed. Help is written as "##" comments; make help prints them.
#
## make             the library and the examples; make lib: only the library
## make demo        train the toy model and show its attention
## make lessons     the lessons of the course; make toys: small models
## make task1       compile and grade task 1 (HINT=1: with a hint); make tasks
## make deps test   install Check and run all tests; SUITE=softmax, TEST=NAME
## make check-NAME  a step of .ci/run (tests/checks.mk); make deps-dev: its tools
## make format      clang-format; make fixtures: PyTorch's results for the tests
## make size        how large Heed is; make core: what a small program takes
## make bench       compare speed with PyTorch and others (bench/README.md)
## make fuzz        FUZZ_SECONDS=60 for each of tests/fuzz/; fuzz-NAME: one
## make page        attention.html, which explains attention; make pictures
## make mpi         toys for several processes; make test-isas: each HEED_ISA
## make install     PREFIX=/usr/local LIBDIR= DESTDIR=; uninstall; make shared
## make release     tarball, page, tasks (task-kit); make amalgamation: two files
##
## All cores are used unless -j is given. V=1 shows the commands. BUILD=build/other
## keeps a separate variant. DEBUG=1 builds one that reports mistakes.

ifeq ($(DEBUG),1)
BUILD    ?= build/debug
OPTIMISE ?= -Og
SYMBOLS  ?= -g -DHEED_DEBUG
endif
BUILD ?= build
MAKEFLAGS += --no-print-directory
comma := ,

ifneq (,$(filter-out $(BUILD)/%,$(wordlist 2,99,$(MAKECMDGOALS))))
# Several goals are made one after another, each with all jobs: deps before test.
.PHONY: $(MAKECMDGOALS) goals
$(MAKECMDGOALS): goals ; @:
goals:
	@for goal in $(MAKECMDGOALS); do $(MAKE) $$goal || exit 1; done
else

# ---- flags ----

# EXTRA is passed to every compiler and linker call (for sanitizers, for example), and WERROR=-Werror turns warnings into
# errors. -g1 gives backtraces and valgrind their line numbers.
CC       ?= cc
EXTRA    ?=
WERROR   ?=
OPTIMISE ?= -O2
SYMBOLS  ?= -g1
PTHREAD  := -pthread
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wdouble-promotion
# gcc fills and copies structs with rep stos and rep movs, which have a high startup cost; library calls do not.
# (They take 3 % of a training step of the toy model.)
STRUCTS  := -mmemset-strategy=libcall:-1:noalign -mmemcpy-strategy=libcall:-1:noalign
STRUCTS  := $(shell $(CC) -Werror $(STRUCTS) -E -x c /dev/null > /dev/null 2>&1 && echo "$(STRUCTS)")
# _DARWIN_C_SOURCE: with _POSIX_C_SOURCE alone, macOS hides O_NOFOLLOW and the number of processors.
BASE     := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DARWIN_C_SOURCE -Isrc -I. $(SYMBOLS) $(PTHREAD) $(WARNINGS) $(WERROR) \
            -MMD -MP $(STRUCTS)
# The archive and the shared library consist of the same objects: position-independent, exporting public names alone.
# initial-exec: a thread reaches its state without a call, a fifth of the toy's step. gcc calls public functions
# directly, or inlines them, as clang does. emcc would produce slower code.
TLS_MODEL ?= initial-exec
PIC      ?= -fPIC -fvisibility=hidden -ftls-model=$(TLS_MODEL) -fno-semantic-interposition
GIVEN    := $(EXTRA) $(CPPFLAGS) $(CFLAGS)
CFLAGS_  := $(BASE) $(OPTIMISE) -ffp-contract=off $(GIVEN)
LDLIBS_  := -lm $(PTHREAD) $(LDLIBS)
LINK      = $(CC) $(CFLAGS_) $(LDFLAGS)

# ---- jobs and their output ----

# One job per core, unless -j was given: to this make, where it takes precedence, or to a make that calls it, which
# passes it on in the environment.
ifeq (,$(findstring -j,$(shell echo "$$MAKEFLAGS")))
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN)
endif

# $(call step,cc file) begins a recipe: it prints cc file and creates the folder. V=1 shows the commands instead,
# make -s nothing.
silent := $(filter-out 0,$(V))$(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
step    = $(if $(silent),,$(info $(1)))$(if $(wildcard $(@D)),,@mkdir -p $(@D) || \
          { echo "make BUILD=FOLDER builds in another folder" >&2; exit 1; })
$(if $(filter-out 0,$(V)),,$(eval .SILENT:))

# Keeps the objects of programs, which make would delete as intermediate files and compile again the next time.
.SECONDARY:

# ---- the library and programs ----

objects = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))
SOURCES := $(wildcard src/*/*.c src/*/*/*.c)
OBJECTS := $(call objects,$(SOURCES))
LIBRARY := $(BUILD)/libheed.a
$(OBJECTS): CFLAGS_ += $(PIC)

# In examples/ each file is a program, and so is each folder with a main.c, there and in examples/lab; its other files
# are its parts. lab/common is shared by the programs of the lab. The tests are linked with all parts.
FOLDERS  := $(patsubst examples/%/main.c,%,$(wildcard examples/*/main.c examples/lab/*/main.c))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/%,$(wildcard examples/*.c)) $(addprefix $(BUILD)/,$(notdir $(FOLDERS)))
LESSONS  := $(filter $(BUILD)/lesson%,$(EXAMPLES))
parts     = $(filter-out %/main.o,$(call objects,examples/$(1)/*.c))
COMMON   := $(call parts,lab/common) $(BUILD)/view.o
PARTS    := $(foreach f,$(FOLDERS),$(call parts,$(f))) $(COMMON)
# What the page takes from the program gpt: models in files.
PAGE_GPT_PARTS := $(patsubst %,$(BUILD)/examples/lab/gpt/%.o,model checkpoint options tokenizer bpe)
PAGE_PARTS     := $(filter-out %/browser_file.o,$(call parts,page)) $(PAGE_GPT_PARTS)
# The rooms of tests/ that contain suites, and what they share.
TEST_ROOMS   := common tensor autograd ops misuse nn check programs oom
TEST_OBJECTS := $(call objects,tests/*.c $(TEST_ROOMS:%=tests/%/*.c))
FUZZERS      := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))
BENCH_PARTS  := $(call objects,bench/heed/*.c) $(BUILD)/bench/serve.o $(call parts,lab/toys) $(BUILD)/examples/lab/gpt/model.o

.PHONY: all lib help clean
all: $(LIBRARY) $(EXAMPLES)
lib: $(LIBRARY)
help: ; @sed -n 's/^## \{0,1\}//p' Makefile
clean:
	$(if $(filter-out build build/%,$(BUILD))$(findstring ..,$(BUILD)),$(error make clean removes build and its folders; remove $(BUILD) yourself))
	rm -rf $(BUILD)
# Files that no rule makes are not in the way of make -B.
.DEFAULT: ; @[ -e $@ ] || { echo "make: there is no $@; make help lists what there is" >&2; exit 2; }

$(BUILD)/%.o: %.c
	$(call step,cc $<)
	$(CC) $(CFLAGS_) $(CHECK_CFLAGS) -c $< -o $@

$(BUILD)/view.o: $(BUILD)/view.c
	$(call step,cc $<)
	$(CC) $(CFLAGS_) -c $< -o $@

# The page of reports, as an array of its lines.
$(BUILD)/view.c: examples/lab/view.html
	$(call step,sed $<)
	{ echo 'extern const char *const view_lines[];'; echo 'const char *const view_lines[] = {'; \
	  sed -e 's/[\\"?]/\\&/g' -e 's/.*/    "&",/' $<; echo '    0};'; } > $@

$(LIBRARY): $(OBJECTS)
	$(call step,ar $@)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%: $(BUILD)/examples/%.o $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# $(call program,NAME,OBJECTS): other programs, with what they are linked with
program  = $(eval PROGRAMS += $(BUILD)/$(1))$(eval $(BUILD)/$(1): $(2))
PROGRAMS :=
$(foreach f,$(FOLDERS),$(call program,$(notdir $(f)),$(call objects,examples/$(f)/*.c) $(COMMON) $(LIBRARY)))
$(foreach p,train shrink,$(call program,page_$(p),$(BUILD)/examples/page/$(p)/main.o $(PAGE_PARTS) \
    $(call parts,lab/next_token) $(COMMON) $(LIBRARY)))
$(call program,toys_mpi,$(BUILD)/examples/lab/toys_mpi.o $(call parts,lab/toys) $(COMMON) $(LIBRARY))
# What the page must show: weights, hashes and logits (tests/page).
$(foreach p,story hash logits,$(call program,page_$(p),$(BUILD)/tests/page/$(p).o $(PAGE_PARTS) \
    $(call parts,lab/next_token) $(COMMON) $(LIBRARY)))
# Tests are linked with the objects, so that every operation is in the registry.
$(call program,test_heed,$(TEST_OBJECTS) $(PARTS) $(PAGE_PARTS) $(OBJECTS))
$(call program,fuzz_graphs,$(call objects,tests/fuzz/graphs/*.c) $(OBJECTS))
$(foreach f,$(FUZZERS),$(call program,fuzz_$(f),$(BUILD)/tests/fuzz/$(f).o $(BUILD)/tests/fuzz/common/fuzz.o $(PARTS) $(LIBRARY)))
$(call program,bench_heed,$(BENCH_PARTS) $(COMMON) $(LIBRARY))
$(PROGRAMS):
	$(call step,link $@)
	$(LINK) $(sort $(filter %.o,$^)) $(filter %.a,$^) -o $@ $(LINK_WITH) $(LDLIBS_)

MPICC ?= mpicc
$(BUILD)/toys_mpi: override CC = $(MPICC)

# ---- running ----

.PHONY: demo lessons toys tasks mpi
# On a terminal one line says what is compiled, and nothing of it remains.
demo:
	@if [ -t 1 ]; then $(MAKE) $(BUILD)/next_token | while read -r line; do printf '\r\033[K%.75s' "$$line"; done; \
	    printf '\r\033[K'; fi
	@$(MAKE) $(BUILD)/next_token && $(BUILD)/next_token
mpi: $(BUILD)/toys_mpi

lessons: $(LESSONS)
	@for lesson in $(LESSONS); do echo "== $$lesson"; $$lesson || exit 1; done

# Nothing learns the lottery; induction heads; grokking, with a page.
toys: $(BUILD)/toys
	$< lottery --seeds 4 --steps 300
	$< induction --until 0.98 --scores --patch
	$< modadd --until 0.99 --spectrum --report $(BUILD)/toys.html --force
	@echo "$(BUILD)/toys.html is the page of the last run; docs/toys.md says more"

tasks task1 task2 task3 task4 task5 task6 task7 task8 task9 task10: $(LIBRARY)
	@$(MAKE) -s -C examples/tasks $@ OUT=$(abspath $(BUILD))/tasks INCLUDE=../../src HEED=$(abspath $(LIBRARY))

# ---- the page: examples/page/build.sh trains its models and joins it with the engine, which emcc compiles ----

.PHONY: page pictures
page: $(addprefix $(BUILD)/,page_train page_shrink stories gpt)
	@$(MAKE) CC=emcc AR=emar BUILD=$(BUILD)/page EXTRA="-msimd128 -sSUPPORT_LONGJMP=wasm" PIC= PTHREAD= SYMBOLS= $(BUILD)/page/engine.wasm
	@sh examples/page/build.sh $(BUILD)

# STANDALONE_WASM: without JavaScript of emscripten's.
$(BUILD)/engine.wasm: $(call parts,page) $(PAGE_GPT_PARTS) $(call parts,lab/next_token) \
        $(foreach f,text flags console recording,$(BUILD)/examples/lab/common/$(f).o) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -sSTANDALONE_WASM --no-entry -sALLOW_MEMORY_GROWTH -o $@

pictures: page $(addprefix $(BUILD)/,graph page_hash)
	sh docs/pictures/make.sh $(BUILD)

.PHONY: bench
bench: $(BUILD)/bench_heed ; @python3 -B bench/run.py $<

include tests/checks.mk package/package.mk

-include $(wildcard $(BUILD)/*.d) $(shell find $(patsubst %,$(BUILD)/%,bench examples src tests) -name '*.d' 2> /dev/null)
endif
