/* System calls that read or write a file fail in turn, are interrupted, do only part of their work,
 * or are the last before the program is killed: the old file stays whole until the new one replaces
 * it. The linker redirects these calls here (--wrap, in the Makefile). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
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
    KILL_AFTER,  /* or after it; a write is then half done */
    TRICKLE,     /* reads and writes do at most 7 bytes, and every second one is interrupted */
    IDLE,        /* writes do nothing, without an error */
    FULL         /* the disk has `room` bytes left */
} fault;

static struct plan {
    fault fault;
    int at, error, calls;
    size_t room;
    char trace[400]; /* names of the calls */
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
    const int call = plan.calls++;
    if (plan.fault == NONE) {
        plan.calls = 0;
        return false;
    }
    strncat(plan.trace, name, sizeof plan.trace - strlen(plan.trace) - 1);
    strncat(plan.trace, " ", sizeof plan.trace - strlen(plan.trace) - 1);
    if (plan.fault == KILL_BEFORE && call == plan.at) {
        raise(SIGKILL);
    }
    if (plan.fault == TRICKLE && call % 2 == 0 && strstr("read write", name) != NULL) {
        errno = EINTR;
        return true;
    }
    errno = plan.error;
    return plan.fault == FAIL && call == plan.at;
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
WRAP(fsync, int, -1, (int fd), (fd))
WRAP(rename, int, -1, (const char *from, const char *to), (from, to))
WRAP(unlink, int, -1, (const char *path), (path))
WRAP(readlink, ssize_t, -1, (const char *path, char *to, size_t size), (path, to, size))

/* close releases the descriptor even if it fails. */
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

static char directory[200]; /* the last one that was opened */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
    va_end(more);
    if ((flags & O_DIRECTORY) != 0) {
        snprintf(directory, sizeof directory, "%s", path);
    }
    if (fails("open")) {
        return -1;
    }
    const int fd = __real_open(path, flags, mode);
    survive();
    return fd;
}

ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at)
{
    if (fails("read")) {
        return -1;
    }
    return __real_pread(fd, to, plan.fault == TRICKLE && size > 7 ? 7 : size, at);
}

ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    if (fails("write")) {
        return -1;
    }
    if (plan.fault == IDLE) {
        return 0;
    }
    if (plan.fault == FULL && size > plan.room) {
        errno = ENOSPC;
        size = plan.room;
        plan.room = 0;
        return size > 0 ? __real_write(fd, from, size) : -1;
    }
    plan.room -= plan.fault == FULL ? size : 0;
    if (plan.fault == KILL_AFTER && plan.calls == plan.at + 1) {
        size /= 2;
    }
    const ssize_t written = __real_write(fd, from, plan.fault == TRICKLE && size > 7 ? 7 : size);
    survive();
    return written;
}

/* ---- both file formats ---- */

typedef struct format {
    heed_status (*save)(heed_tensor *x, const char *path);
    heed_tensor *(*load)(const char *path);
} format;

static heed_status save_safetensors(heed_tensor *x, const char *path)
{
    const char *name = "x";
    return heed_save_file((heed_tensor_list){1, &x, &name}, path, NULL);
}

static heed_tensor *load_safetensors(const char *path)
{
    return load_one(path, "x");
}

static const format formats[] = {{save_safetensors, load_safetensors}};
enum { FORMATS = 1, ELEMENTS = 300 };

static heed_tensor *filled_with(double value)
{
    return heed_full(HEED_SHAPE(ELEMENTS), value, HEED_F64);
}

static heed_tensor *load(const format *f)
{
    heed_tensor *x = f->load(in_folder("a"));
    expect_no_error();
    return x;
}

/* Does the file contain this value everywhere? */
static bool holds(const format *f, double value)
{
    return heed_equal(load(f), filled_with(value));
}

static void save(const format *f, double value)
{
    ck_assert_int_eq(f->save(filled_with(value), in_folder("a")), HEED_OK);
}

/* ---- writing ---- */

/* The file is synced before the rename, and the directory after it, so a power failure never leaves
 * half a file under the name. */
