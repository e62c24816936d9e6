# What a release consists of; included by the Makefile.

PREFIX  ?= /usr/local
LIBDIR  ?= lib# relative to PREFIX, unless it begins with a slash
VERSION := $(shell sed -n 's/^\#define HEED_VERSION  *"\(.*\)"/\1/p' src/heed.h)
SHARED  := libheed.so.$(VERSION)
# defs: an undefined symbol is an error. nodelete: dlclose leaves the library in memory, since its threads and the
# clean-up of other threads still need it. Bsymbolic-functions: the library calls its own functions directly.
SHARED_FLAGS := -shared -Wl,-soname,$(SHARED) -Wl,-z,defs,-z,nodelete -Wl,-Bsymbolic-functions

.PHONY: shared install uninstall amalgamation dist release task-kit
shared: $(BUILD)/shared/$(SHARED)
$(BUILD)/shared/$(SHARED): $(OBJECTS)
	$(call step,link $@)
	$(LINK) $(SHARED_FLAGS) $^ -o $@ $(LDLIBS_)
	@ln -sf $(SHARED) $(@D)/libheed.so

install: $(LIBRARY) shared
install uninstall:
	@BUILD='$(BUILD)' VERSION='$(VERSION)' SHARED='$(SHARED)' \
	    DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' sh package/install.sh $@

amalgamation: $(BUILD)/amalgamation/heed.c
$(BUILD)/amalgamation/heed.c: package/amalgamate.py LICENSE src/heed.h $(SOURCES) $(wildcard src/*/*.h src/*/*/*.h src/*/*/*.def)
	$(call step,join $@)
	python3 $< $(@D)

# The tarball holds the last commit. The same commit gives the same bytes.
dist:
	$(call step,tar $(BUILD)/heed-$(VERSION).tar.gz)
	@mkdir -p $(BUILD)
	git -c tar.umask=0022 archive --prefix=heed-$(VERSION)/ -o $(BUILD)/heed-$(VERSION).tar HEAD
	gzip -9nf $(BUILD)/heed-$(VERSION).tar

task-kit: amalgamation
	@sh package/task_kit.sh $(BUILD)

release: ; @sh package/release.sh $(BUILD) $(VERSION)
