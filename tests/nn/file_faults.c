/* Whatever fails while a file is written, the old file stays whole and no temporary file is left:
 * system calls fail in turn, or are the last before the program is killed. The linker redirects
 * them here (--wrap, in tests/checks.mk). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/files_util.h"

/* ---- faults ---- */

typedef enum fault {
    NONE,
    FAIL,   /* call `at` fails */
    KILL,   /* the program is killed before call `at` */
    TRICKLE /* writes do at most 7 bytes, and every second one is interrupted */
} fault;

static struct plan {
    fault fault;
    int at, calls;
    char trace[400]; /* names of the calls */
    char failed[20]; /* the name of the one that failed */
} plan;

static void begin_fault(fault which, int at)
{
    plan = (struct plan){.fault = which, .at = at};
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
    if (plan.fault == KILL && call == plan.at) {
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
    errno = EIO;
    return true;
}

/* WRAP(name, type, failure, parameters, arguments) wraps the system function of that name. */
#define WRAP(name, type, failure, parameters, arguments)                                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(#name) ? failure : __real_##name arguments;                                   \
    }

WRAP(fstat, int, -1, (int fd, struct stat *about), (fd, about))
WRAP(stat, int, -1, (const char *path, struct stat *about), (path, about))
WRAP(access, int, -1, (const char *path, int mode), (path, mode))
WRAP(fchmod, int, -1, (int fd, mode_t mode), (fd, mode))
WRAP(fopen, FILE *, NULL, (const char *path, const char *mode), (path, mode))
WRAP(fflush, int, EOF, (FILE * file), (file))
WRAP(fsync, int, -1, (int fd), (fd))
WRAP(rename, int, -1, (const char *from, const char *to), (from, to))
WRAP(unlink, int, -1, (const char *path), (path))
WRAP(fread, size_t, 0, (void *to, size_t size, size_t n, FILE *file), (to, size, n, file))
WRAP(write, ssize_t, -1, (int fd, const void *from, size_t size),
     (fd, from, plan.fault == TRICKLE && size > 7 ? 7 : size))

/* fclose closes the file even if it fails. */
int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file)
{
    const bool failed = fails("fclose");
    const int error = errno, result = __real_fclose(file);
    errno = failed ? error : errno;
    return failed ? EOF : result;
}

/* ---- writing ---- */

enum { ELEMENTS = 2000 };

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
        begin_fault(FAIL, -1);
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
    heed_tensor *two = filled_with(2);
    int at = 0, calls = 0;
    do {
        save_one(in_folder("a"), filled_with(1));
        const char *path = in_folder("a");
        begin_fault(FAIL, at);
        const heed_status status = save(two, path);
        calls = end_fault();
        const bool renamed =
            strstr(plan.trace, "rename fclose") != NULL && strstr(plan.trace, "unlink") == NULL;
        ck_assert_int_eq(heed_error(), status);
        ck_assert_int_eq(status, renamed ? HEED_OK : HEED_ERR_FILE);
        ck_assert(holds(renamed ? 2 : 1));
        ck_assert_int_eq(files_in_folder(), 1);
    } while (++at <= calls);
    ck_assert_int_eq(at, 9);
}
END_TEST

/* Until the rename the old file is untouched. */
START_TEST(a_kill_before_any_call_leaves_a_whole_file)
{
    int at = 0, status = 0;
    do {
        save_one(in_folder("a"), filled_with(1));
        const pid_t child = fork();
        if (child == 0) {
            heed_tensor *two = filled_with(2);
            const char *path = in_folder("a");
            begin_fault(KILL, at);
            save(two, path);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(holds(at++ < 7 ? 1 : 2));
    } while (WIFSIGNALED(status));
    ck_assert_int_eq(at, 9); /* killed at each of 8 calls */
}
END_TEST

/* Limits the size of files that this process writes. Check writes files too. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(a_full_disk_leaves_the_old_file)
{
    static const rlim_t limits[] = {0, 7, 70, 5000, 16071};
    heed_tensor *two = filled_with(2);
    signal(SIGXFSZ, SIG_IGN);
    save_one(in_folder("a"), filled_with(1));
    for (int i = 0; i < 10; i++) {
        const char *path = in_folder(i % 2 == 0 ? "a" : "first");
        limit_files(limits[i / 2]);
        save(two, path);
        limit_files(RLIM_INFINITY);
        expect_error(HEED_ERR_FILE, "cannot write it: File too large");
        ck_assert_int_eq(files_in_folder(), 1);
    }
    ck_assert(holds(1));
}
END_TEST

/* ---- places ---- */

/* Drops root, which ignores permissions; the new user owns the folder. */
static void become_nobody(void)
{
    const uid_t nobody = 65534;
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(in_folder(""), nobody, (gid_t)-1), 0);
        ck_assert_int_eq(setuid(nobody), 0);
    }
}

