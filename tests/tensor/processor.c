/* The instruction set, the environment variables that choose it and the number of threads, and the
 * line of build information. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/test_util.h"

START_TEST(isa_is_the_one_that_was_asked_for)
{
    const char *wanted = getenv("HEED_ISA");
    const char *isa = heed_isa();
    if (wanted != NULL && *wanted != '\0') {
        ck_assert_str_eq(isa, wanted);
    } else {
        ck_assert(strcmp(isa, "baseline") == 0 || strcmp(isa, "v3") == 0 || strcmp(isa, "v4") == 0);
    }
    heed_fail(HEED_ERR_VALUE, "pending");
    ck_assert_str_eq(heed_isa(), "");
    expect_error(HEED_ERR_VALUE, "pending");
}
END_TEST

/* The message of the error with which a fresh process makes its first two tensors; "": none. */
static const char *first_error(const char *variable, const char *value)
{
    static char text[200];
    int ends[2], status = 0;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("HEED_ISA");
        unsetenv("HEED_NUM_THREADS");
        setenv(variable, value, 1);
        heed_build_info(); /* reports no error, and hides none */
        heed_set_num_threads(2);
        for (int i = 0; i < 2; i++) {
            if (heed_ones(HEED_SHAPE(2), HEED_F32) == NULL && heed_error() == HEED_ERR_VALUE &&
                i == 1) {
                dprintf(ends[1], "%s", heed_error_message());
            }
        }
        _exit(0);
    }
    close(ends[1]);
    memset(text, 0, sizeof text);
    ck_assert_int_ge(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    return text;
}

START_TEST(variables_that_cannot_be_used_are_errors)
{
    static const char *const numbers[] = {"0", "-1", "257", "3x", "abc", " ", "1.0"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "HEED_NUM_THREADS=%s: unset it, or use 1 to 256",
                 numbers[i]);
        ck_assert_str_eq(first_error("HEED_NUM_THREADS", numbers[i]), expected);
    }
    ck_assert_str_eq(first_error("HEED_NUM_THREADS", "256"), "");
    ck_assert_str_eq(first_error("HEED_NUM_THREADS", ""), "");
    ck_assert_str_eq(first_error("HEED_ISA", ""), "");
}
END_TEST

START_TEST(an_unknown_isa_names_those_of_this_build)
{
    static const char beginning[] =
        "HEED_ISA=foo: unset it, or use one that this machine supports, of ";
    char error[200], first[20];
    snprintf(error, sizeof error, "%s", first_error("HEED_ISA", "foo"));
    ck_assert_msg(strncmp(error, beginning, strlen(beginning)) == 0, "%s", error);
    ck_assert_int_eq(sscanf(error + strlen(beginning), "%19s", first), 1);
    ck_assert_str_eq(first_error("HEED_ISA", first), "");
}
END_TEST

START_TEST(build_information_names_version_instruction_set_and_threads)
{
    heed_set_num_threads(3);
    const heed_text info = heed_build_info();
    ck_assert_msg(strncmp(info.text, "Heed " HEED_VERSION ", ", 12) == 0, "%s", info.text);
    char isa[32];
    snprintf(isa, sizeof isa, " %s (of ", heed_isa());
    ck_assert_msg(strstr(info.text, isa) != NULL, "%s", info.text);
    ck_assert_msg(strstr(info.text, "), 3 threads") != NULL, "%s", info.text);
    heed_set_num_threads(1);
    ck_assert_ptr_nonnull(strstr(heed_build_info().text, ", 1 thread"));
    ck_assert_ptr_null(strstr(heed_build_info().text, "threads"));
}
END_TEST

void add_processor_cases(Suite *suite)
{
    TCase *processor = heed_case(suite, "processor");
    tcase_add_test(processor, isa_is_the_one_that_was_asked_for);
    tcase_add_test(processor, variables_that_cannot_be_used_are_errors);
    tcase_add_test(processor, build_information_names_version_instruction_set_and_threads);
    tcase_add_test(processor, an_unknown_isa_names_those_of_this_build);
}
