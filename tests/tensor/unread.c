/* Unread errors are printed once to stderr. Each case runs in a child process whose stderr is a
 * pipe and whose exit status must not change. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/test_util.h"

enum { STATUS = 7 };

#define ENDED     "heed: this program ended with an error that it never read: "
#define THREAD    "heed: a thread ended with an error that it never read: "
#define CONTINUES "heed: this program continues after an error that it never read: "
#define NO_SCOPE  "randn: no scope is open to own the result; begin one: HEED_SCOPE(name);\n"
#define SIZES                                                                                      \
    "matmul: b (2, 3) does not fit a (2, 3): takes a (..., m, k), b (..., k, n); "                 \
    "did you mean heed_transpose(b, -2, -1)?\n"

static void without_scope(void)
{
    heed_randn(HEED_SHAPE(2, 3), HEED_F32);
}

static void wrong_sizes(void)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    heed_matmul(x, x);
}

/* Runs `program` in a child that then exits; returns what it wrote to stderr. */
static const char *stderr_of(void (*program)(void))
{
    static char text[4096];
    int ends[2], status = 0;
    size_t length = 0;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        program();
        exit(STATUS);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) {
        length += (size_t)got;
    }
    text[length] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == STATUS, "status %x", status);
    return text;
}

/* ---- what is printed ---- */

START_TEST(at_the_end_of_the_program)
{
    ck_assert_str_eq(stderr_of(without_scope), ENDED NO_SCOPE);
}
END_TEST

static void *fail_in_thread(void *unused)
{
    (void)unused;
    without_scope();
    return NULL;
}

static void in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fail_in_thread, NULL);
    pthread_join(thread, NULL);
}

START_TEST(at_the_end_of_a_thread)
{
    ck_assert_str_eq(stderr_of(in_a_thread), THREAD NO_SCOPE);
}
END_TEST

static void train(void)
{
    for (int step = 0; step < 3; step++) {
        HEED_SCOPE(scope);
        wrong_sizes();
        dprintf(STDERR_FILENO, "step %d\n", step);
    }
}

static void train_by_begin_and_end(void)
{
    for (int step = 0; step < 3; step++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        wrong_sizes();
        dprintf(STDERR_FILENO, "step %d\n", step);
        heed_scope_end(&scope);
    }
}

START_TEST(in_the_second_step)
{
    const char *expected = "step 0\n" CONTINUES SIZES "step 1\nstep 2\n";
    ck_assert_str_eq(stderr_of(train), expected);
    ck_assert_str_eq(stderr_of(train_by_begin_and_end), expected);
}
END_TEST

static void fail_again_and_again(void)
{
    in_a_thread();
    in_a_thread();
    HEED_SCOPE(scope);
    wrong_sizes();
}

START_TEST(once_a_process)
{
    ck_assert_str_eq(stderr_of(fail_again_and_again), THREAD NO_SCOPE);
}
END_TEST

/* ---- what is not ---- */

static void read_it(void)
{
    HEED_SCOPE(scope);
    wrong_sizes();
    heed_error();
}

static void look_at_its_message(void)
{
    {
        HEED_SCOPE(scope);
        wrong_sizes();
        heed_error_message();
    }
    HEED_SCOPE(another);
}

static void ignore(heed_status status, const char *message)
{
    (void)status, (void)message;
}

static void handle_it(void)
{
    {
        HEED_SCOPE(scope);
        heed_on_error(ignore);
        wrong_sizes();
        heed_on_error(NULL);
    }
    HEED_SCOPE(another);
}

START_TEST(an_error_that_was_read_or_handled_is_not_printed)
{
    ck_assert_str_eq(stderr_of(read_it), "");
    ck_assert_str_eq(stderr_of(look_at_its_message), "");
    ck_assert_str_eq(stderr_of(handle_it), "");
}
END_TEST

/* A function with a scope of its own, as an expression calls it. */
static heed_tensor *forward(heed_tensor *x)
{
    HEED_SCOPE(scope);
    return heed_scope_keep(&scope, heed_exp(x));
}

static void test_after_a_nested_expression(void)
{
    HEED_SCOPE(scope);
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    if (forward(forward(heed_matmul(x, x))) == NULL) {
        heed_error();
    }
}

START_TEST(functions_nest_and_their_scopes_do_not_print)
{
    ck_assert_str_eq(stderr_of(test_after_a_nested_expression), "");
}
END_TEST

/* Fails at the wider steps that heed_gradcheck takes after a mismatch. */
static heed_tensor *narrow(heed_tensor *const *in, void *context)
{
    (void)context;
    if (heed_item(heed_amax(heed_abs(in[0]))) > 5e-5) {
        heed_fail(HEED_ERR_VALUE, "narrow: x is too large");
    }
    return heed_relu(in[0]);
}

static void check_gradients(void)
{
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_zeros(HEED_SHAPE(20), HEED_F64), true);
    exit(heed_gradcheck(narrow, NULL, &x, 1) == HEED_ERR_VALUE && heed_error() ? STATUS : 1);
}

START_TEST(a_gradient_check_reports_errors_of_its_second_look)
{
    ck_assert_str_eq(stderr_of(check_gradients), "");
}
END_TEST

/* After looking, the next error is unread again. */
static void read_one_of_two(void)
{
    HEED_SCOPE(scope);
    heed_exp(NULL);
    heed_error();
    wrong_sizes();
}

START_TEST(the_next_error_is)
{
    ck_assert_str_eq(stderr_of(read_one_of_two), ENDED SIZES);
}
END_TEST

/* A module that fails inside scopes of its own: none of them reports it. */
static void fail_inside_modules(void)
{
    HEED_SCOPE(scope);
    struct heed_multi_head *heads = heed_multi_head_new(8, 2, -2, -1);
    heed_multi_head_forward(heads, heed_ones(HEED_SHAPE(3, 5), HEED_F32), NULL);
    heed_error();
    heed_module_free(heads);
}

START_TEST(scopes_inside_modules_do_not_print)
{
    ck_assert_str_eq(stderr_of(fail_inside_modules), "");
}
END_TEST

/* ---- a closed stderr ---- */

static void fail_without_stderr(void)
{
    close(STDERR_FILENO);
    without_scope();
}

static void fail_after_fclose(void)
{
    fclose(stderr);
    without_scope();
}

static void fail_into_a_pipe_that_nobody_reads(void)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(1);
    }
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    without_scope();
}

START_TEST(a_stderr_that_cannot_be_written_does_no_harm)
{
    ck_assert_str_eq(stderr_of(fail_without_stderr), "");
    ck_assert_str_eq(stderr_of(fail_after_fclose), "");
    ck_assert_str_eq(stderr_of(fail_into_a_pipe_that_nobody_reads), "");
}
END_TEST

void add_unread_cases(Suite *suite)
{
    TCase *tests = tcase_create("unread"); /* no scope is open, unlike in heed_case */
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, at_the_end_of_the_program);
    tcase_add_test(tests, at_the_end_of_a_thread);
    tcase_add_test(tests, in_the_second_step);
    tcase_add_test(tests, functions_nest_and_their_scopes_do_not_print);
    tcase_add_test(tests, once_a_process);
    tcase_add_test(tests, an_error_that_was_read_or_handled_is_not_printed);
    tcase_add_test(tests, a_gradient_check_reports_errors_of_its_second_look);
    tcase_add_test(tests, the_next_error_is);
    tcase_add_test(tests, scopes_inside_modules_do_not_print);
    tcase_add_test(tests, a_stderr_that_cannot_be_written_does_no_harm);
}
