/* The engine of the page (examples/page), natively: training as next_token's, exact steps back,
 * recorded passes, breaks, masks. tests/page/page.sh tests the page in a browser. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/next_token/toy.h"
#include "examples/page/engine.h"
#include "examples/page/forward.h"
#include "examples/page/story.h"
#include "examples/page/story_reader.h"
#include "tests/oom/oom.h"

static toy_language language; /* too large for a stack */

enum { D_MODEL = 32, CONTEXT = TOY_LENGTH - 1, BATCH = 32 };

/* ---- helpers ---- */

/* The engine has no pending error. */
static void expect_well(void)
{
    const char *message = page_error();
    ck_assert_msg(message == NULL, "%s", message);
}

/* The pending error contains `words`. */
static void expect_sentence(const char *words)
{
    const char *message = page_error();
    ck_assert_msg(message != NULL, "no error, instead of: %s", words);
    ck_assert_msg(strstr(message, words) != NULL, "\"%s\" does not contain \"%s\"", message, words);
}

static void start(int heads, int steps, unsigned breaks)
{
    page_start(0, heads, 0.02, steps, breaks);
    expect_well();
}

static void take_steps(int count)
{
    for (int i = 0; i < count; i++) {
        page_step();
    }
    expect_well();
}

static uint64_t now(void)
{
    const char *hex = page_hash();
    expect_well();
    return strtoull(hex, NULL, 16);
}

static uint64_t hash_of_model(struct token_model *m)
{
    uint64_t sum = FNV_BASIS;
    const heed_tensor_list parameters = heed_parameters(m);
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *t = parameters.tensors[i];
        sum = fnv(t->data, (size_t)t->numel * sizeof(float), sum);
    }
    return sum;
}

static void expect_hash(uint64_t expected)
{
    ck_assert_uint_eq(now(), expected);
}

/* The pizza sentence without <eos>. */
static const int32_t *pizza(void)
{
    static int32_t tokens[TOY_LENGTH];
    toy_language_make(&language, 0);
    for (int i = 0; i < TOY_LENGTH; i++) {
        tokens[i] = (int32_t)language.held_out[0].token[i];
    }
    return tokens;
}

/* ---- reading a pass: a line of its JSON for each mark, leaf and tensor ---- */

static const char *pass;

static void read_pass(const char *json)
{
    expect_well();
    pass = json;
}

/* Line `index` of a list of the pass; NULL: it has fewer. */
static const char *line_of(const char *list, int index)
{
    const char *at = strstr(pass, list);
    for (; at != NULL && index >= 0; index--) {
        at = strchr(at, '\n');
        at = at != NULL && at[1] == '{' ? at + 1 : NULL;
    }
    return at;
}

/* The number that follows `key`. */
static int number_at(const char *line, const char *key)
{
    return (int)strtol(strstr(line, key) + strlen(key), NULL, 10);
}

static int read_list(const char *line, const char *key, int64_t *to)
{
    int count = 0;
    const char *at = strstr(line, key) + strlen(key);
    while (*at != ']') {
        to[count++] = strtoll(at, (char **)&at, 10);
        at += *at == ',';
    }
    return count;
}

/* A tensor of the pass, in the innermost scope. */
static heed_tensor *values_of(int tensor)
{
    const char *line = line_of("\"tensors\":[", tensor);
    ck_assert_msg(line != NULL, "no tensor %d", tensor);
    heed_shape shape;
    int64_t strides[HEED_MAX_DIMS];
    shape.ndim = read_list(line, "\"shape\":[", shape.size);
    read_list(line, "\"strides\":[", strides);
    const char *at = (const char *)(uintptr_t)strtoull(strstr(line, "\"at\":") + 5, NULL, 10);
    heed_tensor *values = heed_empty(shape, strstr(line, "f64") == line + 10 ? HEED_F64 : HEED_F32);
    const int64_t size = (int64_t)heed_dtype_size(values->dtype);
    for (int64_t i = 0; i < values->numel; i++) {
        int64_t offset = 0, rest = i;
        for (int d = shape.ndim - 1; d >= 0; rest /= shape.size[d--]) {
            offset += rest % shape.size[d] * strides[d];
        }
        memcpy((char *)values->data + i * size, at + offset * size, (size_t)size);
    }
    return values;
}

