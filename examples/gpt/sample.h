/* gpt sample, and the stream that prints its tokens as whole characters, even where a token is only
 * part of one. */
#ifndef HEED_GPT_SAMPLE_H
#define HEED_GPT_SAMPLE_H

#include <stdio.h>

#include "examples/gpt/tokenizer.h"

typedef struct gpt_stream {
    FILE *to;
    bool terminal;
    const tokenizer *tokenizer; /* owned by the caller */
    text_joint joint;
    text_buffer held; /* the start of a character whose rest may follow */
    bool line_ended;  /* the last byte was a newline */
} gpt_stream;

gpt_stream gpt_stream_begin(FILE *to, const tokenizer *t);

/* gpt_stream_prompt: writes the prompt as `typed` (NULL or "": nothing); `tokens` encodes it. */
void gpt_stream_prompt(gpt_stream *s, const char *typed, const token_list *tokens);
void gpt_stream_token(gpt_stream *s, int64_t id);

/* gpt_stream_end: writes the held bytes and ends the line. */
void gpt_stream_end(gpt_stream *s);

/* gpt_sample: the command. */
int gpt_sample(int argc, char **argv);

#endif
