/* The parser of ops.def's formulas: it accepts every formula of the file, rejects C syntax that it
 * does not support, and its results equal those of the named operations bit for bit. */
#include <stdio.h>

#include "autograd/autograd.h"
#include "tests/common/reference.h"

static const struct line {
    const char *name, *operands, *text;
} lines[] = {
#define DEFINE(name, x, f)            {#name, #x, #f},
#define UNARY(name, kind, f, dx)      {#name, "gyx", #dx},
#define BINARY(name, kind, f, da, db) {#name, "gyab", #da}, {#name, "gyab", #db},
#include "tensor/kernels/ops.def"
};

/* The text with a tensor for each of the one-letter names in `operands`. */
static heed_tensor *evaluate(const char *text, const char *operands)
{
    heed_binding bindings[8];
    int count = 0;
    for (; operands[count] != '\0'; count++) {
        bindings[count] =
            (heed_binding){operands[count], noise(HEED_SHAPE(2), HEED_F32, ROWS, count)};
    }
    return heed_evaluate(text, bindings, count, HEED_F32);
}

START_TEST(every_text_is_a_formula)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        EXPECT(evaluate(lines[i].text, lines[i].operands) != NULL, "%s: %s", lines[i].name,
               heed_error_message());
    }
}
END_TEST

static const struct {
    const char *text, *why, *at;
} broken[] = {
    {"", "an operand is missing or unknown", ""},
    {"g * (1 - y * y", "a ) is missing", ""},
    {"g * exp(x", "a ) is missing", ""},
    {"g * (1 - y * y))", "not in the notation of ops.def", ")"},
    {"g y", "not in the notation of ops.def", "y"},
    {"g * * y", "an operand is missing or unknown", "* y"},
    {"g * z", "an operand is missing or unknown", "z"},
    {"g * x_", "an operand is missing or unknown", "x_"},
    {"g % y", "not in the notation of ops.def", "% y"},
    {"x < 0 ? 0 : g", "not in the notation of ops.def", "? 0 : g"},
    {"x > 0 && y > 0", "not in the notation of ops.def", "&& y > 0"},
    {"0.5 * g", "a number with decimals must be in real()", ".5 * g"},
    {"real(x) * g", "real() takes a number", "x) * g"},
    {"real(0.5 * g)", "a ) is missing", "* g)"},
    {"g * fabs(x)", "no operation of this name takes these arguments", ""},
    {"g * exp(x, y)", "no operation of this name takes these arguments", ""},
    {"where(x < 0, g)", "no operation of this name takes these arguments", ""},
    {"where(x < 0, 0, g, g)", "a ) is missing", ", g)"},
    {"normal_cdf(x, y)", "too many arguments", ""},
};

START_TEST(what_is_no_formula_is_refused)
{
    char message[200];
    snprintf(message, sizeof message, "ops.def: \"%s\": %s, at \"%s\"", broken[_i].text,
             broken[_i].why, broken[_i].at);
    ck_assert_ptr_null(evaluate(broken[_i].text, "gyx"));
    ck_assert_str_eq(heed_error_message(), message);
    expect_error(HEED_ERR_VALUE, "ops.def: ");
}
END_TEST

START_TEST(texts_compute_what_operations_do)
{
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = noise(HEED_SHAPE(3, 5), dtype, ROWS, 1);
        const heed_binding bindings[] = {{'x', x}};
        heed_tensor *y =
            heed_evaluate("gelu_tanh(x) * real(0.044715) - 12 / -x", bindings, 1, dtype);
        heed_tensor *expected =
            heed_sub(heed_mul(heed_gelu_tanh(x), heed_full(HEED_SCALAR, 0.044715, dtype)),
                     heed_div(heed_full(HEED_SCALAR, 12, dtype), heed_neg(x)));
        ck_assert(heed_equal(y, expected));
        y = heed_evaluate("x == x == (x == x)", bindings, 1, dtype); /* from left to right */
        ck_assert(heed_equal(y, heed_ones(HEED_SHAPE(3, 5), HEED_BOOL)));
        y = heed_evaluate("x - x - x + x / x / x * x", bindings, 1, dtype);
        ck_assert(heed_equal(
            y, heed_add(heed_sub(heed_sub(x, x), x), heed_mul(heed_div(heed_div(x, x), x), x))));
        y = heed_evaluate("x * normal_cdf(x)", bindings, 1, dtype);
        ck_assert(heed_allclose(y, heed_gelu(x), 1e-6, 1e-6, false));
    }
}
END_TEST

START_TEST(operands_are_found_whole)
{
    ck_assert(heed_mentions("g * y", 'y'));
    ck_assert(heed_mentions("normal_cdf(x)", 'x'));
    ck_assert(!heed_mentions("g * exp(y)", 'x'));
    ck_assert(!heed_mentions("x_y(g) * y_x(g)", 'x'));
    ck_assert(!heed_mentions("x_y(g) * y_x(g)", 'y'));
}
END_TEST

void add_expression_cases(Suite *suite)
{
    TCase *texts = heed_case(suite, "texts_of_ops.def");
    tcase_add_test(texts, every_text_is_a_formula);
    tcase_add_loop_test(texts, what_is_no_formula_is_refused, 0, sizeof broken / sizeof *broken);
    tcase_add_test(texts, texts_compute_what_operations_do);
    tcase_add_test(texts, operands_are_found_whole);
}
