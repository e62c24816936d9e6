/* heed_attention_check: a catalogue of wrong and right attentions, and what the check leaves
 * behind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/check_attention/attentions.h"
#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* ---- the catalogue ---- */

/* Seeds of each entry: HEED_ATTENTION_SEEDS, or few. make check-attention takes SEEDS, or 20. */
static int seeds(void)
{
    const char *text = getenv("HEED_ATTENTION_SEEDS");
    return text != NULL && atoi(text) > 0 ? atoi(text) : 2;
}

static bool is_right(const attention_entry *entry)
{
    return entry->named != NULL && *entry->named == '\0';
}

/* Verdicts in the order of heed_attention_checks: o passed, W failed, - skipped, ? unknown, *
 * depends on the weights drawn. */
static const struct {
    const char *name, *verdicts;
} verdicts[] = {
    {"scaled_by_model", "oooo-oo-o-W-"},
    {"not_scaled", "oooo-oo-o-W-"},
    {"scaled_without_root", "oooo-oo-o-W-"},
    {"multiplied_by_root", "oooo-oo-o-W-"},
    {"scaled_by_heads", "oooo-oo-o-W-"},
    {"scaled_by_tokens", "oooo-oW-o-W-"},
    {"merged_by_view", "ooWW-WW-o-W-"},
    {"split_by_view", "ooooWWo-o-W-"},
    {"both_by_view", "ooWoWWo-o-W-"},
    {"one_head", "oooo-oo-o-W-"},
    {"one_head_for_all", "oooo-oo-o-W-"},
    {"mean_of_heads", "oooo-oo-o-W-"},
    {"softmax_over_queries", "oooooWo-o-W-"},
    {"softmax_over_queries_masked", "ooWW-WW-o-W-"},
    {"softmax_over_heads", "oooooWo-o-W-"},
    {"softmax_over_batch", "oWoooWo-o-W-"},
    {"without_softmax", "oooooWo-o-W-"},
    {"softmax_twice", "ooooooo-o-W-"},
    {"mask_missing", "ooWW-oW-o-W-"},
    {"mask_inverted", "ooWW-WW-o-W-"},
    {"mask_inverted_to_nan", "W---------W-"},
    {"mask_transposed", "ooWW-WW-o-W-"},
    {"mask_blocks_self", "ooWo-Wo-o-W-"},
    {"mask_off_by_one", "ooWW-oW-o-W-"},
    {"mask_of_zero_scores", "ooWW-oW-o-W-"},
    {"mask_too_weak", "ooWW-oW-o-?-"},
    {"mask_blocks_all", "ooWW-oW-W-?-"},
    {"mask_after_softmax", "ooWW-WW-o-W-"},
    {"keep_mask_added", "ooWW-oW-o-W-"},
    {"block_mask_added", "ooWW-oW-o-W-"},
    {"mask_of_ones", "ooWW-oW-o-W-"},
    {"mask_from_the_end", "ooWW-WW-o-?-"},
    {"q_and_k_exchanged", "oooo-oo-o-W-"},
    {"k_and_v_exchanged", "oooo-oo-o-W-"},
    {"keys_by_w_q", "oooo-oo-W-W-"},
    {"values_by_w_k", "oooo-oo-W-W-"},
    {"values_are_x", "oooo-oo-W-W-"},
    {"w_o_missing", "oooo-oo-W-W-"},
    {"weights_transposed", "oooooWo-o-W-"},
    {"weights_detached", "oooo-oo-W-o-"},
    {"input_detached", "ooWo-oo-o-o-"},
    {"nothing_recorded", "ooWo-oo-W-o-"},
    {"not_registered", "oooo-oo-W-?-"},
    {"parameter_not_used", "oooo-oo-W-o-"},
    {"dropout_always", "W-----------"},
    {"softmax_derivative", "oooo-Wo-o-oW"},
    {"batch_first", "oWWooWo-o-?-"},
    {"batch_reshaped", "oWooWWo-o-?-"},
    {"values_centred", "ooWW-oW-o-?-"},
    {"argmax_of_all", "oooW-o*-o-?-"},
    {"mask_of_eight", "oooo-oW-o-o-"},
    {"sines_over_batch", "oWooW-o-o---"},
    {"rotary_over_heads", "ooooWoo-o---"},
    {"two_mistakes_heads_and_scale", "ooWW-WW-o-W-"},
    {"two_mistakes_mask_and_scale", "ooWW-oW-o-W-"},
    {"padding_added", "oooooooWo-o-"},
    {"padding_of_queries", "oooooooWo-o-"},
    {"padding_inverted", "oooooooWo-o-"},
    {"padding_ignored", "oooooooWo-o-"},
    {"current_token_missing", "oooo-oo-oWo-"},
    {"positions_off_by_one", "ooooo-o-oW--"},
    {"cache_forgets", "oooo-oo-oWo-"},
    {"causal", "oooo-oo-oooo"},
    {"free", "ooooooooo-oo"},
    {"single_head", "oooo-oo-o-o-"},
    {"fused", "oooo-oo-o-o-"},
    {"in_out", "oooo-oo-o-o-"},
    {"sdpa", "oooo-oo-o-o-"},
    {"head_by_head", "oooo-oo-o-o-"},
    {"keys_sorted", "ooooooo-o-o-"},
    {"biases", "oooo-oo-o-o-"},
    {"one_key_head", "oooo-oo-o-o-"},
    {"alibi", "ooooooo-o---"},
    {"rotary", "ooooooo-o---"},
    {"sines", "ooooo-o-oo--"},
    {"positions_in_place", "ooooo-o-o---"},
    {"softmax_in_f32", "oooo-oo-o-o-"},
    {"saturated", "oooo-oo-o-o-"},
    {"key_bias_of_heads", "oooo-oo-o-o-"},
    {"by_hand", "oooo-oo-o-o-"},
    {"other_order", "oooo-oo-o-o-"},
    {"x_times_w", "oooo-oo-o-o-"},
    {"zero_output", "oooo-oo-o-o-"},
    {"frozen", "oooo-oo-o-o-"},
    {"zero_key", "ooooo-o-o---"},
    {"block", "oooo-oo-o---"},
    {"two_layers", "oooo-oo-o---"},
};

