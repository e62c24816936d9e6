#include "tests/common/next_token_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

options read_arguments(const char *const *list)
{
    char *argv[MOST_ARGUMENTS + 1] = {(char *)"next_token"};
    int argc = 1;
    for (; argc <= MOST_ARGUMENTS && list[argc - 1] != NULL; argc++) {
        argv[argc] = (char *)list[argc - 1];
    }
    return options_read(argc, argv);
}

char path_of_test[] = "/tmp/heed-next-token-XXXXXX";

static void make_path(void)
{
    strcpy(path_of_test, "/tmp/heed-next-token-XXXXXX");
    close(mkstemp(path_of_test));
}

static void remove_path(void)
{
    unlink(path_of_test);
}

void write_file(const char *bytes)
{
    FILE *file = fopen(path_of_test, "w");
    fputs(bytes, file);
    fclose(file);
}

TCase *path_case(Suite *suite, const char *name)
{
    TCase *test_case = heed_case(suite, name);
    tcase_add_checked_fixture(test_case, make_path, remove_path);
    return test_case;
}