START_TEST(the_order_is_safe)
{
    const format *f = &formats[_i];
    heed_tensor *one = filled_with(1);
    for (int there = 0; there < 2; there++) {
        const char *path = in_folder("a");
        begin_fault(FAIL, -1, 0);
        const heed_status status = f->save(one, path);
        end_fault();
        ck_assert_int_eq(status, HEED_OK);
        ck_assert_str_eq(plan.trace, there ? "stat access open fchmod write write fsync "
                                             "close rename open fsync close "
                                           : "stat open write write fsync close rename "
                                             "open fsync close ");
        ck_assert_uint_eq(strlen(directory), strlen(path) - 2);
        ck_assert(strncmp(path, directory, strlen(directory)) == 0);
    }
}
END_TEST

/* Until the rename, every failure is reported and keeps the old file. After it the new file is in
 * place, and only EIO from the directory's fsync is reported. */
START_TEST(each_call_that_writes_may_fail)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT, EACCES};
    const format *f = &formats[_i % FORMATS];
    const int error = errors[_i / FORMATS];
    heed_tensor *two = filled_with(2);
    int at = 0, calls = 0;
    do {
        save(f, 1);
        const char *path = in_folder("a");
        begin_fault(FAIL, at, error);
        const heed_status status = f->save(two, path);
        calls = end_fault();
        const bool renamed = strstr(plan.trace, "rename open") != NULL;
        ck_assert_int_eq(heed_error(), status);
        ck_assert(holds(f, renamed ? 2 : 1));
        ck_assert_int_eq(files_in_folder(), 1);
        ck_assert_int_eq(status, renamed && !(at == 10 && error == EIO) ? HEED_OK : HEED_ERR_FILE);
    } while (++at <= calls);
    ck_assert_int_ge(at, 12);
}
END_TEST

START_TEST(a_disk_may_be_full)
{
    const format *f = &formats[_i];
    struct stat about;
    heed_tensor *two = filled_with(2);
    save(f, 1);
    ck_assert_int_eq(stat(in_folder("a"), &about), 0);
    for (off_t room = 0; room <= about.st_size; room++) {
        const char *path = in_folder("a");
        begin_fault(FULL, 0, 0);
        plan.room = (size_t)room;
        const heed_status status = f->save(two, path);
        end_fault();
        if (room < about.st_size) {
            ck_assert_int_eq(status, HEED_ERR_FILE);
            expect_error(HEED_ERR_FILE, "/a: cannot write it: No space left on device");
        }
        ck_assert(room % 50 > 0 || holds(f, room < about.st_size ? 1 : 2));
        ck_assert_int_eq(files_in_folder(), 1);
    }
    ck_assert(holds(f, 2));
}
END_TEST

START_TEST(a_write_may_do_nothing)
{
    const format *f = &formats[_i];
    save(f, 1);
    heed_tensor *two = filled_with(2);
    const char *path = in_folder("a");
    begin_fault(IDLE, 0, 0);
    errno = 0;
    const heed_status status = f->save(two, path);
    end_fault();
    ck_assert_int_eq(status, HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "/a: cannot write it: Input/output error");
    ck_assert(holds(f, 1));
}
END_TEST

START_TEST(calls_may_do_a_part_of_their_work)
{
    const format *f = &formats[_i];
    heed_tensor *x = of_all_bits(HEED_SHAPE(ELEMENTS), HEED_F32);
    const char *path = in_folder("a");
    begin_fault(TRICKLE, 0, 0);
    f->save(x, path);
    const int writes = end_fault();
    begin_fault(TRICKLE, 0, 0);
    heed_tensor *y = f->load(path);
    const int reads = end_fault();
    expect_same_bits(y, x);
    ck_assert_int_gt(writes, ELEMENTS);
    ck_assert_int_gt(reads, ELEMENTS);
}
END_TEST

/* Runs in a child: saves, and is killed at call `at`. */
static void save_and_die(const format *f, fault when, int at)
{
    heed_tensor *two = filled_with(2);
    const char *path = in_folder("a");
    begin_fault(when, at, 0);
    f->save(two, path);
    _exit(0);
}

