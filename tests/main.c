/* Runs test suites: build/test_heed [SUITE ... | -SUITE ...] runs the named ones, or all but those
 * with a minus; all by default.
 * --suites prints their names; --has-isa tells whether this machine supports the instruction set in
 * HEED_ISA. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heed.h"

/* clang-format off */
#define SUITES(X)                                                                                  \
    X(error) X(unread) X(version) X(tensor) X(scope) X(threads) X(parallel) X(forks) X(determinism) X(walks) X(memory) X(print)                             \
    X(random) X(random_numbers) X(random_misuse)                                                   \
    X(ops) X(limits) X(operations) X(gradcheck) X(gradcheck_broken) X(parity_modules) X(parity_optimisers) X(engine) X(anomaly) X(trace) X(observer) X(misuse)                                 \
    X(nn) X(module_failures) X(layers) X(attention) X(cross_attention) X(multihead) X(transformer) X(gpt) X(masks)    \
    X(optim) X(portable) X(denormal) X(files) X(data) X(gpt_files) X(golden)                                                       \
    X(toy) X(char_gpt) X(text) X(chunks) X(bpe) X(tokenizer) X(corpus)                             \
    X(flags) X(options) X(next_token) X(gpt_program) X(gpt_run) X(quiz) X(stories) \
    X(pictures) X(plot) X(watch) X(report) X(page) X(oom)
/* clang-format on */
#define DECLARE(name) Suite *name##_suite(void);
SUITES(DECLARE)

static bool wanted(const char *name, int argc, char **argv)
{
    bool all = true; /* until a suite is named */
    for (int i = 1; i < argc; i++) {
        const bool without = argv[i][0] == '-';
        if (strcmp(argv[i] + without, name) == 0) {
            return !without;
        }
        all = all && without;
    }
    return all;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--has-isa") == 0) {
        return *heed_isa() != '\0' ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc == 2 && strcmp(argv[1], "--suites") == 0) {
#define PRINT(name) puts(#name);
        SUITES(PRINT)
        return EXIT_SUCCESS;
    }
    setenv("LC_ALL", "C.UTF-8", 1); /* the same pictures on every terminal */
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    SRunner *runner = srunner_create(NULL);
    int added = 0;
#define ADD(name)                                                                                  \
    if (wanted(#name, argc, argv)) {                                                               \
        srunner_add_suite(runner, name##_suite());                                                 \
        added++;                                                                                   \
    }
    SUITES(ADD)
    if (added == 0) {
        fprintf(stderr, "no such suite\n");
        return 2;
    }
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
