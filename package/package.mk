# What a release consists of; included by the Makefile.

# ---- shared library ----

# ---- install ----

install: $(LIBRARY)
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	for h in heed.h $(PUBLIC); do install -D -m 644 src/$$h $(DESTDIR)$(PREFIX)/include/heed/$$h; done
	install -m 644 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/licenses/heed/LICENSE
	printf 'Name: heed\nDescription: tiny autograd framework that trains self-attention\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lheed -lm -pthread\n' \
	    $(VERSION) $(PREFIX)/include/heed $(PREFIX)/lib > $(DESTDIR)$(PREFIX)/lib/pkgconfig/heed.pc

# ---- the amalgamation: heed.h and heed.c ----

# ---- the reference: HTML and man pages ----

# ---- releases ----

# The tarball holds the last commit, and the same commit gives the same bytes. It contains everything but .gitignore.
DIST := heed-$(VERSION)
.PHONY: dist
dist: $(BUILD)/$(DIST).tar.gz
	@echo "$< is written"

# FORCE: the commit may have changed.
.PHONY: FORCE
$(BUILD)/$(DIST).tar.gz: FORCE
	@git rev-parse --git-dir > /dev/null 2>&1 || { echo "make dist: needs git and a clone of the repository" >&2; exit 1; }
	@mkdir -p $(@D)
	@git diff --quiet HEAD || echo "make dist: uncommitted changes are left out" >&2
	git archive --prefix=$(DIST)/ -o $(@:.gz=) HEAD
	gzip -9nf $(@:.gz=)
