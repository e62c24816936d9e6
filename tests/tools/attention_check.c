/* heed_attention_check: a catalogue of wrong and right attentions, and what the check leaves
 * behind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/check_attention/attentions.h"
#include "tests/common/test_util.h"

/* ---- the catalogue ---- */

/* Seeds of each entry: HEED_ATTENTION_SEEDS, or few. make check-attention takes 20,
 * make check-attention-long 1,000. */
static int seeds(void)
{
    const char *text = getenv("HEED_ATTENTION_SEEDS");
    return text != NULL && atoi(text) > 0 ? atoi(text) : 2;
}

static bool is_right(const attention_entry *entry)
{
    return entry->named != NULL && *entry->named == '\0';
}

/* All that a report says of what failed. */
static void failures(const heed_attention_report *report, char *text, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        if (report->checks[i].verdict == HEED_VERDICT_FAILED) {
            length +=
                (size_t)snprintf(text + length, size - length, "%s\n", report->checks[i].text);
        }
    }
    snprintf(text + length, size - length, "%s", report->mistake);
}

START_TEST(wrong_ones_are_rejected_and_named_and_right_ones_pass)
{
    const attention_entry *entry = &attention_catalogue[_i];
    char text[HEED_ATTENTION_CHECKS * 250 + 700];
    for (int seed = 1; seed <= seeds(); seed++) {
        heed_attention_report report;
        heed_manual_seed((uint64_t)seed);
        struct attention *m = attention_new(entry);
        heed_attention_check_options options = attention_options(m);
        options.seed = (uint64_t)seed;
        options.report = &report;
        const heed_status status = heed_attention_check(attention_forward, m, options);
        failures(&report, text, sizeof text);
        if (is_right(entry)) {
            ck_assert_msg(status == HEED_OK, "%s, seed %d: %s\n%s", entry->name, seed,
                          heed_error_message(), text);
            ck_assert(report.passed);
        } else {
            ck_assert_msg(status == HEED_ERR_CHECK, "%s passes with seed %d", entry->name, seed);
            ck_assert(!report.passed);
            ck_assert_msg(entry->named == NULL || strstr(text, entry->named) != NULL,
                          "%s, seed %d: %s\nexpected: %s", entry->name, seed, text, entry->named);
            heed_error();
        }
        heed_module_free(m);
    }
}
END_TEST

START_TEST(the_catalogue_is_large)
{
    int wrong = 0, named = 0, right = 0;
    for (int i = 0; i < attention_count; i++) {
        right += is_right(&attention_catalogue[i]);
        wrong += !is_right(&attention_catalogue[i]);
        named += !is_right(&attention_catalogue[i]) && attention_catalogue[i].named != NULL;
    }
    ck_assert_int_ge(wrong, 55);
    ck_assert_int_ge(named, 50);
    ck_assert_int_ge(right, 20);
}
END_TEST

static const attention_entry *entry_of(const char *name)
{
    for (int i = 0; i < attention_count; i++) {
        if (strcmp(attention_catalogue[i].name, name) == 0) {
            return &attention_catalogue[i];
        }
    }
    ck_abort_msg("no entry is called %s", name);
    return NULL;
}

/* ---- modules of the library ---- */

static heed_tensor *masked_self(heed_tensor *x, void *m)
{
    return heed_self_attention_forward(m, x, heed_causal_block_mask(heed_size(x, -2)));
}

static heed_tensor *masked_multi(heed_tensor *x, void *m)
{
    return heed_multi_head_forward(m, x, heed_causal_block_mask(heed_size(x, -2)));
}

static heed_tensor *forward_of(heed_tensor *x, void *m)
{
    return heed_forward(m, x);
}

static heed_tensor *torch_attention(heed_tensor *x, void *m)
{
    return heed_multihead_attention_forward_with(
        m, x, x, x,
        (heed_multihead_attention_forward_options){
            .attn_mask = heed_causal_block_mask(heed_size(x, 1)), .is_causal = true});
}

