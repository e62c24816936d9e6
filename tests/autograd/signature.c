/* The matcher of signatures, with operations of a user's. The library's own signatures are tested
 * by the MISUSE rows of tests/ops, and compared with heed.h there (operations.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/engine_util.h"

enum { MOST = 10 };

/* Makes tensors of ones from "f32 (2, 3), i64 ()"; returns their number. */
static int make_tensors(const char *text, heed_tensor **tensors)
{
    int count = 0;
    while (*text != '\0') {
        heed_dtype dtype = HEED_F32;
        while (strncmp(text, heed_dtype_name(dtype), strcspn(text, " ")) != 0) {
            dtype++;
        }
        heed_shape shape = HEED_SCALAR;
        for (text = strchr(text, '(') + 1; *text != ')'; text += strspn(text, ", ")) {
            shape.size[shape.ndim++] = strtol(text, (char **)&text, 10);
        }
        tensors[count++] = heed_ones(shape, dtype);
        text += 1 + strspn(text + 1, ", ");
    }
    return count;
}

static heed_status fill_with_ones(const heed_call *call, heed_tensor *y)
{
    (void)call;
    return heed_fill_into(y, 1);
}

/* Applies an operation of this signature: `expected` is the result's dtype and shape, or, with a
 * status, a part of the message. */
static void expect_match(heed_op *op, const char *inputs, heed_status status, const char *expected)
{
    heed_tensor *tensors[MOST];
    const int count = make_tensors(inputs, tensors);
    const heed_tensor *y = heed_apply(op, tensors, count, NULL, 0);
    if (status != HEED_OK) {
        ck_assert_ptr_null(y);
        ck_assert_ptr_null(
            strstr(heed_error_message(), "did you mean")); /* transposed: no better */
        expect_error(status, expected);
        return;
    }
    expect_no_error();
    char text[200];
    snprintf(text, sizeof text, "%s %s", heed_dtype_name(y->dtype),
             heed_shape_text(y->ndim, y->shape).text);
    ck_assert_str_eq(text, expected);
}

static const struct {
    const char *signature, *inputs;
    heed_status status;
    const char *expected;
} matches[] = {
    /* sizes */
    {"x (..., in), w (out, in) -> (..., out)", "f32 (5, 4), f32 (3, 4)", HEED_OK, "f32 (5, 3)"},
    {"x (..., in), w (out, in) -> (..., out)", "f32 (4), f32 (3, 4)", HEED_OK, "f32 (3)"},
    {"x (..., in), w (out, in) -> (..., out)", "f32 (), f32 (3, 4)", HEED_ERR_SHAPE,
     "mine: x () does not fit w (3, 4): takes x (..., in), w (out, in)"},
    {"x (..., in), w (out, in) -> (..., out)", "f32 (4), f32 (1, 3, 4)", HEED_ERR_SHAPE,
     "mine: w (1, 3, 4) does not fit x (4)"},
    {"x (n, n) any", "i64 (3, 3)", HEED_OK, "i64 (3, 3)"},
    {"x (n, n) any", "f32 (3, 4)", HEED_ERR_SHAPE, "mine: x (3, 4) does not fit: takes x (n, n)"},
    {"x () any", "f32 (1)", HEED_ERR_SHAPE, "mine: x (1) does not fit: takes x ()"},
    {"x any, y (a) any -> (a)", "f32 (2, 3), f32 (4)", HEED_OK, "f32 (4)"},
    {"x any, y any", "f64 (2, 3), bool (4)", HEED_OK, "f64 (2, 3)"},
    {"x (a,b),y(b, c)->(a,c)", "f32 (0, 3), f32 (3, 2)", HEED_OK, "f32 (0, 2)"},
    {"x (a, b) -> ()", "f32 (2, 3)", HEED_OK, "f32 ()"},
    /* "..." */
    {"a (...), b (...) -> (...)", "f32 (2, 1, 4), f32 (3, 1)", HEED_OK, "f32 (2, 3, 4)"},
    {"a (...), b (...) -> (...)", "f32 (), f32 (3)", HEED_OK, "f32 (3)"},
    {"a (...), b (...) -> (...)", "f32 (2), f32 (3)", HEED_ERR_SHAPE, "which do not broadcast"},
    {"a (..., n), b (..., n) -> (..., n)", "f32 (2, 1, 4), f32 (3, 4)", HEED_OK, "f32 (2, 3, 4)"},
    {"a (..., n), b (..., n) -> (..., n)", "f32 (2, 4), f32 (3, 4)", HEED_ERR_SHAPE,
     "\"...\" is (2) and (3), which do not broadcast"},
    {"a (...), b (...), c (...) -> (...)", "f32 (2, 1), f32 (3), f32 (4, 1, 1)", HEED_OK,
     "f32 (4, 2, 3)"},
    {"x (..., m), y (n) -> (..., m, n)", "f32 (1, 1, 1, 1, 1, 1, 1, 1), f32 (2)", HEED_ERR_SHAPE,
     "mine: the result of x (1, 1, 1, 1, 1, 1, 1, 1), y (2) would have 9 dims; at most 8"},
    /* dtypes */
    {"x float", "f64 (2)", HEED_OK, "f64 (2)"},
    {"x float", "i64 (2)", HEED_ERR_DTYPE, "mine: x is i64"},
    {"x number", "i64 (2)", HEED_OK, "i64 (2)"},
    {"x number", "bool (2)", HEED_ERR_DTYPE, "mine: x is bool"},
    {"x i64", "i64 ()", HEED_OK, "i64 ()"},
    {"x i64", "f32 ()", HEED_ERR_DTYPE, "mine: x is f32"},
    {"x bool", "bool ()", HEED_OK, "bool ()"},
    {"x bool", "i64 ()", HEED_ERR_DTYPE, "mine: x is i64"},
    {"x any", "bool (2)", HEED_OK, "bool (2)"},
    {"x, y", "i64 (2), i64 (3)", HEED_OK, "i64 (2)"},
    {"x, y", "f32 (2), f64 (2)", HEED_ERR_DTYPE, "mine: x is f32"},
    {"x any -> i64", "f32 (2)", HEED_OK, "i64 (2)"},
    {"x any -> bool", "f32 (2)", HEED_OK, "bool (2)"},
    {"x any -> number", "bool (2)", HEED_OK, "i64 (2)"},
    {"x any -> number", "f64 (2)", HEED_OK, "f64 (2)"},
    {"ids i64, w any -> float", "i64 (2), f64 (2)", HEED_OK, "f64 (2)"},
    {"ids i64 -> float", "i64 (2)", HEED_OK, "f32 (2)"},
    /* the number of inputs */
    {"x (n), bias? (n)", "f32 (2)", HEED_OK, "f32 (2)"},
    {"x (n), bias? (n)", "f32 (2), f32 (2)", HEED_OK, "f32 (2)"},
    {"x (n), bias? (n)", "f32 (2), f32 (3)", HEED_ERR_SHAPE, "mine: bias (3) does not fit x (2)"},
    {"x (n), bias? (n)", "f32 (2), f32 (2), f32 (2)", HEED_ERR_VALUE,
     "mine: got 3 tensors; takes x (n), bias? (n)"},
    {"x, y", "f32 (2)", HEED_ERR_VALUE, "mine: got 1 tensors; takes x, y"},
    {"x, y", "", HEED_ERR_VALUE, "mine: cannot take 0 tensors"},
};
enum { MATCHES = sizeof matches / sizeof *matches };

