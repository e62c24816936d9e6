# What a release consists of; included by the Makefile.

# The programs that are installed, as heed-gpt and so on.
PROGRAMS := gpt graph next_token stories

# ---- shared library ----

# A minor version may change the ABI until version 1.0 (docs/abi.md): it is part of the soname.
SONAME_VERSION := $(basename $(VERSION))
ifneq (,$(filter __APPLE__,$(MACHINE)))
SHARED_FILE  := libheed.$(VERSION).dylib
SONAME       := libheed.$(SONAME_VERSION).dylib
SHARED_LINK  := libheed.dylib
SHARED_FLAGS := -dynamiclib -install_name @rpath/$(SONAME)
else
SHARED_FILE  := libheed.so.$(VERSION)
SONAME       := libheed.so.$(SONAME_VERSION)
SHARED_LINK  := libheed.so
SHARED_FLAGS  = -shared -Wl,-soname,$(SONAME) $(STRICT_LINK)
endif
# defs: an undefined symbol is an error. nodelete: dlclose leaves the library in memory, since its threads and the
# clean-up of other threads still need it. Bsymbolic-functions: the library calls its own functions directly.
STRICT_LINK = $(foreach f,-Wl$(comma)-z$(comma)defs$(comma)-z$(comma)nodelete -Wl$(comma)-Bsymbolic-functions,$(shell \
                  printf 'int x;' | $(CC) -shared -fPIC $f -x c - -o /dev/null 2> /dev/null && echo $f))

.PHONY: shared
shared: $(BUILD)/shared/$(SHARED_FILE)

$(BUILD)/shared/$(SHARED_FILE): $(OBJECTS)
	$(call step,link $@)
	$(LINK) $(SHARED_FLAGS) $^ -o $@ $(LDLIBS_)
	@ln -sf $(SHARED_FILE) $(@D)/$(SONAME)
	@ln -sf $(SONAME) $(@D)/$(SHARED_LINK)

# The lists that follow from the public headers: package/symbols.txt (docs/abi.md), the tables of
# docs/pytorch.md.
.PHONY: names check-names
names:
	$(call needs,python3,make deps-dev)
	@CC="$(CC)" python3 -B package/names.py

check-names:
	$(call needs,python3,make deps-dev)
	@CC="$(CC)" python3 -B package/names.py --check

# ---- install ----

# LIBDIR is relative to PREFIX unless it begins with a slash. STATIC=0 or SHARED=0 leaves one library out. The programs
# are linked with the archive.
LIBDIR ?= lib
STATIC ?= 1
SHARED ?= 1

# install.sh has the list of files. Folders reach it through the environment, which keeps spaces in DESTDIR, and as
# they were given ($(value ...)): make would expand the $b of /a$b.
.PHONY: install uninstall
install uninstall: export GIVEN_DESTDIR := $(value DESTDIR)
install uninstall: export GIVEN_PREFIX  := $(value PREFIX)
install uninstall: export GIVEN_LIBDIR  := $(value LIBDIR)
install uninstall: export HEADERS  = heed.h $(PUBLIC)
install uninstall: files = BUILD='$(BUILD)' VERSION='$(VERSION)' STATIC='$(STATIC)' SHARED='$(SHARED)' \
    SHARED_FILE='$(SHARED_FILE)' SONAME='$(SONAME)' SHARED_LINK='$(SHARED_LINK)' PROGRAMS='$(PROGRAMS)' \
    DESTDIR="$$GIVEN_DESTDIR" PREFIX="$$GIVEN_PREFIX" LIBDIR="$$GIVEN_LIBDIR" sh package/install.sh

install: $(if $(filter 0,$(STATIC)),,$(LIBRARY)) $(if $(filter 0,$(SHARED)),,shared) $(PROGRAMS:%=$(BUILD)/%)
	@$(files) install

uninstall:
	@$(files) $@

# ---- the amalgamation: heed.h and heed.c ----

AMALGAMATION       := $(BUILD)/amalgamation
AMALGAMATION_FLAGS ?= -O3 -march=native

.PHONY: amalgamation
amalgamation: $(AMALGAMATION)/heed.c

$(AMALGAMATION)/heed.c: $(addprefix package/,amalgamate.py amalgamation.c) LICENSE \
        $(wildcard src/*.h src/*/*.[ch] src/*/*/*.[ch] src/*/*/*.def)
	$(call step,join $@)
	$(call needs,python3,make deps-dev)
	python3 $< $(@D) $(patsubst $(BUILD)/kernels/baseline/%.o,%,$(filter $(BUILD)/kernels/baseline/%,$(KERNELS)))

# What the library is tested with, linked with heed.o instead (tests/package/amalgamation.sh).
$(AMALGAMATION)/heed.o: $(AMALGAMATION)/heed.c
	$(call step,cc $<)
	$(CC) $(AMALGAMATION_FLAGS) -Wall -Wextra $(WERROR) -c $< -o $@

$(AMALGAMATION)/test_heed: $(TEST_OBJECTS) $(PART_OBJECTS) $(PAGE_PARTS) $(AMALGAMATION)/heed.o
	$(call step,link $@)
	$(LINK) $^ -o $@ $(WRAPPED) $(shell pkg-config --libs check) $(LDLIBS_)

$(AMALGAMATION)/bench_heed: $(HEED_BENCH) $(AMALGAMATION)/heed.o
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

$(AMALGAMATION)/%: $(BUILD)/examples/%.o $(AMALGAMATION)/heed.o
	$(call step,link $@)
	$(LINK) $^ -o $@ $(LDLIBS_)

# ---- releases ----

# The tarball holds the last commit. The same commit gives the same bytes.
DIST := heed-$(VERSION)
.PHONY: dist FORCE
dist: $(BUILD)/$(DIST).tar.gz
	@echo "$< is written"

$(BUILD)/$(DIST).tar.gz: FORCE
	$(call step,tar $@)
	@[ -e .git ] || { echo "make dist: this tree is not a clone of the repository, whose last commit it packs" >&2; exit 1; }
	$(call needs,git gzip,sh tests/install.sh dist)
	@git diff --quiet HEAD; case $$? in 0) ;; 1) echo "make dist: changes that are not committed are left out" >&2 ;; \
	    *) echo "make dist: git cannot read the last commit" >&2; exit 1 ;; esac
	git -c tar.umask=0022 archive --prefix=$(DIST)/ -o $(@:.gz=) HEAD
	gzip -9nf $(@:.gz=)

# The tarball, the page, the check for PyTorch, the tasks and their sums, in $(BUILD)/release. The tarball holds the last commit, so
# the page may not have changes of its own; DIRTY=1 allows them, for tests.
.PHONY: release task-kit
task-kit: amalgamation
	@sh package/task_kit.sh $(BUILD)

release:
	$(call needs,node python3 sha256sum,make deps-page)
	@git diff --quiet HEAD || [ -n "$(DIRTY)" ] || { \
	    echo "make release: commit your changes first: the tarball holds the last commit, the page what is here" >&2; exit 1; }
	@$(MAKE) --no-print-directory dist page $(BUILD)/page_hash amalgamation
	@sh package/release.sh $(BUILD) $(VERSION)
