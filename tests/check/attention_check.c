/* heed_attention_check: a catalogue of wrong and right attentions, and what the check leaves
 * behind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
 * depends on the weights drawn. The others are causal, and only their formula may be wrong. */
static const struct {
    const char *name, *verdicts;
} verdicts[] = {
    {"scaled_by_tokens", "oooo-oW-o-W"},
    {"merged_by_view", "ooWW-WW-o-W"},
    {"split_by_view", "ooooWWo-o-W"},
    {"both_by_view", "ooWoWWo-o-W"},
    {"softmax_over_queries", "oooooWo-o-W"},
    {"softmax_over_queries_masked", "ooWW-WW-o-W"},
    {"softmax_over_heads", "oooooWo-o-W"},
    {"softmax_over_batch", "oWoooWo-o-W"},
    {"without_softmax", "oooooWo-o-W"},
    {"softmax_twice", "ooooooo-o-W"},
    {"mask_missing", "ooWW-oW-o-W"},
    {"mask_inverted", "ooWW-WW-o-W"},
    {"mask_inverted_to_nan", "W---------W"},
    {"mask_transposed", "ooWW-WW-o-W"},
    {"mask_blocks_self", "ooWo-Wo-o-W"},
    {"mask_off_by_one", "ooWW-oW-o-W"},
    {"mask_of_zero_scores", "ooWW-oW-o-W"},
    {"mask_too_weak", "ooWW-oW-o-?"},
    {"mask_blocks_all", "ooWW-oW-W-?"},
    {"mask_after_softmax", "ooWW-WW-o-W"},
    {"keep_mask_added", "ooWW-oW-o-W"},
    {"block_mask_added", "ooWW-oW-o-W"},
    {"mask_of_ones", "ooWW-oW-o-W"},
    {"mask_from_the_end", "ooWW-WW-o-?"},
    {"keys_by_w_q", "oooo-oo-W-W"},
    {"values_by_w_k", "oooo-oo-W-W"},
    {"values_are_x", "oooo-oo-W-W"},
    {"w_o_missing", "oooo-oo-W-W"},
    {"weights_transposed", "oooooWo-o-W"},
    {"weights_detached", "oooo-oo-W-o"},
    {"input_detached", "ooWo-oo-o-o"},
    {"nothing_recorded", "ooWo-oo-W-o"},
    {"not_registered", "oooo-oo-W-?"},
    {"parameter_not_used", "oooo-oo-W-o"},
    {"dropout_always", "W----------"},
    {"softmax_derivative", "oooo-Wo-o-o"},
    {"batch_first", "oWWooWo-o-?"},
    {"batch_reshaped", "oWooWWo-o-?"},
    {"values_centred", "ooWW-oW-o-?"},
    {"argmax_of_all", "oooW-o*-o-?"},
    {"mask_of_eight", "oooo-oW-o-o"},
    {"sines_over_batch", "oWooW-o-o--"},
    {"rotary_over_heads", "ooooWoo-o-o"},
    {"two_mistakes_heads_and_scale", "ooWW-WW-o-W"},
    {"two_mistakes_mask_and_scale", "ooWW-oW-o-W"},
    {"padding_added", "oooooooWo-o"},
    {"padding_of_queries", "oooooooWo-o"},
    {"padding_inverted", "oooooooWo-o"},
    {"padding_ignored", "oooooooWo-o"},
    {"current_token_missing", "oooo-oo-oWo"},
    {"positions_off_by_one", "ooooo-o-oW-"},
    {"cache_forgets", "oooo-oo-oWo"},
    {"causal", "oooo-oo-ooo"},
    {"free", "ooooooooo-o"},
    {"keys_sorted", "ooooooo-o-o"},
    {"alibi", "ooooooo-o-?"},
    {"rotary", "ooooooo-o-o"},
    {"sines", "ooooo-o-oo-"},
    {"positions_in_place", "ooooo-o-o--"},
    {"zero_key", "ooooo-o-o--"},
    {"block", "oooo-oo-o--"},
    {"two_layers", "oooo-oo-o--"},
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
    const heed_attention_checks by_value[] = {HEED_CHECK_BATCH, HEED_CHECK_VALUES, HEED_CHECK_ORDER,
                                              HEED_CHECK_EQUAL, HEED_CHECK_CACHE};
    for (size_t i = 0; i < sizeof by_value / sizeof *by_value; i++) {
        const bool is_wrong =
            found[by_value[i]] == 'W' && strstr(r->checks[by_value[i]].text, "no effect") == NULL;
        ck_assert_msg(is_wrong == (r->checks[by_value[i]].worst > 1e-6),
                      "%s: check %d is off by %g", what, (int)by_value[i],
                      r->checks[by_value[i]].worst);
    }
}

static const char *verdicts_of(const attention_entry *entry)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strcmp(verdicts[i].name, entry->name) == 0) {
            return verdicts[i].verdicts;
        }
    }
    return is_right(entry) ? "oooo-oo-o-o" : "oooo-oo-o-W";
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

