/* Command lines: options that are accepted survive a round trip through their text. */
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/options.h"
#include "tests/fuzz/common/fuzz.h"

/* The first byte chooses the program; the arguments follow, one per line. */
const fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("0--text\na\n--steps=5\n--lr\n1e-3\n--level\nbpe\n--vocab=300"),
    FUZZ_SEED("0--n-embd\n6\n--n-head\n4\n--warmup\n10\n--min-lr=0.2"),
    FUZZ_SEED("1--load=a\n--prompt\n\n--temperature\n0.5\n--top-k=3"),
    FUZZ_SEED("2--load\na\n--text\nb\n--part\nvalidation\n--batch\n3"),
    {NULL, 0}};

enum { MOST_ARGUMENTS = 50, PROGRAMS = 3 };

/* The options of any command of gpt. */
typedef union gpt_options {
    gpt_train_options train;
    gpt_sample_options sample;
    gpt_eval_options eval;
} gpt_options;

/* Sets each option of a fresh copy from its text; the copy's text must be the same. */
static void check_texts(const flag_table *table, const void *o)
{
    gpt_options copy;
    memset(&copy, 0, sizeof copy);
    for (int i = 0; i < table->count; i++) {
        const flag_row *f = &table->flags[i];
        const flag_value text = flags_text(f, o);
        if (flags_given(f, o) && f->kind != FLAG_STRING && f->kind != FLAG_BARE) {
            must(flags_set(table, &copy, f->name, text.text) == HEED_OK);
            must(strcmp(flags_text(f, &copy).text, text.text) == 0);
        }
    }
}

static void check_gpt(int program, int argc, char **argv)
{
    static const flag_table *const tables[] = {&gpt_train_flags, &gpt_sample_flags,
                                               &gpt_eval_flags};
    const flag_table *table = tables[program];
    gpt_options o;
    memset(&o, 0, sizeof o);
    const bool help = flags_read(table, &o, argc, argv);
    if (heed_error_pending()) {
        must_fail();
        return;
    }
    check_texts(table, &o);
    flags_complete(table, &o);
    if (program == 0 && !help && gpt_options_settle(&o.train) == HEED_OK) {
        must(o.train.n_embd % o.train.n_head == 0 && o.train.min_lr <= o.train.lr);
    }
    if (heed_error_pending()) {
        must_fail();
    }
}

void fuzz_one(const uint8_t *data, size_t size)
{
    char program[] = "program", *argv[MOST_ARGUMENTS + 1] = {program};
    char *text = calloc(size, 1); /* NUL-terminated, without the first byte */
    memcpy(text, data + 1, size - 1);
    int argc = 1;
    for (char *at = text; at != NULL && argc < MOST_ARGUMENTS; argc++) {
        argv[argc] = at;
        at = strchr(at, '\n');
        if (at != NULL) {
            *at++ = '\0';
        }
    }
    check_gpt((data[0] + 256 * PROGRAMS - '0') % PROGRAMS, argc, argv);
    free(text);
}
