/* A text file as a row of tokens that can be read at any position. The file is mapped: the pages
 * that are read belong to the system's cache, and the program's own memory is 16 bytes for every
 * 256 words or byte pairs, or 2048 characters, and none by byte.
 *
 * The file must not change while it is open. If it does, corpus_read gives tokens of the new text
 * or an error; a file that became shorter is detected before its bytes are touched. The system
 * sends SIGBUS, which main.c catches, only if it is cut at that very moment, or while a whole text
 * is read: corpus_index checks every MiB, tokenizer_of_text does not.
 */
#ifndef HEED_GPT_CORPUS_H
#define HEED_GPT_CORPUS_H

#include "examples/gpt/tokenizer.h"

/* A piece of the text: its offset in bytes, and the position of its first token. */
typedef struct corpus_place {
    int64_t offset, first;
} corpus_place;

/* Zero is closed. */
typedef struct corpus {
    const char *path;  /* kept by the caller */
    const char *bytes; /* of the whole file; NULL: not open */
    size_t length;
    int file;                   /* stays open, to check its length */
    const tokenizer *tokenizer; /* kept by the caller */
    int64_t count;              /* of tokens; 0 before corpus_index */
    corpus_place *places;       /* of tokens 0, stride, 2 stride, ... */
    int64_t place_count, capacity, stride;
} corpus;

/* corpus_open: maps a file. corpus_close: unmaps it, if it is open.
 * HEED_ERR_FILE: it cannot be read, or is a directory, a pipe or a device.
 * HEED_ERR_VALUE: it is empty. */
heed_status corpus_open(corpus *c, const char *path);
void corpus_close(corpus *c);

/* corpus_index: reads the text once, counts its tokens and records where they are.
 * HEED_ERR_VALUE: by char and word, not UTF-8; by char, a character outside the vocabulary.
 * HEED_ERR_FILE: the file has become shorter. */
heed_status corpus_index(corpus *c, const tokenizer *t);

/* corpus_read: tokens first ... first + count - 1. Encodes up to `stride` tokens more.
 * HEED_ERR_INDEX: the text has fewer tokens. HEED_ERR_FILE: the file has changed. */
heed_status corpus_read(const corpus *c, int64_t first, int64_t count, int64_t *to);

#endif
