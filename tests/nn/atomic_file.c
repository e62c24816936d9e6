/* Whatever fails during a save, the old file stays whole and no temporary file is left next to
 * it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/files_util.h"

enum { ELEMENTS = 2000 };

static heed_tensor *filled_with(double value)
{
    return heed_full(HEED_SHAPE(ELEMENTS), value, HEED_F64);
}

static heed_status save(const char *path, heed_tensor *x)
{
    const char *name = "x";
    return heed_save_file((heed_tensor_list){1, &x, &name}, path, NULL);
}

/* The file contains the value everywhere, and is alone in its folder. */
static void expect_file(const char *name, double value)
{
    expect_same_bits(load_one(in_folder(name), "x"), filled_with(value));
    ck_assert_int_eq(files_in_folder(), 1);
}

/* Limits the size of files that this process writes; exceeding it raises a signal, which is deadly
 * or ignored. Check writes files too, so do not call it before unlimit_files. */
static void limit_files(rlim_t bytes, bool deadly)
{
    struct rlimit limit = {0};
    signal(SIGXFSZ, deadly ? SIG_DFL : SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void unlimit_files(void)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

START_TEST(a_write_that_fails_leaves_the_old_file)
{
    heed_tensor *two = filled_with(2);
    save_one(in_folder("a"), filled_with(1));
    struct stat about;
    ck_assert_int_eq(stat(in_folder("a"), &about), 0);
    for (off_t limit = 0; limit < about.st_size; limit += limit < 100 ? 1 : 997) {
        limit_files((rlim_t)limit, false);
        const heed_status status = save(in_folder("a"), two);
        unlimit_files();
        ck_assert_int_eq(status, HEED_ERR_FILE);
        expect_error(HEED_ERR_FILE, "/a: cannot write it: File too large");
        expect_file("a", 1);
    }
    limit_files((rlim_t)about.st_size, false);
    const heed_status status = save(in_folder("a"), two);
    unlimit_files();
    ck_assert_int_eq(status, HEED_OK);
    expect_file("a", 2);
}
END_TEST

START_TEST(a_first_write_that_fails_leaves_nothing)
{
    heed_tensor *one = filled_with(1);
    limit_files(1000, false);
    save(in_folder("a"), one);
    unlimit_files();
    expect_error(HEED_ERR_FILE, "File too large");
    ck_assert_int_eq(files_in_folder(), 0);
}
END_TEST

/* Runs `work` in a child; returns its wait status. */
static int in_a_child(void (*work)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        work();
        _exit(77);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static void die_by_the_handler(void)
{
    fclose(stderr);
    heed_on_error(heed_die);
    limit_files(5000, false);
    save(in_folder("a"), filled_with(2));
}

START_TEST(a_program_that_ends_with_the_error_leaves_the_old_file)
{
    save_one(in_folder("a"), filled_with(1));
    const int status = in_a_child(die_by_the_handler);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    expect_file("a", 1);
}
END_TEST

/* Runs in a child, which the system kills when the file reaches the limit. */
static rlim_t deadly_limit;

static void write_past_the_limit(void)
{
    limit_files(deadly_limit, true);
    save(in_folder("a"), filled_with(2));
}

START_TEST(a_kill_at_any_byte_leaves_the_old_file)
{
    save_one(in_folder("a"), filled_with(1));
    for (deadly_limit = 0; deadly_limit < 16000; deadly_limit += deadly_limit < 100 ? 9 : 1990) {
        const int status = in_a_child(write_past_the_limit);
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ, "status %x", status);
        expect_same_bits(load_one(in_folder("a"), "x"), filled_with(1));
    }
    save_one(in_folder("a"), filled_with(3)); /* temporary files of killed programs do not matter */
    expect_same_bits(load_one(in_folder("a"), "x"), filled_with(3));
}
END_TEST

/* ---- places that cannot be written ---- */

START_TEST(some_places_cannot_be_written)
{
    static const struct {
        const char *path, *words;
    } rows[] = {
        {"/tmp/heed-none/of/these",
         "cannot create a temporary file next to it: No such file or directory"},
        {"", "save_file: : cannot"},
        {"/tmp", "save_file: /tmp: it is not a regular file that may be written"},
        {"/tmp/", "save_file: /tmp/: it is not a regular file"},
        {"/dev/full", "save_file: /dev/full: it is not a regular file"},
        {"/dev/null", "save_file: /dev/null: it is not a regular file"},
        {"/dev/null/x", "cannot create a temporary file next to it: Not a directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(save(rows[i].path, filled_with(1)), HEED_ERR_FILE);
        expect_error(HEED_ERR_FILE, rows[i].words);
    }
    char path[5000] = "";
    memset(path, '/', sizeof path - 1);
    ck_assert_int_eq(save(path, filled_with(1)), HEED_ERR_FILE);
    expect_file_error("////: cannot create a temporary file next to it", ENAMETOOLONG);
    memset(path, 'a', 300);
    path[300] = '\0';
    ck_assert_int_eq(save(in_folder(path), filled_with(1)), HEED_ERR_FILE);
    expect_file_error("aaa: cannot create a temporary file next to it", ENAMETOOLONG);
    ck_assert_int_eq(files_in_folder(), 0);
}
END_TEST

START_TEST(permissions_hold)
{
    save_one(in_folder("a"), filled_with(1));
    chmod(in_folder("a"), 0444);
    become_nobody();
    ck_assert_int_eq(save(in_folder("a"), filled_with(2)), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "/a: it is not a regular file that may be written");
    chmod(in_folder(""), 0555);
    ck_assert_int_eq(save(in_folder("b"), filled_with(2)), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "/b: cannot create a temporary file next to it: Permission denied");
    chmod(in_folder(""), 0755);
    expect_file("a", 1);
}
END_TEST

/* In a sticky folder another user's file may be written to, but not replaced. */
START_TEST(the_last_step_may_be_refused)
{
    save_one(in_folder("a"), filled_with(1));
    chmod(in_folder("a"), 0666);
    chmod(in_folder(""), 01777);
    ck_assert_int_eq(seteuid(65534), 0);
    ck_assert_int_eq(save(in_folder("a"), filled_with(2)), HEED_ERR_FILE);
    ck_assert_int_eq(seteuid(0), 0);
    expect_error(HEED_ERR_FILE, "/a: cannot write it: Operation not permitted");
    expect_file("a", 1);
}
END_TEST

static int mode_of(const char *path)
{
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    return (int)(about.st_mode & 0777);
}

START_TEST(permissions_are_kept)
{
    umask(027);
    save_one(in_folder("a"), filled_with(1));
    ck_assert_int_eq(mode_of(in_folder("a")), 0640); /* the umask's, as for any new file */
    static const mode_t modes[] = {0600, 0666, 0755, 0200};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        chmod(in_folder("a"), modes[i]);
        save_one(in_folder("a"), filled_with(2));
        ck_assert_int_eq(mode_of(in_folder("a")), (int)modes[i]);
    }
}
END_TEST

/* ---- links ---- */

START_TEST(a_path_may_have_no_folder)
{
    ck_assert_int_eq(chdir(in_folder("")), 0);
    save_one("a", filled_with(1));
    save_one("./a", filled_with(2));
    expect_file("a", 2);
}
END_TEST

/* ---- concurrency ---- */

static char shared_path[512];
static bool stop;

static void *save_again_and_again(void *value)
{
    intptr_t wrong = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        heed_scope scope;
        heed_scope_begin(&scope);
        wrong += save(shared_path, filled_with(*(double *)value)) != HEED_OK;
        heed_scope_end(&scope);
    }
    return (void *)wrong; /* NOLINT */
}

START_TEST(a_reader_sees_whole_files)
{
    double values[] = {1, 2};
    pthread_t threads[2];
    strcpy(shared_path, in_folder("a"));
    save_one(shared_path, filled_with(1));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, save_again_and_again, &values[i]), 0);
    }
    for (int i = 0; i < 200; i++) {
        heed_tensor *x = load_one(shared_path, "x");
        expect_no_error();
        ck_assert(heed_equal(x, filled_with(1)) || heed_equal(x, filled_with(2)));
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        void *wrong = &stop;
        pthread_join(threads[i], &wrong);
        ck_assert_ptr_null(wrong);
    }
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* Both save until a pipe is closed; then the file is whole, and no temporary file is left. */
START_TEST(two_processes_save_one_path)
{
    pid_t children[2];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    strcpy(shared_path, in_folder("a"));
    save_one(shared_path, filled_with(1));
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char byte;
            close(ends[1]);
            fcntl(ends[0], F_SETFL, O_NONBLOCK);
            while (read(ends[0], &byte, 1) < 0) {
                heed_scope scope;
                heed_scope_begin(&scope);
                if (save(shared_path, filled_with(i + 1)) != HEED_OK) {
                    _exit(1);
                }
                heed_scope_end(&scope);
            }
            _exit(0);
        }
    }
    close(ends[0]);
    bool seen[2] = {false, false};
    for (int i = 0; i < 200 || (!(seen[0] && seen[1]) && i < 100000); i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *x = load_one(shared_path, "x");
        expect_no_error();
        const bool one = heed_equal(x, filled_with(1));
        ck_assert(one || heed_equal(x, filled_with(2)));
        seen[!one] = true;
        heed_scope_end(&scope);
    }
    close(ends[1]);
    for (int i = 0; i < 2; i++) {
        int status = -1;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert(seen[0] && seen[1]);
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

void add_atomic_file_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "atomic_files");
    tcase_add_test(tests, a_write_that_fails_leaves_the_old_file);
    tcase_add_test(tests, a_first_write_that_fails_leaves_nothing);
    tcase_add_test(tests, a_program_that_ends_with_the_error_leaves_the_old_file);
    tcase_add_test(tests, a_kill_at_any_byte_leaves_the_old_file);
    tcase_add_test(tests, some_places_cannot_be_written);
    tcase_add_test(tests, permissions_hold);
    lacking(geteuid() == 0 ? NULL : "only root can be two users");
    tcase_add_test(tests, the_last_step_may_be_refused);
    lacking(NULL);
    tcase_add_test(tests, permissions_are_kept);
    tcase_add_test(tests, a_path_may_have_no_folder);
    tcase_add_test(tests, a_reader_sees_whole_files);
    tcase_add_test(tests, two_processes_save_one_path);
}
