/* The corpus: reads a text file, and encodes it. */
#include "examples/lab/gpt/corpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

heed_status corpus_open(corpus *c, const char *path)
{
    char bytes[1 << 16];
    struct stat about;
    *c = (corpus){.path = path};
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* a pipe must not block */
        return heed_fail(HEED_ERR_FILE, "cannot read %s: it is %s", path,
                         S_ISDIR(about.st_mode) ? "a directory" : "not a regular file");
    }
    FILE *file = fopen(path, "rb");
    for (size_t count; file != NULL && (count = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        text_append(&c->text, bytes, count);
    }
    if (file == NULL || ferror(file)) {
        heed_fail(HEED_ERR_FILE, "cannot read %s: %s", path, strerror(errno));
    } else if (c->text.length == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: empty", path);
    }
    if (file != NULL) {
        fclose(file);
    }
    return heed_error_pending();
}

heed_status corpus_encode(corpus *c, const tokenizer *t)
{
    if (!heed_error_pending()) {
        c->tokens = tokenizer_encode(t, c->path, c->text.bytes, c->text.length);
    }
    return heed_error_pending();
}

void corpus_close(corpus *c)
{
    text_free(&c->text);
    token_list_free(&c->tokens);
    *c = (corpus){.path = NULL};
}
