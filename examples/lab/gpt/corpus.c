/* The corpus: maps a text file, indexes about every stride-th token, and encodes from there on
 * demand. */
#include "examples/lab/gpt/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- opening ---- */

static heed_status fail_file(const corpus *c, const char *why)
{
    return heed_fail(HEED_ERR_FILE, "cannot read %s: %s", c->path, why);
}

static heed_status map(corpus *c)
{
    struct stat about;
    c->file = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (c->file < 0 || fstat(c->file, &about) != 0) {
        return fail_file(c, strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) {
        return fail_file(c,
                         S_ISDIR(about.st_mode) ? "it is a directory" : "it is not a regular file");
    }
    c->length = (size_t)about.st_size;
    if (about.st_size == 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: empty", c->path);
    }
    void *bytes = mmap(NULL, c->length, PROT_READ, MAP_SHARED, c->file, 0);
    if ((off_t)c->length != about.st_size || bytes == MAP_FAILED) {
        return fail_file(c, "the system cannot map it");
    }
    c->bytes = bytes;
    return HEED_OK;
}

static void free_places(corpus *c)
{
    heed_free(c->places);
    c->places = NULL;
    c->place_count = c->capacity = 0;
}

heed_status corpus_open(corpus *c, const char *path)
{
    *c = (corpus){.path = path, .file = -1};
    if (!heed_error_pending() && path == NULL) {
        heed_fail(HEED_ERR_NULL, "corpus_open: the path is NULL");
    }
    if (!heed_error_pending() && map(c) != HEED_OK) {
        corpus_close(c);
    }
    return heed_error_pending();
}

void corpus_close(corpus *c)
{
    if (c->bytes != NULL) {
        munmap((void *)(uintptr_t)c->bytes, c->length);
    }
    if (c->path != NULL && c->file >= 0) {
        close(c->file);
    }
    free_places(c);
    *c = (corpus){.length = 0};
}

/* Called before bytes are read: reading past the end of a mapped file raises SIGBUS. */
static heed_status check_length(const corpus *c)
{
    struct stat about;
    if (fstat(c->file, &about) != 0) {
        return fail_file(c, strerror(errno));
    }
    return (uintmax_t)about.st_size >= c->length
               ? HEED_OK
               : heed_fail(HEED_ERR_FILE, "%s became shorter: it has %lld bytes and had %zu",
                           c->path, (long long)about.st_size, c->length);
}

/* ---- the index ---- */

/* Reports a piece that is not text or has a token outside the vocabulary. */
static heed_status refuse(const corpus *c, size_t at, size_t length, const token_piece *piece)
{
    if (!text_check(c->path, c->bytes, length > 0 ? at + length : c->length)) {
        return heed_error_pending();
    }
    const token_span unknown = tokenizer_unknown(c->tokenizer, c->bytes + at, length, piece);
    return unknown.bytes != NULL ? tokenizer_refuse(c->tokenizer, c->path, c->bytes, unknown)
                                 : fail_file(c, "it changed while it was being read");
}

static bool has_unknown(const tokenizer *t, const token_piece *piece)
{
    bool any = false;
    for (int i = 0; i < piece->count; i++) {
        any |= piece->ids[i] == VOCABULARY_NONE;
    }
    return any && t->level == LEVEL_CHAR;
}

/* A text has at most as many tokens as bytes; pages that are never written cost no memory. A piece
 * has fewer tokens than the stride. Characters are fastest to skip, so their stride is longest. */
static bool make_places(corpus *c, int64_t stride)
{
    free_places(c);
    c->stride = stride;
    c->capacity = (int64_t)c->length / stride + 1;
    c->places = heed_alloc((size_t)c->capacity * sizeof *c->places);
    return c->places != NULL;
}

/* Indexes all pieces; checks the file's length every MiB. */
static void index_pieces(corpus *c, bpe_cache *cache)
{
    enum { OFTEN = 1 << 20 };
    const tokenizer *t = c->tokenizer;
    token_piece piece;
    size_t checked = 0, step;
    for (size_t at = 0; at < c->length; at += step) {
        if (at >= checked && check_length(c) != HEED_OK) {
            return;
        }
        checked = at >= checked ? at + OFTEN : checked;
        step = tokenizer_piece(t, cache, c->bytes + at, c->length - at, &piece);
        if (step == 0 || has_unknown(t, &piece)) {
            refuse(c, at, step, &piece);
            return;
        }
        if (c->count + piece.count > c->place_count * c->stride) {
            c->places[c->place_count++] = (corpus_place){(int64_t)at, c->count};
        }
        c->count += piece.count;
    }
}

heed_status corpus_index(corpus *c, const tokenizer *t)
{
    bpe_cache *cache = NULL;
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    c->tokenizer = t;
    c->count = 0;
    if (t->level == LEVEL_BYTE) {
        c->count = (int64_t)c->length;
        return HEED_OK;
    }
    if (t->level == LEVEL_BPE) {
        cache = heed_alloc_zeroed(sizeof *cache);
    }
    posix_madvise((void *)(uintptr_t)c->bytes, c->length, POSIX_MADV_SEQUENTIAL);
    if (!heed_error_pending() && make_places(c, t->level == LEVEL_CHAR ? 2048 : 256)) {
        index_pieces(c, cache);
    }
    posix_madvise((void *)(uintptr_t)c->bytes, c->length, POSIX_MADV_NORMAL);
    heed_free(cache);
    c->count = heed_error_pending() ? 0 : c->count;
    return heed_error_pending();
}

/* ---- reading ---- */

/* Encodes pieces starting at `from`. */
static heed_status read_pieces(const corpus *c, corpus_place from, int64_t first, int64_t count,
                               int64_t *to)
{
    token_piece piece;
    size_t offset = (size_t)from.offset;
    for (int64_t at = from.first, step; at < first + count; at += piece.count) {
        step = (int64_t)tokenizer_piece(c->tokenizer, NULL, c->bytes + offset, c->length - offset,
                                        &piece);
        if (step == 0 || has_unknown(c->tokenizer, &piece)) {
            return heed_fail(HEED_ERR_FILE, "%s changed while it was in use", c->path);
        }
        for (int i = 0; i < piece.count; i++) {
            if (at + i >= first && at + i < first + count) {
                to[at + i - first] = piece.ids[i];
            }
        }
        offset += (size_t)step;
    }
    return HEED_OK;
}

heed_status corpus_read(const corpus *c, int64_t first, int64_t count, int64_t *to)
{
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (first < 0 || count < 0 || first > c->count || count > c->count - first) {
        return heed_fail(HEED_ERR_INDEX,
                         "corpus_read: %lld tokens from token %lld, but there are %lld in %s",
                         (long long)count, (long long)first, (long long)c->count, c->path);
    }
    if (count == 0 || check_length(c) != HEED_OK) {
        return heed_error_pending();
    }
    const corpus_place from = c->tokenizer->level == LEVEL_BYTE ? (corpus_place){first, first}
                                                                : c->places[first / c->stride];
    return read_pieces(c, from, first, count, to);
}
