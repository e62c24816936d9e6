/* Runs the suites of suites.def, each in a process of its own: as many at a time as the machine has
 * processors, or HEED_TEST_JOBS. Prints a dot for each suite, what fails, and the totals.
 *
 *   build/test_heed [OPTION] [SUITE | ROOM/ | SUITE:CASE | :CASE | -SUITE | TEST=NAME] ...
 *   build/test_heed --suites     prints their names
 *   build/test_heed --has-isa    does this machine support the instruction set in HEED_ISA?
 *
 * --times prints the seconds of each suite. --one-process runs the tests of a suite in one process,
 * except for FORKING suites: under sanitizers, a fork takes longer than most tests.
 * A single suite runs in this process: with CK_FORK=no a debugger needs no more. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
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

enum { MOST_SECONDS = 3600, MOST_CASES = 8, POLL_NS = 5000000 };

typedef struct suite {
    const char *room, *name;
    bool forking; /* its tests need a process each */
    void (*add)(Suite *suite);
    Suite *suite;
    bool chosen;
    int first_skip, end_skip;      /* of `skips` */
    const char *cases[MOST_CASES]; /* the wanted ones; all of them if there is none */
    int case_count;
    pid_t process; /* 0 before it starts and after it ends */
    bool stopped;  /* it took too long */
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

static int passed, failed, skipped;
static bool one_process;
static volatile sig_atomic_t interrupted;

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

