/* A text file as a sequence of tokens with random access. The file is mapped: the pages that are
 * read belong to the system's cache. The program itself needs 16 bytes of memory for every 256
 * words or byte pairs, or for every 2048 characters, and none at level byte.
 *
 * The file must not change while it is open. If it does, corpus_read returns tokens of the new text
 * or an error; a file that became shorter is detected before its bytes are read. SIGBUS, which
 * main.c catches, occurs only if the file is truncated between that check and the read, or while a
 * whole text is read: corpus_index checks every MiB, tokenizer_of_text does not.
 */
#ifndef HEED_GPT_CORPUS_H
#define HEED_GPT_CORPUS_H

#include "examples/lab/gpt/tokenizer.h"

/* A piece of the text: its offset in bytes, and the index of its first token. */
typedef struct corpus_place {
    int64_t offset, first;
} corpus_place;

/* Zero-initialised, it is closed. */
typedef struct corpus {
    const char *path;  /* owned by the caller */
    const char *bytes; /* of the whole file; NULL: not open */
    size_t length;
    int file;                   /* stays open, to check its length */
    const tokenizer *tokenizer; /* owned by the caller */
    int64_t count;              /* of tokens; 0 before corpus_index */
    corpus_place *places;       /* of tokens 0, stride, 2 stride, ... */
    int64_t place_count, capacity, stride;
} corpus;

/* corpus_open: maps a file. corpus_close: unmaps it, if it is open.
 * HEED_ERR_FILE: unreadable, or a directory, pipe or device.
 * HEED_ERR_VALUE: empty. */
heed_status corpus_open(corpus *c, const char *path);
void corpus_close(corpus *c);

/* corpus_index: reads the text once, counts its tokens and records their places.
 * HEED_ERR_VALUE: at levels char and word, not UTF-8; at char, a character outside the vocabulary.
 * HEED_ERR_FILE: the file became shorter. */
heed_status corpus_index(corpus *c, const tokenizer *t);

/* corpus_read: tokens first ... first + count - 1. Encodes up to `stride` extra tokens.
 * HEED_ERR_INDEX: the text has fewer tokens. HEED_ERR_FILE: the file has changed. */
heed_status corpus_read(const corpus *c, int64_t first, int64_t count, int64_t *to);

#endif
