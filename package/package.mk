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

MANDIR  ?= $(PREFIX)/share/man
HTMLDIR ?= $(PREFIX)/share/doc/heed/html

.PHONY: docs install-docs uninstall-docs
docs:
	@rm -rf $(BUILD)/docs && mkdir -p $(BUILD)/docs
	@VERSION=$(VERSION) OUTPUT=$(BUILD)/docs HEADERS="src/heed.h $(PUBLIC:%=src/%)" doxygen package/Doxyfile
	@sh package/reference/man.sh $(BUILD)/docs/man3

install-docs: docs
	install -d $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(HTMLDIR)
	install -m 644 $(BUILD)/docs/man3/*.3 $(DESTDIR)$(MANDIR)/man3
	cp -R $(BUILD)/docs/html/. $(DESTDIR)$(HTMLDIR)

uninstall-docs:
	cd $(DESTDIR)$(MANDIR)/man3 && rm -f heed.3 heed_*.3 HEED_*.3 struct_heed_*.3
	rm -rf $(DESTDIR)$(HTMLDIR)

# ---- releases ----