/* With some seeds; right ones in f32 too, where rounding is larger. */
START_TEST(wrong_ones_are_rejected_and_named_and_right_ones_pass)
{
    const attention_entry *entry = &attention_catalogue[_i];
    char text[HEED_ATTENTION_CHECKS * 250 + 700];
    for (int seed = is_right(entry) ? 0 : 1; seed <= seeds(); seed++) {
        heed_attention_report report;
        heed_manual_seed((uint64_t)seed);
        struct attention *m = attention_new(entry);
        heed_attention_check_args options = attention_args(m);
        options.seed = (uint64_t)seed;
        options.f32 = options.f32 || seed == 0;
        options.report = &report;
        const heed_status status = (heed_attention_check)(options);
        failures(&report, text, sizeof text);
        for (int i = 0; i < HEED_ATTENTION_CHECKS && seed == 0; i++) {
            report.checks[i].worst *= 0.001;
        }
        expect_verdicts(&report, verdicts_of(entry), entry->name);
        ck_assert_int_eq(report.passed, is_right(entry));
        ck_assert_msg(status == (is_right(entry) ? HEED_OK : HEED_ERR_CHECK), "%s, seed %d: %s\n%s",
                      entry->name, seed, heed_error_message(), text);
        ck_assert_msg(entry->named == NULL || strstr(text, entry->named) != NULL,
                      "%s, seed %d: %s\nexpected: %s", entry->name, seed, text, entry->named);
        heed_error();
        heed_module_free(m);
    }
}
END_TEST

