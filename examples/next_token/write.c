/* Sampling: choose a token, append it, run the model again. The choice is heed_sample's. */
#include "examples/next_token/write.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "examples/common/console.h"

int64_t write_choose(heed_tensor *logits, double temperature, int64_t never)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *x = heed_to(logits, HEED_F64); /* a copy, which any temperature can divide */
    if (never != VOCABULARY_NONE) {
        heed_fill_into(heed_select(x, 0, never), -HUGE_VAL);
    }
    x = heed_sub(x, heed_max(x)); /* so that a low temperature does not overflow */
    const heed_sample_options how = {.temperature = temperature, .greedy = temperature == 0};
    const int64_t id = heed_item_i64(heed_sample_with(x, how));
    heed_scope_end(&scope);
    return id;
}

static void put_token(FILE *stream, const vocabulary *v, int64_t id, text_joint *joint,
                      bool terminal)
{
    text_buffer joined = {.length = 0};
    text_join(&joined, v->level, joint, vocabulary_token(v, id));
    console_put(stream, joined.bytes, joined.length, terminal);
    text_free(&joined);
}

text_joint write_start(FILE *stream, const vocabulary *v, const token_list *tokens,
                       const char *typed)
{
    const bool terminal = isatty(fileno(stream));
    text_joint joint = {.tight = true};
    text_buffer joined = {.length = 0};
    for (int64_t i = 0; i < tokens->count; i++) {
        text_join(&joined, v->level, &joint, vocabulary_token(v, tokens->ids[i]));
    }
    const char *bytes = typed != NULL ? typed : joined.bytes;
    const size_t length = typed != NULL ? strlen(typed) : joined.length;
    if (length > 0 && !heed_error_pending()) {
        console_put(stream, bytes, length, terminal);
        joint.tight = joint.tight || strchr(" \t\n", bytes[length - 1]) != NULL;
    }
    text_free(&joined);
    return joint;
}

heed_status write_on(FILE *stream, struct token_model *m, const vocabulary *v, token_list *tokens,
                     text_joint joint, write_options options)
{
    const bool terminal = isatty(fileno(stream));
    for (int64_t i = 0; i < options.most && !interrupted() && !ferror(stream); i++) {
        heed_scope scope;
        heed_scope_begin_no_grad(&scope);
        const int64_t id = write_choose(model_next(m, tokens->ids, tokens->count),
                                        options.temperature, v->unknown);
        heed_scope_end(&scope);
        if (heed_error_pending() || id == options.stop) {
            break;
        }
        put_token(stream, v, id, &joint, terminal);
        token_list_add(tokens, id);
        if (terminal) {
            fflush(stream); /* to be read as it comes */
        }
    }
    return heed_error_pending();
}