static heed_tensor *torch_padded(heed_tensor *x, heed_tensor *mask, void *m)
{
    return heed_multihead_attention_forward_with(
        m, x, x, x, (heed_multihead_attention_forward_options){.key_padding_mask = mask});
}

static heed_tensor *torch_free(heed_tensor *x, void *m)
{
    return heed_multihead_attention_forward(m, x, x, x);
}

static void expect_passed(heed_attention_function *f, void *module,
                          heed_attention_check_options options, heed_verdict formula)
{
    heed_attention_report report;
    options.module = module;
    options.report = &report;
    heed_attention_check(f, module, options);
    ck_assert_msg(report.passed, "%s", heed_error_message());
    expect_no_error();
    ck_assert_msg(report.checks[HEED_CHECK_FORMULA].verdict == formula, "formula: %s",
                  report.checks[HEED_CHECK_FORMULA].text);
    heed_module_free(module);
}

START_TEST(the_modules_of_the_library_pass)
{
    heed_manual_seed(3);
    expect_passed(masked_self, heed_self_attention_new(8, 0, 1),
                  (heed_attention_check_options){.d_model = 8, .causal = true, .unbatched = true},
                  HEED_VERDICT_PASSED);
    expect_passed(forward_of, heed_self_attention_new(2, -2, -1),
                  (heed_attention_check_options){.d_model = 2}, HEED_VERDICT_PASSED);
    expect_passed(masked_multi, heed_multi_head_new(12, 3, 1, 2),
                  (heed_attention_check_options){.d_model = 12, .heads = 3, .causal = true},
                  HEED_VERDICT_PASSED);
    expect_passed(torch_attention,
                  heed_multihead_attention_new_with(
                      16, 4, (heed_multihead_attention_options){.batch_first = true}),
                  (heed_attention_check_options){.d_model = 16, .heads = 4, .causal = true},
                  HEED_VERDICT_PASSED);
    expect_passed(
        torch_free,
        heed_multihead_attention_new_with(
            16, 4, (heed_multihead_attention_options){.batch_first = true, .dropout = 0.1}),
        (heed_attention_check_options){.d_model = 16, .heads = 4, .padded = torch_padded},
        HEED_VERDICT_PASSED);
    expect_passed(torch_free,
                  heed_multihead_attention_new_with(
                      16, 4,
                      (heed_multihead_attention_options){
                          .batch_first = true, .add_bias_kv = true, .add_zero_attn = true}),
                  (heed_attention_check_options){.d_model = 16, .heads = 4, .extra_keys = true},
                  HEED_VERDICT_SKIPPED);
}
END_TEST

/* torch's default is (T, B, E): given (B, T, E), it attends over the batch. */
START_TEST(a_batch_that_is_not_first_is_found)
{
    struct heed_multihead_attention *m = heed_multihead_attention_new(16, 4);
    heed_attention_check(torch_free, m,
                         (heed_attention_check_options){.d_model = 16, .heads = 4, .module = m});
    expect_error(HEED_ERR_CHECK, "another sequence of the batch changes this one");
    heed_module_free(m);
}
END_TEST

/* ---- masks and lengths ---- */

static heed_tensor *window; /* (5, 5) */

static heed_tensor *windowed(heed_tensor *x, void *m)
{
    return heed_self_attention_forward(m, x, window);
}

START_TEST(a_mask_of_any_form_is_checked)
{
    struct heed_self_attention *m = heed_self_attention_new(6, 1, 2);
    heed_tensor *all = heed_ones(HEED_SHAPE(5, 5), HEED_BOOL);
    heed_attention_report report;
    heed_attention_check_options options = {.d_model = 6, .module = m, .report = &report};
    /* each token sees itself and one neighbour before; then a hole on the diagonal; a closed row */
    window = heed_logical_or(heed_triu(all, 1), heed_tril(all, -2));
    options.block_mask = window;
    heed_attention_check(windowed, m, options);
    expect_no_error();
    ck_assert_int_eq(report.tokens, 5);
    ck_assert_int_eq(report.expected[3][2], '#');
    ck_assert_int_eq(report.expected[3][1], '.');
    window = heed_triu(all, 0);
    options.block_mask = window;
    heed_attention_check(windowed, m, options);
    expect_no_error();
    ck_assert_int_eq(report.expected[3][3], '?');
    /* the mask that f applies is another one */
    options.block_mask = heed_triu(all, 1);
    heed_attention_check(windowed, m, options);
    expect_error(HEED_ERR_CHECK, "row 0 does not see token 0, which is allowed (2 such pairs)");
    heed_module_free(m);
}
END_TEST

