/* Runs of the program gpt: windows, steps, evaluation, files, and the stream of tokens.
 * tests/programs/gpt_resume.sh interrupts and resumes runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/sample.h"
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

START_TEST(windows_cover_a_part_of_the_text)
{
    static const struct {
        int64_t count, most, apart, windows;
    } rows[] = {{11, 9, 5, 2},    {10, 9, 5, 1} /* its last token has no target */,
                {5, 9, 5, 0},     {101, 9, 10, 9},
                {101, 20, 5, 20}, {101, 1, 100, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const gpt_windows w = gpt_windows_of(90, rows[i].count, 5, rows[i].most);
        ck_assert_int_eq(w.first, 90);
        ck_assert_int_eq(w.apart, rows[i].apart);
        ck_assert_int_eq(w.count, rows[i].windows);
    }
}
END_TEST

/* ---- a run ---- */

static void prepare(gpt_run *run, const gpt_train_options *o)
{
    gpt_run_prepare(run, o);
    expect_no_error();
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

/* A file whose settings describe a larger model than it holds is refused before a model is made, by
 * training and by the other commands. */
START_TEST(no_model_is_made_of_a_damaged_file)
{
    for (int wide = 0; wide < 2; wide++) {
        gpt_train_options o = small_run(), again = {.resume = in_folder("run")};
        gpt_run run;
        gpt_loaded loaded;
        prepare(&run, &o);
        *(wide ? &run.record.settings.n_embd : &run.record.settings.context) = 65536;
        save(&run, in_folder("run"));
        gpt_run_free(&run);
        const int64_t drawn = heed_get_generator().next;
        gpt_run_prepare(&run, &again);
        expect_error(HEED_ERR_VALUE, "run: damaged: it has ");
        ck_assert(run.model == NULL && heed_get_generator().next == drawn);
        gpt_run_free(&run);
        gpt_load(&loaded, "--load", in_folder("run"));
        expect_error(HEED_ERR_VALUE, "bytes, but a model with its settings has ");
        gpt_loaded_free(&loaded);
    }
}
END_TEST

/* Bytes are written as complete characters; invalid ones as soon as they are known to be invalid,
 * or at the end. */
START_TEST(streams_write_whole_characters)
{
    static const int64_t ids[] = {'a', 0xE2, 0x82, 0xAC, 0xC3};
    static const long so_far[] = {3, 3, 3, 6, 6};
    static const char all[] = "\xC3\xA9"
                              "a\xE2\x82\xAC\xC3\n";
    FILE *to = fopen(in_folder("out"), "w+");
    size_t size = 0;
    tokenizer bytes = tokenizer_of_text(LEVEL_BPE, "", "any", 3, 256);
    gpt_stream s = gpt_stream_begin(to, &bytes);
    gpt_stream_prompt(&s, "\xC3\xA9");
    for (int i = 0; i < 5; i++) {
        gpt_stream_token(&s, ids[i]);
        ck_assert_int_eq(ftell(to), so_far[i]);
    }
    gpt_stream_end(&s);
    fclose(to);
    char *written = read_bytes(in_folder("out"), &size);
    ck_assert_str_eq(written, all);
    free(written);
    tokenizer_free(&bytes);
}
END_TEST

void add_gpt_run_cases(Suite *suite)
{
    TCase *runs = files_case(suite, "runs");
    tcase_add_test(runs, windows_cover_a_part_of_the_text);
    tcase_add_test(runs, test_evaluate);
    tcase_add_test(runs, test_not_finite);
    tcase_add_test(runs, test_record);
    tcase_add_test(runs, no_model_is_made_of_a_damaged_file);
    tcase_add_test(runs, streams_write_whole_characters);
}