/* A skipped or passed check has no deviation beyond rounding, and each says what it found. */
static void expect_verdicts(const heed_attention_report *r, const char *expected, const char *what)
{
    char found[HEED_ATTENTION_CHECKS + 1] = "";
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        const heed_verdict verdict = r->checks[i].verdict;
        found[i] = expected[i] == '*' ? '*' : "-oW?"[verdict];
        ck_assert_msg(*r->checks[i].text != '\0', "%s: no text of check %d", what, i);
        ck_assert_msg(verdict == HEED_VERDICT_FAILED || r->checks[i].worst <= 1e-6,
                      "%s: check %d is %c, off by %g", what, i, found[i], r->checks[i].worst);
    }
    ck_assert_msg(strcmp(found, expected) == 0, "%s: %s, expected %s", what, found, expected);
    const heed_attention_checks by_value[] = {HEED_CHECK_BATCH, HEED_CHECK_VALUES,
                                              HEED_CHECK_ORDER, HEED_CHECK_EQUAL,
                                              HEED_CHECK_CACHE, HEED_CHECK_DERIVATIVE};
    for (size_t i = 0; i < sizeof by_value / sizeof *by_value; i++) {
        const bool is_wrong =
            found[by_value[i]] == 'W' && strstr(r->checks[by_value[i]].text, "no effect") == NULL;
        ck_assert_msg(is_wrong == (r->checks[by_value[i]].worst > 1e-6),
                      "%s: check %d is off by %g", what, (int)by_value[i],
                      r->checks[by_value[i]].worst);
    }
}

static const char *verdicts_of(const char *name)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strcmp(verdicts[i].name, name) == 0) {
            return verdicts[i].verdicts;
        }
    }
    ck_abort_msg("%s has no verdicts", name);
    return "";
}

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
        heed_attention_check_args options = attention_args(m);
        options.seed = (uint64_t)seed;
        options.report = &report;
        const heed_status status = (heed_attention_check)(options);
        failures(&report, text, sizeof text);
        expect_verdicts(&report, verdicts_of(entry->name), entry->name);
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

/* In f32 too, where rounding is larger. */
START_TEST(right_ones_pass_in_f32)
{
    const attention_entry *entry = &attention_catalogue[_i];
    if (!is_right(entry)) {
        return;
    }
    char expected[HEED_ATTENTION_CHECKS + 1];
    heed_attention_report report;
    struct attention *m = attention_new(entry);
    heed_attention_check_args options = attention_args(m);
    options.f32 = true;
    options.report = &report;
    (heed_attention_check)(options);
    expect_no_error();
    strcpy(expected, verdicts_of(entry->name));
    expected[HEED_CHECK_DERIVATIVE] = '-';
    for (int i = 0; i < HEED_ATTENTION_CHECKS; i++) {
        report.checks[i].worst *= 0.001;
    }
    expect_verdicts(&report, expected, entry->name);
    heed_module_free(m);
}
END_TEST

