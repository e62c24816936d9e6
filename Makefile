# Heed: make demo | make deps test | make help

# All output goes to BUILD; another one, BUILD=build/other, keeps a variant apart.
BUILD   ?= build
CC      ?= cc
PREFIX  ?= /usr/local
VERSION := 0.1.0

# CPPFLAGS, CFLAGS, CXXFLAGS, LDFLAGS and LDLIBS are yours, and come last. EXTRA goes to every compiler and
# linker (sanitizers, say), WERROR=-Werror makes warnings errors, and DEBUG=-g adds variables to the lines that
# backtraces and valgrind need.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wdouble-promotion
WERROR   ?=
EXTRA    ?=
OPTIMISE ?= -O2
DEBUG    ?= -g1
# gcc fills and copies structs by rep stos and rep movs, which are slow to start; calls of the C library are
# not. (This was a fifth of a training step of the toy.)
STRUCTS  := -mmemset-strategy=libcall:-1:noalign -mmemcpy-strategy=libcall:-1:noalign
STRUCTS  := $(shell $(CC) -Werror $(STRUCTS) -E -x c /dev/null > /dev/null 2>&1 && echo "$(STRUCTS)")
BASE     := -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I. $(DEBUG) -pthread $(WARNINGS) $(WERROR) -MMD -MP $(STRUCTS)
GIVEN    := $(EXTRA) $(CPPFLAGS) $(CFLAGS)
CFLAGS_  := $(BASE) $(OPTIMISE) -ffp-contract=off $(GIVEN)
LDLIBS_  := -lm -pthread $(LDLIBS)
LINK      = $(CC) $(CFLAGS_) $(LDFLAGS)

# ---- jobs, and what they print ----

# As many jobs as cores, unless -j is given here or by a make that calls this one. (Only its environment and
# command line say so: MAKEFLAGS does not have -j yet while make reads this file.)
ifndef COUNTING
JOBS := $(shell case " $$MAKEFLAGS $$(tr '\0' ' ' < /proc/$$PPID/cmdline 2> /dev/null)" in \
            (*" -j"*|*" --jobs"*) ;; (*) nproc 2> /dev/null || getconf _NPROCESSORS_ONLN ;; esac)
ifneq (,$(JOBS))
MAKEFLAGS += -j$(JOBS)
endif
endif

# $(call step,cc file) begins a recipe: it prints [37/102] cc file and makes the folder. The first one counts,
# by a dry run, how many there will be. V=1 shows the commands in place of this, make -s nothing.
V ?= 0
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
steps :=
dry    = MAKEFLAGS= $(MAKE) -n $(if $(findstring B,$(firstword -$(MAKEFLAGS))),-B) COUNTING=1 \
             -f $(firstword $(MAKEFILE_LIST)) $(MAKEOVERRIDES) $(MAKECMDGOALS) 2> /dev/null
total  = $(eval total := $(filter-out 0,$(shell $(dry) | grep -c '^: step')))$(total)
count  = $(eval steps += x)$(info [$(words $(steps))$(patsubst %,/%,$(total))] $(1))
folder = $(if $(wildcard $(@D)),,@mkdir -p $(@D))
ifdef COUNTING
step = @: step
else ifeq ($(V)$(silent),0)
.SILENT:
step = $(count)$(folder)
else
step = $(folder)
endif

# Goals that run something do so one after another, in the order in which they are given.
RUNS := clean deps deps-dev demo lessons test test-isas test-cpp layers format check-format lint bench install
earlier :=
$(foreach goal,$(filter $(RUNS),$(MAKECMDGOALS)),\
    $(if $(earlier),$(eval $(goal): | $(earlier)))$(eval earlier := $(goal)))
ifneq (,$(filter clean,$(MAKECMDGOALS)))
.NOTPARALLEL:
endif

# ---- the kernels: a file is compiled once for each of its dtypes and each instruction set ----

KERNEL_FOLDER := src/tensor/kernels
# clang with sanitizers may leave loops rolled up; gcc does not know this warning.
KERNEL_FLAGS := $(BASE) $(subst -O2,-O3,$(OPTIMISE)) -ffp-contract=fast -fno-math-errno \
                -fno-trapping-math -fwrapv -Wno-pass-failed $(GIVEN)
