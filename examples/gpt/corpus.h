/* A text in a file, as a row of tokens that can be read at any place. The file is mapped: what is
 * read of it comes and goes with the system's cache, and memory of our own is 16 bytes for every
 * 256 words or byte pairs, for every 2048 characters, and none by byte.
 *
 * The file must stay as it is while it is open. Where it has changed, corpus_read may give tokens
 * of the new text, or an error; one that has become shorter is found out before its bytes are
 * touched. Only if it is cut off in that very moment, or while a whole text is gone through
 * (corpus_index looks at every MiB, tokenizer_of_text does not), does the system send the program
 * SIGBUS, which main.c catches.
 */
#ifndef HEED_GPT_CORPUS_H
#define HEED_GPT_CORPUS_H

#include "examples/gpt/tokenizer.h"

/* A piece of the text: where it begins, and the place of its first token. */
typedef struct corpus_place {
    int64_t offset, first;
} corpus_place;

/* Zero is closed. */
typedef struct corpus {
    const char *path;  /* the caller keeps it */
    const char *bytes; /* of the whole file; NULL: it is not open */
    size_t length;
    int file;                   /* stays open, to ask for its length */
    const tokenizer *tokenizer; /* the caller keeps it */
    int64_t count;              /* of tokens; 0 before corpus_index */
    corpus_place *places;       /* of token 0, stride, 2 stride, ... */
    int64_t place_count, capacity, stride;
} corpus;

/* corpus_open: maps a file. HEED_ERR_FILE: it cannot be read, or is a directory, a pipe or a
 * device. HEED_ERR_VALUE: it is empty. corpus_close: whether or not it has been opened. */
heed_status corpus_open(corpus *c, const char *path);
void corpus_close(corpus *c);

/* corpus_index: goes through the text once, counts its tokens and remembers where they are.
 * HEED_ERR_VALUE: by char and word, no UTF-8; by char, a character that the vocabulary has not.
 * HEED_ERR_FILE: it has become shorter. */
heed_status corpus_index(corpus *c, const tokenizer *t);

/* corpus_read: tokens first ... first + count - 1. Costs up to `stride` tokens more than are read.
 * HEED_ERR_INDEX: there are not as many. HEED_ERR_FILE: the file has changed. */
heed_status corpus_read(const corpus *c, int64_t first, int64_t count, int64_t *to);

#endif
