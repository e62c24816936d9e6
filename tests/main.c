/* Runs the suites of suites.def, each in a process of its own: as many at a time as the machine has
 * processors, or HEED_TEST_JOBS. Prints a dot for each suite, what fails, and the totals.
 *
 *   build/test_heed [OPTION] [SUITE | ROOM/ | -SUITE | -ROOM/ | TEST=NAME] ...
 *   build/test_heed --has-isa    does this machine support the instruction set in HEED_ISA?
 *
 * --times prints the seconds of each suite. --one-process runs the tests of a suite in one process,
 * except for FORKING suites: under sanitizers, a fork takes longer than most tests.
 * A single suite runs in this process: with CK_FORK=no a debugger needs no more. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heed.h"
#include "tests/common/suites.h"
#include "tests/ops/table.h"

typedef struct suite {
    const char *room, *name;
    bool forking; /* its tests need a process each */
    void (*add)(Suite *suite);
    Suite *suite;
    bool chosen;
    pid_t process; /* 0 before it starts and after it ends */
    FILE *output;
    int counts; /* a pipe for the numbers of tests that passed and failed */
    double began, seconds;
} suite;

#define SUITE(folder, unit) {.room = #folder, .name = #unit, .add = add_##unit##_cases},
#define FORKING(folder, unit)                                                                      \
    {.room = #folder, .name = #unit, .forking = true, .add = add_##unit##_cases},
static suite suites[] = {
#include "tests/suites.def"
};
enum { SUITES = sizeof suites / sizeof *suites };

static int passed, failed;
static bool one_process;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const char *problem, const char *name)
{
    fprintf(stderr, "%s: %s\n", name, problem);
    exit(2);
}

/* ---- which suites ---- */

/* Each file with tests must be a suite, or have tests of rows, which other suites add. (A suite
 * without its file does not link.) */
static void check_files(void)
{
    char path[256], own[256];
    FILE *list = popen("grep -ls '^START_TEST(' tests/*/*.c tests/*/*/*.c | grep -v _rows.c", "r");
    while (list != NULL && fscanf(list, "%255s", path) == 1) {
        bool is_listed = false;
        for (int i = 0; i < SUITES; i++) {
            snprintf(own, sizeof own, "tests/%s/%s.c", suites[i].room, suites[i].name);
            is_listed = is_listed || strcmp(path, own) == 0;
        }
        if (!is_listed) {
            give_up("has tests, but no line in tests/suites.def", path);
        }
    }
    pclose(list);
}

/* Is `argument` the name of this suite, or of its room and a slash? */
static bool names(const char *argument, const suite *s)
{
    const size_t length = strlen(s->room);
    return strcmp(argument, s->name) == 0 ||
           (strncmp(argument, s->room, length) == 0 && strcmp(argument + length, "/") == 0);
}

/* Creates the suites and chooses those that the arguments name. Returns their number. */
static int choose(int count, char **arguments)
{
    bool all = true;
    int chosen = 0;
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int n = 0; n < SUITES; n++) {
            known = known || names(arguments[i] + (*arguments[i] == '-'), &suites[n]);
        }
        if (!known) {
            give_up("no such suite", arguments[i]);
        }
        all = all && *arguments[i] == '-';
    }
    for (int n = 0; n < SUITES; n++) {
        suite *s = &suites[n];
        const int before = tests_added;
        s->suite = suite_create(s->name);
        s->add(s->suite);
        add_operation_rows(s->suite, s->name);
        s->chosen = all;
        for (int i = 0; i < count; i++) {
            if (names(arguments[i] + (*arguments[i] == '-'), s)) {
                s->chosen = *arguments[i] != '-';
            }
        }
        s->chosen = s->chosen && tests_added > before; /* TEST= may leave none */
        chosen += s->chosen;
    }
    if (chosen == 0) {
        give_up("no test or row of these suites has this name",
                wanted_test != NULL ? wanted_test : "*");
    }
    return chosen;
}

/* ---- running one ---- */