static void expect_place(const char *path, const char *of_writing, const char *of_reading)
{
    save(filled_with(1), path);
    expect_error(HEED_ERR_FILE, of_writing);
    ck_assert_ptr_null(heed_safetensors_open(path));
    expect_error(HEED_ERR_FILE, of_reading);
}

START_TEST(some_places_are_no_files)
{
    static const char irregular[] = ": it is not a regular file", create[] = ": cannot create a t";
    char name[5000] = "";
    expect_place("", "save_file: : cannot", "safetensors_open: : cannot open it: No such");
    expect_place("/tmp", "save_file: /tmp: it is not a regular file that may be written",
                 irregular);
    expect_place("/dev/null", irregular, irregular);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0); /* no process writes into it */
    expect_place(in_folder("pipe"), irregular, irregular);
    memset(name, '/', sizeof name - 1);
    expect_place(name, create, "name too long");
    memset(name, 'a', 300);
    name[300] = '\0';
    expect_place(in_folder(name), create, "name too long");
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

static int mode_of(const char *path)
{
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    return (int)(about.st_mode & 0777);
}

START_TEST(permissions_hold)
{
    umask(027);
    save_one(in_folder("a"), filled_with(1));
    ck_assert_int_eq(mode_of(in_folder("a")), 0640); /* the umask's, as for any new file */
    chmod(in_folder("a"), 0604);
    save_one(in_folder("a"), filled_with(2));
    ck_assert_int_eq(mode_of(in_folder("a")), 0604);
    chmod(in_folder("a"), 0);
    become_nobody();
    expect_place(in_folder("a"), "/a: it is not a regular file that may be written",
                 "/a: cannot open it: Permission denied");
    chmod(in_folder(""), 0555);
    save(filled_with(2), in_folder("b"));
    expect_error(HEED_ERR_FILE, "/b: cannot create a temporary file next to it: Permission denied");
    chmod(in_folder(""), 0755);
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* A file that another program writes, or left, under the temporary name stays. */
START_TEST(temporary_names_may_be_taken)
{
    char name[40];
    snprintf(name, sizeof name, "a.tmp.%ld.0", (long)getpid());
    write_bytes(in_folder(name), "taken", 5);
    save_one(in_folder("a"), filled_with(1));
    ck_assert(holds(1));
    size_t size;
    char *bytes = read_bytes(in_folder(name), &size);
    ck_assert_str_eq(bytes, "taken");
    free(bytes);
    ck_assert_int_eq(files_in_folder(), 2);
}
END_TEST

/* ---- reading ---- */

START_TEST(each_call_that_reads_may_fail)
{
    int at = 0, calls = 0;
    save_one(in_folder("a"), filled_with(1));
    do {
        const char *path = in_folder("a");
        begin_fault(FAIL, at);
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

START_TEST(a_file_may_become_shorter)
{
    save_one(in_folder("a"), filled_with(1));
    heed_safetensors *file = heed_safetensors_open(in_folder("a"));
    ck_assert_int_eq(truncate(in_folder("a"), 5000), 0);
    ck_assert_ptr_null(heed_safetensors_tensor(file, "x"));
    expect_error(HEED_ERR_FILE, "/a: cannot read it: it has become shorter");
    heed_safetensors_close(file);
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
        begin_fault(faults[_i], at);
        heed_watch *w = heed_watch_new(.csv = csv);
        const bool made = w != NULL;
        for (int step = 1; made && step <= 3; step++) {
            heed_watch_value(w, "loss", step);
            heed_watch_value(w, step < 3 ? "loss" : "later", step);
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
        const bool whole = strcmp(rows, "step,loss,later\n1,1,\n2,2,\n3,3,3\n") == 0;
        ck_assert(whole || faults[_i] == FAIL);
        ck_assert_int_eq(files_in_folder(), 1);
        free(rows);
    } while (faults[_i] == FAIL && ++at <= calls);
    ck_assert_int_ge(calls, 5);
}
END_TEST

void add_file_faults_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "faults");
    tcase_add_test(tests, the_order_is_safe);
    tcase_add_test(tests, each_call_that_writes_may_fail);
    tcase_add_test(tests, a_kill_before_any_call_leaves_a_whole_file);
    tcase_add_test(tests, a_full_disk_leaves_the_old_file);
    tcase_add_test(tests, some_places_are_no_files);
    tcase_add_test(tests, permissions_hold);
    tcase_add_test(tests, temporary_names_may_be_taken);
    tcase_add_test(tests, each_call_that_reads_may_fail);
    tcase_add_test(tests, a_file_may_become_shorter);
    tcase_add_loop_test(tests, a_watch_survives_each_call_that_fails, 0, 2);
}
