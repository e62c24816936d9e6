/* gpt sample; the stream that prints its tokens as whole characters, even where a token is only
 * part of one; and the samples of a training run. */
#ifndef HEED_GPT_SAMPLE_H
#define HEED_GPT_SAMPLE_H

#include <stdio.h>

#include "examples/lab/gpt/generate.h"
#include "examples/lab/gpt/tokenizer.h"

typedef struct gpt_stream {
    FILE *to;
    bool terminal;
    const tokenizer *tokenizer; /* owned by the caller */
    text_buffer held;           /* the start of a character whose rest may follow */
    bool line_ended;            /* the last byte was a newline */
} gpt_stream;

gpt_stream gpt_stream_begin(FILE *to, const tokenizer *t);

/* gpt_stream_prompt: writes the prompt; NULL: nothing. */
void gpt_stream_prompt(gpt_stream *s, const char *typed);
void gpt_stream_token(gpt_stream *s, int64_t id);

/* gpt_stream_end: writes the held bytes and ends the line. */
void gpt_stream_end(gpt_stream *s);

/* gpt_prompt: the tokens of --prompt; if it is NULL or "", those of a newline, after which a text
 * can begin. HEED_ERR_VALUE: the tokenizer does not know a character. */
token_list gpt_prompt(const tokenizer *t, const char *prompt);

/* gpt_sample_text: the prompt and its continuation by 200 tokens as NUL-terminated text, always
 * with the same random numbers. The thread's generator and the model's mode stay unchanged. */
text_buffer gpt_sample_text(struct gpt *m, const tokenizer *t, const char *prompt);

/* gpt_sample: the command. */
int gpt_sample(int argc, char **argv);

#endif
