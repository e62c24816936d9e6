/* The parser of ops.def's formulas: it accepts every formula of the file, rejects C syntax that it
 * does not support, and its results equal those of the named operations bit for bit. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autograd/ops/expression.h"
#include "tests/ops_cases.h"

static const struct line {
    const char *name, *operands, *text;
} lines[] = {
#define DEFINE(name, x, f)            {#name, #x, #f},
#define UNARY(name, kind, f, dx)      {#name, "gyx", #dx},
#define BINARY(name, kind, f, da, db) {#name, "gyab", #da}, {#name, "gyab", #db},
#define TERNARY(name, kind, f, da, db, dc)                                                         \
    {#name, "gyabc", #da}, {#name, "gyabc", #db}, {#name, "gyabc", #dc},
#define BOUNDS(name, kind, f, da) {#name, "gyabc", #da},
#include "tensor/kernels/ops.def"
};

START_TEST(every_text_is_a_formula)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const heed_formula_fault fault = heed_check_formula(lines[i].text, lines[i].operands);
        EXPECT(fault.why == NULL, "%s: \"%s\": %s, at \"%s\"", lines[i].name, lines[i].text,
               fault.why, fault.at);
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
    const heed_formula_fault fault = heed_check_formula(broken[_i].text, "gyx");
    EXPECT(fault.why != NULL, "\"%s\" is accepted as a formula", broken[_i].text);
    ck_assert_str_eq(fault.why, broken[_i].why);
    ck_assert_str_eq(fault.at, broken[_i].at);
}
END_TEST

/* Runs in a child: the program aborts, and names the operation of the bad formula. */
START_TEST(a_broken_text_ends_the_program)
{
    int ends[2], status = 0;
    char text[200] = "";
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        heed_require_formula("exp", "g * y", "gyx");
        heed_require_formula("tanh", "g * (1 - y * y", "gyx");
        _exit(77);
    }
    close(ends[1]);
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    ck_assert_str_eq(text, "heed: ops.def, tanh: \"g * (1 - y * y\": a ) is missing, at \"\"\n");
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

void add_text_cases(Suite *suite)
{
    TCase *texts = heed_case(suite, "texts of ops.def");
    tcase_add_test(texts, every_text_is_a_formula);
    tcase_add_loop_test(texts, what_is_no_formula_is_refused, 0, sizeof broken / sizeof *broken);
    tcase_add_test(texts, a_broken_text_ends_the_program);
    tcase_add_test(texts, texts_compute_what_operations_do);
    tcase_add_test(texts, operands_are_found_whole);
}