ISAS := baseline
ifneq (,$(findstring x86_64,$(shell $(CC) -dumpmachine)))
ISAS += v3 v4
endif
FLAGS_baseline :=
FLAGS_v3 := -mavx2 -mfma -mbmi2
FLAGS_v4 := $(FLAGS_v3) -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
# Integers and bool are compiled for the baseline alone, and serve beside the floats of every instruction set.
ISAS_F32  := $(ISAS)
ISAS_F64  := $(ISAS)
ISAS_I64  := baseline
ISAS_BOOL := baseline

KERNELS        :=
KERNEL_SOURCES :=
kernel = $(eval KERNEL_SOURCES += $(KERNEL_FOLDER)/$(strip $(1)).c)$(foreach d,$(2),$(foreach i,$(ISAS_$(d)),\
             $(eval KERNELS += $(BUILD)/kernels/$(i)/$(d)/$(strip $(1)).o)))
# The slowest to compile come first, so that all cores end together.
#             file             dtypes
$(call kernel, table,           F32 F64 I64 BOOL)
$(call kernel, gemm,            F32 F64 I64)
$(call kernel, attention_tiles, F32 F64)
$(call kernel, softmax_rows,    F32 F64)
$(call kernel, norm_rows,       F32 F64)
$(call kernel, rows,            F32 F64 I64 BOOL)
$(call kernel, optim_steps,     F32 F64)

# ---- the library ----

