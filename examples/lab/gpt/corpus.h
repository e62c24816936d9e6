/* A text file and its tokens, in memory. */
#ifndef HEED_GPT_CORPUS_H
#define HEED_GPT_CORPUS_H

#include "examples/lab/gpt/tokenizer.h"

/* Zero-initialised, it is closed. */
typedef struct corpus {
    const char *path; /* owned by the caller */
    text_buffer text;
    token_list tokens;
} corpus;

/* corpus_open: reads a file. corpus_encode: its tokens.
 * HEED_ERR_FILE: unreadable, or not a regular file. HEED_ERR_VALUE: empty; as tokenizer_encode. */
heed_status corpus_open(corpus *c, const char *path);
heed_status corpus_encode(corpus *c, const tokenizer *t);
void corpus_close(corpus *c);

#endif
