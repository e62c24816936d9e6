# What a release consists of; included by the Makefile.

# ---- shared library ----

ifneq (,$(filter __APPLE__,$(MACHINE)))
SHARED       := libheed.$(VERSION).dylib
SHARED_LINK  := libheed.dylib
SHARED_FLAGS := -dynamiclib -install_name @rpath/$(SHARED)
else
SHARED       := libheed.so.$(VERSION)
SHARED_LINK  := libheed.so
SHARED_FLAGS  = -shared -Wl,-soname,$(SHARED) $(STRICT_LINK)
endif
# defs: an undefined symbol is an error. nodelete: dlclose leaves the library in memory, since its threads and the
# clean-up of other threads still need it. Bsymbolic-functions: the library calls its own functions directly.
STRICT_LINK = $(foreach f,-Wl$(comma)-z$(comma)defs$(comma)-z$(comma)nodelete -Wl$(comma)-Bsymbolic-functions,$(shell \
                  printf 'int x;' | $(CC) -shared -fPIC $f -x c - -o /dev/null 2> /dev/null && echo $f))

.PHONY: shared
shared: $(BUILD)/shared/$(SHARED)

$(BUILD)/shared/$(SHARED): $(OBJECTS)
	$(call step,link $@)
	$(LINK) $(SHARED_FLAGS) $^ -o $@ $(LDLIBS_)
	@ln -sf $(SHARED) $(@D)/$(SHARED_LINK)

# ---- install ----

# LIBDIR is relative to PREFIX unless it begins with a slash.
LIBDIR ?= lib

.PHONY: install uninstall
install: $(LIBRARY) shared
install uninstall:
	@BUILD='$(BUILD)' VERSION='$(VERSION)' SHARED='$(SHARED)' SHARED_LINK='$(SHARED_LINK)' \
	    DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' sh package/install.sh $@

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
