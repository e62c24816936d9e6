/* next_token on a text: training, saving, loading and generation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/preflight.h"
#include "examples/lab/next_token/setup.h"
#include "examples/lab/next_token/write.h"
#include "tests/common/files_util.h"
#include "tests/common/next_token_util.h"

/* ---- training ---- */

static struct token_model *small_model(int64_t words, int heads)
{
    heed_manual_seed(3);
    return model_new((model_sizes){words, 6, 8, heads});
}

START_TEST(test_pieces)
{
    int64_t tokens[40];
    for (int64_t i = 0; i < 40; i++) {
        tokens[i] = i;
    }
    pieces all = pieces_of_text(tokens, 40, 6);
    ck_assert(all.count == 34 && all.stride == 1 && all.length == 7); /* the last begins at 33 */
    ck_assert_int_eq(pieces_of_text(tokens, 7, 6).count, 1);
    ck_assert_int_eq(pieces_of_text(tokens, 6, 6).count, 0);
    pieces turn = pieces_in_turn(tokens, 40, 6, 100);
    ck_assert(turn.count == 6 && turn.stride == 6 && turn.length == 7); /* 36 of 39 targets */
    ck_assert_int_eq(pieces_in_turn(tokens, 7, 6, 100).count, 1);
    ck_assert_int_eq(pieces_in_turn(tokens, 6, 6, 100).count, 0);
    ck_assert_int_eq(pieces_in_turn(tokens, 0, 6, 100).count, 0);
    pieces few = pieces_in_turn(tokens, 40, 6, 2);
    ck_assert(few.count == 2 && few.stride == 18);
}
END_TEST

/* The loss over all pieces is the mean of their losses, whatever the batch size. */
START_TEST(test_pieces_loss)
{
    int64_t tokens[40];
    for (int64_t i = 0; i < 40; i++) {
        tokens[i] = i * i % 7;
    }
    struct token_model *m = small_model(7, 1);
    const pieces p = pieces_in_turn(tokens, 40, 6, 100);
    double sum = 0;
    for (int64_t i = 0; i < p.count; i++) {
        sum += heed_item(model_loss(m, heed_from_i64(tokens + 6 * i, HEED_SHAPE(1, 7))));
    }
    for (int64_t batch = 1; batch < 8; batch++) {
        ck_assert_double_eq_tol(pieces_loss(m, &p, batch), sum / 6, 1e-6);
    }
    const pieces none = pieces_in_turn(tokens, 0, 6, 100);
    ck_assert(isnan(pieces_loss(m, &none, 4)));
    heed_module_free(m);
}
END_TEST

typedef struct record {
    int64_t steps, measured;
    double first, last, held_out;
    int64_t stop_after;
} record;

static bool note(void *context, struct token_model *m, const train_state *now)
{
    record *r = context;
    (void)m;
    r->first = now->step == 1 ? now->loss : r->first;
    r->last = now->loss;
    r->held_out = now->measured ? now->held_out : r->held_out;
    r->measured += now->measured;
    r->steps = now->step;
    return now->step != r->stop_after;
}

/* Each character determines the next. */
static token_list alphabet(int64_t count)
{
    token_list list = {.count = 0};
    for (int64_t i = 0; i < count; i++) {
        token_list_add(&list, i % 5);
    }
    return list;
}

START_TEST(test_training_learns)
{
    token_list list = alphabet(200);
    struct token_model *m = small_model(5, _i + 1);
    const pieces learnt = pieces_of_text(list.ids, 150, 6);
    const pieces held_out = pieces_in_turn(list.ids + 150, 50, 6, 100);
    record r = {.stop_after = -1};
    train(m, &learnt, &held_out, &(train_options){150, 8, 2e-2}, note, &r);
    expect_no_error();
    ck_assert_int_eq(r.steps, 150);
    ck_assert_int_eq(r.measured, TRAIN_MEASUREMENTS);
    ck_assert_msg(r.first > 1, "first loss %g", r.first);
    ck_assert_msg(r.last < 0.1 && r.held_out < 0.1, "losses %g, %g", r.last, r.held_out);
    heed_module_free(m);
    token_list_free(&list);
}
END_TEST