static void run(suite *s, int counts[2])
{
    SRunner *runner = srunner_create(s->suite);
    if (one_process && !s->forking) {
        srunner_set_fork_status(runner, CK_NOFORK);
    }
    srunner_run_all(runner, CK_SILENT);
    counts[1] = srunner_ntests_failed(runner);
    counts[0] = srunner_ntests_run(runner) - counts[1];
    if (counts[1] != 0) {
        printf("%s: ", s->name);
        srunner_print(runner, CK_NORMAL);
    }
    srunner_free(runner);
    fflush(stdout);
}

static void start(suite *s)
{
    int ends[2];
    s->output = tmpfile();
    if (s->output == NULL || pipe(ends) != 0) {
        give_up(strerror(errno), s->name);
    }
    fflush(NULL);
    s->began = now();
    s->process = fork();
    if (s->process == -1) {
        give_up(strerror(errno), s->name);
    }
    if (s->process == 0) {
        dup2(fileno(s->output), STDOUT_FILENO);
        dup2(fileno(s->output), STDERR_FILENO);
        fclose(s->output);
        close(ends[0]);
        int counts[2];
        run(s, counts);
        const bool written = write(ends[1], counts, sizeof counts) == (ssize_t)sizeof counts;
        exit(written && counts[1] == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[1]);
    s->counts = ends[0];
}

/* Collects the results of a suite whose process has ended. */
static void finish(suite *s, int status)
{
    int counts[2] = {0, 0};
    char line[4096];
    /* Not blocking: processes that a test left behind may hold the other end. */
    fcntl(s->counts, F_SETFL, O_NONBLOCK);
    const bool ended = read(s->counts, counts, sizeof counts) == (ssize_t)sizeof counts;
    s->seconds = now() - s->began;
    s->process = 0;
    const bool broke = !ended || (counts[1] == 0 && status != 0);
    passed += counts[0];
    failed += counts[1] + broke;
    if (!broke && counts[1] == 0) {
        putchar('.');
    } else {
        printf("\n");
        rewind(s->output);
        while (fgets(line, sizeof line, s->output) != NULL) {
            fputs(line, stdout);
        }
        if (broke) {
            printf("%s: %s %d\n", s->name,
                   WIFSIGNALED(status) ? "killed by signal" : "ended with status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
        printf("Repeat: make test SUITE=%s\n", s->name);
    }
    fflush(stdout);
    fclose(s->output);
    close(s->counts);
}

/* ---- running all ---- */

static void run_all(void)
{
    const char *given = getenv("HEED_TEST_JOBS");
    const int wanted = given != NULL ? atoi(given) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int jobs = wanted > 0 ? wanted : 1;
    int next = 0, running = 0;
    while (next < SUITES || running > 0) {
        while (next < SUITES && (!suites[next].chosen || running < jobs)) {
            if (suites[next].chosen) {
                start(&suites[next]);
                running++;
            }
            next++;
        }
        int status;
        const pid_t process = running > 0 ? wait(&status) : 0;
        for (int i = 0; i < SUITES && process > 0; i++) {
            if (suites[i].process == process) {
                finish(&suites[i], status);
                running--;
            }
        }
    }
    printf("\n");
}

static int by_seconds(const void *a, const void *b)
{
    const suite *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--has-isa") == 0) {
        return *heed_isa() != '\0' ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    setenv("LC_ALL", "C.UTF-8", 1); /* the same pictures on every terminal */
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    bool times = false;
    int count = 0, counts[2];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--times") == 0) {
            times = true;
        } else if (strcmp(argv[i], "--one-process") == 0) {
            one_process = true;
        } else if (strncmp(argv[i], "TEST=", 5) == 0) {
            wanted_test = argv[i] + 5;
        } else {
            argv[count++] = argv[i];
        }
    }
    if (count == 0) {
        check_files();
    }
    if (choose(count, argv) > 1) {
        run_all();
    } else {
        for (int i = 0; i < SUITES; i++) {
            if (suites[i].chosen) {
                run(&suites[i], counts);
                passed = counts[0];
                failed = counts[1];
            }
        }
    }
    if (times) {
        qsort(suites, SUITES, sizeof *suites, by_seconds);
        for (int i = 0; i < SUITES && suites[i].chosen; i++) {
            printf("%7.2f s  %s\n", suites[i].seconds, suites[i].name);
        }
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
