/* Takes Check's place in the program that mutate.py runs: each test runs in a process of its own,
 * until the first one fails.
 *
 *   runner list [SUITE]...            prints the names of all tests: SUITE:CASE:TEST:INDEX
 *   runner run [SUITE]... < tests     runs the tests on stdin, one "NAME SECONDS" per line
 *   runner record [SUITE]... < tests  runs all of them, even if one fails
 *
 * SECONDS is the most processor time that the test may take. The exit status of `run` is 0 if all
 * passed, 1 if one failed, and 2 if one was stopped; it prints its name. `record` prints for each
 * test its name, seconds, 0, 1 or 2, and the blocks of code that it reached, as hexadecimal
 * addresses. */
#define _GNU_SOURCE
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/test_util.h"
#include "tests/ops/table.h"
#undef _mark_point
#undef _tcase_add_test

enum { FAILED = 1, STOPPED, ASSERTION = 97, FIXTURES = 4 };

/* ---- what tests call ---- */

struct Suite {
    const char *name;
    void (*add)(Suite *suite);
};
#define SUITE(room, name) {#name, add_##name##_cases},
#define FORKING           SUITE
static Suite suites[] = {
#include "tests/suites.def"
};

struct TCase {
    const char *name;
    const Suite *suite;
    TCase *next;
    SFun setup[FIXTURES], teardown[FIXTURES];
    int fixtures;
};
typedef struct {
    char name[250];
    const TCase *in;
    const TTest *test;
    int index, signal, status;
} Entry;
static Entry *entries, *wanted; /* static: LeakSanitizer looks for pointers here */
static TCase *cases;
static double *seconds;
static size_t count;

static void *zeros(size_t size)
{
    void *p = calloc(1, size);
    if (p == NULL) {
        abort();
    }
    return p;
}

TCase *tcase_create(const char *name)
{
    TCase *in = zeros(sizeof *in);
    in->name = name;
    in->next = cases;
    cases = in;
    return in;
}

void suite_add_tcase(Suite *suite, TCase *in)
{
    in->suite = suite;
}
void tcase_set_timeout(TCase *in, double seconds)
{
    (void)in, (void)seconds;
}
void _mark_point(const char *file, int line)
{
    (void)file, (void)line;
}

void tcase_add_checked_fixture(TCase *in, SFun setup, SFun teardown)
{
    if (in->fixtures == FIXTURES) {
        abort();
    }
    in->setup[in->fixtures] = setup;
    in->teardown[in->fixtures++] = teardown;
}

void tcase_add_unchecked_fixture(TCase *in, SFun setup, SFun teardown)
{
    (void)teardown; /* it could only print */
    tcase_add_checked_fixture(in, setup, NULL);
}

void _tcase_add_test(TCase *in, const TTest *test, int signal, int status, int start, int end)
{
    for (int i = start; i < end; i++) {
        if ((count & (count - 1)) == 0) {
            entries = realloc(entries, (count == 0 ? 1 : 2 * count) * sizeof *entries);
        }
        Entry *e = &entries[count++];
        *e = (Entry){.in = in, .test = test, .index = i, .signal = signal, .status = status};
    }
}

void _ck_assert_failed(const char *file, int line, const char *expr, const char *msg, ...)
{
    va_list values;
    va_start(values, msg);
    fprintf(stderr, "%s:%d: %s: ", file, line, expr);
    vfprintf(stderr, msg != NULL ? msg : "", values);
    fputc('\n', stderr);
    va_end(values);
    _exit(ASSERTION);
}

/* ---- blocks of code: -fsanitize-coverage=trace-pc calls this at the beginning of each ---- */

extern char __executable_start[], etext[];
static unsigned char *seen; /* shared with the processes of tests */

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    if (seen != NULL) {
        seen[(char *)__builtin_return_address(0) - __executable_start] = 1;
    }
}

static void print_seen(FILE *results)
{
    const size_t size = (size_t)(etext - __executable_start);
    for (size_t i = 0; i < size; i += 8) {
        unsigned long word;
        memcpy(&word, seen + i, sizeof word);
        if (word == 0) {
            continue;
        }
        for (size_t j = i; j < i + 8; j++) {
            if (seen[j]) {
                seen[j] = 0;
                fprintf(results, " %zx",
                        (size_t)__executable_start + j - 1); /* in the call itself */
            }
        }
    }
    fputc('\n', results);
}