/* Short sequences skip what they cannot show, and no more. */
START_TEST(a_few_tokens_are_enough)
{
    static const char *const expected[2][3] = {{"oooo--o---oo", "oooooooo--oo", "ooooooooo-oo"},
                                               {"oooo--o--ooo", "oooo-oo--ooo", "oooo-oo-oooo"}};
    for (int causal = 0; causal < 2; causal++) {
        for (int tokens = 1; tokens <= 3; tokens++) {
            heed_attention_report report;
            struct attention *m = attention_new(entry_of(causal ? "causal" : "free"));
            heed_attention_check_args options = attention_args(m);
            options.longest = tokens;
            options.report = &report;
            (heed_attention_check)(options);
            expect_no_error();
            expect_verdicts(&report, expected[causal][tokens - 1], causal ? "causal" : "free");
            ck_assert_int_eq(report.tokens, tokens);
            heed_module_free(m);
        }
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

/* ---- functions without parameters, each right but for one thing ---- */

/* What `probe` computes: means of the tokens that a row sees. */
typedef struct mean {
    heed_tensor *keep;   /* bool (T, T), or NULL: causal */
    double next;         /* each row adds so much of the token after it */
    double first;        /* weight of row 0; 0: 1 */
    double of_many;      /* factor if there are several tokens; 0: 1 */
    double tilt;         /* the weight of the first key times 1 + tilt, of the second 1 - tilt */
    double residual;     /* so much of x is added */
    double without_grad; /* so much of y is added, without a gradient */
    double steep;        /* tanh(steep * x) instead of x */
    bool is_square;      /* tanh(steep * |x|^2) instead: saturates for any sign */
    heed_tensor *seen;   /* the first x, retained */
} mean;

/* t * factor in row 0 (of dim `dim` from the end), t elsewhere. */
static heed_tensor *scale_first(heed_tensor *t, double factor, int dim)
{
    const int64_t n = heed_size(t, -dim);
    heed_tensor *parts[] = {heed_mul_scalar(heed_narrow(t, -dim, 0, 1), factor),
                            heed_narrow(t, -dim, 1, n - 1)};
    return heed_cat(parts, 2, -dim);
}

static heed_tensor *probe(heed_tensor *x, void *context)
{
    mean *m = context;
    const int64_t n = heed_size(x, -2);
    heed_tensor *all = heed_ones(HEED_SHAPE(n, n), HEED_BOOL);
    heed_tensor *keep = heed_to(m->keep != NULL ? m->keep : heed_tril(all, 0), x->dtype);
    heed_tensor *sums = heed_maximum_scalar(heed_sum_dim(keep, -1, true), 1);
    heed_tensor *weights = heed_div(keep, sums);
    if (m->seen == NULL) {
        m->seen = heed_retain(heed_detach(x));
    }
    if (m->tilt != 0) {
        weights = scale_first(weights, 1 + m->tilt, 1);
        heed_tensor *parts[] = {heed_narrow(weights, 1, 0, 1),
                                scale_first(heed_narrow(weights, 1, 1, n - 1), 1 - m->tilt, 1)};
        weights = heed_cat(parts, 2, 1);
    }
    heed_tensor *values = x;
    if (m->steep != 0) {
        values = m->is_square ? heed_sum_dim(heed_square(x), -1, true) : x;
        values = heed_tanh(heed_mul_scalar(values, m->steep));
    }
    heed_tensor *y = heed_matmul(weights, values);
    if (m->next != 0) {
        heed_tensor *after = heed_to(heed_ne(heed_triu(all, 1), heed_triu(all, 2)), x->dtype);
        y = heed_add(y, heed_mul_scalar(heed_matmul(after, values), m->next));
    }
    y = m->first != 0 ? scale_first(y, m->first, 2) : y;
    y = m->of_many != 0 && n > 1 ? heed_mul_scalar(y, m->of_many) : y;
    y = m->residual != 0 ? heed_add(y, heed_mul_scalar(x, m->residual)) : y;
    return m->without_grad != 0 ? heed_add(y, heed_mul_scalar(heed_detach(y), m->without_grad)) : y;
}

static heed_status check_with(heed_attention_function *f, void *context,
                              heed_attention_check_args args)
{
    args.f = f;
    args.context = context;
    return (heed_attention_check)(args);
}

/* Checks a probe in f64. */
static heed_attention_report check_probe(mean m, heed_attention_check_args options)
{
    heed_attention_report report = {0};
    struct heed_dropout *f64 = heed_dropout_new(0); /* any module */
    options.module = f64;
    options.report = &report;
    options.d_model = options.d_model > 0 ? options.d_model : 3;
    const heed_status status = check_with(probe, &m, options);
    if (status != HEED_OK) {
        expect_error(HEED_ERR_CHECK, "");
    }
    ck_assert(report.passed == (status == HEED_OK));
    heed_release(m.seen);
    heed_module_free(f64);
    return report;
}

static void expect_check(heed_attention_report r, heed_attention_checks which, heed_verdict verdict,
                         const char *text)
{
    ck_assert_msg(r.checks[which].verdict == verdict && strstr(r.checks[which].text, text) != NULL,
                  "verdict %d: %s", (int)r.checks[which].verdict, r.checks[which].text);
}

#define WITH(...) ((heed_attention_check_args){__VA_ARGS__})
#define MEAN(...) ((mean){__VA_ARGS__})

START_TEST(a_causal_mean_passes)
{
    const heed_attention_report r = check_probe(MEAN(.next = 0), WITH(.causal = true));
    expect_verdicts(&r, "oooo-oo-o---", "mean");
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_PASSED, "every allowed token has an effect");
    expect_check(r, HEED_CHECK_VALUES, HEED_VERDICT_PASSED, "replacing a blocked token changes");
    expect_check(r, HEED_CHECK_EQUAL, HEED_VERDICT_PASSED, "and have equal shares");
    expect_check(r, HEED_CHECK_LENGTH, HEED_VERDICT_PASSED, "T from 1 to 8; a prefix");
    expect_check(r, HEED_CHECK_PARAMETERS, HEED_VERDICT_PASSED, "each of 0 receives a gradient");
    expect_check(r, HEED_CHECK_CACHE, HEED_VERDICT_SKIPPED, "no .step");
    expect_check(r, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, "no parameters called W_q");
    expect_check(r, HEED_CHECK_DERIVATIVE, HEED_VERDICT_SKIPPED, "no .derivative");
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            ck_assert(fabs(r.reach[i][j] - (j <= i ? r.reach[i][0] : 0)) < 1e-12);
        }
    }
}
END_TEST

static heed_tensor *all_but(int64_t i, int64_t j)
{
    heed_tensor *mask = heed_ones(HEED_SHAPE(5, 5), HEED_BOOL);
    heed_fill_into(heed_select(heed_select(mask, 0, i), 0, j), 0);
    return mask;
}

static heed_tensor *only(int64_t i, int64_t j)
{
    return heed_logical_not(all_but(i, j));
}

static heed_tensor *cached_probe(heed_tensor *x, int64_t position, void *context)
{
    (void)position, (void)context;
    return x;
}

START_TEST(what_is_skipped_says_why)
{
    const struct {
        heed_attention_check_args options;
        heed_attention_checks which;
        const char *text;
    } rows[] = {
        {WITH(.unbatched = true), HEED_CHECK_BATCH, "no batch (.unbatched)"},
        {WITH(.causal = true), HEED_CHECK_ORDER,
         "needs two tokens and no mask, or three and positions"},
        {WITH(.extra_keys = true), HEED_CHECK_EQUAL, "needs two tokens, no absolute positions and"},
        {WITH(.positions = HEED_POSITIONS_ABSOLUTE), HEED_CHECK_EQUAL, "needs two tokens"},
        {WITH(.block_mask = only(0, 1)), HEED_CHECK_LENGTH, "the mask has one length"},
        {WITH(.longest = 2), HEED_CHECK_PARAMETERS, "needs three tokens: with one, q and k learn"},
        {WITH(.block = true), HEED_CHECK_FORMULA, "needs a single layer of attention alone"},
        {WITH(.layers = 2), HEED_CHECK_FORMULA, "needs a single layer of attention alone"},
        {WITH(.extra_keys = true), HEED_CHECK_FORMULA, "needs a single layer"},
        {WITH(.positions = HEED_POSITIONS_RELATIVE), HEED_CHECK_FORMULA, "needs a single layer"},
        {WITH(.step = cached_probe), HEED_CHECK_CACHE, "a cache needs .causal"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_check(check_probe(MEAN(.next = 0), rows[i].options), rows[i].which,
                     HEED_VERDICT_SKIPPED, rows[i].text);
    }
    mean m = {0};
    heed_attention_report r; /* without a module, in f32 */
    heed_attention_check(probe, &m, .d_model = 3, .causal = true, .derivative = true, .report = &r);
    expect_no_error();
    ck_assert_int_eq(m.seen->dtype, HEED_F32);
    heed_release(m.seen);
    expect_check(r, HEED_CHECK_PARAMETERS, HEED_VERDICT_SKIPPED, "no .module");
    expect_check(r, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, "no .module");
    expect_check(r, HEED_CHECK_DERIVATIVE, HEED_VERDICT_SKIPPED, "needs f64 (.module)");
}
END_TEST

/* The reach is that of the inputs if they show all pairs; smaller inputs show what they hide. */
START_TEST(saturated_tokens_are_no_mistake)
{
    mean m = {.steep = 2};
    heed_attention_report r;
    struct heed_dropout *f64 = heed_dropout_new(0);
    heed_attention_check(probe, &m, .d_model = 1, .unbatched = true, .causal = true, .module = f64,
                         .report = &r);
    expect_no_error();
    double slope[8];
    for (int j = 0; j < 8; j++) {
        const double y = tanh(2 * heed_at(m.seen, HEED_INDEX(j, 0)));
        slope[j] = 1 - y * y;
        ck_assert(slope[j] > 1e-6);
    }
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j <= i; j++) {
            ck_assert(fabs(r.reach[i][j] / r.reach[i][i] - slope[j] / slope[i]) < 1e-9);
        }
    }
    heed_release(m.seen);
    heed_module_free(f64);
    r = check_probe(MEAN(.steep = 100, .is_square = true), WITH(.causal = true));
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_PASSED, "every allowed token has an effect");
    r = check_probe(MEAN(.steep = 3000, .is_square = true), WITH(.causal = true));
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_PASSED, "every allowed token has an effect");
    r = check_probe(MEAN(.steep = 1e9, .is_square = true), WITH(.causal = true));
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_FAILED, "");
}
END_TEST

