/* System calls that open, write or read a file fail in turn, or are the last before the program is
 * killed: the old file stays whole until the new one replaces it. The linker redirects these calls
 * here (--wrap, in the Makefile). atomic_file.c makes the writes themselves fail. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/common/files_util.h"

/* ---- faults ---- */

typedef enum fault {
    NONE,
    FAIL,        /* call `at` fails with `error` */
    KILL_BEFORE, /* the program is killed before call `at` */
    KILL_AFTER,  /* or after it */
    TRICKLE      /* writes do at most 7 bytes, and every second one is interrupted */
} fault;

static struct plan {
    fault fault;
    int at, error, calls;
    char trace[400]; /* names of the calls */
    char failed[20]; /* the name of the one that failed */
} plan;

static void begin_fault(fault which, int at, int error)
{
    plan = (struct plan){.fault = which, .at = at, .error = error};
}

/* Ends the fault; returns the number of calls. */
static int end_fault(void)
{
    plan.fault = NONE;
    return plan.calls;
}

/* Counts a call; returns whether it must fail. */
static bool fails(const char *name)
{
    if (plan.fault == NONE) {
        return false;
    }
    const int call = plan.calls++;
    strncat(plan.trace, name, sizeof plan.trace - strlen(plan.trace) - 1);
    strncat(plan.trace, " ", sizeof plan.trace - strlen(plan.trace) - 1);
    if (plan.fault == KILL_BEFORE && call == plan.at) {
        raise(SIGKILL);
    }
    if (plan.fault == TRICKLE && call % 2 == 0 && strcmp(name, "write") == 0) {
        errno = EINTR;
        return true;
    }
    if (plan.fault != FAIL || call != plan.at) {
        return false;
    }
    snprintf(plan.failed, sizeof plan.failed, "%s", name);
    errno = plan.error;
    return true;
}

/* Called after each call: kills the program if the fault says so. */
static void survive(void)
{
    if (plan.fault == KILL_AFTER && plan.calls == plan.at + 1) {
        raise(SIGKILL);
    }
}

/* WRAP(name, type, failure, parameters, arguments) wraps the system function of that name. */
#define WRAP(name, type, failure, parameters, arguments)                                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        if (fails(#name)) {                                                                        \
            return failure;                                                                        \
        }                                                                                          \
        const type result = __real_##name arguments;                                               \
        survive();                                                                                 \
        return result;                                                                             \
    }

WRAP(fstat, int, -1, (int fd, struct stat *about), (fd, about))
WRAP(stat, int, -1, (const char *path, struct stat *about), (path, about))
WRAP(access, int, -1, (const char *path, int mode), (path, mode))
WRAP(fchmod, int, -1, (int fd, mode_t mode), (fd, mode))
WRAP(fflush, int, EOF, (FILE * file), (file))
WRAP(fsync, int, -1, (int fd), (fd))
WRAP(rename, int, -1, (const char *from, const char *to), (from, to))
WRAP(unlink, int, -1, (const char *path), (path))
WRAP(fread, size_t, 0, (void *to, size_t size, size_t n, FILE *file), (to, size, n, file))

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    FILE *file = fails("fopen") ? NULL : __real_fopen(path, mode);
    survive();
    return file;
}

/* close and fclose release the descriptor even if they fail. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    const bool failed = fails("close");
    const int error = errno, result = __real_close(fd);
    survive();
    errno = failed ? error : errno;
    return failed ? -1 : result;
}

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file)
{
    const bool failed = fails("fclose");
    const int error = errno, result = __real_fclose(file);
    survive();
    errno = failed ? error : errno;
    return failed ? EOF : result;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    if (fails("open")) {
        return -1;
    }
    const int fd = __real_open(path, flags, mode);
    survive();
    return fd;
}

ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    return fails("write") ? -1
                          : __real_write(fd, from, plan.fault == TRICKLE && size > 7 ? 7 : size);
}

/* ---- writing ---- */

enum { ELEMENTS = 300 };

static heed_tensor *filled_with(double value)
{
    return heed_full(HEED_SHAPE(ELEMENTS), value, HEED_F64);
}

/* Does the file contain this value everywhere? */
static bool holds(double value)
{
    heed_tensor *x = load_one(in_folder("a"), "x");
    expect_no_error();
    return heed_equal(x, filled_with(value));
}

static heed_status save(heed_tensor *x, const char *path)
{
    const char *name = "x";
    return heed_save_file((heed_tensor_list){1, &x, &name}, path, NULL);
}

/* The file is synced before the rename, so a power failure never leaves half a file under the
 * name. */
START_TEST(the_order_is_safe)
{
    heed_tensor *one = filled_with(1);
    for (int there = 0; there < 2; there++) {
        const char *path = in_folder("a");
        begin_fault(FAIL, -1, 0);
        const heed_status status = save(one, path);
        end_fault();
        ck_assert_int_eq(status, HEED_OK);
        ck_assert_str_eq(plan.trace, there ? "stat access fopen fchmod fflush fsync rename fclose "
                                           : "stat fopen fflush fsync rename fclose ");
    }
}
END_TEST

/* Until the rename, every failure is reported and keeps the old file. After it the new file is in
 * place. */