/* The same, whether the signature is parsed at each call or at registration. */
START_TEST(a_signature_matches)
{
    static heed_op op; /* the registry keeps its address, and the pattern */
    op = (heed_op){.name = "mine", .signature = matches[_i].signature, .forward = fill_with_ones};
    for (int calls = 0; calls < 2; calls++) {
        expect_match(&op, matches[_i].inputs, matches[_i].status, matches[_i].expected);
        heed_register(&op);
        ck_assert_ptr_nonnull(op.pattern);
    }
}
END_TEST

/* Signatures, and the place of the fault. */
static const struct {
    const char *signature, *at;
} faults[] = {
    {"", ""},
    {"x (a, b", ""},
    {"x (a b)", "b)"},
    {"x (a,)", ")"},
    {"x (, a)", ", a)"},
    {"x (a, ...)", "...)"},
    {"x (... a)", "a)"},
    {"(a, b)", "(a, b)"},
    {"x fload", "fload"},
    {"x floats", "floats"},
    {"x float float", "float"},
    {"x float y", "y"},
    {"x float,", ""},
    {"x float -> float float", "float"},
    {"x (2, n)", "2, n)"},  /* a size has a name */
    {"x (n) -> (m)", "m)"}, /* no input has it */
    {"x (n) -> (..., n)", ", n)"},
    {"x, y?, z", ""}, /* an optional input before one that is not */
    {"x (a, b, c, d, e, f, g, h, i)", "i)"},
    {"a, b, c, d, e, f, g, h, i", "i"},
    {"x (a, b, c, d, e, f, g, h), y (i, j, k, l, m, n, o, p), z (q)", "q)"},
};
enum { FAULTS = sizeof faults / sizeof *faults };

START_TEST(a_malformed_signature_is_an_error_of_each_call)
{
    static heed_op op;
    op = (heed_op){.name = "mine", .signature = faults[_i].signature, .forward = fill_with_ones};
    char expected[200];
    snprintf(expected, sizeof expected, "mine: malformed signature \"%s\", at \"%s\"", op.signature,
             faults[_i].at);
    heed_register(&op);
    for (int call = 0; call < 2; call++) {
        expect_match(&op, "f32 (2, 2)", HEED_ERR_VALUE, expected);
    }
    ck_assert_str_eq(heed_input_name(&op, 0).text, "input 0");
}
END_TEST

START_TEST(a_long_signature_is_malformed)
{
    char signature[300] = "x";
    memset(signature + 1, ' ', sizeof signature - 2);
    signature[sizeof signature - 1] = '\0';
    heed_op op = {.name = "mine", .signature = signature, .forward = fill_with_ones};
    expect_match(&op, "f32 (2)", HEED_ERR_VALUE, "mine: malformed signature \"x ");
}
END_TEST

/* NULL for an optional input is left out of the list, not passed. */
START_TEST(a_missing_input_is_named)
{
    const heed_op op = {.name = "mine", .signature = "x (n), bias? (n)", .forward = fill_with_ones};
    heed_tensor *inputs[] = {heed_ones(HEED_SHAPE(2), HEED_F32), NULL};
    ck_assert_ptr_null(heed_apply(&op, inputs, 2, NULL, 0));
    expect_error(HEED_ERR_NULL, "mine: bias is NULL");
    ck_assert_str_eq(heed_input_name(&op, 1).text, "bias");
    ck_assert_str_eq(heed_input_name(&op, 2).text, "input 2");
}
END_TEST

void add_signature_cases(Suite *suite)
{
    TCase *signature = heed_case(suite, "signature");
    tcase_add_loop_test(signature, a_signature_matches, 0, MATCHES);
    tcase_add_loop_test(signature, a_malformed_signature_is_an_error_of_each_call, 0, FAULTS);
    tcase_add_test(signature, a_long_signature_is_malformed);
    tcase_add_test(signature, a_missing_input_is_named);
}