START_TEST(the_first_wrong_pair_is_named)
{
    heed_attention_report r =
        check_probe(MEAN(.keep = all_but(3, 1)), WITH(.block_mask = only(4, 4)));
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_FAILED,
                 "row 3 does not see token 1, which is allowed (1 such pairs)");
    expect_check(r, HEED_CHECK_VALUES, HEED_VERDICT_PASSED, "");
    ck_assert(r.reach[3][1] == 0 && r.reach[3][0] > 0.01);
    r = check_probe(MEAN(.keep = all_but(0, 0)), WITH(.block_mask = only(2, 4)));
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_FAILED,
                 "row 2 sees token 4, which is blocked (1 such pairs, all of them later tokens)");
    expect_check(r, HEED_CHECK_VALUES, HEED_VERDICT_FAILED,
                 "replacing tokens: row 2 sees token 4, which is blocked (1 such pairs, all of");
    ck_assert_double_eq(r.checks[HEED_CHECK_REACH].worst, r.reach[2][4]);
    heed_tensor *two = heed_logical_or(only(2, 4), only(4, 1));
    r = check_probe(MEAN(.keep = heed_ones(HEED_SHAPE(5, 5), HEED_BOOL)), WITH(.block_mask = two));
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_FAILED,
                 "row 2 sees token 4, which is blocked (2 such pairs)");
}
END_TEST

/* A blocked pair may have an effect of ten times the rounding of 1e-10. */
START_TEST(rounding_is_no_leak)
{
    const heed_attention_check_args two = {.causal = true, .longest = 2};
    const double size = check_probe(MEAN(.next = 1), two).reach[0][1];
    expect_check(check_probe(MEAN(.next = 9.5e-10 / size), two), HEED_CHECK_REACH,
                 HEED_VERDICT_PASSED, "");
    const heed_attention_report r = check_probe(MEAN(.next = 10.5e-10 / size), two);
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_FAILED, "row 0 sees token 1");
    ck_assert(fabs(r.reach[0][1] - 10.5e-10) < 1e-14);
}
END_TEST

START_TEST(weights_must_sum_to_one)
{
    static const char differs[] = "equal tokens do not give what one of them gives";
    static const char uneven[] = "do not have equal shares";
    heed_tensor *all = heed_ones(HEED_SHAPE(8, 8), HEED_BOOL), *mask = heed_triu(all, 1);
    heed_tensor *closed = heed_triu(all, 0); /* row 0 has no keys */
    const struct {
        mean m;
        heed_attention_check_args options;
        heed_verdict verdict;
        const char *text;
    } rows[] = {
        {MEAN(.first = 2), WITH(.block_mask = mask), HEED_VERDICT_FAILED, differs},
        {MEAN(.first = 2), WITH(.block_mask = mask, .block = true), HEED_VERDICT_FAILED, differs},
        {MEAN(.of_many = 2), WITH(.heads = 1), HEED_VERDICT_FAILED, differs},
        {MEAN(.of_many = 2), WITH(.block_mask = mask), HEED_VERDICT_PASSED, "equal shares"},
        {MEAN(.keep = heed_tril(all, -1), .first = 2), WITH(.block_mask = closed),
         HEED_VERDICT_PASSED, "equal shares"},
        {MEAN(.residual = 1), WITH(.causal = true), HEED_VERDICT_FAILED, uneven},
        {MEAN(.residual = 1), WITH(.causal = true, .block = true), HEED_VERDICT_PASSED,
         "(shares of gradients: skipped, not a single layer"},
        {MEAN(.residual = 1), WITH(.causal = true, .layers = 2), HEED_VERDICT_PASSED, "skipped"},
        {MEAN(.keep = all, .tilt = 4.5e-9), WITH(.block_mask = heed_logical_not(all)),
         HEED_VERDICT_PASSED, "equal shares"},
        {MEAN(.keep = all, .tilt = 5.5e-9), WITH(.block_mask = heed_logical_not(all)),
         HEED_VERDICT_FAILED, uneven},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const heed_attention_report r = check_probe(rows[i].m, rows[i].options);
        expect_check(r, HEED_CHECK_EQUAL, rows[i].verdict, rows[i].text);
        ck_assert((r.checks[HEED_CHECK_EQUAL].worst > 1e-8) ==
                  (rows[i].verdict == HEED_VERDICT_FAILED));
    }
}
END_TEST

/* An output projection that starts at zero, in a function without .module. */
START_TEST(zeros_cannot_tell)
{
    heed_attention_report r;
    struct attention *m = attention_new(entry_of("zero_output"));
    heed_attention_check_args options = attention_args(m);
    options.module = NULL;
    options.report = &r;
    (heed_attention_check)(options);
    expect_no_error();
    ck_assert(r.passed);
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_UNKNOWN, "cannot tell before a step");
    heed_module_free(m);
}
END_TEST

