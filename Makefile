# Heed: make demo | make deps test | make help

# Everything that is made lies here; BUILD=build/other keeps variants apart.
BUILD   ?= build
CC      ?= cc
PREFIX  ?= /usr/local
VERSION := 0.1.0

# WERROR= builds on with warnings; EXTRA adds flags (sanitizers, say).
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Wdouble-promotion
WERROR   ?= -Werror
EXTRA    ?=
OPTIMISE ?= -O2
# gcc fills and copies structs by rep stos and rep movs, which take longer to begin than most structs take:
# the C library's functions do not. (Of a training step of the toy, it was a fifth.)
STRUCTS  := -mmemset-strategy=libcall:-1:noalign -mmemcpy-strategy=libcall:-1:noalign
STRUCTS  := $(shell $(CC) -Werror $(STRUCTS) -E -x c /dev/null > /dev/null 2>&1 && echo "$(STRUCTS)")
BASE     := -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I. -g -pthread $(WARNINGS) $(WERROR) -MMD -MP $(STRUCTS)
CFLAGS_  := $(BASE) $(OPTIMISE) -ffp-contract=off $(EXTRA) $(CFLAGS)
LDLIBS_  := -lm -pthread $(LDLIBS)

# V=1 shows the commands.
V ?= 0
ifeq ($(V),0)
.SILENT:
say = @echo "  $(1)  $@"
endif

# ---- the kernels: once for each instruction set and dtype ----

# With sanitizers clang leaves loops as they are that are to be unrolled, and may; gcc knows no such warning.
KERNEL_FLAGS := $(BASE) $(subst -O2,-O3,$(OPTIMISE)) -ffp-contract=fast -fno-math-errno \
                -fno-trapping-math -fwrapv -Wno-pass-failed $(EXTRA) $(CFLAGS)
DTYPES := F32 F64 I64 BOOL
ISAS   := baseline
ifneq (,$(findstring x86_64,$(shell $(CC) -dumpmachine)))
ISAS   += v3 v4
endif
FLAGS_baseline :=
FLAGS_v3 := -mavx2 -mfma -mbmi2
FLAGS_v4 := $(FLAGS_v3) -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl
lower = $(subst F32,f32,$(subst F64,f64,$(subst I64,i64,$(subst BOOL,bool,$(1)))))

# Which files there are of each dtype, of numbers, and of floats alone.
OF_ALL     := table rows
OF_NUMBERS := gemm
OF_FLOATS  := attention_tiles softmax_rows norm_rows optim_steps
kernels_of  = $(foreach i,$(ISAS),$(foreach d,$(1),$(foreach f,$(2),$(BUILD)/kernels/$(i)/$(d)/$(f).o)))
KERNELS    := $(call kernels_of,$(DTYPES),$(OF_ALL)) $(call kernels_of,F32 F64 I64,$(OF_NUMBERS)) \
              $(call kernels_of,F32 F64,$(OF_FLOATS))

# ---- the library ----