START_TEST(test_training_stops)
{
    token_list list = alphabet(60);
    struct token_model *m = small_model(5, 1);
    const pieces learnt = pieces_of_text(list.ids, 60, 6), none = {.count = 0};
    record r = {.stop_after = 3};
    train(m, &learnt, &none, &(train_options){1000, 2, 1e-3}, note, &r);
    ck_assert_int_eq(r.steps, 3);
    train(m, &learnt, &none, &(train_options){1000, 2, 1e38}, note, &(record){.stop_after = -1});
    expect_error(HEED_ERR_VALUE, "try a lower learning rate");
    heed_module_free(m);
    token_list_free(&list);
}
END_TEST

/* Tokens before the context do not affect the prediction. */
START_TEST(test_next_sees_its_context)
{
    struct token_model *m = small_model(5, 3);
    const int64_t tokens[] = {4, 4, 0, 1, 2, 3, 4, 0};
    EXPECT_VALUES(heed_sub(model_next(m, tokens, 8), model_next(m, tokens + 2, 6)), 0, 0, 0, 0, 0,
                  0);
    heed_tensor *all = model_forward(m, heed_from_i64(tokens + 2, HEED_SHAPE(6)));
    expect_close(model_next(m, tokens, 8), heed_squeeze(heed_slice(all, 0, 5, 6, 1), 0), 1e-6);
    heed_tensor *weights = model_attention(m, tokens, 4);
    ck_assert(weights->ndim == 3 && weights->shape[0] == 3 && weights->shape[1] == 4);
    expect_close(heed_sum_dim(weights, 2, false), heed_ones(HEED_SHAPE(3, 4), HEED_F32), 1e-6);
    heed_module_free(m);
}
END_TEST

/* ---- generation ---- */

START_TEST(test_choose)
{
    heed_tensor *logits = heed_from_f32((float[]){9, 1, 2, 0}, HEED_SHAPE(4));
    int counts[4] = {0};
    ck_assert_int_eq(write_choose(logits, 0, VOCABULARY_NONE), 0);
    ck_assert_int_eq(write_choose(logits, 0, 0), 2);
    ck_assert_int_eq(write_choose(logits, 1e-300, 0), 2);
    heed_manual_seed(1);
    for (int i = 0; i < 4000; i++) {
        counts[write_choose(logits, 2, 0)]++;
    }
    /* proportional to e^0.5, e^1 and 1, whose sum is 5.367 */
    ck_assert_int_eq(counts[0], 0);
    ck_assert_double_eq_tol(counts[1] / 4000.0, 0.307, 0.03);
    ck_assert_double_eq_tol(counts[2] / 4000.0, 0.506, 0.03);
    ck_assert_double_eq_tol(counts[3] / 4000.0, 0.186, 0.03);
}
END_TEST

/* The text that the model writes after `typed`. */
static char *write_on_from(struct token_model *m, const vocabulary *v, const char *typed,
                           int64_t most)
{
    char *written = NULL;
    size_t size = 0;
    FILE *stream = tmpfile(); /* write_on checks whether it is a terminal */
    token_list tokens = vocabulary_encode(v, typed, strlen(typed), NULL);
    heed_manual_seed(5);
    text_joint joint = write_start(stream, v, &tokens, typed);
    write_on(stream, m, v, &tokens, joint, (write_options){most, 0.5, VOCABULARY_NONE});
    expect_no_error();
    token_list_free(&tokens);
    size = (size_t)ftell(stream);
    rewind(stream);
    written = calloc(size + 1, 1);
    ck_assert_uint_eq(fread(written, 1, size, stream), size);
    fclose(stream);
    return written;
}