START_TEST(any_length_is_checked)
{
    for (int64_t longest = 1; longest <= 20; longest += longest == 3 ? 17 : 1) {
        struct heed_self_attention *m = heed_self_attention_new(4, 1, 2);
        expect_passed(
            masked_self, m,
            (heed_attention_check_options){.d_model = 4, .causal = true, .longest = longest},
            HEED_VERDICT_PASSED);
    }
}
END_TEST

/* ---- what is left behind ---- */

/* Bits of all parameters, gradients and the generator after some steps, one of which may check. */
static uint64_t trained(bool checks, bool wrong)
{
    uint64_t hash = FNV_BASIS;
    heed_manual_seed(9);
    struct attention *m = attention_new(entry_of(wrong ? "mask_missing" : "causal"));
    struct heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    for (int step = 0; step < 4; step++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_randn(HEED_SHAPE(2, 5, ATTENTION_WIDTH), HEED_F32);
        heed_backward(heed_mean(heed_square(attention_forward(x, m))));
        if (checks && step == 2) {
            heed_attention_check_options options = attention_options(m);
            m->module.training = true;
            m->W_o->module.training = false;
            ck_assert_int_eq(heed_attention_check(attention_forward, m, options),
                             wrong ? HEED_ERR_CHECK : HEED_OK);
            heed_error();
            ck_assert(m->module.training && !m->W_o->module.training);
        }
        heed_optimizer_step(adam);
        if (step < 3) {
            heed_zero_grad(m);
        }
    }
    const heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        hash = fnv(heed_const_data_f32(list.tensors[i]),
                   (size_t)list.tensors[i]->numel * sizeof(float), hash);
        hash = fnv(heed_const_data_f32(list.tensors[i]->grad),
                   (size_t)list.tensors[i]->numel * sizeof(float), hash);
        ck_assert_int_eq(list.tensors[i]->dtype, HEED_F32);
    }
    const heed_tensor *state = heed_get_rng_state();
    hash = fnv(state->data, (size_t)state->numel * heed_dtype_size(state->dtype), hash);
    heed_optimizer_free(adam);
    heed_module_free(m);
    return hash;
}

START_TEST(training_keeps_its_bits)
{
    ck_assert_uint_eq(trained(false, false), trained(true, false));
    ck_assert_uint_eq(trained(false, true), trained(true, true));
}
END_TEST

START_TEST(zeros_and_nan_are_put_back)
{
    struct attention *m = attention_new(entry_of("zero_output"));
    float *weight = heed_data_f32(m->W_o->weight);
    weight[5] = -0.0f;
    heed_attention_check(attention_forward, m, attention_options(m));
    expect_no_error();
    ck_assert_ptr_eq(heed_data_f32(m->W_o->weight), weight);
    ck_assert(weight[5] == 0 && signbit(weight[5]) && weight[6] == 0);
    weight[6] = NAN;
    heed_attention_check(attention_forward, m, attention_options(m));
    expect_error(HEED_ERR_CHECK, "y has NaN or infinity");
    ck_assert(isnan(heed_data_f32(m->W_o->weight)[6]));
    heed_module_free(m);
}
END_TEST

/* Nothing but its mode is borrowed. */
START_TEST(a_module_without_parameters_keeps_its_mode)
{
    struct heed_dropout *m = heed_dropout_new(0.5);
    heed_attention_check(forward_of, m, (heed_attention_check_options){.d_model = 4, .module = m});
    expect_error(HEED_ERR_CHECK, "row 0 does not see token 1, which is allowed");
    ck_assert(m->module.training);
    heed_module_free(m);
}
END_TEST