/* y of a right attention, times 1 + `scaled_by`. */
static double scaled_by;

static heed_tensor *scaled_forward(heed_tensor *x, void *m)
{
    return heed_mul_scalar(attention_forward(x, m), 1 + scaled_by);
}

START_TEST(the_formula_holds_within_rounding)
{
    for (int i = 0; i < 2; i++) {
        heed_attention_report r;
        struct attention *m = attention_new(entry_of("causal"));
        heed_attention_check_args options = attention_args(m);
        options.report = &r;
        options.step = NULL;
        scaled_by = i == 0 ? 5e-10 : 5e-9;
        check_with(scaled_forward, m, options);
        expect_no_error();
        ck_assert_int_eq(r.checks[HEED_CHECK_FORMULA].verdict,
                         i == 0 ? HEED_VERDICT_PASSED : HEED_VERDICT_UNKNOWN);
        heed_module_free(m);
    }
}
END_TEST

/* Adds what gradients do not see: 1 if the last token is below `below`, which large negative values
 * alone are. */
static heed_tensor *secret(heed_tensor *x, void *context)
{
    const double below = -0.6;
    mean m = {0};
    heed_tensor *last = heed_detach(heed_narrow(x, 0, heed_size(x, 0) - 1, 1));
    heed_tensor *y = probe(x, &m);
    (void)context;
    heed_release(m.seen);
    return heed_add(y, heed_to(heed_lt_scalar(last, below), x->dtype));
}

/* Tokens of both signs are tried, whatever is drawn. */
START_TEST(a_leak_of_one_sign_is_found)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        heed_attention_report r;
        heed_manual_seed(seed);
        heed_randn(HEED_SHAPE(1, 8, 1), HEED_F64);
        const double last =
            heed_item(heed_narrow(heed_randn(HEED_SHAPE(1, 8, 1), HEED_F64), 1, 7, 1));
        heed_attention_check(secret, NULL, .d_model = 1, .unbatched = true, .causal = true,
                             .seed = seed, .report = &r);
        heed_error();
        ck_assert_msg(fabs(last) < 0.6 ||
                          r.checks[HEED_CHECK_VALUES].verdict == HEED_VERDICT_FAILED,
                      "seed %d: %g", (int)seed, last);
    }
}
END_TEST

/* The effect of an allowed token may be as small as 1e-9. */
START_TEST(a_small_effect_is_one)
{
    heed_tensor *mask = heed_triu(heed_ones(HEED_SHAPE(2, 2), HEED_BOOL), 2);
    const heed_attention_check_args two = {.block_mask = mask};
    const double size = check_probe(MEAN(.next = 1), two).reach[0][1];
    expect_check(check_probe(MEAN(.next = 1.1e-9 / size), two), HEED_CHECK_REACH,
                 HEED_VERDICT_PASSED, "");
}
END_TEST

static heed_tensor *not_of_length(heed_tensor *x, void *context)
{
    mean m = {0};
    heed_tensor *y = heed_size(x, 1) != *(const int *)context ? probe(x, &m) : heed_sum(x);
    heed_release(m.seen);
    return y;
}

START_TEST(lengths_up_to_sixteen_are_all_tried)
{
    for (int length = 1; length <= 20; length++) {
        heed_attention_report r = {0};
        heed_attention_check(not_of_length, &length, .d_model = 3, .causal = true, .longest = 20,
                             .report = &r);
        const heed_status status = heed_error();
        ck_assert_int_eq(status, length == 8                    ? HEED_ERR_SHAPE
                                 : length <= 16 || length == 20 ? HEED_ERR_CHECK
                                                                : HEED_OK);
    }
}
END_TEST

/* Leaks break equal tokens too: reach shows where. */
START_TEST(equal_refers_to_reach)
{
    static const char see[] = "gives: see reach; or the weights";
    expect_check(check_probe(MEAN(.next = 1), WITH(.causal = true)), HEED_CHECK_EQUAL,
                 HEED_VERDICT_FAILED, see);
    expect_check(check_probe(MEAN(.first = 2), WITH(.causal = true)), HEED_CHECK_EQUAL,
                 HEED_VERDICT_FAILED, "gives: the weights of a row do not sum to 1 (softmax over");
}
END_TEST

/* A row may not depend on how many tokens follow, be it the first one alone. */
START_TEST(a_prefix_has_the_same_outputs)
{
    const heed_attention_report r = check_probe(MEAN(.of_many = 2), WITH(.causal = true));
    expect_check(r, HEED_CHECK_LENGTH, HEED_VERDICT_FAILED,
                 "the first rows of T = 1 differ from those of T = 8");
    ck_assert(r.checks[HEED_CHECK_LENGTH].worst > 0.01);
}
END_TEST

/* Values are twice what the gradient says: the deviation is relative to the gradient, and so at
 * most its relative error. */
START_TEST(derivatives_are_compared_relative_to_their_size)
{
    double most = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const heed_attention_report r =
            check_probe(MEAN(.without_grad = 1), WITH(.d_model = 2, .longest = 1, .causal = true,
                                                      .derivative = true, .seed = seed));
        const double worst = r.checks[HEED_CHECK_DERIVATIVE].worst;
        expect_check(r, HEED_CHECK_DERIVATIVE, HEED_VERDICT_FAILED,
                     "the gradient of x differs from");
        ck_assert_msg(worst <= 1 + 1e-6, "seed %d: %g", (int)seed, worst);
        most = fmax(most, worst);
    }
    ck_assert_msg(most > 0.9, "%g", most);
    const heed_attention_report right =
        check_probe(MEAN(.next = 0), WITH(.causal = true, .derivative = true));
    expect_check(right, HEED_CHECK_DERIVATIVE, HEED_VERDICT_PASSED,
                 "gradients agree with difference quotients (worst: x)");
}
END_TEST

/* Frozen parameters have no derivative to compare. */
START_TEST(frozen_parameters_have_no_derivative)
{
    struct attention *m = attention_new(entry_of("frozen"));
    heed_attention_check_args options = attention_args(m);
    options.derivative = true;
    (heed_attention_check)(options);
    expect_no_error();
    heed_module_free(m);
}
END_TEST