SOURCES := $(filter-out src/tensor/kernels/%,$(wildcard src/*/*.c src/*/*/*.c))
PUBLIC   = $(shell sed -n 's/^\#include "\(.*\)"/\1/p' src/heed.h)
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(KERNELS)
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
	@echo "make demo          train the toy model and look at its attention"
	@echo "make lessons       the course of examples/README.md: builds and runs every lesson"
	@echo "make deps test     install Check if it is missing, and run every test"
	@echo "make all           the library and the examples, in $(BUILD)/"
	@echo "make fuzz-bpe      libFuzzer on byte pairs, for FUZZ_SECONDS=$(FUZZ_SECONDS) (it needs clang)"
	@echo "make bench         Heed beside PyTorch and others that are there; bench/README.md, also for bench-..."
	@echo "make test-isas     the tests under each HEED_ISA that this machine has"
	@echo "make mpi           train_mpi, for several processes or machines; needs mpicc"
	@echo "make test-cpp      the toy, trained from C++17"
	@echo "make layers        do includes point one way: nn -> autograd -> tensor?"
	@echo "make format        clang-format everything; check-format only looks"
	@echo "make lint          cppcheck"
	@echo "make install       header, library and heed.pc under PREFIX=$(PREFIX)"

demo: $(BUILD)/next_token
	$(BUILD)/next_token

lessons: $(LESSONS)
	@for lesson in $(LESSONS); do echo "== $$lesson"; $$lesson || exit 1; done

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc)
	$(CC) $(CFLAGS_) $(CHECK_CFLAGS) -c $< -o $@

$(BUILD)/%: $(BUILD)/examples/%.o $(LIBRARY)
	$(CC) $(CFLAGS_) $^ -o $@ $(LDLIBS_)

define folder_rule
$(BUILD)/$(1): $(BUILD)/examples/$(1)/main.o $(call parts,$(1)) $(COMMON_PARTS) $(LIBRARY)
	$$(CC) $$(CFLAGS_) $$^ -o $$@ $$(LDLIBS_)
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
	$(call say,mpicc)
	$(MPICC) $(CFLAGS_) $< $(LIBRARY) -o $@ $(LDLIBS_)

# A kernel object's folder says what it is: kernels/<isa>/<dtype>/<file>.o
define kernel_rule
$(BUILD)/kernels/$(1)/$(2)/%.o: src/tensor/kernels/%.c
	@mkdir -p $$(@D)
	$$(call say,cc)
	$$(CC) $$(KERNEL_FLAGS) $$(FLAGS_$(1)) -DT_IS_$(2) \
	    -DKERNELS=heed_kernels_$(1)_$(call lower,$(2)) -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(foreach d,$(DTYPES),$(eval $(call kernel_rule,$(i),$(d)))))

# ---- tests: linked with the objects, so that every operation is in the registry ----

$(BUILD)/tests/%.o: CHECK_CFLAGS = $(shell pkg-config --cflags check)

# Calls of the system that tests/test_file_faults.c lets fail.
comma   := ,
WRAPPED := $(addprefix -Wl$(comma)--wrap=,access close fchmod fstat fsync open pread readlink rename stat unlink write)

$(BUILD)/test_heed: $(TEST_OBJECTS) $(PART_OBJECTS) $(OBJECTS)
	$(CC) $(CFLAGS_) $^ -o $@ $(WRAPPED) $(shell pkg-config --libs check) $(LDLIBS_)

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
	    else echo "== HEED_ISA=$$isa: this machine has it not"; fi; done

# From C++17 the header is included, and the toy trained.
$(BUILD)/toy_cpp: tests/toy.cpp $(PART_OBJECTS) $(LIBRARY)
	$(call say,c++)
	$(CXX) -std=c++17 -Isrc -I. -O2 -g -Wall -Wextra -Wpedantic -Wshadow $(WERROR) $(EXTRA) $^ -o $@ $(LDLIBS_)

.PHONY: test-cpp
test-cpp: $(BUILD)/toy_cpp
	$(BUILD)/toy_cpp

# libFuzzer, of clang, on parts that read what others wrote: make fuzz-bpe FUZZ_SECONDS=600
FUZZ_SECONDS ?= 60
FUZZ         := $(BUILD)/fuzz
FUZZ_FLAGS   := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

$(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/%.o $(sort $(call parts,gpt) $(COMMON_PARTS)) $(LIBRARY)
	$(CC) $(CFLAGS_) -fsanitize=fuzzer $^ -o $@ $(LDLIBS_)

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
	$(CC) $(CFLAGS_) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_heed: $(HEED_BENCH) $(LIBRARY)
	$(CC) $(CFLAGS_) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_compare: $(BUILD)/bench/compare.o $(BUILD)/bench/runner.o $(BUILD)/bench/serve.o
	$(CC) $(CFLAGS_) $^ -o $@ $(LDLIBS_)

$(BUILD)/bench_peak: bench/peak.c $(BUILD)/bench/serve.o
	$(call say,cc)
	$(CC) $(BASE) $(MACHINE_FLAGS) $^ -o $@ $(LDLIBS_)

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
	printf 'Name: heed\nDescription: tiny autograd framework that trains self-attention\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lheed -lm -pthread\n' \
	    $(VERSION) $(PREFIX)/include/heed $(PREFIX)/lib > $(DESTDIR)$(PREFIX)/lib/pkgconfig/heed.pc

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
