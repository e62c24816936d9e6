/* Checks before a long run: tries to create the output files after resolving all links, and
 * compares the machine's memory with what training needs. */
#include "examples/lab/common/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 };

/* ---- resolving paths ---- */

/* A resolved path; the file need not exist. */
typedef struct place {
    char path[LONGEST_PATH];
    struct stat at; /* valid if it exists */
    bool exists;
} place;

/* Replaces the last component of the path, or the whole path if `name` is absolute. */
static bool step_to(char path[LONGEST_PATH], const char *name)
{
    const char *slash = *name == '/' ? NULL : strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    if (folder + strlen(name) >= LONGEST_PATH) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(path + folder, name);
    return true;
}

/* False: errno is set. */
static bool find_place(const char *path, place *p)
{
    char link[LONGEST_PATH];
    p->exists = false;
    *p->path = '\0';
    if (*path == '\0' || !step_to(p->path, path)) {
        errno = *path == '\0' ? ENOENT : errno;
        return false;
    }
    if (stat(path, &p->at) == 0 && !S_ISREG(p->at.st_mode) && !S_ISDIR(p->at.st_mode)) {
        p->exists = true; /* /dev/stdout may link to a pipe, which has no path */
        return true;
    }
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t length = readlink(p->path, link, sizeof link - 1);
        if (length < 0) { /* not a link, or missing */
            p->exists = stat(p->path, &p->at) == 0;
            return p->exists || errno == ENOENT;
        }
        link[length] = '\0';
        if (!step_to(p->path, link)) {
            return false;
        }
    }
    errno = ELOOP;
    return false;
}

bool path_resolve(const char *path, char resolved[LONGEST_PATH])
{
    place p;
    if (!find_place(path, &p)) {
        return false;
    }
    strcpy(resolved, p.path);
    return true;
}

/* The folder of a file. */
static bool stat_folder(const char *path, struct stat *at)
{
    char folder[LONGEST_PATH];
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[1] = '\0';
    }
    return stat(slash != NULL ? folder : ".", at) == 0;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool path_same(const char *a, const char *b)
{
    place first, second;
    struct stat one, other;
    if (a == NULL || b == NULL || !find_place(a, &first) || !find_place(b, &second) ||
        first.exists != second.exists) {
        return false;
    }
    if (first.exists) {
        return S_ISREG(first.at.st_mode) && first.at.st_dev == second.at.st_dev &&
               first.at.st_ino == second.at.st_ino;
    }
    return strcmp(name_in(first.path), name_in(second.path)) == 0 &&
           stat_folder(first.path, &one) && stat_folder(second.path, &other) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* ---- can it be written? ---- */

static heed_status refuse(const char *flag, const char *path, const char *why)
{
    return heed_fail(HEED_ERR_VALUE, "%s: cannot write %s: %s", flag, path, why);
}

/* Creates a file in the same folder and removes it again. */
static heed_status try_folder(const char *flag, const char *path, const place *p)
{
    char beside[LONGEST_PATH + 32];
    snprintf(beside, sizeof beside, "%s.tmp-%ld", p->path, (long)getpid());
    const int file = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0 && errno != EEXIST) {
        return refuse(flag, path, strerror(errno));
    }
    if (file >= 0) {
        close(file);
        unlink(beside);
    }
    return HEED_OK;
}

heed_status path_check(const char *flag, const char *path, bool device)
{
    place p;
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (!find_place(path, &p)) {
        return refuse(flag, path, strerror(errno));
    }
    if (!p.exists) {
        return try_folder(flag, path, &p);
    }
    if (S_ISDIR(p.at.st_mode) || (!S_ISREG(p.at.st_mode) && !device)) {
        return refuse(flag, path, S_ISDIR(p.at.st_mode) ? "it is a directory" : "it is not a file");
    }
    if (access(p.path, W_OK) != 0) {
        return refuse(flag, path, strerror(errno));
    }
    return device ? HEED_OK : try_folder(flag, path, &p);
}

heed_status path_check_unused(const char *flag, const char *path, const char *way_out)
{
    struct stat at;
    if (path != NULL && stat(path, &at) == 0 && S_ISREG(at.st_mode) && at.st_size > 0) {
        heed_fail(HEED_ERR_VALUE, "%s: %s exists; %s", flag, path, way_out);
    }
    return heed_error_pending();
}

/* ---- the files of a command line ---- */

static bool replaces(const path_use *file, const path_use *other)
{
    return file->replaces != NULL && strcmp(file->replaces, other->flag) == 0;
}

heed_status path_check_all(const path_use *files, int count)
{
    for (int i = 0; i < count; i++) {
        if (files[i].written && files[i].path != NULL) {
            path_check(files[i].flag, files[i].path, files[i].device);
        }
        for (int j = 0; j < i && files[i].written; j++) {
            if (path_same(files[i].path, files[j].path) && !replaces(&files[i], &files[j])) {
                heed_fail(HEED_ERR_VALUE, "%s is %s: one file cannot be both", files[i].flag,
                          files[j].flag);
            }
        }
    }
    return heed_error_pending();
}

/* ---- memory ---- */

/* The physical memory and the swap space, or the process's limit if that is lower (ulimit -v). */
static double memory_of_process(void)
{
    double memory = HUGE_VAL, swap = 0;
    struct rlimit limit;
#ifdef _SC_PHYS_PAGES
    memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#endif
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *name = "SwapTotal:";
        if (strncmp(line, name, strlen(name)) == 0) {
            swap = 1024 * strtod(line + strlen(name), NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    memory += swap;
    const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited && (double)limit.rlim_cur < memory ? (double)limit.rlim_cur : memory;
}

heed_status memory_check(double bytes, const char *needs_less)
{
    const double memory = memory_of_process();
    return bytes <= memory
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE,
                           "a training step needs more than %.3g GB, but only %.3g GB are "
                           "available to this program; reduce %s",
                           bytes / 1e9, memory / 1e9, needs_less);
}