START_TEST(without_a_gradient_there_is_no_reach)
{
    heed_attention_report r;
    struct attention *m = attention_new(entry_of("input_detached"));
    heed_attention_check_args options = attention_args(m);
    options.report = &r;
    (heed_attention_check)(options);
    expect_error(HEED_ERR_CHECK, "no gradient reaches x");
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            ck_assert_double_eq(r.reach[i][j], 0);
        }
    }
    heed_module_free(m);
}
END_TEST

/* ---- gradients that are 0 but for rounding: their quotients are arbitrary ---- */

/* A mask inverted: of equal tokens, no allowed one has a share, but rounding of the query's. */
static heed_tensor *closed; /* true blocks */

static heed_tensor *opened(heed_tensor *x, void *context)
{
    (void)context;
    heed_tensor *scores = heed_matmul(x, heed_transpose(x, 1, 2));
    scores = heed_masked_fill(scores, heed_logical_not(closed), (double)-INFINITY);
    return heed_matmul(heed_softmax(scores, -1), x);
}

/* 1, and its gradient is p (1 - sum(p)). */
static heed_tensor *sum_of_weights(heed_tensor *x, void *context)
{
    (void)context;
    heed_tensor *weights = heed_softmax(heed_mean_dim(x, 1, true), -1);
    return heed_expand(heed_sum_dim(weights, -1, true), HEED_SHAPE(x->shape[0], x->shape[1], 1));
}

START_TEST(a_share_of_rounding_is_none)
{
    struct heed_dropout *f64 = heed_dropout_new(0); /* any module */
    heed_attention_report r = {0};
    heed_attention_check_args options = {.d_model = 64, .module = f64, .report = &r};
    heed_tensor *all = heed_ones(HEED_SHAPE(6, 6), HEED_BOOL);
    closed = heed_logical_or(heed_ne(heed_triu(all, 1), heed_triu(all, 4)), heed_tril(all, -3));
    options.block_mask = closed;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        options.seed = seed;
        check_with(opened, NULL, options);
        expect_error(HEED_ERR_CHECK, "row 0 sees token 1, which is blocked");
        expect_check(r, HEED_CHECK_EQUAL, HEED_VERDICT_PASSED, "have equal shares");
        ck_assert_double_lt(r.checks[HEED_CHECK_EQUAL].worst, 1e-12);
    }
    heed_module_free(f64);
}
END_TEST

START_TEST(a_gradient_of_rounding_does_not_reach_x)
{
    struct heed_dropout *f64 = heed_dropout_new(0);
    heed_attention_report r = {0};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        for (int f32 = 0; f32 < 2; f32++) {
            heed_attention_check(sum_of_weights, NULL, .d_model = 64, .module = f64, .f32 = f32,
                                 .seed = seed, .report = &r);
            expect_error(HEED_ERR_CHECK, "no gradient reaches x");
            expect_check(r, HEED_CHECK_EQUAL, HEED_VERDICT_PASSED, "");
        }
    }
    heed_module_free(f64);
}
END_TEST

/* Softmax cancels a bias of keys. */
START_TEST(a_derivative_of_rounding_is_none)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        heed_manual_seed(seed);
        struct attention *m = attention_new(entry_of("biases"));
        heed_attention_check_args options = attention_args(m);
        options.derivative = true;
        options.seed = seed;
        (heed_attention_check)(options);
        expect_no_error();
        heed_module_free(m);
    }
}
END_TEST

/* ---- padding ---- */

static struct {
    int tokens, calls;
    enum { RIGHT, FIRST_LEAKS, SECOND_LEAKS, BLIND } how;
} padding;

/* Checks the masks it is given: each sequence has tokens, and padding if it is long enough. */
static heed_tensor *padded_probe(heed_tensor *x, heed_tensor *mask, void *context)
{
    const bool *blocked = heed_const_data_bool(mask);
    (void)context;
    padding.calls++;
    for (int64_t b = 0; b < mask->shape[0]; b++) {
        int count = 0;
        for (int64_t j = 0; j < mask->shape[1]; j++) {
            count += blocked[b * mask->shape[1] + j];
        }
        ck_assert_int_lt(count, padding.tokens);
        ck_assert_int_gt(count, 0);
        ck_assert(padding.tokens == 2 || count == b + 1);
    }
    heed_tensor *keep = heed_unsqueeze(heed_to(heed_logical_not(mask), x->dtype), 1);
    heed_tensor *y = heed_matmul(heed_div(keep, heed_sum_dim(keep, -1, true)), x);
    y = heed_expand(y, heed_shape_of_tensor(x));
    if (padding.how == BLIND) {
        return heed_ones_like(y);
    }
    if (padding.how != RIGHT) { /* the last token, of one sequence, is added to all */
        heed_tensor *of =
            heed_from_f64((double[]){padding.how == FIRST_LEAKS, padding.how != FIRST_LEAKS},
                          HEED_SHAPE(2, 1, 1));
        y = heed_add(y, heed_mul(of, heed_narrow(x, 1, padding.tokens - 1, 1)));
    }
    return y;
}

static heed_attention_report check_padded(int how, int tokens)
{
    const heed_shape square = HEED_SHAPE(tokens, tokens);
    padding.how = how;
    padding.tokens = tokens;
    padding.calls = 0;
    return check_probe(MEAN(.keep = heed_ones(square, HEED_BOOL)),
                       WITH(.padded = padded_probe, .block_mask = heed_zeros(square, HEED_BOOL)));
}

START_TEST(padding_leaves_tokens_in_each_sequence)
{
    static const char leak[] = "values at padding change other rows";
    for (int tokens = 2; tokens <= 8; tokens++) {
        expect_check(check_padded(RIGHT, tokens), HEED_CHECK_PADDING, HEED_VERDICT_PASSED,
                     "padding changes nothing, other tokens do");
        ck_assert_int_eq(padding.calls, 3);
        const heed_attention_report r = check_padded(FIRST_LEAKS, tokens);
        expect_check(r, HEED_CHECK_PADDING, HEED_VERDICT_FAILED, leak);
        ck_assert(r.checks[HEED_CHECK_PADDING].worst > 0.01);
        expect_check(check_padded(SECOND_LEAKS, tokens), HEED_CHECK_PADDING, HEED_VERDICT_FAILED,
                     leak);
        expect_check(check_padded(BLIND, tokens), HEED_CHECK_PADDING, HEED_VERDICT_FAILED,
                     "tokens that are not padding have no effect: true and false are exchanged");
    }
}
END_TEST