SOURCES := $(filter-out $(KERNEL_SOURCES),$(wildcard src/*/*.c src/*/*/*.c))
PUBLIC   = $(shell sed -n 's/^\#include "\([^"]*\)".*/\1/p' src/heed.h)
OBJECTS := $(KERNELS) $(SOURCES:%.c=$(BUILD)/%.o)
LIBRARY := $(BUILD)/libheed.a

# In examples/ a file is a program, and so is a folder with a main.c; its other files are its parts.
# A folder without one holds parts of all folder programs. The tests are linked with all parts.
# train_mpi needs MPI: `make mpi` builds it, and nothing else does.
FOLDERS      := $(patsubst examples/%/main.c,%,$(wildcard examples/*/main.c))
COMMON       := $(filter-out $(FOLDERS),$(patsubst examples/%/,%,$(sort $(dir $(wildcard examples/*/*.c)))))
EXAMPLES     := $(patsubst examples/%.c,$(BUILD)/%,$(filter-out %_mpi.c,$(wildcard examples/*.c))) \
                $(FOLDERS:%=$(BUILD)/%)
parts         = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c,$(wildcard examples/$(1)/*.c)))
COMMON_PARTS := $(foreach f,$(COMMON),$(call parts,$(f)))
PART_OBJECTS := $(foreach f,$(FOLDERS),$(call parts,$(f))) $(COMMON_PARTS)
LESSONS      := $(filter $(BUILD)/lesson%,$(EXAMPLES))

TEST_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))

.PHONY: all demo lessons test test-isas deps deps-dev layers format check-format lint install clean help

all: $(LIBRARY) $(EXAMPLES)

help:
	@echo "make demo          train the toy model and show its attention; builds no more than that needs"
	@echo "make lessons       build and run every lesson of examples/README.md"
	@echo "make deps test     install Check if it is missing, and run every test"
	@echo "make deps-dev      install what .ci/run needs"
	@echo "make all           the library and the examples, in $(BUILD)/ (the default)"
	@echo "make fuzz-bpe      libFuzzer on byte pairs, for FUZZ_SECONDS=$(FUZZ_SECONDS) (needs clang)"
	@echo "make bench         Heed beside PyTorch and other peers; bench/README.md, also for bench-..."
	@echo "make test-isas     the tests under each HEED_ISA that this machine supports"
	@echo "make mpi           train_mpi, for several processes or machines (needs mpicc)"
	@echo "make test-cpp      train the toy from C++17, define an operation in C++17 and C++20"
	@echo "make layers        check that includes point one way: nn -> autograd -> tensor"
	@echo "make format        clang-format everything; check-format only checks"
	@echo "make lint          cppcheck"
	@echo "make install       headers, library, heed.pc and LICENSE, under PREFIX=$(PREFIX)"
	@echo "make clean         remove $(BUILD)/"
	@echo
	@echo "All cores are used unless -j says otherwise, and V=1 shows the commands. CC, CXX, CPPFLAGS, CFLAGS,"
	@echo "CXXFLAGS, LDFLAGS and LDLIBS are honoured; BUILD=build/other keeps a variant apart."

lessons: $(LESSONS)
	@for lesson in $(LESSONS); do echo "== $$lesson"; $$lesson || exit 1; done

$(LIBRARY): $(OBJECTS)
	$(call step,ar $@)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	$(call step,cc $<)
	$(CC) $(CFLAGS_) $(CHECK_CFLAGS) -c $< -o $@

# isa.c has a table of what there are kernels for.
isas = '-DHEED_ISAS=$(patsubst %,ISA(%),$(1))'
$(BUILD)/src/tensor/isa.o: src/tensor/isa.c
	$(call step,cc $<)
	$(CC) $(CFLAGS_) $(call isas,$(ISAS)) -c $< -o $@

$(BUILD)/%: $(BUILD)/examples/%.o $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

define folder_rule
$(BUILD)/$(1): $(BUILD)/examples/$(1)/main.o $(call parts,$(1)) $(COMMON_PARTS) $(LIBRARY)
	$$(call step,link $$@)
	$$(LINK) $$^ -o $$@ $$(LDLIBS_)
endef
$(foreach f,$(FOLDERS),$(eval $(call folder_rule,$(f))))

# Compiled and linked by the compiler of whichever MPI is there.
MPICC ?= mpicc
.PHONY: mpi mpi-there
mpi: mpi-there $(BUILD)/train_mpi

mpi-there:
	@command -v $(MPICC) > /dev/null || { echo "make mpi: there is no $(MPICC); install an MPI:" \
	    "apt-get install libopenmpi-dev openmpi-bin, say" >&2; exit 1; }

$(BUILD)/train_mpi: examples/train_mpi.c $(LIBRARY)
	$(call step,mpicc $<)
	$(MPICC) $(CFLAGS_) $(LDFLAGS) $< $(LIBRARY) -o $@ $(LDLIBS_)

# The folder of a kernel object says what it is: kernels/<isa>/<dtype>/<file>.o
lower = $(subst F32,f32,$(subst F64,f64,$(subst I64,i64,$(subst BOOL,bool,$(1)))))
define kernel_rule
$(BUILD)/kernels/$(1)/$(2)/%.o: $(KERNEL_FOLDER)/%.c
	$$(call step,cc $$< ($(1) $(2)))
	$$(CC) $$(KERNEL_FLAGS) $$(FLAGS_$(1)) -DT_IS_$(2) \
	    -DKERNELS=heed_kernels_$(1)_$(call lower,$(2)) -c $$< -o $$@
endef
$(foreach d,F32 F64 I64 BOOL,$(foreach i,$(ISAS_$(d)),$(eval $(call kernel_rule,$(i),$(d)))))

# ---- the demo: next_token with the kernels of this machine alone, which halves the time to build it ----

define demo_rule
$(BUILD)/kernels/$(1)/isa.o: src/tensor/isa.c
	$$(call step,cc $$< ($(1)))
	$$(CC) $$(CFLAGS_) $$(call isas,$(1)) -c $$< -o $$@

$(BUILD)/demo_$(1): $(BUILD)/examples/next_token/main.o $(call parts,next_token) $(COMMON_PARTS) \
        $(filter $(patsubst %,$(BUILD)/kernels/%,$(1)/% baseline/I64/% baseline/BOOL/%),$(KERNELS)) \
        $(BUILD)/kernels/$(1)/isa.o $(filter-out $(BUILD)/src/tensor/isa.o,$(SOURCES:%.c=$(BUILD)/%.o))
	$$(call step,link $$@)
	$$(LINK) $$^ -o $$@ $$(LDLIBS_)
endef
$(foreach i,$(ISAS),$(eval $(call demo_rule,$(i))))

# The last instruction set whose flags add nothing to what the compiler finds here, or HEED_ISA.
ifneq (,$(filter demo,$(MAKECMDGOALS)))
macros    = $(shell $(CC) -march=native $(1) -dM -E -x c /dev/null 2> /dev/null | cksum | tr ' ' _)
NATIVE   := $(call macros)
DEMO_ISA := $(lastword $(foreach i,$(ISAS),$(if $(filter $(NATIVE),$(call macros,$(FLAGS_$(i)))),$(i))) \
                $(filter $(HEED_ISA),$(ISAS)))
endif

demo: $(BUILD)/demo_$(DEMO_ISA)
	$<

# ---- tests: linked with the objects, so that every operation is in the registry ----

ifneq (,$(filter test test-isas $(BUILD)/test_heed,$(MAKECMDGOALS)))
ifeq (,$(filter deps,$(MAKECMDGOALS))$(shell pkg-config --exists check 2> /dev/null && echo there))
$(error The tests need Check, which pkg-config does not find here. Run: make deps test)
endif
endif
$(BUILD)/tests/%.o: CHECK_CFLAGS = $(CHECK_INCLUDES)
CHECK_INCLUDES = $(eval CHECK_INCLUDES := $(shell pkg-config --cflags check))$(CHECK_INCLUDES)

# System calls that tests make fail: tests/test_file_faults.c, tests/test_unread.c.
comma   := ,
WRAPPED := $(addprefix -Wl$(comma)--wrap=,access close fchmod fstat fsync open pread pthread_setspecific readlink rename stat unlink write)

$(BUILD)/test_heed: $(TEST_OBJECTS) $(PART_OBJECTS) $(OBJECTS)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(WRAPPED) $(shell pkg-config --libs check) $(LDLIBS_)

# The programs that show how to extend Heed check themselves; what the others print is compared.
test: $(BUILD)/test_heed $(EXAMPLES)
	$(BUILD)/test_heed
	$(BUILD)/custom_op > /dev/null
	$(BUILD)/custom_module > /dev/null
	sh tests/outputs.sh $(BUILD)
	sh tests/notebooks.sh
	sh tests/gpt_resume.sh $(BUILD)

# Each with a number of threads of its own: no result may depend on either.
test-isas: $(BUILD)/test_heed $(EXAMPLES)
	@threads=0; for isa in $(ISAS); do \
	    threads=$$((threads + 1)); \
	    if HEED_ISA=$$isa $(BUILD)/test_heed --has-isa; then \
	        echo "== HEED_ISA=$$isa HEED_NUM_THREADS=$$threads"; \
	        export HEED_ISA=$$isa HEED_NUM_THREADS=$$threads; \
	        sh tests/outputs.sh $(BUILD) && sh tests/both_cores.sh $(BUILD)/test_heed || exit 1; \
	    else echo "== HEED_ISA=$$isa: not supported on this machine"; fi; done

# C++17 trains the toy; C++17 and C++20 define an operation.
CXX_LINK = $(CXX) -std=$(1) -Isrc -I. $(OPTIMISE) $(DEBUG) -Wall -Wextra -Wpedantic -Wshadow $(WERROR) $(EXTRA) \
               $(CPPFLAGS) $(CXXFLAGS) $(LDFLAGS)
$(BUILD)/toy_cpp: tests/toy.cpp $(PART_OBJECTS) $(LIBRARY)
	$(call step,c++ $<)
	$(call CXX_LINK,c++17) $^ -o $@ $(LDLIBS_)

$(BUILD)/operation_c++%: tests/operation.cpp $(LIBRARY)
	$(call step,c++ $< (c++$*))
	$(call CXX_LINK,c++$*) $^ -o $@ $(LDLIBS_)

.PHONY: test-cpp
test-cpp: $(BUILD)/toy_cpp $(BUILD)/operation_c++17 $(BUILD)/operation_c++20
	$(BUILD)/operation_c++17
	$(BUILD)/operation_c++20
	$(BUILD)/toy_cpp

# libFuzzer, of clang, on parts that read what others wrote: make fuzz-bpe FUZZ_SECONDS=600
FUZZ_SECONDS ?= 60
FUZZ         := $(BUILD)/fuzz
FUZZ_FLAGS   := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/%.o $(sort $(call parts,gpt) $(COMMON_PARTS)) $(LIBRARY)
	$(call step,link $@)
	$(LINK) -fsanitize=fuzzer $^ -o $@ $(LDLIBS_)

.PHONY: fuzz-bpe
fuzz-bpe:
	@$(MAKE) --no-print-directory CC=clang BUILD=$(FUZZ) EXTRA="$(FUZZ_FLAGS)" $(FUZZ)/fuzz_bpe
	@mkdir -p $(FUZZ)/seen
	$(FUZZ)/fuzz_bpe -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $(FUZZ)/seen

# ---- benchmarks ----

# Each program of it has the name bench_...; what they measure, and how: bench/README.md.
HEED_BENCH    := $(patsubst %.c,$(BUILD)/%.o,$(wildcard bench/heed/*.c)) $(BUILD)/bench/serve.o
MACHINE_FLAGS  = -O3 -ffp-contract=fast $(foreach f,-march=native -mprefer-vector-width=512,\
                     $(shell $(CC) $(f) -E -x c /dev/null > /dev/null 2>&1 && echo $(f)))

$(BUILD)/bench_%: $(BUILD)/bench/%.o $(BUILD)/bench/serve.o $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_heed: $(HEED_BENCH) $(LIBRARY)
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_compare: $(BUILD)/bench/compare.o $(BUILD)/bench/runner.o $(BUILD)/bench/serve.o
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_peak: bench/peak.c $(BUILD)/bench/serve.o
	$(call step,cc $<)
	$(CC) $(BASE) $(MACHINE_FLAGS) $(GIVEN) $(LDFLAGS) $^ -o $@ $(LDLIBS_)

# ROUNDS, THREADS, WORKLOADS, PYTHONS, PEERS: bench/run.sh and compare.c.
.PHONY: bench bench-programs bench-quick bench-growth bench-generate bench-profile
bench-programs: $(foreach p,heed peak compare generate,$(BUILD)/bench_$(p))

bench: bench-programs
	@CC="$(CC)" CXX="$(CXX)" sh bench/run.sh $(BUILD)

bench-quick: export ROUNDS = 3
bench-quick: export WORKLOADS = w1 w2 w3 w4 mlp start memory.w4
bench-quick: bench

bench-growth: $(BUILD)/bench_heed
	@HEED_NUM_THREADS=1 $(BUILD)/bench_heed growth

bench-generate: $(BUILD)/bench_generate
	@$(BUILD)/bench_generate

bench-profile: $(BUILD)/bench_heed
	@sh bench/profile.sh $(BUILD)

# ---- what is needed beyond a compiler ----

deps:
	@sh tests/install.sh check

# With `make deps test` nothing of the tests is built before the packages are there.
ifneq (,$(filter deps,$(MAKECMDGOALS)))
$(TEST_OBJECTS) $(BUILD)/test_heed: | deps
endif

deps-dev:
	@sh tests/install.sh check dev

# ---- the shape of the house ----

layers:
	@sh tests/layers.sh

FORMATTED = $(wildcard src/*.h src/*/*.[ch] src/*/*/*.[ch] examples/*.[ch] examples/*/*.[ch] tests/*.[ch] tests/gradients/*.h tests/misuse/*.h tests/parity/*.h tests/fuzz/*.c bench/*.[ch] bench/*/*.[ch] bench/peers/*.cpp)

format:
	clang-format -i $(FORMATTED)

check-format:
	clang-format --dry-run -Werror $(FORMATTED)

lint:
	cppcheck --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --quiet -Isrc -D__x86_64__ $(SOURCES)

install: $(LIBRARY)
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	for h in heed.h $(PUBLIC); do install -D -m 644 src/$$h $(DESTDIR)$(PREFIX)/include/heed/$$h; done
	install -m 644 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/licenses/heed/LICENSE
	printf 'Name: heed\nDescription: tiny autograd framework that trains self-attention\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lheed -lm -pthread\n' \
	    $(VERSION) $(PREFIX)/include/heed $(PREFIX)/lib > $(DESTDIR)$(PREFIX)/lib/pkgconfig/heed.pc

clean:
	rm -rf $(BUILD)

-include $(wildcard $(BUILD)/*.d) $(shell find $(patsubst %,$(BUILD)/%,bench examples kernels src tests) -name '*.d' 2> /dev/null)
