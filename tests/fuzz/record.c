/* Checkpoints of gpt: entries of a record are replaced. If a checkpoint loads for sampling, its
 * model fits its tokenizer. If it resumes, it survives a round trip of saving and resuming. */
#include <stdio.h>
#include <string.h>

#include "tests/common/bytes.h"
#include "tests/common/gpt_options.h"
#include "tests/fuzz/common/fuzz.h"

/* The first byte: 'm' omits the optimiser. Then entries KEY=VALUE, separated by tabs. */
const fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("r"),
    FUZZ_SEED("m"),
    FUZZ_SEED("rsteps=9\tlr=0.5\tval_loss=1.5\tbest_loss=1e-300\tbest_step=3"),
    FUZZ_SEED("rn_layer=2\tn_embd=64"),
    FUZZ_SEED("rn_embd=65536\tn_layer=1000\tcontext=65536"),
    FUZZ_SEED("rlevel=char\ttokenizer=abcd ,"),
    FUZZ_SEED("rlevel=bpe\ttokenizer=97 98\n256 97\n\tvocab=258"),
    FUZZ_SEED("rtext_hash=0\tformat=heed gpt 2"),
    FUZZ_SEED("rbatch=65536"),
    {NULL, 0}};

enum { MOST = 64, LONGEST = 2000 };

/* One input: the run and its changes. */
typedef struct changes {
    gpt_run *run;
    bool with_optimizer;
    char *entries; /* NUL-terminated */
} changes;

static void put(heed_metadata *about, const char *key, const char *value)
{
    int i = 0;
    while (about[i].key != NULL && strcmp(about[i].key, key) != 0) {
        i++;
    }
    if (i < MOST - 1) {
        about[i] = (heed_metadata){key, value};
    }
}

/* Saves the run, then again with the changed entries. */
static void save_changed(const changes *c)
{
    static const char *const others[] = {"format",   "text",      "text_hash", "tokenizer",
                                         "val_loss", "best_loss", "best_step"};
    heed_metadata about[MOST] = {{NULL, NULL}};
    HEED_SCOPE(scope);
    must(gpt_record_save(&c->run->record, c->run->model, NULL, "--save", fuzz_path("whole")) ==
         HEED_OK);
    heed_safetensors *file = heed_safetensors_open(fuzz_path("whole"));
    for (int i = 0; i < gpt_settings.count; i++) {
        const char *name = gpt_settings.flags[i].name;
        put(about, name, heed_safetensors_metadata(file, name));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put(about, others[i], heed_safetensors_metadata(file, others[i]));
    }
    for (char *at = c->entries, *next; at != NULL; at = next) {
        next = strchr(at, '\t');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *value = strchr(at, '=');
        if (value != NULL) {
            *value = '\0';
            put(about, at, value + 1);
        }
    }
    heed_save_checkpoint(c->run->model, c->with_optimizer ? c->run->optimizer : NULL,
                         fuzz_path("in"), about);
    heed_safetensors_close(file);
}

static void prepare_run(gpt_run *run)
{
    static const char text[] = "a cab, a bad cab";
    fuzz_file("text", text, sizeof text - 1, text, sizeof text - 1);
    gpt_train_options o = small_gpt(fuzz_path("text"), 1, 2, 3, 1, 4);
    must(gpt_run_prepare(run, &o) == HEED_OK);
}

/* Resumes one file and saves the run to another; false: it was rejected. */
static bool resume(const char *path, const char *copy)
{
    gpt_run run;
    const gpt_train_options o = {.resume = path};
    const bool fine = gpt_run_prepare(&run, &o) == HEED_OK;
    if (fine) {
        must(gpt_record_save(&run.record, run.model, run.optimizer, "--save", copy) == HEED_OK);
    } else {
        must_fail();
    }
    gpt_run_free(&run);
    return fine;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    char entries[LONGEST + 1] = "";
    gpt_run run;
    gpt_loaded loaded;
    if (size > LONGEST) {
        return;
    }
    memcpy(entries, data + 1, size - 1);
    prepare_run(&run);
    changes c = {&run, data[0] != 'm', entries};
    save_changed(&c);
    gpt_run_free(&run);
    if (heed_error_pending()) { /* the entries are not UTF-8 */
        must(must_fail() == HEED_ERR_VALUE);
        return;
    }
    if (gpt_load(&loaded, "--load", fuzz_path("in")) == HEED_OK) {
        must(loaded.model->config.vocab_size == loaded.record.tokenizer.count);
        must(loaded.model->config.n_layer == loaded.record.settings.n_layer);
    } else {
        must_fail();
    }
    gpt_loaded_free(&loaded);
    if (resume(fuzz_path("in"), fuzz_path("copy"))) {
        must(resume(fuzz_path("copy"), fuzz_path("again")));
        must(first_difference(fuzz_path("copy"), fuzz_path("again")) == -1);
    }
}