START_TEST(test_write_on)
{
    vocabulary v = vocabulary_of_list(TEXT_WORD, true, "the cat sat");
    struct token_model *m = small_model(v.count, 1);
    char *first = write_on_from(m, &v, "the  cat ", 50),
         *again = write_on_from(m, &v, "the  cat ", 50);
    ck_assert_str_eq(first, again);
    ck_assert_int_eq(strncmp(first, "the  cat ", 9), 0); /* as typed, without a second blank */
    ck_assert(first[9] != ' ' && first[9] != '\0');
    ck_assert_ptr_null(strstr(first, "<unknown>"));
    int blanks = 0;
    for (const char *c = first; *c != '\0'; c++) {
        blanks += *c == ' ';
    }
    ck_assert_int_eq(blanks, 3 + 49);
    free(first);
    free(again);
    heed_module_free(m);
    vocabulary_free(&v);
}
END_TEST

/* ---- files ---- */

START_TEST(test_saved_model_is_the_same)
{
    vocabulary v = vocabulary_of_list(TEXT_CHAR, true, "ab\n \u20AC\"\\");
    struct token_model *m = small_model(v.count, _i);
    model_save(path_of_test, m, TASK_CHAR, &v);
    expect_no_error();
    model_description saved = model_describe_file(path_of_test);
    ck_assert(saved.task == TASK_CHAR && saved.sizes.heads == _i && saved.sizes.context == 6);
    ck_assert(saved.sizes.d_model == 8 && saved.sizes.words == 8);
    ck_assert_str_eq(vocabulary_token(&saved.vocabulary, 5), "\u20AC");
    struct token_model *again = model_new(saved.sizes);
    model_load(path_of_test, again);
    expect_no_error();
    const int64_t tokens[] = {1, 2, 3, 4};
    expect_close(model_next(again, tokens, 4), model_next(m, tokens, 4), 0);
    heed_module_free(again);
    heed_module_free(m);
    vocabulary_free(&saved.vocabulary);
    vocabulary_free(&v);
}
END_TEST

/* A row of logits for each token; the last row predicts the next. */
START_TEST(test_logits)
{
    struct token_model *m = small_model(5, _i);
    const int64_t tokens[] = {4, 0, 1, 2};
    model_save_logits(path_of_test, m, tokens, 4);
    expect_no_error();
    heed_tensor *logits = load_one(path_of_test, "logits");
    ck_assert(logits->ndim == 2 && heed_size(logits, 0) == 4 && heed_size(logits, 1) == 5);
    for (int64_t count = 1; count <= 4; count++) {
        expect_close(heed_select(logits, 0, count - 1), model_next(m, tokens, count), 1e-6);
    }
    model_save_logits("/heed-none/file", m, tokens, 4);
    expect_error(HEED_ERR_FILE,
                 "--logits: /heed-none/file: cannot create a temporary file next to it");
    heed_module_free(m);
}
END_TEST

/* Files from other sources: their metadata, and the expected error. */
typedef struct strange_row {
    const char *format, *task, *heads, *words, *error;
} strange_row;

static const char ours[] = "heed next_token 1";
static const strange_row strange_rows[] = {
    {NULL, NULL, NULL, NULL, "not a model written by --save"},
    {"pt", NULL, NULL, NULL, "not a model written by --save"},
    {ours, "poem", "1", "abc", "not a model written by --save"},
    {ours, "char", "0", "abc", "not a model written by --save"},
    {ours, "char", "17", "abc", "not a model written by --save"},
    {ours, "char", "1x", "abc", "not a model written by --save"},
    {ours, "char", NULL, "abc", "not a model written by --save"},
    {ours, "char", "1", NULL, "not a model written by --save"},
    {ours, "char", "1", "", "not a model written by --save"},
    {ours, "char", "1", "aba", "a duplicate token"},
    {ours, "char", "1", "abc", "we.weight"}, /* other sizes */
};