START_TEST(nothing_leaks)
{
    const int64_t before = heed_live_tensors();
    for (int i = 0; i < attention_count; i += 5) {
        HEED_SCOPE(scope);
        struct attention *m = attention_new(&attention_catalogue[i]);
        heed_attention_check(attention_forward, m, attention_options(m));
        heed_error();
        heed_module_free(m);
    }
    ck_assert_int_eq(heed_live_tensors(), before);
}
END_TEST

/* ---- bad input ---- */

typedef struct bad {
    heed_attention_function *f;
    heed_attention_check_options options;
    heed_status status;
    const char *words;
} bad;

static heed_tensor *give_null(heed_tensor *x, void *context)
{
    (void)x, (void)context;
    return NULL;
}

static heed_tensor *give_x(heed_tensor *x, void *context)
{
    (void)context;
    return x;
}

static heed_tensor *give_sum(heed_tensor *x, void *context)
{
    (void)context;
    return heed_sum_dim(x, 1, false);
}

static heed_tensor *give_bool(heed_tensor *x, void *context)
{
    (void)context;
    return heed_gt_scalar(x, 0);
}

static heed_tensor *fail_in_f(heed_tensor *x, void *context)
{
    (void)context;
    return heed_matmul(x, heed_ones(HEED_SHAPE(7, 7), HEED_F32));
}

static heed_tensor *count_calls(heed_tensor *x, void *context)
{
    static int calls;
    (void)context;
    return heed_mul_scalar(x, ++calls);
}

static heed_tensor *drop(heed_tensor *x, void *context)
{
    (void)context;
    return heed_dropout(x, 0.5, true);
}

static heed_scope outer;

static heed_tensor *end_the_scope(heed_tensor *x, void *context)
{
    (void)context;
    heed_scope_end(&outer);
    return x;
}

#define WITH(...) ((heed_attention_check_options){__VA_ARGS__})