/* The line of a mark, or NULL. */
static const char *find_mark(const char *name, int head)
{
    char start[80];
    snprintf(start, sizeof start, "{\"name\":\"%s\",\"head\":%d,", name, head);
    return strstr(pass, start);
}

static heed_tensor *mark(const char *name, int head)
{
    const char *line = find_mark(name, head);
    ck_assert_msg(line != NULL, "the pass has no %s", name);
    return values_of(number_at(line, "\"tensor\":"));
}

static heed_tensor *gradient(int leaf)
{
    return values_of(number_at(line_of("\"leaves\":[", leaf), "\"gradient\":"));
}

/* The gradients of the leaves are backward's, up to `tolerance`. */
static void expect_gradients(heed_tensor_list parameters, heed_tensor *x, double tolerance)
{
    const int count = parameters.count + (x != NULL);
    ck_assert_ptr_null(line_of("\"leaves\":[", count));
    for (int i = 0; i < count; i++) {
        heed_tensor *grad = i < parameters.count ? parameters.tensors[i]->grad : x->grad;
        expect_close(gradient(i), grad, tolerance);
    }
}

/* ---- training as in next_token ---- */

static const int some_heads[] = {1, 2, 16};
enum { SOME_HEADS = sizeof some_heads / sizeof *some_heads };

typedef struct losses {
    double of_step[200];
} losses;

static bool note(void *context, struct token_model *m, int64_t step, double loss)
{
    (void)m;
    ((losses *)context)->of_step[step - 1] = loss;
    return true;
}

/* next_token's model and training: --seed SEED --heads HEADS --steps STEPS. */
static struct token_model *train_as_program(uint64_t seed, int heads, int steps, losses *found)
{
    toy_language_make(&language, seed);
    heed_manual_seed(seed);
    struct token_model *m = model_new((model_sizes){language.word_count, CONTEXT, D_MODEL, heads});
    heed_set_flush_denormal(true); /* as main does */
    train(m, &language, &(train_options){steps, BATCH, 0.02}, note, found);
    expect_no_error();
    return m;
}

/* The same losses and weights. A pass has the model's logits and, up to rounding, its loss and
 * gradients. */
START_TEST(training_is_that_of_next_token)
{
    enum { STEPS = 30 };
    const int heads = some_heads[_i];
    losses expected;
    struct token_model *m = train_as_program(0, heads, STEPS, &expected);
    start(heads, STEPS, 0);
    for (int i = 0; i < STEPS; i++) {
        if (i % 7 == 3) { /* passes do not change training */
            page_score();
            page_pass(pizza(), TOY_LENGTH);
        }
        ck_assert_double_eq(page_step(), expected.of_step[i]);
    }
    expect_hash(hash_of_model(m));

    const int count = heads == 1 ? TOY_LENGTH : 5, seen = count < CONTEXT ? count : CONTEXT;
    read_pass(page_pass(pizza(), count));
    const int64_t *tokens = language.held_out[0].token;
    expect_same_bits(mark("logits", 0), model_forward(m, heed_from_i64(tokens, HEED_SHAPE(seen))));
    heed_tensor *loss = model_loss(m, heed_from_i64(tokens, HEED_SHAPE(1, count)));
    expect_close(values_of(number_at(pass, "\"loss\":")), loss, 1e-6);
    heed_zero_grad(m);
    heed_backward(loss);
    expect_gradients(heed_parameters(m), NULL, 2e-6);

    heed_module_free(m);
}
END_TEST

/* ---- back to a step ---- */

static const unsigned kept_breaks[] = {0, BREAK_NO_ZERO_GRAD, BREAK_LR_100};

START_TEST(every_step_can_be_reached_again)
{
    enum { STEPS = 120 };
    static uint64_t hashes[STEPS + 1];
    static double loss_of[STEPS + 1];
    static const int path[] = {0, 1, 120, 119, 50, 49, 51, 0, 100, 99, 101, 50, 120, 3};
    start(_i == 0 ? 2 : 1, STEPS, kept_breaks[_i]);
    for (int i = 0; i <= STEPS; i++) {
        hashes[i] = now();
        loss_of[i] = page_step();
    }
    ck_assert(isnan(loss_of[STEPS]));
    expect_sentence("the run has only 120 steps");
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        ck_assert(page_go_to(path[i]));
        ck_assert_int_eq(page_steps(), path[i]);
        expect_hash(hashes[path[i]]);
    }
    ck_assert(page_step() == loss_of[3]);
    expect_hash(hashes[4]);
    ck_assert(hashes[3] != hashes[4]);
    ck_assert(!page_go_to(-1) && !page_go_to(0)); /* the first error is pending */
    expect_sentence("step -1 is outside [0, 120]");
    ck_assert(!page_go_to(121));
    expect_sentence("step 121 is outside [0, 120]");
    expect_hash(hashes[4]);
}
END_TEST