START_TEST(test_strange_models)
{
    const strange_row *row = &strange_rows[_i];
    struct token_model *m = small_model(5, 1);
    heed_metadata about[8] = {{"context", "6"}, {"d_model", "8"}};
    const heed_metadata more[] = {{"format", row->format},
                                  {"task", row->task},
                                  {"heads", row->heads},
                                  {"vocabulary", row->words}};
    for (int i = 0, at = 2; i < 4; i++) {
        if (more[i].value != NULL) {
            about[at++] = more[i];
        }
    }
    heed_save_state_dict(m, path_of_test, about);
    heed_module_free(m);
    static toy_language language;
    setup s;
    options o = read_arguments(
        (const char *const[]){"--load", path_of_test, "--prompt", "a", "--steps", "0", NULL});
    expect_no_error();
    ck_assert_int_eq(setup_prepare(&s, &o, &language), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, row->error);
    setup_free(&s);
}
END_TEST

START_TEST(test_paths)
{
    path_check("--save", path_of_test, false);
    path_check("--log", "/dev/null", true);
    expect_no_error();
    ck_assert_int_eq(access(path_of_test, F_OK), 0);
    unlink(path_of_test);
    path_check("--save", path_of_test, false);
    expect_no_error();
    ck_assert_int_ne(access(path_of_test, F_OK), 0); /* the check leaves no file */
    static const char *const bad[] = {"", "/", "/no/such/file", "/dev/null/file", "/dev/null"};
    for (int i = 0; i < 5; i++) {
        path_check("--save", bad[i], false);
        expect_error(HEED_ERR_VALUE, "--save: cannot write ");
    }
}
END_TEST

/* Symbolic links are resolved even if the target does not exist yet; one file may have many
 * names. */
START_TEST(test_places)
{
    char link[640], folder[600], detour[1300];
    snprintf(link, sizeof link, "%s.link", path_of_test);
    snprintf(folder, sizeof folder, "%s", path_of_test);
    *strrchr(folder, '/') = '\0';
    snprintf(detour, sizeof detour, "%s/.%s", folder, path_of_test + strlen(folder));
    for (int there = 1; there >= 0; there--) {
        ck_assert(path_same(path_of_test, detour));
        ck_assert(!path_same(path_of_test, link));
        ck_assert_int_eq(symlink(strrchr(path_of_test, '/') + 1, link), 0);
        path_check("--save", link, false);
        expect_no_error();
        ck_assert(path_same(detour, link) && path_same(link, link));
        ck_assert(!path_same(link, NULL) && !path_same(link, "/no/such/file"));
        unlink(link);
        unlink(path_of_test);
    }
    static const char *const lost[] = {"/no/such/file", "/dev/null/x", "heed-loop.link"};
    for (int i = 0; i < 3; i++) {
        snprintf(link, sizeof link, "%s/heed-loop.link", folder);
        ck_assert_int_eq(symlink(lost[i], link), 0);
        path_check("--save", link, false);
        expect_error(HEED_ERR_VALUE, "--save: cannot write ");
        unlink(link);
    }
}
END_TEST

void add_next_token_cases(Suite *suite)
{
    TCase *training = heed_case(suite, "training_and_writing");
    tcase_add_test(training, test_pieces);
    tcase_add_test(training, test_pieces_loss);
    tcase_add_loop_test(training, test_training_learns, 0, 3);
    tcase_add_test(training, test_training_stops);
    tcase_add_test(training, test_next_sees_its_context);
    tcase_add_test(training, test_choose);
    tcase_add_test(training, test_write_on);
    TCase *files = path_case(suite, "files");
    tcase_add_loop_test(files, test_saved_model_is_the_same, 1, 4);
    tcase_add_loop_test(files, test_logits, 1, 4);
    tcase_add_loop_test(files, test_strange_models, 0, sizeof strange_rows / sizeof *strange_rows);
    tcase_add_test(files, test_paths);
    tcase_add_test(files, test_places);
}
