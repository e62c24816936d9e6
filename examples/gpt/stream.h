/* Tokens to a stream as they come: characters leave it whole, also where a token is but a part of one. */
#ifndef HEED_GPT_STREAM_H
#define HEED_GPT_STREAM_H

#include <stdio.h>

#include "examples/gpt/tokenizer.h"

typedef struct gpt_stream {
    FILE *to;
    bool terminal;
    const tokenizer *tokenizer; /* the caller keeps it */
    text_joint joint;
    text_buffer held; /* the beginning of a character that may still come */
    bool line_ended;  /* the last byte was a newline */
} gpt_stream;

gpt_stream gpt_stream_begin(FILE *to, const tokenizer *t);

/* gpt_stream_prompt: writes the prompt as it was `typed` (NULL or "": nothing of it), which `tokens`
 * stand for. */
void gpt_stream_prompt(gpt_stream *s, const char *typed, const token_list *tokens);
void gpt_stream_token(gpt_stream *s, int64_t id);

/* gpt_stream_end: writes what is held, and ends the line. */
void gpt_stream_end(gpt_stream *s);

#endif