/* Is this file one of the suites? */
static bool is_listed(const char *path)
{
    for (int i = 0; i < SUITES; i++) {
        char own[256];
        snprintf(own, sizeof own, "tests/%s/%s.c", suites[i].room, suites[i].name);
        if (strcmp(path, own) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_tests(const char *path)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = strncmp(line, "START_TEST(", 11) == 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* Each file with tests must be a suite, or have tests of rows, which other suites add. (A suite
 * without its file does not link.) */
static void check_files(void)
{
    glob_t files;
    glob("tests/*/*.c", 0, NULL, &files);
    glob("tests/*/*/*.c", GLOB_APPEND, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (!is_listed(files.gl_pathv[i]) && strstr(files.gl_pathv[i], "_rows.c") == NULL &&
            has_tests(files.gl_pathv[i])) {
            give_up("has tests, but no line in tests/suites.def", files.gl_pathv[i]);
        }
    }
    globfree(&files);
}

/* Does `argument` name this suite, or its room? *part is then its case, or NULL. */
static bool names(const char *argument, const suite *s, const char **part)
{
    const char *colon = strchr(argument, ':');
    const size_t length = colon != NULL ? (size_t)(colon - argument) : strlen(argument);
    *part = colon != NULL ? colon + 1 : NULL;
    if (length == 0) {
        return colon != NULL;
    }
    const bool is_room = argument[length - 1] == '/';
    const char *own = is_room ? s->room : s->name;
    return strlen(own) == length - is_room && strncmp(argument, own, length - is_room) == 0;
}

/* Reads SUITE, SUITE:CASE or :CASE; returns how many suites it names. */
static int take(const char *argument, bool *wanted)
{
    int count = 0;
    for (int i = 0; i < SUITES; i++) {
        suite *s = &suites[i];
        const char *part;
        if (!names(argument, s, &part) || (part != NULL && !suite_tcase(s->suite, part))) {
            continue;
        }
        if (part != NULL) {
            if (s->case_count == MOST_CASES) {
                give_up("too many of its cases are named", s->name);
            }
            s->cases[s->case_count++] = part;
        }
        wanted[i] = true;
        count++;
    }
    return count;
}

/* Creates all suites and chooses those that the arguments name. Returns their number. */
static int choose(int count, char **arguments)
{
    bool wanted[SUITES] = {false}, all = true, empty[SUITES];
    for (int i = 0; i < SUITES; i++) {
        const int before = tests_added;
        suites[i].suite = suite_create(suites[i].name);
        suites[i].first_skip = skip_count;
        suites[i].add(suites[i].suite);
        lacking(NULL);
        suites[i].end_skip = skip_count;
        add_operation_rows(suites[i].suite, suites[i].name);
        empty[i] = tests_added == before;
    }
    if (tests_added == 0 && skip_count == 0) {
        give_up("no test or row has this name", wanted_test);
    }
    for (int i = 0; i < count; i++) {
        if (arguments[i][0] != '-') {
            all = false;
            if (take(arguments[i], wanted) == 0) {
                give_up("no such suite or case", arguments[i]);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        bool known = arguments[i][0] != '-';
        for (int n = 0; n < SUITES; n++) {
            const char *part;
            if (arguments[i][0] == '-' && names(arguments[i] + 1, &suites[n], &part)) {
                empty[n] = known = true;
            }
        }
        if (!known) {
            give_up("no such suite", arguments[i] + 1);
        }
    }
    int chosen = 0;
    for (int i = 0; i < SUITES; i++) {
        suites[i].chosen = (all || wanted[i]) && !empty[i];
        suites[i].end_skip = all || wanted[i] ? suites[i].end_skip : suites[i].first_skip;
        chosen += suites[i].chosen;
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
    if (s->case_count == 0) {
        srunner_run_all(runner, CK_SILENT);
    }
    for (int i = 0; i < s->case_count; i++) {
        srunner_run(runner, NULL, s->cases[i], CK_SILENT);
    }
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
        setpgid(0, 0); /* on SIGTERM, Check stops the test that runs, and its own group */
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
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

static void print_output(suite *s)
{
    char line[4096];
    rewind(s->output);
    while (fgets(line, sizeof line, s->output) != NULL) {
        fputs(line, stdout);
    }
}

/* Collects the results of a suite whose process has ended. */
static void finish(suite *s, int status)
{
    int counts[2] = {0, 0};
    /* Not blocking: processes that a test left behind may hold the other end. */
    fcntl(s->counts, F_SETFL, O_NONBLOCK);
    const bool ended = read(s->counts, counts, sizeof counts) == (ssize_t)sizeof counts;
    s->seconds = now() - s->began;
    s->process = 0;
    passed += counts[0];
    failed += counts[1];
    const bool broke = !ended || (counts[1] == 0 && status != 0);
    if (!broke && counts[1] == 0) {
        putchar('.');
    } else {
        printf("\n");
        print_output(s);
    }
    if (s->stopped) {
        printf("%s: stopped after %d seconds\n", s->name, MOST_SECONDS);
    } else if (broke && WIFSIGNALED(status)) {
        printf("%s: killed by signal %d (%s)\n", s->name, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    } else if (broke) {
        printf("%s: ended with status %d\n", s->name, WEXITSTATUS(status));
    }
    failed += broke;
    if (broke || counts[1] != 0) {
        printf("Repeat: make test SUITE=%s\n", s->name);
    }
    fflush(stdout);
    fclose(s->output);
    close(s->counts);
}

/* ---- running all ---- */

static void interrupt(int number)
{
    interrupted = number;
}

static void stop_all(void)
{
    for (int i = 0; i < SUITES; i++) {
        if (suites[i].process > 0) {
            kill(suites[i].process, SIGTERM);
        }
    }
    const double deadline = now() + 5;
    for (int i = 0; i < SUITES; i++) {
        while (suites[i].process > 0 && waitpid(suites[i].process, NULL, WNOHANG) == 0) {
            if (now() > deadline) {
                kill(suites[i].process, SIGKILL);
            }
            nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        }
    }
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}

/* Finishes the suites that have ended; returns how many still run. */
static int look(void)
{
    int running = 0;
    for (int i = 0; i < SUITES; i++) {
        suite *s = &suites[i];
        int status;
        if (s->process > 0 && waitpid(s->process, &status, WNOHANG) == s->process) {
            finish(s, status);
        }
        if (s->process > 0) {
            running++;
            const double late = now() - s->began - MOST_SECONDS;
            if (late > 0) {
                kill(s->process, late > 5 ? SIGKILL : SIGTERM);
                s->stopped = true;
            }
        }
    }
    return running;
}

static void run_all(void)
{
    const char *given = getenv("HEED_TEST_JOBS");
    const bool is_given = given != NULL && *given != '\0';
    const int jobs = is_given ? atoi(given) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (is_given && (jobs < 1 || given[strspn(given, "0123456789")] != '\0')) {
        give_up("unset it, or use 1 or more", "HEED_TEST_JOBS");
    }
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    int next = 0, running = 0;
    while (next < SUITES || running > 0) {
        while (next < SUITES && (!suites[next].chosen || running < (jobs > 0 ? jobs : 1))) {
            if (suites[next].chosen) {
                start(&suites[next]);
                running++;
            }
            next++;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
        running = look();
        if (interrupted != 0) {
            stop_all();
        }
    }
    printf("\n");
}

/* Not those of a suite of which only some cases run: they may be of another case. */
static void print_skips(void)
{
    for (int i = 0; i < SUITES; i++) {
        for (int n = suites[i].first_skip; n < suites[i].end_skip; n++) {
            if (skips[n].count > 0 && (suites[i].case_count == 0 || passed + failed == 0)) {
                printf("skipped: %d of %s: %s\n", skips[n].count, suites[i].name, skips[n].why);
                skipped += skips[n].count;
            }
        }
    }
}

static int by_seconds(const void *a, const void *b)
{
    const suite *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void print_times(void)
{
    qsort(suites, SUITES, sizeof *suites, by_seconds);
    for (int i = 0; i < SUITES; i++) {
        printf("%7.2f s  %s\n", suites[i].seconds, suites[i].name);
    }
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--has-isa") == 0) {
        return *heed_isa() != '\0' ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (argc == 2 && strcmp(argv[1], "--suites") == 0) {
        for (int i = 0; i < SUITES; i++) {
            puts(suites[i].name);
        }
        return EXIT_SUCCESS;
    }
    setenv("LC_ALL", "C.UTF-8", 1); /* the same pictures on every terminal */
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    bool times = false;
    int count = 0;
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
    const int chosen = choose(count, argv);
    if (chosen == 1) {
        int counts[2], i = 0;
        while (!suites[i].chosen) {
            i++;
        }
        run(&suites[i], counts);
        passed = counts[0];
        failed = counts[1];
    } else {
        run_all();
    }
    print_skips();
    if (passed + failed + skipped == 0) {
        give_up("no test of these suites has this name", wanted_test != NULL ? wanted_test : "*");
    }
    if (times) {
        print_times();
    }
    printf("%d passed, %d failed", passed, failed);
    if (skipped > 0) {
        printf(", %d skipped", skipped);
    }
    printf("\n");
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
