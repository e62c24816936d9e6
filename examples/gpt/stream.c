/* Tokens to a stream. */
#include "examples/gpt/stream.h"

#include <string.h>
#include <unistd.h>

#include "examples/common/console.h"

/* How many bytes a character has that begins so; 1 for what begins none. */
static size_t announced(unsigned char first)
{
    return first >= 0xF0 && first <= 0xF4   ? 4
           : first >= 0xE0 && first <= 0xEF ? 3
           : first >= 0xC2 && first <= 0xDF ? 2
                                            : 1;
}

size_t gpt_utf8_whole(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        const unsigned char byte = (unsigned char)bytes[length - back];
        if ((byte & 0xC0) != 0x80) { /* no byte that goes on with a character */
            return announced(byte) > back ? length - back : length;
        }
    }
    return length;
}

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
        tokenizer_decode(s->tokenizer, &s->joint, tokens->id[i], &joined);
    }
    text_free(&joined);
    if (typed != NULL && *typed != '\0') {
        text_append(&s->held, typed, strlen(typed));
        s->joint.tight = s->joint.tight || strchr(" \t\n", typed[strlen(typed) - 1]) != NULL;
        put(s, gpt_utf8_whole(s->held.bytes, s->held.length));
    }
}

void gpt_stream_token(gpt_stream *s, int64_t id)
{
    tokenizer_decode(s->tokenizer, &s->joint, id, &s->held);
    if (!heed_error_pending()) {
        put(s, gpt_utf8_whole(s->held.bytes, s->held.length));
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