/* ---- f fails ---- */

/* Fails in one of its calls: with an error, or by returning NULL. */
typedef struct failing {
    struct attention *m;
    int calls, at;
    bool silent;
} failing;

static bool is_due(failing *f)
{
    if (f->calls++ == f->at && !f->silent) {
        heed_fail(HEED_ERR_OVERFLOW, "the call of the test");
    }
    return f->calls == f->at + 1;
}

static heed_tensor *failing_forward(heed_tensor *x, void *context)
{
    failing *f = context;
    return is_due(f) ? NULL : attention_forward(x, f->m);
}

static heed_tensor *failing_padded(heed_tensor *x, heed_tensor *mask, void *context)
{
    failing *f = context;
    return is_due(f) ? NULL : f->m->entry->options.padded(x, mask, f->m);
}

static heed_tensor *failing_step(heed_tensor *x, int64_t position, void *context)
{
    failing *f = context;
    return is_due(f) ? NULL : f->m->entry->options.step(x, position, f->m);
}

/* Any call may fail: its error is returned, or named as a length that fails. f is not called with
 * what was not computed, and nothing is printed about an error that nobody read. */
START_TEST(each_call_may_fail)
{
    static const char *const names[] = {"causal", "free"};
    char printed[200] = "";
    FILE *file = tmpfile();
    const int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    for (int n = 0; n < 4; n++) {
        struct attention *m = attention_new(entry_of(names[n / 2]));
        heed_attention_check_args options = attention_args(m);
        options.padded = options.padded != NULL ? failing_padded : NULL;
        options.step = options.step != NULL ? failing_step : NULL;
        int lengths = 0, calls = 0;
        failing f = {.m = m, .silent = n % 2 == 1};
        const heed_status expected = f.silent ? HEED_ERR_NULL : HEED_ERR_OVERFLOW;
        for (; f.calls >= f.at; f.at++, calls++) {
            HEED_SCOPE(scope);
            f.calls = 0;
            const heed_status status = check_with(failing_forward, &f, options);
            if (f.calls <= f.at) {
                ck_assert_int_eq(status, HEED_OK);
                break;
            }
            lengths += status == HEED_ERR_CHECK;
            ck_assert_int_eq(status, status == HEED_ERR_CHECK ? HEED_ERR_CHECK : expected);
            const char *words = status == HEED_ERR_CHECK ? " fails: "
                                : f.silent               ? "returned NULL without an error"
                                                         : "the call of the test";
            ck_assert_msg(strstr(heed_error_message(), words) != NULL, "call %d: %s", f.at,
                          heed_error_message());
            heed_error();
            ck_assert_int_eq(m->W_q->weight->dtype, HEED_F32);
        }
        ck_assert_int_eq(lengths, 8);
        ck_assert_int_gt(calls, 40);
        heed_module_free(m);
    }
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    const size_t size = fread(printed, 1, sizeof printed - 1, file);
    fclose(file);
    ck_assert_msg(size == 0, "%s", printed);
}
END_TEST

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
    return heed_multihead_attention_forward(
        m, x, x, x, .attn_mask = heed_causal_block_mask(heed_size(x, 1)), .is_causal = true);
}

static heed_tensor *torch_padded(heed_tensor *x, heed_tensor *mask, void *m)
{
    return heed_multihead_attention_forward(m, x, x, x, .key_padding_mask = mask);
}

static heed_tensor *torch_free(heed_tensor *x, void *m)
{
    return heed_multihead_attention_forward(m, x, x, x);
}

static void expect_passed(heed_attention_function *f, void *module,
                          heed_attention_check_args options, heed_verdict formula)
{
    heed_attention_report report;
    options.module = module;
    options.report = &report;
    check_with(f, module, options);
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
                  WITH(.d_model = 8, .causal = true, .unbatched = true), HEED_VERDICT_PASSED);
    expect_passed(forward_of, heed_self_attention_new(2, -2, -1), WITH(.d_model = 2),
                  HEED_VERDICT_PASSED);
    expect_passed(masked_multi, heed_multi_head_new(12, 3, 1, 2),
                  WITH(.d_model = 12, .heads = 3, .causal = true), HEED_VERDICT_PASSED);
    expect_passed(torch_attention, heed_multihead_attention_new(16, 4, .batch_first = true),
                  WITH(.d_model = 16, .heads = 4, .causal = true), HEED_VERDICT_PASSED);
    expect_passed(torch_free,
                  heed_multihead_attention_new(16, 4, .batch_first = true, .dropout = 0.1),
                  WITH(.d_model = 16, .heads = 4, .padded = torch_padded), HEED_VERDICT_PASSED);
}
END_TEST

/* torch's default is (T, B, E): given (B, T, E), it attends over the batch. */
START_TEST(a_batch_that_is_not_first_is_found)
{
    struct heed_multihead_attention *m = heed_multihead_attention_new(16, 4);
    heed_attention_check(torch_free, m, .d_model = 16, .heads = 4, .module = m);
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
    heed_attention_check_args options = {.d_model = 6, .module = m, .report = &report};
    /* each token sees itself and one neighbour before; then a hole on the diagonal; a closed row */
    window = heed_logical_or(heed_triu(all, 1), heed_tril(all, -2));
    options.block_mask = window;
    check_with(windowed, m, options);
    expect_no_error();
    ck_assert_int_eq(report.tokens, 5);
    ck_assert_int_eq(report.expected[3][2], '#');
    ck_assert_int_eq(report.expected[3][1], '.');
    window = heed_triu(all, 0);
    options.block_mask = window;
    check_with(windowed, m, options);
    expect_no_error();
    ck_assert_int_eq(report.expected[3][3], '?');
    /* the mask that f applies is another one */
    options.block_mask = heed_triu(all, 1);
    check_with(windowed, m, options);
    expect_error(HEED_ERR_CHECK, "row 0 does not see token 0, which is allowed (2 such pairs)");
    heed_module_free(m);
}
END_TEST

