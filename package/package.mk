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

# The tarball holds the last commit. The same commit gives the same bytes.
DIST := heed-$(VERSION)
.PHONY: dist FORCE
dist: $(BUILD)/$(DIST).tar.gz
	@echo "$< is written"

$(BUILD)/$(DIST).tar.gz: FORCE
	$(call step,tar $@)
	@[ -e .git ] || { echo "make dist: this tree is not a clone; it needs git" >&2; exit 1; }
	@git diff --quiet HEAD || echo "make dist: changes that are not committed are left out" >&2
	git -c tar.umask=0022 archive --prefix=$(DIST)/ -o $(@:.gz=) HEAD
	gzip -9nf $(@:.gz=)

# Debian packages in $(BUILD)/deb, from the tarball and package/debian. DEB_BUILD_OPTIONS=nocheck skips the tests.
.PHONY: deb
deb: $(BUILD)/$(DIST).tar.gz
	@command -v lintian dh > /dev/null || { echo "make deb: run: sh tests/install.sh deb" >&2; exit 1; }
	rm -rf $(BUILD)/deb
	mkdir $(BUILD)/deb
	cp $< $(BUILD)/deb/heed_$(VERSION).orig.tar.gz
	tar xzf $< -C $(BUILD)/deb
	cp -R $(BUILD)/deb/$(DIST)/package/debian $(BUILD)/deb/$(DIST)/debian
	cd $(BUILD)/deb/$(DIST) && unset MAKEFLAGS MAKELEVEL && dpkg-buildpackage -us -uc
	lintian --fail-on error,warning --info $(BUILD)/deb/heed_*.changes