/* ---- passes ---- */

static const float tutorial[] = {1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f};

/* The forward that marks each line, and its gradients, have the bits of the module's, in f64. */
START_TEST(attention_is_that_of_the_module)
{
    const uint8_t blocked[] = {0, 1, 1, 0, 0, 1, 0, 0, 0};
    const uint8_t none[] = {0, 1, 1, 1, 1, 1, 0, 0, 0}; /* for the second token */
    page_alone(5, 2);
    heed_manual_seed(5);
    struct heed_self_attention *m = heed_self_attention_new(2, -2, -1);
    heed_module_to(m, HEED_F64);
    for (int masked = 0; masked < 2; masked++) {
        heed_tensor *x = heed_to(heed_from_f32(tutorial, HEED_SHAPE(3, 2)), HEED_F64);
        heed_tensor *mask = masked ? heed_causal_block_mask(3) : NULL;
        heed_set_requires_grad(x, true);
        heed_tensor *y = heed_self_attention_forward(m, x, mask);
        heed_zero_grad(m);
        heed_backward(heed_sum(heed_square(y)));
        read_pass(page_pass_alone(tutorial, 3, masked ? blocked : NULL));
        expect_same_bits(mark("attention_scores", 0), y);
        expect_gradients(heed_parameters(m), x, 0);
        ck_assert_int_eq(find_mark("masked_sims", 0) != NULL, masked);
    }
    read_pass(page_pass_alone(tutorial, 3, none));
    EXPECT_VALUES(heed_select(mark("attention_scores", 0), 0, 1), 0, 0, 0);
    heed_module_free(m);
}
END_TEST

/* page_losses: (f(w + h) - f(w - h)) / 2h in f64 is the gradient, up to f32's rounding of it. */
static void expect_quotients(void)
{
    static const double h = 1e-5;
    for (int leaf = 0; line_of("\"leaves\":[", leaf) != NULL; leaf++) {
        const int tensor = number_at(line_of("\"leaves\":[", leaf), "\"tensor\":");
        heed_tensor *weight = heed_flatten(values_of(tensor), 0, -1);
        heed_tensor *grad = heed_flatten(gradient(leaf), 0, -1);
        const double scale = fmax(1, heed_item(heed_amax(heed_abs(grad))));
        const int64_t count = weight->numel, step = count > 4 ? count / 3 : 1;
        for (int64_t cell = 0; cell < count; cell += step) {
            const double w = heed_item(heed_select(weight, 0, cell));
            const double g = heed_item(heed_select(grad, 0, cell));
            const double at[] = {w - h, w + h};
            double found[2];
            ck_assert(page_losses(leaf, (int)cell, at, 2, found));
            const double quotient = (found[1] - found[0]) / (2 * h);
            ck_assert_msg(fabs(quotient - g) <= 2e-6 * scale, "leaf %d, %lld: %.10g, not %.10g",
                          leaf, (long long)cell, quotient, g);
        }
    }
}

START_TEST(quotients_are_gradients)
{
    double value = 0, loss;
    start(2, 20, 0);
    take_steps(20);
    read_pass(page_pass(pizza(), TOY_LENGTH));
    const uint64_t before = now();
    expect_quotients();
    expect_hash(before);
    ck_assert(!page_losses(0, -1, &value, 1, &loss));
    expect_sentence("leaf 0 has no element -1");
    ck_assert(!page_losses(99, 0, &value, 1, &loss));
    expect_sentence("leaf 99");
    start(1, 20, 0);
    ck_assert(!page_losses(0, 0, &value, 1, &loss));
    expect_sentence("there has been no pass");
}
END_TEST

/* ---- breaks ---- */

