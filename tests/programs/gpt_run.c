/* Runs of the program gpt: steps, evaluation, saving and resuming. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files_util.h"
#include "tests/common/gpt_options.h"

static const char sentence[] = "the pizza came out of the oven and it tasted good\n";

/* Flags of a small run on a text of 40 sentences. */
static gpt_train_options small_run(void)
{
    char text[40 * sizeof sentence] = "";
    for (int i = 0; i < 40; i++) {
        strcat(text, sentence);
    }
    write_bytes(in_folder("text"), text, strlen(text));
    static char path[4096];
    strcpy(path, in_folder("text"));
    gpt_train_options o = small_gpt(path, 2, 8, 6, 2, 9);
    o.dropout = 0.25;
    o.given.dropout = true;
    return o;
}

/* ---- a run ---- */

static void prepare(gpt_run *run, const gpt_train_options *o)
{
    gpt_run_prepare(run, o);
    expect_no_error();
}

static void learn(gpt_run *run, int64_t steps)
{
    gpt_step now;
    while (run->optimizer->steps < steps) {
        gpt_run_step(run, &now);
        expect_no_error();
    }
}

/* The mean loss over the windows of the last tenth. Evaluation draws no numbers and restores
 * training mode. */
START_TEST(test_evaluate)
{
    const gpt_train_options o = small_run();
    gpt_run run;
    prepare(&run, &o);
    const heed_generator before = heed_get_generator();
    const double loss = gpt_evaluate(run.model, &run.tokens, &run.validation, 5);
    const heed_generator after = heed_get_generator();
    double sum = 0;
    ck_assert(run.model->module.training && before.next == after.next);
    ck_assert_int_eq(run.validation.count, (2000 - 1800 - 1) / 6);
    heed_eval(run.model);
    for (int64_t i = 0; i < run.validation.count; i++) {
        int64_t tokens[7];
        memcpy(tokens, run.tokens.ids + 1800 + 6 * i, sizeof tokens);
        sum += heed_item(gpt_loss(run.model, heed_from_i64(tokens, HEED_SHAPE(6)),
                                  heed_from_i64(tokens + 1, HEED_SHAPE(6))));
    }
    ck_assert_double_eq_tol(loss, sum / (double)run.validation.count, 1e-6);
    gpt_run_free(&run);
}
END_TEST

START_TEST(test_not_finite)
{
    const gpt_train_options o = small_run();
    gpt_run run;
    prepare(&run, &o);
    gpt_step now;
    heed_tensor *norm = run.model->transformer->ln_f->weight, *head = run.model->lm_head->weight;
    heed_copy_into(norm, heed_full(HEED_SHAPE(8), (double)NAN, HEED_F32));
    heed_tensor *before = heed_clone(heed_detach(head));
    gpt_run_step(&run, &now);
    expect_error(HEED_ERR_VALUE, "the loss is nan at step 1");
    expect_same_bits(before, heed_detach(head));
    ck_assert_int_eq(run.optimizer->steps, 0);
    gpt_run_free(&run);
}
END_TEST

/* ---- saving and resuming ---- */

static void save(const gpt_run *run, const char *path)
{
    gpt_record_save(&run->record, run->model, run->optimizer, "--save", path);
    expect_no_error();
}

static void resume(gpt_run *run, const char *path, int64_t steps)
{
    const gpt_train_options o = {.resume = path, .steps = steps, .given.steps = steps > 0};
    prepare(run, &o);
}

/* A run in three parts equals one run: both end with the same bytes in the file. */
START_TEST(test_resume)
{
    gpt_train_options o = small_run();
    gpt_run whole;
    prepare(&whole, &o);
    learn(&whole, 4);
    gpt_run_validate(&whole);
    save(&whole, in_folder("middle"));
    learn(&whole, 9);
    gpt_run_validate(&whole);
    save(&whole, in_folder("whole"));
    gpt_run_free(&whole);
    gpt_run rest;
    resume(&rest, in_folder("middle"), 0);
    ck_assert_int_eq(rest.resumed, 4);
    ck_assert_int_eq(rest.record.best_step, 4);
    learn(&rest, 6);
    save(&rest, in_folder("middle"));
    gpt_run_free(&rest);
    resume(&rest, in_folder("middle"), 0);
    learn(&rest, 9);
    gpt_run_validate(&rest);
    save(&rest, in_folder("parts"));
    expect_same_files(in_folder("whole"), in_folder("parts"));
    gpt_run_free(&rest);
    resume(&rest, in_folder("parts"), 20);
    ck_assert_int_eq(rest.options.steps, 20);
    ck_assert(!gpt_run_ended(&rest));
    gpt_run_free(&rest);
}
END_TEST

/* Each setting is restored exactly, whatever its value. */
START_TEST(test_record)
{
    gpt_train_options o = small_run();
    gpt_record back;
    gpt_run run;
    prepare(&run, &o);
    gpt_train_options *s = &run.record.settings;
    s->lr = 0.1 + 0.2;
    s->clip = nextafter(1, 0) - 1e-10;
    s->min_lr = 5e-324;
    s->seed = INT64_MAX;
    run.record.best_loss = 0.1 + 0.7;
    save(&run, in_folder("run"));
    ck_assert_int_eq(gpt_record_read(&back, "--load", in_folder("run")), HEED_OK);
    for (int i = 0; i < gpt_settings.count; i++) {
        const flag_row *f = &gpt_settings.flags[i];
        const flag_value text = flags_text(f, s), its_text = flags_text(f, &back.settings);
        ck_assert_str_eq(its_text.text, text.text);
        ck_assert(flags_given(f, &back.settings));
    }
    ck_assert(back.settings.lr == s->lr && back.settings.min_lr == 5e-324);
    ck_assert(isnan(back.val_loss) && back.best_loss == 0.1 + 0.7);
    ck_assert_str_eq(back.text.bytes, o.text);
    ck_assert_int_eq(back.tokenizer.count, run.record.tokenizer.count);
    gpt_record_free(&back);
    gpt_run_free(&run);
}
END_TEST

