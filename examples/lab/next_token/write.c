/* Sampling: choose a token, append it, run the model again. heed_sample chooses. */
#include "examples/lab/next_token/write.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"

int64_t write_choose(heed_tensor *logits, double temperature, int64_t never)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *x = heed_to(logits, HEED_F64); /* a copy in f64, for any temperature */
    if (never != VOCABULARY_NONE) {
        heed_fill_into(heed_select(x, 0, never), -HUGE_VAL);
    }
    x = heed_sub(x, heed_max(x)); /* avoids overflow at low temperatures */
    const heed_sample_options how = {.temperature = temperature, .greedy = temperature == 0};
    return heed_item_i64(heed_sample_with(x, how));
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
        HEED_SCOPE_NO_GRAD(scope);
        const int64_t id = write_choose(model_next(m, tokens->ids, tokens->count),
                                        options.temperature, v->unknown);
        if (heed_error_pending() || id == options.stop) {
            break;
        }
        put_token(stream, v, id, &joint, terminal);
        token_list_add(tokens, id);
        if (terminal) {
            fflush(stream); /* show each token at once */
        }
    }
    return heed_error_pending();
}
