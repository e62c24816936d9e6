/* Tokens to a stream. */
#include "examples/gpt/stream.h"

#include <string.h>
#include <unistd.h>

#include "examples/common/console.h"

gpt_stream gpt_stream_begin(FILE *to, const tokenizer *t)
{
    return (gpt_stream){.to = to,
                        .terminal = isatty(fileno(to)),
                        .tokenizer = t,
                        .joint = {.tight = true},
                        .line_ended = true};
}

/* Writes the first bytes of what is held. */
static void put(gpt_stream *s, size_t length)
{
    text_buffer *held = &s->held;
    if (length > 0) {
        console_put(s->to, held->bytes, length, s->terminal);
        s->line_ended = held->bytes[length - 1] == '\n';
        memmove(held->bytes, held->bytes + length, held->length - length);
        held->length -= length;
    }
}

void gpt_stream_prompt(gpt_stream *s, const char *typed, const token_list *tokens)
{
    text_buffer joined = {.length = 0};
    for (int64_t i = 0; i < tokens->count; i++) { /* for the joint */
        tokenizer_decode(s->tokenizer, &s->joint, tokens->ids[i], &joined);
    }
    text_free(&joined);
    if (typed != NULL && *typed != '\0') {
        text_append(&s->held, typed, strlen(typed));
        s->joint.tight = s->joint.tight || strchr(" \t\n", typed[strlen(typed) - 1]) != NULL;
        put(s, utf8_complete(s->held.bytes, s->held.length));
    }
}

void gpt_stream_token(gpt_stream *s, int64_t id)
{
    tokenizer_decode(s->tokenizer, &s->joint, id, &s->held);
    if (!heed_error_pending()) {
        put(s, utf8_complete(s->held.bytes, s->held.length));
    }
}

void gpt_stream_end(gpt_stream *s)
{
    put(s, s->held.length);
    if (!s->line_ended) {
        fputc('\n', s->to);
    }
    text_free(&s->held);
}