START_TEST(test_refused_files)
{
    gpt_train_options o = small_run();
    gpt_run run;
    prepare(&run, &o);
    gpt_record back;
    run.record.best_step = -1;
    save(&run, in_folder("bad"));
    gpt_record_read(&back, "--load", in_folder("bad"));
    expect_error(HEED_ERR_VALUE, "bad: damaged");
    gpt_record_free(&back);
    heed_save_state_dict(run.model, in_folder("other"), NULL);
    gpt_record_read(&back, "--load", in_folder("other"));
    expect_error(HEED_ERR_VALUE, "other: not a file written by gpt train");
    gpt_record_free(&back);
    gpt_record_read(&back, "--load", in_folder("none"));
    expect_error(HEED_ERR_VALUE, "none: cannot open it");
    gpt_record_free(&back);
    gpt_run_free(&run);
}
END_TEST

/* A checkpoint whose settings describe a larger model than it contains. */
static const struct {
    gpt_train_options more;
    const char *words;
} hostile[] = {
    {{.n_embd = 4096}, "damaged: it has "},
    {{.n_layer = 60}, "damaged: it has "},
    {{.context = 65536}, "bytes, but a model with its settings has "},
};

/* Training, sampling and info reject it with the same message, before a model is created. */
START_TEST(a_checkpoint_is_refused_before_its_model_is_built)
{
    gpt_train_options o = small_run(), again = {.resume = in_folder("run")};
    gpt_run run;
    gpt_loaded loaded;
    prepare(&run, &o);
    gpt_train_options *s = &run.record.settings;
    const gpt_train_options *more = &hostile[_i].more;
    s->n_embd = more->n_embd > 0 ? more->n_embd : s->n_embd;
    s->n_layer = more->n_layer > 0 ? more->n_layer : s->n_layer;
    s->n_head = more->n_head > 0 ? more->n_head : s->n_head;
    s->context = more->context > 0 ? more->context : s->context;
    save(&run, in_folder("run"));
    gpt_run_free(&run);
    const int64_t drawn = heed_get_generator().next;
    gpt_run_prepare(&run, &again);
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "--resume: "));
    expect_error(HEED_ERR_VALUE, hostile[_i].words);
    ck_assert(run.model == NULL && heed_get_generator().next == drawn);
    gpt_run_free(&run);
    gpt_load(&loaded, "--load", in_folder("run"));
    expect_error(HEED_ERR_VALUE, hostile[_i].words);
    gpt_loaded_free(&loaded);
}
END_TEST

/* ---- rejected settings and texts ---- */

static const struct {
    const char *text; /* the new text; NULL: unchanged */
    gpt_train_options more;
    const char *error;
} resumes[] = {
    {"another", {.steps = 0}, "is not the text of --resume"},
    {NULL, {.lr = 0.5, .given.lr = true}, "--lr 0.5: the run of --resume has 0.001"},
    {NULL, {.n_embd = 8, .given.n_embd = true}, NULL},
    {NULL, {.steps = 99, .given.steps = true}, NULL},
    {NULL, {.seed = 1, .given.seed = true}, "--seed 1: the run of --resume has 1337"},
};

START_TEST(test_resume_refuses)
{
    gpt_train_options o = small_run(), again = resumes[_i].more;
    gpt_run run;
    prepare(&run, &o);
    save(&run, in_folder("run"));
    gpt_run_free(&run);
    if (resumes[_i].text != NULL) {
        write_bytes(o.text, resumes[_i].text, strlen(resumes[_i].text));
    }
    again.resume = in_folder("run");
    gpt_run_prepare(&run, &again);
    if (resumes[_i].error != NULL) {
        expect_error(HEED_ERR_VALUE, resumes[_i].error);
    }
    expect_no_error();
    gpt_run_free(&run);
}
END_TEST

/* The first nine tenths must have 6 tokens of context and one target. */
START_TEST(test_short_texts)
{
    gpt_train_options o = small_run();
    gpt_run run;
    write_bytes(o.text, sentence, 7);
    gpt_run_prepare(&run, &o);
    expect_error(HEED_ERR_VALUE, "too short: it has 7 tokens; --context 6 needs 8");
    gpt_run_free(&run);
    write_bytes(o.text, sentence, 8);
    prepare(&run, &o);
    ck_assert(run.validation.count == 0 && !gpt_run_validate(&run));
    gpt_run_free(&run);
}
END_TEST

#define ROWS(rows) (int)(sizeof(rows) / sizeof *(rows))

void add_gpt_run_cases(Suite *suite)
{
    TCase *runs = files_case(suite, "runs");
    tcase_add_test(runs, test_evaluate);
    tcase_add_test(runs, test_not_finite);
    tcase_add_test(runs, test_resume);
    tcase_add_test(runs, test_record);
    tcase_add_test(runs, test_refused_files);
    tcase_add_loop_test(runs, a_checkpoint_is_refused_before_its_model_is_built, 0, ROWS(hostile));
    tcase_add_loop_test(runs, test_resume_refuses, 0, ROWS(resumes));
    tcase_add_test(runs, test_short_texts);
}
