/* Runs a program repeatedly. In each run another request for memory fails (fail_alloc.c): alone, or
 * with all later ones.
 *
 *   starve FAIL_ALLOC.so FOLDER RESULT MOST PROGRAM ARGUMENT...
 *
 * The program's output is stored in FOLDER. RESULT is a file that the program writes, or - for its
 * standard output. A run that succeeds must give the RESULT of the first run, and so must the last
 * run, in which nothing fails. A run that fails must exit with status 1 or 2 and report that it is
 * out of memory. At most MOST evenly spaced requests are made to fail. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60 };

static const char *library, *result;
static char output[400], errors[400], report_path[400];
static char **program;
static int64_t *report; /* requests, failures */

static void complain(const char *what)
{
    perror(what);
    exit(2);
}

static char *path_in(char path[400], const char *folder, const char *name)
{
    snprintf(path, 400, "%s/%s", folder, name);
    return path;
}

static void redirect(const char *path, int descriptor)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) {
        complain(path);
    }
    close(file);
}

/* Runs the program; returns its status as waitpid gives it. */
static int run(int64_t first, int64_t count)
{
    report[0] = report[1] = 0;
    const pid_t child = fork();
    if (child == 0) {
        char text[2][32];
        snprintf(text[0], sizeof *text, "%" PRId64, first);
        snprintf(text[1], sizeof *text, "%" PRId64, count);
        redirect(output, STDOUT_FILENO);
        redirect(errors, STDERR_FILENO);
        setenv("FAIL_REPORT", report_path, 1);
        setenv("FAIL_FIRST", text[0], 1);
        setenv("FAIL_COUNT", text[1], 1);
        setenv("LD_PRELOAD", library, 1);
        alarm(SECONDS); /* a program that hangs is killed */
        execv(program[0], program);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        complain("starve");
    }
    return status;
}

/* The contents of a file as a string, which the caller frees; "" if the file does not exist. */
static char *contents(const char *path, size_t *size)
{
    char *bytes = calloc(1, 1);
    FILE *file = fopen(path, "rb");
    *size = 0;
    for (size_t got = 1; file != NULL && got > 0; *size += got) {
        bytes = realloc(bytes, *size + 65537);
        got = fread(bytes + *size, 1, 65536, file);
        bytes[*size + got] = '\0';
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

static char *expected;
static size_t expected_size;

static int result_is_right(void)
{
    size_t size;
    char *bytes = contents(result, &size);
    const int right = size == expected_size && memcmp(bytes, expected, size) == 0;
    free(bytes);
    return right;
}

static int lacks_memory(void)
{
    size_t size;
    char *text = contents(errors, &size);
    const int said = strstr(text, "out of memory") != NULL ||
                     strstr(text, "Cannot allocate memory") != NULL ||
                     strstr(text, "the system cannot map it") != NULL;
    free(text);
    return said;
}

static int findings;

static void check(int64_t n, int64_t count, int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == 0 ? result_is_right() : (code == 1 || code == 2) && lacks_memory()) {
        return;
    }
    size_t size;
    char *text = contents(errors, &size);
    printf("%s: request %" PRId64 " failed %s: %s %d, result %s: %s\n", program[0], n,
           count == 1 ? "once" : "with all later ones", WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : code, result_is_right() ? "right" : "wrong",
           text);
    free(text);
    findings++;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: starve FAIL_ALLOC.so FOLDER RESULT MOST PROGRAM ARGUMENT...\n");
        return 2;
    }
    library = argv[1];
    program = argv + 5;
    path_in(output, argv[2], "output");
    path_in(errors, argv[2], "errors");
    result = strcmp(argv[3], "-") == 0 ? output : argv[3];
    const int file = open(path_in(report_path, argv[2], "report"), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 16) != 0) {
        complain(report_path);
    }
    report = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (report == MAP_FAILED || run(INT64_MAX, 0) != 0) {
        complain("starve: without failures");
    }
    expected = contents(result, &expected_size);
    const int64_t requests = report[0], most = atoll(argv[4]);
    const int64_t step = 1 + (requests - 1) / most;
    int64_t runs = 0, failures = 0, unharmed = 0;
    for (int64_t n = 0; n < requests; n += step) {
        for (int for_ever = 0; for_ever < 2; for_ever++, runs++) {
            const int64_t count = for_ever ? INT64_MAX : 1;
            const int status = run(n, count);
            failures += report[1];
            unharmed += status == 0;
            check(n, count, status);
        }
    }
    check(requests, 0, run(INT64_MAX, 0));
    printf("%s %s: %" PRId64 " requests; %" PRId64 " runs, %" PRId64 " failures, %" PRId64
           " successful runs, %d findings\n",
           program[0], argc > 6 ? program[1] : "", requests, runs, failures, unharmed, findings);
    free(expected);
    return findings > 0;
}
