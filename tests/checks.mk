# The steps of .ci/run. Each works alone on a fresh clone, and installs what it needs: `make check-page`.
# `.ci/run check-page` does the same with warnings as errors and HEED_STRICT=1, which turns skipped checks into failures.
# Two steps that build into the same folder must not run at the same time: .ci/run lists them on one line.

INSTALL := sh tests/install.sh
CLANG   := CC=clang
# Scripts choose the jobs of the makes that they call.
RUN     := unset MAKEFLAGS MAKELEVEL; sh

# make deps test, as in the README
check-test:
	$(MAKE) --no-print-directory deps test

# Pages: names, links, lists, wording; their code is compiled and run
check-docs: all
	$(INSTALL) dev
	$(RUN) tests/source/docs.sh
	$(RUN) tests/source/words.sh
	$(RUN) tests/source/docs_code.sh

# The Makefile: flags, jobs, what it prints; nothing is written outside build/
check-make:
	$(INSTALL) check dev
	$(MAKE) --no-print-directory demo
	$(RUN) tests/source/build.sh

# Programs as users run them: output, exit status, signals, full disks
check-programs: all
	$(INSTALL) dev
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
	$(INSTALL) dev
	unset MAKEFLAGS MAKELEVEL; python3 -B tests/tasks/tasks.py $(BUILD) --mutants
	$(RUN) tests/tasks/kit.sh $(BUILD)

# Reports of training runs, in a browser
check-report: all
	$(INSTALL) dev report
	$(RUN) tests/page/report.sh $(BUILD)

# The page, built with emcc, in two browsers
check-page: $(addprefix $(BUILD)/,page_hash page_story page_logits gpt)
	$(INSTALL) dev report firefox page
	$(MAKE) --no-print-directory page
	$(RUN) tests/page/bits.sh $(BUILD)
	$(RUN) tests/page/page.sh $(BUILD)

# Every program under valgrind, in a build that requests each tensor from the system
check-valgrind: all
	$(INSTALL) dev
	$(MAKE) --no-print-directory BUILD=$(OOM) EXTRA="$(EXTRA) -DHEED_SYSTEM_ALLOCATOR" all
	$(RUN) tests/programs/valgrind.sh $(OOM) $(notdir $(EXAMPLES))

# Installing and using Heed
check-package: all shared
	$(INSTALL) check dev use
	$(RUN) tests/package/install_use.sh $(BUILD)

# Everything that "Break it" says, for all switches with ten seeds; check-page does it for four switches and the page's seeds
check-breaks-long:
	$(INSTALL) dev report page
	$(MAKE) --no-print-directory page
	build=$(BUILD); . tests/page/browser.sh; $$python -B tests/page/breaks.py $(BUILD)/page/attention.html

# What `make release` writes, and the tree in its tarball
check-release:
	$(INSTALL) check dev dist page
	$(RUN) tests/package/release.sh $(BUILD)

# heed.h and heed.c
check-amalgamation:
	$(INSTALL) check dev
	$(RUN) tests/package/amalgamation.sh $(BUILD)

# The runs of toys, on 1, 2 and 4 ranks of MPI
check-mpi: $(BUILD)/toys
	$(INSTALL) dev
	$(MAKE) --no-print-directory mpi
	$(RUN) tests/programs/mpi.sh $(BUILD)

# A GPT trains on stories as in PyTorch
check-gpt: all
	$(RUN) tests/programs/gpt_job.sh $(BUILD)

# The edits of CONTRIBUTING.md, in a copy of the tree
check-contributing: torch
	$(INSTALL) check
	$(RUN) tests/source/contributing.sh $(PYTORCH)

# The benchmark, with Heed alone and with peers that fail. It measures times: nothing else may run meanwhile.
check-bench: bench-programs
	$(INSTALL) dev
	$(RUN) tests/programs/bench.sh $(BUILD)

# The debug build: its reports, and the suites
check-debug:
	$(INSTALL) check dev
	$(RUN) tests/programs/debug.sh

# Mutants of a few files, with the suites of these files alone: tests detect most of a fixed sample
check-mutate:
	$(INSTALL) check
	$(MAKE) --no-print-directory mutate MUTANTS=20 SEED=1 FILES='src/autograd/ops/[sv]*.c' \
	    SUITES='softmax slice sort split subscript view' QUICK=1 LEAST=80

# The catalogue of wrong and right attentions, with 20 seeds; the long form takes 1,000 and some minutes.
SEEDS := 20
check-attention-long: SEEDS := 1000
check-attention check-attention-long:
	$(INSTALL) check
	$(MAKE) --no-print-directory build/test_heed
	HEED_ATTENTION_SEEDS=$(SEEDS) CK_DEFAULT_TIMEOUT=3600 build/test_heed attention_check

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
	$(INSTALL) check dev
	$(MAKE) --no-print-directory $(CLANG) BUILD=build/clang all build/clang/test_heed
	$(RUN) tests/programs/outputs.sh build/clang
	build/clang/test_heed
	$(MAKE) --no-print-directory $(CLANG) BUILD=build/clang test-headers

# AddressSanitizer and UndefinedBehaviorSanitizer. One process a suite, as a fork and its leak check take longer than most tests. Absurdly large
# allocations must fail with an error. Short stack traces and a small quarantine make the runs five times faster.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
check-asan check-clang-asan: export ASAN_OPTIONS  = allocator_may_return_null=1:detect_leaks=1:malloc_context_size=6:quarantine_size_mb=32
check-asan check-clang-asan: export UBSAN_OPTIONS = print_stacktrace=1

ASAN := BUILD=build/asan EXTRA="$(SANITIZE)"
check-asan:
	$(INSTALL) check dev
	$(MAKE) --no-print-directory $(ASAN) build/asan/test_heed
	build/asan/test_heed --one-process

CLANG_ASAN := $(CLANG) BUILD=build/clang-asan EXTRA="$(SANITIZE)"
check-clang-asan:
	$(INSTALL) check dev
	$(MAKE) --no-print-directory $(CLANG_ASAN) build/clang-asan/test_heed
	build/clang-asan/test_heed --one-process