START_TEST(bad_input_is_an_error)
{
    heed_tensor *odd = heed_ones(HEED_SHAPE(3, 4), HEED_BOOL);
    heed_tensor *large = heed_ones(HEED_SHAPE(9, 9), HEED_BOOL);
    heed_tensor *floats = heed_ones(HEED_SHAPE(3, 3), HEED_F32);
    heed_tensor *square = heed_zeros(HEED_SHAPE(3, 3), HEED_BOOL);
    const bad rows[] = {
        {NULL, WITH(.d_model = 4), HEED_ERR_NULL, "attention_check: no function to check"},
        {give_x, WITH(.heads = 2), HEED_ERR_VALUE, ".d_model is 0, .heads 2"},
        {give_x, WITH(.d_model = 4, .heads = -1), HEED_ERR_VALUE, "must be positive"},
        {give_x, WITH(.d_model = 4, .longest = -1), HEED_ERR_VALUE, ".longest -1"},
        {give_x, WITH(.d_model = 4, .block_mask = odd), HEED_ERR_SHAPE,
         ".block_mask (3, 4) bool must be bool (T, T) with T from 1 to 8"},
        {give_x, WITH(.d_model = 4, .block_mask = large), HEED_ERR_SHAPE, "(9, 9)"},
        {give_x, WITH(.d_model = 4, .block_mask = floats), HEED_ERR_SHAPE, "(3, 3) f32"},
        {give_x, WITH(.d_model = 4, .block_mask = square, .causal = true), HEED_ERR_VALUE,
         "not both"},
        {give_null, WITH(.d_model = 4), HEED_ERR_NULL, "f returned NULL without an error"},
        {give_sum, WITH(.d_model = 4), HEED_ERR_SHAPE,
         "f gave (2, 4) f32 for x (2, 8, 4); expected (2, 8, any width)"},
        {give_bool, WITH(.d_model = 4), HEED_ERR_SHAPE, "f gave (2, 8, 4) bool"},
        {fail_in_f, WITH(.d_model = 4), HEED_ERR_SHAPE, "attention_check: f failed: matmul"},
        {count_calls, WITH(.d_model = 4), HEED_ERR_VALUE, "it keeps state"},
        {drop, WITH(.d_model = 4), HEED_ERR_VALUE, "call heed_eval, or pass .module"},
        {end_the_scope, WITH(.d_model = 4), HEED_ERR_SCOPE, "scope"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_scope_begin(&outer);
        ck_assert_int_eq(heed_attention_check(rows[i].f, NULL, rows[i].options), rows[i].status);
        expect_error(rows[i].status, rows[i].words);
        if (outer.self == &outer) {
            heed_scope_end(&outer);
        }
    }
}
END_TEST

START_TEST(a_tensor_of_another_dtype_is_explained)
{
    struct attention *m = attention_new(entry_of("not_registered"));
    heed_attention_check_options options = attention_options(m);
    options.f32 = false;
    heed_attention_check(attention_forward, m, options);
    expect_error(HEED_ERR_DTYPE, "the module is cast to f64");
    ck_assert_int_eq(m->W_q->weight->dtype, HEED_F32);
    heed_module_free(m);
}
END_TEST

START_TEST(a_pending_error_stays)
{
    heed_fail(HEED_ERR_VALUE, "earlier");
    ck_assert_int_eq(heed_attention_check(give_x, NULL, WITH(.d_model = 4)), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "earlier");
}
END_TEST

/* ---- the report ---- */

START_TEST(the_report_fits_a_page)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct attention *m = attention_new(entry_of("merged_by_view"));
    heed_attention_check_options options = attention_options(m);
    options.stream = stream;
    setenv("COLUMNS", "80", 1);
    setenv("LC_ALL", "C", 1);
    heed_attention_check(attention_forward, m, options);
    fclose(stream);
    expect_error(HEED_ERR_CHECK, "attention_check: y equals attention with heads merged without "
                                 "transposing back; transpose (B, heads, T, d_head) to");
    int lines = 0, column = 0;
    for (const char *c = text; *c != '\0'; c++) {
        ck_assert_msg((unsigned char)*c < 128, "not ASCII: %s", c);
        column = *c == '\n' ? 0 : column + 1;
        lines += *c == '\n';
        ck_assert_msg(column <= 80, "longer than 80 columns: %.200s", text);
    }
    ck_assert_int_le(lines, 55);
    const char *const parts[] = {"  repeat     ok     the same input gives the same output\n",
                                 "  reach      WRONG  row 0 sees token ",
                                 "  padding    -      no .padded\n",
                                 "\n   4  # ",
                                 "  wrong:       ! an effect that should not be\n",
                                 "  likely mistake    y equals",
                                 "\nWRONG: 3 checks passed, 5 failed\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_msg(strstr(text, parts[i]) != NULL, "no \"%s\" in\n%s", parts[i], text);
    }
    free(text);
    heed_module_free(m);
}
END_TEST

void add_attention_check_cases(Suite *suite)
{
    TCase *catalogue = heed_case(suite, "catalogue");
    tcase_set_timeout(catalogue, 600);
    tcase_add_loop_test(catalogue, wrong_ones_are_rejected_and_named_and_right_ones_pass, 0,
                        attention_count);
    tcase_add_test(catalogue, the_catalogue_is_large);
    TCase *library = heed_case(suite, "library");
    tcase_add_test(library, the_modules_of_the_library_pass);
    tcase_add_test(library, a_batch_that_is_not_first_is_found);
    tcase_add_test(library, a_mask_of_any_form_is_checked);
    tcase_add_test(library, any_length_is_checked);
    TCase *traces = heed_case(suite, "traces");
    tcase_add_test(traces, training_keeps_its_bits);
    tcase_add_test(traces, zeros_and_nan_are_put_back);
    tcase_add_test(traces, a_module_without_parameters_keeps_its_mode);
    tcase_add_test(traces, nothing_leaks);
    TCase *errors = heed_case(suite, "errors");
    tcase_add_test(errors, bad_input_is_an_error);
    tcase_add_test(errors, a_tensor_of_another_dtype_is_explained);
    tcase_add_test(errors, a_pending_error_stays);
    TCase *report = heed_case(suite, "report");
    tcase_add_test(report, the_report_fits_a_page);
}