START_TEST(any_length_is_checked)
{
    for (int64_t longest = 1; longest <= 20; longest += longest == 3 ? 17 : 1) {
        struct heed_self_attention *m = heed_self_attention_new(4, 1, 2);
        expect_passed(masked_self, m, WITH(.d_model = 4, .causal = true, .longest = longest),
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
            heed_attention_check_args options = attention_args(m);
            m->module.training = true;
            m->W_o->module.training = false;
            ck_assert_int_eq((heed_attention_check)(options), wrong ? HEED_ERR_CHECK : HEED_OK);
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
    const heed_generator g = heed_get_generator();
    hash = fnv(g.state, sizeof g.state, fnv(&g.next, sizeof g.next, hash));
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
    (heed_attention_check)(attention_args(m));
    expect_no_error();
    ck_assert_ptr_eq(heed_data_f32(m->W_o->weight), weight);
    ck_assert(weight[5] == 0 && signbit(weight[5]) && weight[6] == 0);
    weight[6] = NAN;
    (heed_attention_check)(attention_args(m));
    expect_error(HEED_ERR_CHECK, "y has NaN or infinity");
    ck_assert(isnan(heed_data_f32(m->W_o->weight)[6]));
    heed_module_free(m);
}
END_TEST

/* Nothing but its mode is borrowed. */
START_TEST(a_module_without_parameters_keeps_its_mode)
{
    struct heed_dropout *m = heed_dropout_new(0.5);
    heed_attention_check(forward_of, m, .d_model = 4, .module = m);
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
        (heed_attention_check)(attention_args(m));
        heed_error();
        heed_module_free(m);
    }
    ck_assert_int_eq(heed_live_tensors(), before);
}
END_TEST

/* ---- bad input ---- */

typedef struct bad {
    heed_attention_function *f;
    heed_attention_check_args options;
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

#if !HAS_SANITIZER /* a freed tensor is read: AddressSanitizer ends the program */
static heed_tensor *keep_nothing(heed_tensor *x, void *context)
{
    HEED_SCOPE(scope);
    (void)context;
    return heed_mul_scalar(x, 2);
}
#endif

/* No state is kept, so that is not what the message may be. */
static heed_tensor *change_in_place(heed_tensor *x, void *context)
{
    (void)context;
    heed_copy_into(x, heed_add_scalar(x, 1));
    return x;
}

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
         "f gave (2, 4) f32 for x (2, 8, 4); expected floats (2, 8, any width)"},
        {give_bool, WITH(.d_model = 4), HEED_ERR_SHAPE, "f gave (2, 8, 4) bool"},
        {fail_in_f, WITH(.d_model = 4), HEED_ERR_SHAPE, "attention_check: f failed: matmul"},
        {count_calls, WITH(.d_model = 4), HEED_ERR_VALUE, "it keeps state"},
        {drop, WITH(.d_model = 4), HEED_ERR_VALUE, "call heed_eval, or pass .module"},
        {end_the_scope, WITH(.d_model = 4), HEED_ERR_SCOPE, "scope"},
#if !HAS_SANITIZER
        {keep_nothing, WITH(.d_model = 4), HEED_ERR_SCOPE,
         "the result of f belongs to a scope that it has ended; keep it with heed_scope_keep"},
#endif
        {change_in_place,
         WITH(.d_model = 4, .unbatched = true, .positions = HEED_POSITIONS_RELATIVE),
         HEED_ERR_CHECK, "row 0 does not see token 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_scope_begin(&outer);
        ck_assert_int_eq(check_with(rows[i].f, NULL, rows[i].options), rows[i].status);
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
    heed_attention_check_args options = attention_args(m);
    options.f32 = false;
    (heed_attention_check)(options);
    expect_error(HEED_ERR_DTYPE, "the module is cast to f64");
    ck_assert_int_eq(m->W_q->weight->dtype, HEED_F32);
    heed_module_free(m);
}
END_TEST

START_TEST(a_pending_error_stays)
{
    heed_fail(HEED_ERR_VALUE, "earlier");
    ck_assert_int_eq(check_with(give_x, NULL, WITH(.d_model = 4)), HEED_ERR_VALUE);
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
    heed_attention_check_args options = attention_args(m);
    options.stream = stream;
    (heed_attention_check)(options);
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
    tcase_add_loop_test(catalogue, right_ones_pass_in_f32, 0, attention_count);
    tcase_add_test(catalogue, a_few_tokens_are_enough);
    tcase_add_test(catalogue, the_catalogue_is_large);
    TCase *probes = heed_case(suite, "probes");
    tcase_add_test(probes, a_causal_mean_passes);
    tcase_add_test(probes, what_is_skipped_says_why);
    tcase_add_test(probes, saturated_tokens_are_no_mistake);
    tcase_add_test(probes, the_first_wrong_pair_is_named);
    tcase_add_test(probes, rounding_is_no_leak);
    tcase_add_test(probes, weights_must_sum_to_one);
    tcase_add_test(probes, zeros_cannot_tell);
    tcase_add_test(probes, the_formula_holds_within_rounding);
    tcase_add_test(probes, a_leak_of_one_sign_is_found);
    tcase_add_test(probes, a_small_effect_is_one);
    tcase_add_test(probes, lengths_up_to_sixteen_are_all_tried);
    tcase_add_test(probes, equal_refers_to_reach);
    tcase_add_test(probes, a_prefix_has_the_same_outputs);
    tcase_add_test(probes, derivatives_are_compared_relative_to_their_size);
    tcase_add_test(probes, frozen_parameters_have_no_derivative);
    tcase_add_test(probes, without_a_gradient_there_is_no_reach);
    tcase_add_test(probes, a_share_of_rounding_is_none);
    tcase_add_test(probes, a_gradient_of_rounding_does_not_reach_x);
    tcase_add_test(probes, a_derivative_of_rounding_is_none);
    tcase_add_test(probes, padding_leaves_tokens_in_each_sequence);
    tcase_add_test(probes, each_call_may_fail);
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
