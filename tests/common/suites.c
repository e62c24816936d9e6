#include "tests/common/suites.h"

#include <fnmatch.h>
#include <stdbool.h>
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

void add_rows(TCase *tcase, const TTest *test, int count, const char *(*name)(int i))
{
    if (is_wanted(test->name)) {
        add(tcase, test, 0, 0, 0, count);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (is_wanted(name(i))) {
            add(tcase, test, 0, 0, i, i + 1);
        }
    }
}