START_TEST(every_break_changes_the_numbers)
{
    const unsigned the_break = 1u << _i;
    const int heads = the_break < BREAK_SPLIT_VIEW ? 1 : 2;
    start(heads, 100, 0);
    take_steps(2);
    const uint64_t healthy = now();
    start(heads, 100, the_break);
    take_steps(2);
    ck_assert(now() != healthy);
    ck_assert(page_score() != NULL);
    read_pass(page_pass(pizza(), TOY_LENGTH));
    const bool after = the_break == BREAK_MASK_AFTER;
    ck_assert_int_eq(find_mark("unmasked_percents", 0) != NULL, after);
    ck_assert_int_eq(find_mark("masked_sims", 0) != NULL, !after);
    heed_tensor *percents = mark("attention_percents", heads - 1);
    if (the_break == BREAK_WRONG_DIM) {
        expect_close(heed_sum_dim(percents, 0, false), heed_ones(HEED_SHAPE(11), HEED_F32), 1e-6);
    }
    if (the_break == BREAK_MASK_INVERTED) { /* no word attends to itself */
        heed_tensor *own = heed_sum(heed_mul(percents, heed_eye(11, 11, HEED_F32)));
        EXPECT_VALUES(own, 0, 0);
    }
    if (the_break == BREAK_NO_SCALE) {
        expect_same_bits(mark("scaled_sims", 0), mark("sims", 0));
    }
    if (the_break == BREAK_NO_POSITIONS) {
        expect_same_bits(mark("token_encodings", 0), mark("embeddings", 0));
    }
}
END_TEST

/* A run whose weights are no longer finite still has valid JSON. */
START_TEST(scores_of_nan)
{
    page_start(0, 1, 1000, 10, BREAK_LR_100);
    take_steps(10);
    const char *score = page_score();
    expect_well();
    ck_assert_msg(strstr(score, "nan") == NULL && strstr(score, "inf") == NULL, "%s", score);
    page_pass(pizza(), TOY_LENGTH);
    expect_well();
}
END_TEST

/* ---- masks ---- */

/* 1 where the pass over three words pays attention. */
static heed_tensor *seen(void)
{
    read_pass(page_pass(pizza(), 3));
    return heed_gt_scalar(mark("attention_percents", 0), 0);
}

