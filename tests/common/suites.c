#include "tests/common/suites.h"

#include <fnmatch.h>
#include <stddef.h>

#undef _tcase_add_test

const char *wanted_test;
int tests_added;

static bool is_wanted(const char *name)
{
    return wanted_test == NULL || fnmatch(wanted_test, name, 0) == 0;
}

static void add(TCase *tcase, const TTest *test, int signal, int status, int first, int end)
{
    _tcase_add_test(tcase, test, signal, status, first, end);
    tests_added += end - first;
}

void add_test(TCase *tcase, const TTest *test, int signal, int status, int first, int end)
{
    if (is_wanted(test->name)) {
        add(tcase, test, signal, status, first, end);
    }
}

void add_row(TCase *tcase, const TTest *test, int i, const char *name)
{
    if (is_wanted(test->name) || is_wanted(name)) {
        add(tcase, test, 0, 0, i, i + 1);
    }
}

void add_rows(TCase *tcase, const TTest *test, int count, const char *(*name)(int i))
{
    for (int i = 0; i < count; i++) {
        add_row(tcase, test, i, name(i));
    }
}