/* Until the rename the old file is untouched; after it the new one is complete. */
START_TEST(a_kill_at_any_call_leaves_a_whole_file)
{
    const format *f = &formats[_i % FORMATS];
    const fault when = _i / FORMATS == 0 ? KILL_BEFORE : KILL_AFTER;
    const int renaming = when == KILL_BEFORE ? 9 : 8;
    int at = 0, status = 0;
    do {
        save(f, 1);
        const pid_t child = fork();
        if (child == 0) {
            save_and_die(f, when, at);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status)) {
            ck_assert_int_eq(WTERMSIG(status), SIGKILL);
            ck_assert(holds(f, at < renaming ? 1 : 2));
        }
        at++;
    } while (WIFSIGNALED(status));
    ck_assert_int_eq(at, 13); /* killed at each of 12 calls */
    ck_assert(holds(f, 2));
    save(f, 3); /* leftovers of killed programs do not matter */
    ck_assert(holds(f, 3));
}
END_TEST

/* A program that saves in a loop is killed at random times. */
START_TEST(a_kill_at_any_time_leaves_a_whole_file)
{
    const format *f = &formats[_i];
    save(f, 1);
    srand(1);
    for (int i = 0; i < 50; i++) {
        heed_tensor *values[] = {filled_with(1), filled_with(2)};
        const char *path = in_folder("a");
        const pid_t child = fork();
        if (child == 0) {
            for (int j = 0;; j = 1 - j) {
                f->save(values[j], path);
            }
        }
        nanosleep(&(struct timespec){.tv_nsec = rand() % 3000000}, NULL);
        kill(child, SIGKILL);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        ck_assert(holds(f, 1) || holds(f, 2));
    }
}
END_TEST

/* ---- reading ---- */

/* What a message says of call `at`, the number of a name in plan.trace. */
static const char *words_of_call(int at)
{
    const char *name = plan.trace;
    for (int i = 0; i < at; i++) {
        name = strchr(name, ' ') + 1;
    }
    return strncmp(name, "open ", 5) == 0    ? "cannot open it"
           : strncmp(name, "fstat ", 6) == 0 ? "cannot stat it"
                                             : "cannot read it";
}

START_TEST(each_call_that_reads_may_fail)
{
    const format *f = &formats[_i];
    int at = 0, calls = 0;
    save(f, 1);
    do {
        const char *path = in_folder("a");
        begin_fault(FAIL, at, EIO);
        heed_tensor *x = f->load(path);
        calls = end_fault();
        if (x == NULL) {
            expect_error(HEED_ERR_FILE, "/a: cannot ");
            ck_assert_msg(strstr(heed_error_message(), words_of_call(at)) != NULL,
                          "%s of \"%s\": %s", words_of_call(at), plan.trace, heed_error_message());
            ck_assert_ptr_nonnull(strstr(heed_error_message(), strerror(EIO)));
        } else {
            ck_assert_int_ge(at, calls - 1); /* only close may fail unnoticed */
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
        const heed_watch_options options = {.csv = in_folder("csv")};
        remove(options.csv);
        begin_fault(faults[_i], at, EIO);
        heed_watch *w = heed_watch_new(options);
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
        char *rows = read_bytes(options.csv, &size);
        const bool whole = strcmp(rows, "step,loss\n1,1\n2,2\n3,3\n") == 0;
        ck_assert(whole || faults[_i] == FAIL);
        free(rows);
    } while (faults[_i] == FAIL && ++at <= calls);
    ck_assert_int_ge(calls, 5);
}
END_TEST

void add_file_faults_cases(Suite *suite)
{
    required(CAN_WRAP, "the linker has no --wrap");
    TCase *tests = files_case(suite, "faults");
    tcase_add_loop_test(tests, the_order_is_safe, 0, FORMATS);
    tcase_add_loop_test(tests, each_call_that_writes_may_fail, 0, 4 * FORMATS);
    tcase_add_loop_test(tests, a_disk_may_be_full, 0, FORMATS);
    tcase_add_loop_test(tests, a_write_may_do_nothing, 0, FORMATS);
    tcase_add_loop_test(tests, calls_may_do_a_part_of_their_work, 0, FORMATS);
    tcase_add_loop_test(tests, a_kill_at_any_call_leaves_a_whole_file, 0, 2 * FORMATS);
    tcase_add_loop_test(tests, a_kill_at_any_time_leaves_a_whole_file, 0, FORMATS);
    tcase_add_loop_test(tests, each_call_that_reads_may_fail, 0, FORMATS);
    tcase_add_loop_test(tests, a_watch_survives_each_call_that_fails, 0, 2);
}