START_TEST(each_call_that_writes_may_fail)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EACCES};
    heed_tensor *two = filled_with(2);
    int at = 0, calls = 0;
    do {
        save_one(in_folder("a"), filled_with(1));
        const char *path = in_folder("a");
        begin_fault(FAIL, at, errors[_i]);
        const heed_status status = save(two, path);
        calls = end_fault();
        const bool renamed =
            strstr(plan.trace, "rename fclose") != NULL && strstr(plan.trace, "unlink") == NULL;
        ck_assert_int_eq(heed_error(), status);
        ck_assert_int_eq(status, renamed ? HEED_OK : HEED_ERR_FILE);
        ck_assert(renamed ||
                  strstr("access fopen fchmod fflush fsync rename", plan.failed) != NULL);
        ck_assert(holds(renamed ? 2 : 1));
        ck_assert_int_eq(files_in_folder(), 1);
    } while (++at <= calls);
    ck_assert_int_eq(at, 9);
}
END_TEST

/* Runs in a child: saves, and is killed at call `at`. */
static void save_and_die(fault when, int at)
{
    heed_tensor *two = filled_with(2);
    const char *path = in_folder("a");
    begin_fault(when, at, 0);
    save(two, path);
    _exit(0);
}

/* Until the rename the old file is untouched; after it the new one is complete. */
START_TEST(a_kill_at_any_call_leaves_a_whole_file)
{
    const fault when = _i == 0 ? KILL_BEFORE : KILL_AFTER;
    const int renaming = when == KILL_BEFORE ? 7 : 6;
    int at = 0, status = 0;
    do {
        save_one(in_folder("a"), filled_with(1));
        const pid_t child = fork();
        if (child == 0) {
            save_and_die(when, at);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status)) {
            ck_assert_int_eq(WTERMSIG(status), SIGKILL);
            ck_assert(holds(at < renaming ? 1 : 2));
        }
        at++;
    } while (WIFSIGNALED(status));
    ck_assert_int_eq(at, 9); /* killed at each of 8 calls */
    ck_assert(holds(2));
    save_one(in_folder("a"), filled_with(3)); /* leftovers of killed programs do not matter */
    ck_assert(holds(3));
}
END_TEST

/* A program that saves in a loop is killed at random times. */
START_TEST(a_kill_at_any_time_leaves_a_whole_file)
{
    save_one(in_folder("a"), filled_with(1));
    srand(1);
    for (int i = 0; i < 50; i++) {
        heed_tensor *values[] = {filled_with(1), filled_with(2)};
        const char *path = in_folder("a");
        const pid_t child = fork();
        if (child == 0) {
            for (int j = 0;; j = 1 - j) {
                save(values[j], path);
            }
        }
        nanosleep(&(struct timespec){.tv_nsec = rand() % 3000000}, NULL);
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        ck_assert(holds(1) || holds(2));
    }
}
END_TEST

/* ---- reading ---- */

START_TEST(each_call_that_reads_may_fail)
{
    int at = 0, calls = 0;
    save_one(in_folder("a"), filled_with(1));
    do {
        const char *path = in_folder("a");
        begin_fault(FAIL, at, EIO);
        heed_tensor *x = load_one(path, "x");
        calls = end_fault();
        if (x == NULL) {
            expect_error(HEED_ERR_FILE, strcmp(plan.failed, "fread") == 0
                                            ? "/a: cannot read it: "
                                            : "/a: cannot open it: Input/output error");
        } else {
            ck_assert_int_ge(at, calls - 1); /* only fclose may fail unnoticed */
            ck_assert(heed_equal(x, filled_with(1)));
        }
    } while (++at <= calls);
    ck_assert_int_ge(at, 6);
}
END_TEST

/* ---- the files of a watch ---- */

/* Once a watch exists, failing, partial or interrupted system calls do not stop training; lost
 * output is reported. */
START_TEST(a_watch_survives_each_call_that_fails)
{
    static const fault faults[] = {FAIL, TRICKLE};
    size_t size;
    int at = 0, calls = 0;
    do {
        const char *csv = in_folder("csv");
        remove(csv);
        begin_fault(faults[_i], at, EIO);
        heed_watch *w = heed_watch_new(.csv = csv);
        const bool made = w != NULL;
        for (int step = 1; made && step <= 3; step++) {
            heed_watch_value(w, "loss", step);
            heed_watch_step(w);
        }
        heed_watch_free(w);
        calls = end_fault();
        if (!made) {
            expect_error(HEED_ERR_FILE, "watch_new: ");
            continue;
        }
        expect_no_error();
        char *rows = read_bytes(csv, &size);
        const bool whole = strcmp(rows, "step,loss\n1,1\n2,2\n3,3\n") == 0;
        ck_assert(whole || faults[_i] == FAIL);
        free(rows);
    } while (faults[_i] == FAIL && ++at <= calls);
    ck_assert_int_ge(calls, 5);
}
END_TEST

void add_file_faults_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "faults");
    tcase_add_test(tests, the_order_is_safe);
    tcase_add_loop_test(tests, each_call_that_writes_may_fail, 0, 4);
    tcase_add_loop_test(tests, a_kill_at_any_call_leaves_a_whole_file, 0, 2);
    tcase_add_test(tests, a_kill_at_any_time_leaves_a_whole_file);
    tcase_add_test(tests, each_call_that_reads_may_fail);
    tcase_add_loop_test(tests, a_watch_survives_each_call_that_fails, 0, 2);
}