START_TEST(masks)
{
    uint8_t open[CONTEXT * CONTEXT] = {0};
    start(1, 20, 0);
    const uint64_t first = now();
    take_steps(10);
    const uint64_t causal = now();
    ck_assert(page_set_mask(open)); /* passes only */
    expect_hash(causal);
    EXPECT_VALUES(seen(), 0, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    take_steps(2);
    ck_assert(page_go_to(10));
    expect_hash(causal);
    ck_assert(page_set_mask(NULL));
    EXPECT_VALUES(seen(), 0, 1, 0, 0, 1, 1, 0, 1, 1, 1);
    ck_assert(page_go_to(0));
    expect_hash(first);
    ck_assert(page_set_mask(open)); /* training too */
    take_steps(10);
    const uint64_t opened = now();
    ck_assert(opened != causal);
    ck_assert(page_go_to(3) && page_go_to(10));
    expect_hash(opened);
}
END_TEST

/* ---- sentences ---- */

START_TEST(language_and_writing)
{
    start(1, 300, 0);
    take_steps(300);
    const char *text = page_language();
    expect_well();
    ck_assert_ptr_nonnull(strstr(text, "\"pizza\""));
    ck_assert_ptr_nonnull(strstr(text, "\"context\":11,\"it\":8,\"subject\":1,"));
    const int32_t *words = pizza();
    char expected[100];
    snprintf(expected, sizeof expected, "{\"words\":[%d,%d,%d]}\n", words[9], words[10], words[11]);
    ck_assert_str_eq(page_write(words, TOY_AT_IT + 1, 4), expected);
    ck_assert_str_eq(page_write(words, 2, 0), "{\"words\":[]}\n");
    text = page_attention(words, TOY_LENGTH);
    ck_assert_ptr_nonnull(strstr(text, "{\"heads\":1,\"tokens\":11,\"at\":"));
    text = page_score();
    ck_assert_msg(strncmp(text, "{\"accuracy\":1,", 14) == 0, "%s", text);
}
END_TEST

START_TEST(misuse_gives_a_sentence)
{
    const int32_t unknown[] = {1, 9999};
    ck_assert(isnan(page_step()));
    expect_sentence("no run has been started");
    ck_assert(page_pass(unknown, 1) == NULL && page_error() != NULL);
    ck_assert(page_language() == NULL && page_error() != NULL);
    ck_assert(page_pass_alone(tutorial, 3, NULL) == NULL);
    expect_sentence("no attention module");

    start(1, 10, 0);
    take_steps(3);
    const uint64_t before = now();
    static const struct {
        double seed, lr;
        int heads, steps;
        unsigned breaks;
    } bad[] = {{-1, 1, 1, 1, 0},          {0.5, 1, 1, 1, 0},   {0x1p53, 1, 1, 1, 0},
               {(double)NAN, 1, 1, 1, 0}, {0, 1, 0, 1, 0},     {0, 1, 17, 1, 0},
               {0, -1, 1, 1, 0},          {0, 1001, 1, 1, 0},  {0, 1, 1, 0, 0},
               {0, 1, 1, 20001, 0},       {0, 1, 1, 1, BREAKS}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert(!page_start(bad[i].seed, bad[i].heads, bad[i].lr, bad[i].steps, bad[i].breaks));
        expect_sentence(i < 4 ? "the seed is a whole number below 2^53" : "heads are 1 to 16");
    }
    ck_assert(page_pass(pizza(), 1) == NULL);
    expect_sentence("the sentence has 1 words; it needs at least 2");
    ck_assert(page_pass(pizza(), 13) == NULL);
    expect_sentence("the sentence has 13 words; it needs 1 to 12");
    ck_assert(page_pass(unknown, 2) == NULL);
    expect_sentence("there is no word 9999");
    for (int i = 0; i < 2; i++) {
        ck_assert(!page_alone(0, (const int[]){0, 513}[i]));
        expect_sentence("widths up to 512");
    }
    page_alone(0, 2);
    ck_assert(page_pass_alone(tutorial, 65, NULL) == NULL && page_error() != NULL);
    expect_hash(before);
    expect_well();
}
END_TEST

/* ---- out of memory ---- */

static uint64_t whole_page(const void *context)
{
    (void)context;
    uint64_t sum = FNV_BASIS;
    page_start(0, 2, 0.02, 60, BREAK_NO_ZERO_GRAD);
    page_step();
    page_go_to(0);
    page_step();
    page_pass(pizza(), 6);
    double value = 0.5, loss = 0;
    page_losses(3, 1, &value, 1, &loss);
    page_alone(1, 2);
    page_pass_alone(tutorial, 3, NULL);
    page_write(pizza(), 3, 2);
    const char *hex = page_hash();
    const char *score = page_score();
    if (score != NULL) {
        sum = fnv(hex, strlen(hex), fnv(score, strlen(score), fnv(&loss, sizeof loss, sum)));
    }
    float numbers[10000] = {0};
    const int32_t ids[READER_LENGTH] = {0, 3, 19, 20, 21, 0, 7, 1, 2, 30, 31};
    if (page_story_make(numbers, 1) && page_story_open(numbers, page_story_numbers()) != NULL) {
        page_story_words();
        page_story_places(2);
        page_story_heads(2, 0, 1);
        page_story_attend(tutorial, tutorial, 2);
        page_story_dots(1, 2, 8);
        const char *read = page_story_read(ids, READER_LENGTH, READER_AT_IT);
        sum = read != NULL ? fnv(read, strlen(read), sum) : sum;
    }
    page_end();
    return sum;
}

START_TEST(out_of_memory)
{
    starve("page", whole_page, NULL, 2 * FEW);
}
END_TEST

void add_page_cases(Suite *suite)
{
    TCase *engine = files_case(suite, "engine");
    tcase_add_checked_fixture(engine, NULL, page_end);
    tcase_add_loop_test(engine, training_is_that_of_next_token, 0, SOME_HEADS);
    tcase_add_loop_test(engine, every_step_can_be_reached_again, 0, 3);
    tcase_add_test(engine, attention_is_that_of_the_module);
    tcase_add_test(engine, quotients_are_gradients);
    tcase_add_loop_test(engine, every_break_changes_the_numbers, 0, 11);
    tcase_add_test(engine, scores_of_nan);
    tcase_add_test(engine, masks);
    tcase_add_test(engine, language_and_writing);
    tcase_add_test(engine, misuse_gives_a_sentence);
    TCase *memory = oom_case(suite, "memory");
    tcase_add_checked_fixture(memory, NULL, page_end);
    tcase_add_test(memory, out_of_memory);
}
