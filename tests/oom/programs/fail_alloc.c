/* A shared object for LD_PRELOAD: starting with request number FAIL_FIRST, FAIL_COUNT requests for
 * memory or threads fail. libc's own requests, as in fopen and getline, count too. The numbers of
 * requests and of failures are written to the file FAIL_REPORT. For glibc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct report {
    int64_t requests, failures;
} report;

static report *counts; /* the mapped file; NULL: nothing fails yet */
static int64_t first, count;

/* Counts a request; returns whether it fails. */
static int fails(void)
{
    if (counts == NULL) {
        return 0;
    }
    const int64_t n = __atomic_fetch_add(&counts->requests, 1, __ATOMIC_RELAXED);
    if (n < first || n - first >= count) {
        return 0;
    }
    __atomic_fetch_add(&counts->failures, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return 1;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    return fails() ? NULL : __libc_calloc(number, size);
}

void *realloc(void *block, size_t size)
{
    return fails() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = aligned_alloc(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

static void *(*real_mmap)(void *at, size_t length, int access, int flags, int file, off_t offset);
static int (*real_pthread_create)(pthread_t *thread, const pthread_attr_t *attributes,
                                  void *(*start)(void *), void *argument);

void *mmap(void *at, size_t length, int access, int flags, int file, off_t offset)
{
    return fails() ? MAP_FAILED : real_mmap(at, length, access, flags, file, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    return fails() ? EAGAIN : real_pthread_create(thread, attributes, start, argument);
}

__attribute__((constructor)) static void begin(void)
{
    *(void **)&real_mmap = dlsym(RTLD_NEXT, "mmap");
    *(void **)&real_pthread_create = dlsym(RTLD_NEXT, "pthread_create");
    const char *path = getenv("FAIL_REPORT");
    const int file = path != NULL ? open(path, O_RDWR) : -1;
    if (file < 0) {
        return;
    }
    first = atoll(getenv("FAIL_FIRST"));
    count = atoll(getenv("FAIL_COUNT"));
    void *mapped = real_mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    counts = mapped != MAP_FAILED ? mapped : NULL;
}
