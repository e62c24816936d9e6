/* The version, and the line of build information. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"
#include "tests/common/test_util.h"

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

START_TEST(build_information_works_while_an_error_is_pending)
{
    heed_fail(HEED_ERR_VALUE, "mine");
    ck_assert_msg(strncmp(heed_build_info().text, "Heed ", 5) == 0, "no text");
    expect_error(HEED_ERR_VALUE, "mine");
}
END_TEST

void add_version_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "version");
    tcase_add_test(tests, build_information_names_version_instruction_set_and_threads);
    tcase_add_test(tests, build_information_works_while_an_error_is_pending);
}