/* ---- running ---- */

static volatile pid_t child;
static volatile sig_atomic_t late;

static void stop(int signal)
{
    (void)signal;
    late = 1;
    kill(-child, SIGKILL);
}

static void limit(int resource, rlim_t most)
{
    setrlimit(resource, &(struct rlimit){most, most + 2}); /* at the second one SIGKILL follows */
}

/* 0 if the test passes. The machine may be busy, so *seconds, the most that it may take and
 * afterwards what it took, are processor time; a test that waits forever is stopped much later. */
static int run(const Entry *e, double *seconds)
{
    late = 0;
    child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (!HAS_SANITIZER) { /* which reserves terabytes */
            limit(RLIMIT_AS, (rlim_t)16 << 30);
        }
        limit(RLIMIT_CORE, 0);
        limit(RLIMIT_CPU, (rlim_t)*seconds);
        for (int i = 0; i < e->in->fixtures; i++) {
            if (e->in->setup[i] != NULL) {
                e->in->setup[i]();
            }
        }
        e->test->fn(e->index);
        for (int i = e->in->fixtures - 1; i >= 0; i--) {
            if (e->in->teardown[i] != NULL) {
                e->in->teardown[i]();
            }
        }
        exit(EXIT_SUCCESS);
    }
    setpgid(child, child);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_sec = (time_t)(10 * *seconds) + 20},
              NULL);
    int status;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    kill(-child, SIGKILL); /* processes that the test left behind */
    *seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    if (late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
        return STOPPED;
    }
    const bool good = WIFSIGNALED(status) ? WTERMSIG(status) == e->signal && e->signal != 0
                                          : WEXITSTATUS(status) == e->status && e->signal == 0;
    return good ? 0 : FAILED;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Entry *)a)->name, ((const Entry *)b)->name);
}

int main(int argc, char **argv)
{
    setenv("LC_ALL", "C.UTF-8", 1); /* as tests/main.c */
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    int found = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        bool wanted = argc == 2;
        for (int j = 2; j < argc; j++) {
            wanted = wanted || strcmp(argv[j], suites[i].name) == 0;
        }
        if (wanted) {
            suites[i].add(&suites[i]);
            add_operation_rows(&suites[i], suites[i].name);
            found++;
        }
    }
    if (argc > 2 && found != argc - 2) {
        fputs("runner: no such suite\n", stderr);
        return 3;
    }
    for (Entry *e = entries; e < entries + count; e++) {
        snprintf(e->name, sizeof e->name, "%s:%s:%s:%d", e->in->suite->name, e->in->name,
                 e->test->name, e->index);
        for (char *c = e->name; *c != '\0'; c++) {
            *c = *c == ' ' ? '_' : *c;
        }
    }
    if (argv[1][0] == 'l') {
        for (size_t i = 0; i < count; i++) {
            puts(entries[i].name);
        }
        return EXIT_SUCCESS;
    }
    const bool record = argv[1][0] == 'r' && argv[1][1] == 'e';
    if (record) {
        seen = mmap(NULL, (size_t)(etext - __executable_start) + 8, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    }
    qsort(entries, count, sizeof *entries, by_name);
    wanted = zeros((count + 1) * sizeof *wanted);
    seconds = zeros((count + 1) * sizeof *seconds);
    size_t n = 0;
    while (n < count && scanf("%249s %lf", wanted[n].name, &seconds[n]) == 2) {
        n++;
    }
    FILE *results = fdopen(dup(STDOUT_FILENO), "w");
    dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
    dup2(STDIN_FILENO, STDOUT_FILENO);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = stop}, NULL);
    const pid_t parent = getppid();
    for (size_t i = 0; i < n && getppid() == parent; i++) { /* mutate.py may have been killed */
        const Entry *e = bsearch(&wanted[i], entries, count, sizeof *entries, by_name);
        const int failed = e == NULL ? FAILED : run(e, &seconds[i]);
        if (record) {
            fprintf(results, "%s %.4f %d", wanted[i].name, seconds[i], failed);
            print_seen(results);
        } else if (failed) {
            fprintf(results, "%s\n", wanted[i].name);
        }
        fflush(results); /* or the next process would print it again */
        if (failed && !record) {
            return failed;
        }
    }
    return EXIT_SUCCESS;
}