/* Short sequences skip what they cannot show, and no more. */
START_TEST(a_few_tokens_are_enough)
{
    static const char *const expected[2][3] = {{"oooo--o---o", "oooooooo--o", "ooooooooo-o"},
                                               {"oooo--o--oo", "oooo-oo--oo", "oooo-oo-ooo"}};
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

/* ---- functions without parameters, each right but for one thing ---- */

/* What `probe` computes: means of the tokens that a row sees. */
typedef struct mean {
    heed_tensor *keep; /* bool (T, T), or NULL: causal */
    double next;       /* each row adds so much of the token after it */
    double first;      /* weight of row 0; 0: 1 */
    double of_many;    /* factor if there are several tokens; 0: 1 */
    double tilt;       /* the weight of the first key times 1 + tilt, of the second 1 - tilt */
    double residual;   /* so much of x is added */
    double steep;      /* tanh(steep * x) instead of x */
    bool is_square;    /* tanh(steep * |x|^2) instead: saturates for any sign */
    double leaks[2];   /* of padded_probe */
    heed_tensor *seen; /* the first x, retained */
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
    return m->residual != 0 ? heed_add(y, heed_mul_scalar(x, m->residual)) : y;
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
    expect_verdicts(&r, "oooo-oo-o--", "mean");
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_PASSED, "every allowed token has an effect");
    expect_check(r, HEED_CHECK_VALUES, HEED_VERDICT_PASSED, "replacing a blocked token changes");
    expect_check(r, HEED_CHECK_EQUAL, HEED_VERDICT_PASSED, "and have equal shares");
    expect_check(r, HEED_CHECK_LENGTH, HEED_VERDICT_PASSED, "T from 1 to 8; a prefix");
    expect_check(r, HEED_CHECK_PARAMETERS, HEED_VERDICT_PASSED, "each of 0 receives a gradient");
    expect_check(r, HEED_CHECK_CACHE, HEED_VERDICT_SKIPPED, "no .step");
    expect_check(r, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, "no matrices have the shapes of W_q");
    for (int j = 0; j < 8; j++) {
        ck_assert(fabs(r.reach[3][j] - (j <= 3 ? r.reach[3][0] : 0)) < 1e-12);
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

START_TEST(probes_have_these_verdicts)
{
    static const char differs[] = "equal tokens do not give what one of them gives";
    static const char uneven[] = "do not have equal shares";
    const heed_attention_part no_part = {0};
    heed_tensor *all = heed_ones(HEED_SHAPE(8, 8), HEED_BOOL), *mask = heed_triu(all, 1);
    heed_tensor *closed = heed_triu(all, 0); /* row 0 has no keys */
    const struct {
        mean m;
        heed_attention_check_args options;
        heed_attention_checks which;
        heed_verdict verdict;
        const char *text;
    } rows[] = {
        /* what is skipped says why */
        {{0}, {.unbatched = true}, HEED_CHECK_BATCH, HEED_VERDICT_SKIPPED, "no batch (.unbatched)"},
        {{0},
         {.causal = true},
         HEED_CHECK_ORDER,
         HEED_VERDICT_SKIPPED,
         "needs two tokens and no mask, or three and positions"},
        {{0},
         {.extra_keys = true},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_SKIPPED,
         "needs two tokens, no absolute positions and"},
        {{0},
         {.block_mask = only(0, 1)},
         HEED_CHECK_LENGTH,
         HEED_VERDICT_SKIPPED,
         "the mask has one length"},
        {{0},
         {.longest = 2},
         HEED_CHECK_PARAMETERS,
         HEED_VERDICT_SKIPPED,
         "needs three tokens: with one, q and k learn"},
        {{0},
         {.block = true},
         HEED_CHECK_FORMULA,
         HEED_VERDICT_SKIPPED,
         "needs attention alone: check what is inside with .parts"},
        {{0}, {.layers = 2}, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, "needs attention"},
        {{0}, {.parts = &no_part}, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, ".parts is empty"},
        {{0}, {.extra_keys = true}, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, "needs attention"},
        {{.keep = all},
         {.step = cached_probe},
         HEED_CHECK_CACHE,
         HEED_VERDICT_SKIPPED,
         "a cache needs .causal"},
        /* saturated tokens are no mistake: smaller inputs show what large ones hide */
        {{.steep = 3000, .is_square = true},
         {.causal = true},
         HEED_CHECK_REACH,
         HEED_VERDICT_PASSED,
         "every allowed token has an effect"},
        {{.steep = 1e9, .is_square = true},
         {.causal = true},
         HEED_CHECK_REACH,
         HEED_VERDICT_FAILED,
         ""},
        /* values show what gradients do not */
        {{.steep = 1e9, .residual = 1},
         {.causal = true},
         HEED_CHECK_REACH,
         HEED_VERDICT_PASSED,
         "every allowed token has an effect"},
        /* the weights of a row sum to 1; leaks break equal tokens too, and reach shows where */
        {{.first = 2}, {.block_mask = mask}, HEED_CHECK_EQUAL, HEED_VERDICT_FAILED, differs},
        {{.first = 2},
         {.block_mask = mask, .block = true},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_FAILED,
         differs},
        {{.of_many = 2}, {.heads = 1}, HEED_CHECK_EQUAL, HEED_VERDICT_FAILED, differs},
        {{.of_many = 2},
         {.block_mask = mask},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_PASSED,
         "equal shares"},
        {{.keep = heed_tril(all, -1), .first = 2},
         {.block_mask = closed},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_PASSED,
         "equal shares"},
        {{.residual = 1}, {.causal = true}, HEED_CHECK_EQUAL, HEED_VERDICT_FAILED, uneven},
        {{.residual = 1},
         {.causal = true, .block = true},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_PASSED,
         "(shares of gradients: skipped, not a single layer"},
        {{.keep = all, .tilt = 4.5e-6},
         {.block_mask = heed_logical_not(all)},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_PASSED,
         "equal shares"},
        {{.keep = all, .tilt = 5.5e-6},
         {.block_mask = heed_logical_not(all)},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_FAILED,
         uneven},
        {{.next = 1},
         {.causal = true},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_FAILED,
         "gives: see reach; or the weights"},
        {{.first = 2},
         {.causal = true},
         HEED_CHECK_EQUAL,
         HEED_VERDICT_FAILED,
         "gives: the weights of a row do not sum to 1 (softmax over"},
        /* a row may not depend on how many tokens follow */
        {{.of_many = 2},
         {.causal = true},
         HEED_CHECK_LENGTH,
         HEED_VERDICT_FAILED,
         "the first rows of T = 1 differ from those of T = 8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const heed_attention_report r = check_probe(rows[i].m, rows[i].options);
        expect_check(r, rows[i].which, rows[i].verdict, rows[i].text);
        ck_assert(rows[i].which != HEED_CHECK_EQUAL ||
                  (r.checks[HEED_CHECK_EQUAL].worst > 1e-5) ==
                      (rows[i].verdict == HEED_VERDICT_FAILED));
    }
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
    ck_assert(r.tokens == 5 && r.expected[3][1] == '#' && r.expected[4][4] == '?');
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

/* A blocked pair may have an effect of ten times the rounding of 1e-10; that of an allowed one may
 * be as small. */
START_TEST(rounding_is_no_leak)
{
    const heed_attention_check_args two = {.causal = true, .longest = 2};
    const double size = check_probe(MEAN(.next = 1), two).reach[0][1];
    expect_check(check_probe(MEAN(.next = 9.5e-10 / size), two), HEED_CHECK_REACH,
                 HEED_VERDICT_PASSED, "");
    const heed_attention_report r = check_probe(MEAN(.next = 10.5e-10 / size), two);
    expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_FAILED, "row 0 sees token 1");
    ck_assert(fabs(r.reach[0][1] - 10.5e-10) < 1e-14);
    const heed_attention_check_args open = {.block_mask = heed_zeros(HEED_SHAPE(2, 2), HEED_BOOL)};
    const double allowed = check_probe(MEAN(.next = 1), open).reach[0][1];
    expect_check(check_probe(MEAN(.next = 1.1e-9 / allowed), open), HEED_CHECK_REACH,
                 HEED_VERDICT_PASSED, "");
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
        scaled_by = i == 0 ? 5e-6 : 5e-5;
        check_with(scaled_forward, m, options);
        expect_no_error();
        ck_assert_int_eq(r.checks[HEED_CHECK_FORMULA].verdict,
                         i == 0 ? HEED_VERDICT_PASSED : HEED_VERDICT_UNKNOWN);
        heed_module_free(m);
    }
}
END_TEST

static heed_tensor *not_of_length(heed_tensor *x, void *context)
{
    mean m = {0};
    heed_tensor *y = heed_size(x, -2) != *(const int *)context ? probe(x, &m) : heed_sum(x);
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

/* An entry, with other options: without .module an output of zeros cannot tell; without a gradient
 * there is no reach. */
START_TEST(entries_with_other_options)
{
    static const struct {
        const char *name;
        heed_status status;
        const char *words;
    } rows[] = {{"zero_output", HEED_OK, "cannot tell before a step"},
                {"input_detached", HEED_ERR_CHECK, "no gradient reaches x"}};
    for (int i = 0; i < 2; i++) {
        heed_attention_report r = {0};
        struct attention *m = attention_new(entry_of(rows[i].name));
        heed_attention_check_args options = attention_args(m);
        options.module = i == 0 ? NULL : options.module;
        options.report = &r;
        ck_assert_int_eq((heed_attention_check)(options), rows[i].status);
        if (i == 0) {
            expect_check(r, HEED_CHECK_REACH, HEED_VERDICT_UNKNOWN, rows[i].words);
            expect_check(r, HEED_CHECK_PARAMETERS, HEED_VERDICT_SKIPPED, "no .module");
            expect_check(r, HEED_CHECK_FORMULA, HEED_VERDICT_SKIPPED, "no .module");
        } else {
            expect_error(rows[i].status, rows[i].words);
            ck_assert_double_eq(r.reach[7][0], 0);
        }
        ck_assert_int_eq(m->W_q->weight->dtype, HEED_F32);
        heed_module_free(m);
    }
    struct attention *m = attention_new(entry_of("free"));
    heed_add_tensor(m, "one", &m->extra, heed_ones(HEED_SHAPE(1), HEED_F32), false);
    (heed_attention_check)(attention_args(m));
    expect_error(HEED_ERR_CHECK, "one has neither a gradient nor an effect: it is not used");
    heed_module_free(m);
}
END_TEST

static heed_tensor *tutorial_attention(heed_tensor *x, void *m)
{
    return heed_self_attention_forward(m, x, NULL);
}

START_TEST(options_that_are_not_given_are_guessed)
{
    static const char causal[] = ".causal: exactly the later tokens have no effect",
                      positions[] = ".positions = HEED_POSITIONS_RELATIVE: the order of earlier "
                                    "tokens matters",
                      heads[] = ".heads = 4: so y is the formula, or one with a known mistake";
    static const struct {
        const char *name, *assumed, *mistake; /* "": it passes; NULL: wrong, without a name */
        bool causal;
        int heads;
    } rows[] = {
        {"causal", causal, "", false, 4},
        {"causal", heads, "", true, 0},
        {"scaled_by_model", heads, "scaled by sqrt(d_model)", true, 0},
        {"values_centred", "", NULL, true, 0},
        {"free", "", "", false, 4},
        {"alibi", positions, "", true, 4},
        {"rotary", positions, "", true, 4},
        {"merged_by_view", "", "without transposing back", true, 4},
        {NULL, ".unbatched: f takes (T, d_model) only", "", false, 1}, /* the tutorial's */
        {"not_registered", ".f32: f fails in f64", NULL, true, 4},     /* and so stays f32 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_attention_report r = {0};
        struct attention *m = rows[i].name == NULL ? NULL : attention_new(entry_of(rows[i].name));
        struct heed_self_attention *tutorial = heed_self_attention_new(64, 0, 1);
        void *module = m == NULL ? (void *)tutorial : m;
        (void)heed_attention_check(m == NULL ? tutorial_attention : attention_forward, module,
                                   .d_model = 64, .heads = rows[i].heads, .causal = rows[i].causal,
                                   .module = module, .report = &r);
        ck_assert_str_eq(r.assumed, rows[i].assumed);
        ck_assert(r.passed == (rows[i].mistake != NULL && *rows[i].mistake == '\0'));
        ck_assert(rows[i].mistake == NULL || strstr(r.mistake, rows[i].mistake) != NULL);
        heed_error();
        heed_module_free(m);
        heed_module_free(tutorial);
    }
}
END_TEST

/* ---- gradients that are 0 but for rounding: their quotients are arbitrary ---- */

/* 1, and its gradient is p (1 - sum(p)). */
static heed_tensor *sum_of_weights(heed_tensor *x, void *context)
{
    (void)context;
    heed_tensor *weights = heed_softmax(heed_mean_dim(x, 1, true), -1);
    return heed_expand(heed_sum_dim(weights, -1, true), HEED_SHAPE(x->shape[0], x->shape[1], 1));
}

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

/* ---- padding ---- */

/* Each sequence has tokens, and padding. Without `leaks` a mean of the tokens; else a value at
 * padding is added to all rows of this sequence. */
static heed_tensor *padded_probe(heed_tensor *x, heed_tensor *mask, void *context)
{
    const double *leaks = ((const mean *)context)->leaks;
    heed_tensor *keep = heed_unsqueeze(heed_to(heed_logical_not(mask), x->dtype), 1);
    for (int b = 0; b < mask->shape[0]; b++) {
        const double count = heed_item(heed_sum(heed_select(keep, 0, b)));
        ck_assert(count > 0 && count < (double)mask->shape[1]);
    }
    heed_tensor *y = heed_matmul(heed_div(keep, heed_sum_dim(keep, -1, true)), x);
    heed_tensor *last = heed_narrow(x, 1, mask->shape[1] - 1, 1);
    /* a sequence alone is the one with its length */
    leaks += mask->shape[0] == 1 && heed_item(heed_sum(keep)) < (double)mask->shape[1] - 1;
    heed_tensor *times = heed_from_f64(leaks, HEED_SHAPE(mask->shape[0], 1, 1));
    y = heed_add(y, heed_mul(times, last));
    return heed_expand(y, heed_shape_of_tensor(x));
}

static heed_tensor *blind_probe(heed_tensor *x, heed_tensor *mask, void *context)
{
    (void)mask, (void)context;
    return heed_ones_like(x);
}

START_TEST(padding_leaves_tokens_in_each_sequence)
{
    static const char leak[] = "values at padding change other rows";
    for (int tokens = 2; tokens <= 8; tokens++) {
        const heed_shape square = HEED_SHAPE(tokens, tokens);
        heed_tensor *keep = heed_ones(square, HEED_BOOL);
        heed_attention_check_args options = {.padded = padded_probe,
                                             .block_mask = heed_zeros(square, HEED_BOOL)};
        expect_check(check_probe(MEAN(.keep = keep), options), HEED_CHECK_PADDING,
                     HEED_VERDICT_PASSED, "padding changes nothing, other tokens do");
        for (int b = 0; b < 2 && tokens > 2; b++) {
            const mean leaking = {.keep = keep, .leaks = {b == 0, b == 1}};
            expect_check(check_probe(leaking, options), HEED_CHECK_PADDING, HEED_VERDICT_FAILED,
                         leak);
        }
        options.padded = blind_probe;
        expect_check(check_probe(MEAN(.keep = keep), options), HEED_CHECK_PADDING,
                     HEED_VERDICT_FAILED,
                     "tokens that are not padding have no effect: true and false are exchanged");
    }
}
END_TEST

/* ---- modules of the library ---- */

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

START_TEST(the_modules_of_the_library_pass)
{
    const struct {
        heed_attention_function *f;
        void *module;
        heed_attention_check_args args;
    } rows[] = {
        {torch_attention, heed_multihead_attention_new(16, 4, .batch_first = true),
         WITH(.d_model = 16, .heads = 4, .causal = true)},
        {torch_free, heed_multihead_attention_new(16, 4, .batch_first = true, .dropout = 0.1),
         WITH(.d_model = 16, .heads = 4, .padded = torch_padded)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_attention_report report;
        heed_attention_check_args args = rows[i].args;
        args.module = rows[i].module;
        args.report = &report;
        check_with(rows[i].f, rows[i].module, args);
        expect_no_error();
        ck_assert(report.passed);
        expect_check(report, HEED_CHECK_FORMULA, HEED_VERDICT_PASSED, "");
        heed_module_free(rows[i].module);
    }
}
END_TEST

/* ---- what is left behind ---- */

/* Bits of all parameters, gradients and the generator after some steps, one of which may check. */
static uint64_t trained(bool checks)
{
    uint64_t hash = FNV_BASIS;
    heed_manual_seed(9);
    struct attention *m = attention_new(entry_of("mask_missing"));
    struct heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    for (int step = 0; step < 4; step++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_randn(HEED_SHAPE(2, 5, ATTENTION_WIDTH), HEED_F32);
        heed_backward(heed_mean(heed_square(attention_forward(x, m))));
        if (checks && step == 2) {
            heed_attention_check_args options = attention_args(m);
            m->module.training = true;
            m->W_o->module.training = false;
            ck_assert_int_eq((heed_attention_check)(options), HEED_ERR_CHECK);
            heed_error();
            ck_assert(m->module.training && m->W_q->module.training);
            ck_assert(!m->W_o->module.training);
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
    ck_assert_uint_eq(trained(false), trained(true));
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

/* ---- bad input ---- */

static heed_scope outer;

enum {
    FINE,
    GIVES_NULL,
    GIVES_SUM,
    GIVES_BOOL,
    FAILS,
    COUNTS,
    DROPS,
    ENDS_THE_SCOPE,
    LEAVES_A_SCOPE,
    GIVES_WEIGHTS,
    FREES, /* a freed tensor is read: AddressSanitizer ends the program */
    WRITES
};

/* A function that does something wrong; context: one of these. */
static heed_tensor *misbehave(heed_tensor *x, void *context)
{
    static int calls;
    switch (*(const int *)context) {
    case GIVES_NULL:
        return NULL;
    case GIVES_SUM:
        return heed_sum_dim(x, 1, false);
    case GIVES_BOOL:
        return heed_gt_scalar(x, 0);
    case FAILS:
        return heed_matmul(x, heed_ones(HEED_SHAPE(7, 7), HEED_F32));
    case COUNTS:
        return heed_mul_scalar(x, ++calls);
    case DROPS:
        return heed_dropout(x, 0.5, true);
    case ENDS_THE_SCOPE:
        heed_scope_end(&outer);
        return x;
    case LEAVES_A_SCOPE: {
        static heed_scope left;
        heed_scope_begin(&left);
        return heed_mul_scalar(x, 2);
    }
    case GIVES_WEIGHTS:
        return heed_softmax(heed_matmul(x, heed_transpose(x, 1, 2)), -1);
    case FREES: {
        HEED_SCOPE(scope);
        return heed_mul_scalar(x, 2);
    }
    case WRITES:
        heed_copy_into(x, heed_add_scalar(x, 1));
        return x; /* not the state of f */
    default:
        return x;
    }
}

START_TEST(bad_input_is_an_error)
{
    struct heed_dropout *f64 = heed_dropout_new(0);
    heed_tensor *odd = heed_ones(HEED_SHAPE(3, 4), HEED_BOOL);
    heed_tensor *floats = heed_ones(HEED_SHAPE(3, 3), HEED_F32);
    heed_tensor *square = heed_zeros(HEED_SHAPE(3, 3), HEED_BOOL);
    const struct {
        int how;
        heed_attention_check_args options;
        heed_status status;
        const char *words;
    } rows[] = {
        {-1, WITH(.d_model = 4), HEED_ERR_NULL, "attention_check: no function to check"},
        {FINE, WITH(.heads = 2), HEED_ERR_VALUE, ".d_model is 0, .heads 2"},
        {FINE, WITH(.d_model = 4, .block_mask = odd), HEED_ERR_SHAPE,
         ".block_mask (3, 4) bool must be bool (T, T) with T from 1 to 8"},
        {FINE, WITH(.d_model = 4, .block_mask = floats), HEED_ERR_SHAPE, "(3, 3) f32"},
        {FINE, WITH(.d_model = 4, .block_mask = square, .causal = true), HEED_ERR_VALUE,
         "not both"},
        {FINE, WITH(.d_model = 4, .ids = 1), HEED_ERR_VALUE, "attention_check: .ids is 1; other"},
        {FINE, WITH(.d_model = 4, .ids = -5), HEED_ERR_VALUE, "attention_check: .ids is -5;"},
        {FINE, WITH(.d_model = 4, .parts = (heed_attention_part[]){{attention_forward, NULL}, {0}}),
         HEED_ERR_NULL, "attention_check: .parts: the module is NULL"},
        {GIVES_NULL, WITH(.d_model = 4), HEED_ERR_NULL, "f returned NULL without an error"},
        {GIVES_SUM, WITH(.d_model = 4), HEED_ERR_SHAPE,
         "f gave (2, 4) f32 for x (2, 8, 4); expected floats (2, 8, any width)"},
        {GIVES_BOOL, WITH(.d_model = 4), HEED_ERR_SHAPE, "f gave (2, 8, 4) bool"},
        {FAILS, WITH(.d_model = 4), HEED_ERR_SHAPE, "attention_check: f failed: matmul"},
        {FAILS, WITH(.d_model = 4, .module = f64), HEED_ERR_SHAPE, "f failed: matmul: b (7, 7)"},
        {COUNTS, WITH(.d_model = 4), HEED_ERR_VALUE, "it keeps state"},
        {DROPS, WITH(.d_model = 4), HEED_ERR_VALUE, "call heed_eval, or pass .module"},
        {ENDS_THE_SCOPE, WITH(.d_model = 4), HEED_ERR_SCOPE, "scope"},
        {LEAVES_A_SCOPE, WITH(.d_model = 4), HEED_ERR_SCOPE, "f leaves a scope open"},
        {GIVES_WEIGHTS, WITH(.d_model = 4), HEED_ERR_SHAPE, "are these the weights?"},
#if !HAS_SANITIZER
        {FREES, WITH(.d_model = 4), HEED_ERR_SCOPE,
         "the result of f belongs to a scope that it has ended; keep it with heed_scope_keep"},
#endif
        {WRITES, WITH(.d_model = 4, .unbatched = true, .positions = HEED_POSITIONS_RELATIVE),
         HEED_ERR_CHECK, "row 0 does not see token 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_scope_begin(&outer);
        ck_assert_int_eq(
            check_with(rows[i].how < 0 ? NULL : misbehave, (void *)&rows[i].how, rows[i].options),
            rows[i].status);
        expect_error(rows[i].status, rows[i].words);
        if (outer.self == &outer) {
            heed_scope_end(&outer);
        }
    }
    heed_module_free(f64);
}
END_TEST

/* f that changes its module at each call: it registers a parameter or a module, or ties weights. */
enum { REGISTERS_A_PARAMETER, REGISTERS_A_MODULE, TIES, CHANGES };
static int change;
static heed_tensor *changes_its_module(heed_tensor *x, void *context)
{
    static int calls;
    struct heed_self_attention *m = context;
    char name[20];
    snprintf(name, sizeof name, "p%d", calls++);
    if (change == REGISTERS_A_PARAMETER) {
        heed_add_tensor(m, name, NULL, heed_ones(HEED_SHAPE(4), HEED_F64), false);
    } else if (change == REGISTERS_A_MODULE) {
        heed_add_child(m, name, NULL, heed_dropout_new(0));
    } else {
        heed_set_parameter(m->W_k, "weight", &m->W_k->weight, m->W_q->weight);
    }
    return heed_self_attention_forward(m, x, NULL);
}

START_TEST(a_module_that_changes_at_each_call_is_an_error)
{
    struct heed_self_attention *m = heed_self_attention_new(4, -2, -1);
    change = _i;
    heed_attention_check(changes_its_module, m, .d_model = 4, .module = m);
    expect_error(HEED_ERR_VALUE, "f registers parameters or modules, or replaces them: do so once");
    heed_module_free(m);
}
END_TEST

/* ---- padding and caches, each wrong in one thing ---- */

enum { RIGHTLY, INVERTED, ONE_MORE, OF_ANOTHER, NOT_CAUSAL };
typedef struct averages {
    int how;
    bool causal, clears;
    heed_tensor *sum; /* of the cache */
    double count;
} averages;

/* Means of the tokens that are not blocked, (B, T). */
static heed_tensor *mean_of_kept(heed_tensor *x, heed_tensor *mask, bool causal)
{
    const int64_t n = heed_size(x, 1);
    heed_tensor *keep = heed_unsqueeze(heed_to(heed_logical_not(mask), x->dtype), 1);
    heed_tensor *seen = heed_ones(HEED_SHAPE(n, n), x->dtype);
    keep = heed_mul(keep, causal ? heed_tril(seen, 0) : seen);
    heed_tensor *sums = heed_maximum_scalar(heed_sum_dim(keep, -1, true), 1);
    return heed_matmul(heed_div(keep, sums), x);
}

static heed_tensor *average(heed_tensor *x, void *context)
{
    heed_tensor *none = heed_zeros(HEED_SHAPE(heed_size(x, 0), heed_size(x, 1)), HEED_BOOL);
    return mean_of_kept(x, none, ((const averages *)context)->causal);
}

static heed_tensor *padded_average(heed_tensor *x, heed_tensor *mask, void *context)
{
    const averages *m = context;
    const int64_t n = heed_size(mask, 1);
    heed_tensor *shifted[] = {heed_narrow(mask, 1, 1, n - 1), heed_narrow(mask, 1, n - 1, 1)};
    mask = m->how == INVERTED     ? heed_logical_not(mask)
           : m->how == ONE_MORE   ? heed_cat(shifted, 2, 1)
           : m->how == OF_ANOTHER ? heed_flip(mask, HEED_DIMS(0))
                                  : mask;
    return mean_of_kept(x, mask, m->causal && m->how != NOT_CAUSAL);
}

static heed_tensor *average_step(heed_tensor *x, int64_t position, void *context)
{
    averages *m = context;
    const bool first = m->sum == NULL || (position == 0 && m->clears);
    heed_tensor *sum = first ? x : heed_add(m->sum, x);
    heed_release(m->sum);
    m->sum = heed_retain(sum);
    m->count = first ? 1 : m->count + 1;
    return heed_div_scalar(sum, m->count);
}

START_TEST(padding_and_caches_are_told_apart)
{
    static const struct {
        averages m;
        const char *text; /* of the padding, or of the cache if there is one */
        heed_verdict verdict;
    } rows[] = {
        {{.how = RIGHTLY}, "padding changes nothing, other tokens do", HEED_VERDICT_PASSED},
        {{.causal = true}, "padding changes nothing, other tokens do", HEED_VERDICT_PASSED},
        {{.how = INVERTED}, "true and false are exchanged", HEED_VERDICT_FAILED},
        {{.how = INVERTED, .causal = true}, "true and false are exchanged", HEED_VERDICT_FAILED},
        {{.how = ONE_MORE}, "token 6, which is not padding, has no effect", HEED_VERDICT_FAILED},
        {{.how = OF_ANOTHER}, "values at padding change other rows", HEED_VERDICT_FAILED},
        {{.how = NOT_CAUSAL, .causal = true}, "the causal mask is dropped", HEED_VERDICT_FAILED},
        {{.clears = true, .causal = true}, "one token at a time gives", HEED_VERDICT_PASSED},
        {{.clears = false, .causal = true, .count = 1},
         "the cache of the one before is not cleared",
         HEED_VERDICT_FAILED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        averages m = rows[i].m;
        heed_attention_report r = {0};
        const bool cached = m.clears || m.count > 0;
        check_with(average, &m,
                   WITH(.d_model = 3, .causal = m.causal, .padded = cached ? NULL : padded_average,
                        .step = cached ? average_step : NULL, .report = &r));
        heed_error();
        heed_release(m.sum);
        expect_check(r, cached ? HEED_CHECK_CACHE : HEED_CHECK_PADDING, rows[i].verdict,
                     rows[i].text);
    }
}
END_TEST

/* ---- token ids, and attention inside a model ---- */

typedef struct language_model {
    heed_module module;
    struct heed_embedding *embedding;
    struct attention *layers[2];
    struct heed_linear *head;
} language_model;
static const heed_module_kind model_kind = {.name = "Model", .size = sizeof(language_model)};

static heed_tensor *logits(heed_tensor *ids, void *context)
{
    const language_model *m = context;
    heed_tensor *x = heed_embedding_forward(m->embedding, ids);
    for (int i = 0; i < 2; i++) {
        x = heed_add(x, attention_forward(x, m->layers[i]));
    }
    return heed_linear_forward(m->head, x);
}

START_TEST(models_are_checked_with_ids_and_parts)
{
    static const struct {
        const char *first, *second, *formula, *failure;
    } rows[] = {
        {"causal", "biases", "part 2: y is softmax", NULL},
        {"causal", "scaled_by_model", "part 2: a known mistake", "scaled by sqrt(d_model) = 8"},
        {"w_o_missing", "causal", "part 1: a known mistake", "is not used"},
        {"mask_missing", "causal", "part 1: a known mistake", "sees token 1, which is blocked"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_attention_report r = {0};
        char text[HEED_ATTENTION_CHECKS * 250 + 700];
        language_model *m = heed_module_new(&model_kind);
        HEED_CHILD(m, embedding, heed_embedding_new(11, ATTENTION_WIDTH));
        heed_add_child(m, "first", &m->layers[0], attention_new(entry_of(rows[i].first)));
        heed_add_child(m, "second", &m->layers[1], attention_new(entry_of(rows[i].second)));
        HEED_CHILD(m, head, heed_linear_new(ATTENTION_WIDTH, 11));
        const heed_attention_part parts[] = {
            {attention_forward, m->layers[0]}, {attention_forward, m->layers[1]}, {0}};
        const heed_status status = heed_attention_check(
            logits, m, .ids = 11, .d_model = ATTENTION_WIDTH, .heads = 4, .layers = 2,
            .block = true, .causal = true, .module = m, .parts = parts, .report = &r);
        failures(&r, text, sizeof text);
        ck_assert_msg(status == (rows[i].failure == NULL ? HEED_OK : HEED_ERR_CHECK), "%s", text);
        heed_error();
        ck_assert_msg(rows[i].failure == NULL || strstr(text, rows[i].failure) != NULL, "%s", text);
        expect_check(r, HEED_CHECK_FORMULA,
                     rows[i].failure == NULL ? HEED_VERDICT_PASSED : HEED_VERDICT_FAILED,
                     rows[i].formula);
        heed_module_free(m);
    }
}
END_TEST

void add_attention_check_cases(Suite *suite)
{
    TCase *catalogue = heed_case(suite, "catalogue");
    tcase_set_timeout(catalogue, 600);
    tcase_add_loop_test(catalogue, wrong_ones_are_rejected_and_named_and_right_ones_pass, 0,
                        attention_count);
    tcase_add_test(catalogue, a_few_tokens_are_enough);
    tcase_add_test(catalogue, entries_with_other_options);
    tcase_add_test(catalogue, options_that_are_not_given_are_guessed);
    tcase_add_test(catalogue, the_formula_holds_within_rounding);
    TCase *probes = heed_case(suite, "probes");
    tcase_add_test(probes, a_causal_mean_passes);
    tcase_add_test(probes, probes_have_these_verdicts);
    tcase_add_test(probes, the_first_wrong_pair_is_named);
    tcase_add_test(probes, rounding_is_no_leak);
    tcase_add_test(probes, lengths_up_to_sixteen_are_all_tried);
    tcase_add_test(probes, a_gradient_of_rounding_does_not_reach_x);
    tcase_add_test(probes, padding_leaves_tokens_in_each_sequence);
    TCase *library = heed_case(suite, "library");
    tcase_add_test(library, the_modules_of_the_library_pass);
    tcase_add_test(library, training_keeps_its_bits);
    tcase_add_test(library, zeros_and_nan_are_put_back);
    tcase_add_test(library, bad_input_is_an_error);
    tcase_add_loop_test(library, a_module_that_changes_at_each_call_is_an_error, 0, CHANGES);
    tcase_add_test(library, padding_and_caches_are_told_apart);
    tcase_add_test(library, models_are_checked_with_ids_and_parts);
}
