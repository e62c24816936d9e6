/* Shared by the fuzzers: libFuzzer's entry points, the temporary folder, and the checks after each
 * input. */
#include "tests/fuzz/common/fuzz.h"
#include "tensor/tensor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void fuzz_must(bool holds, const char *condition, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: not true: %s; the last error: %s\n", file, line, condition,
                heed_error_message());
        abort();
    }
}

heed_status must_fail(void)
{
    const heed_status status = heed_error();
    const char *message = heed_error_message();
    must(status != HEED_OK);
    must(strchr(message, ' ') != NULL && strlen(message) < 8000);
    return status;
}

heed_status must_fail_printably(void)
{
    for (const char *c = heed_error_message(); *c != '\0'; c++) {
        must((unsigned char)*c >= ' ' && *c != 0x7F);
    }
    return must_fail();
}

/* ---- files ---- */

static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

/* In memory if possible, because saving syncs. */
static void make_folder(void)
{
    if (*folder == '\0') {
        snprintf(folder, sizeof folder, "%s/heed-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        must(mkdtemp(folder) != NULL);
        atexit(remove_folder);
    }
}

const char *fuzz_path(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

const char *fuzz_file(const char *name, const void *first, size_t first_size, const void *rest,
                      size_t rest_size)
{
    const char *path = fuzz_path(name);
    FILE *file = fopen(path, "wb");
    must(file != NULL);
    must(fwrite(first, 1, first_size, file) == first_size);
    must(fwrite(rest, 1, rest_size, file) == rest_size);
    must(fclose(file) == 0);
    return path;
}

/* Removes the files of one input, none of which may be a leftover of a save. */
static void remove_files(void)
{
    DIR *d = opendir(folder);
    must(d != NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        must(strstr(e->d_name, ".tmp.") == NULL);
        unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

static int free_descriptor(void)
{
    const int descriptor = open("/dev/null", O_RDONLY);
    close(descriptor);
    return descriptor;
}

/* ---- comparisons ---- */

void must_equal_tensors(const heed_tensor *a, const heed_tensor *b)
{
    must(a != NULL && b != NULL && a->dtype == b->dtype && heed_same_shape(a, b));
    const size_t size = (size_t)a->numel * heed_dtype_size(a->dtype);
    char *bytes = malloc(2 * size + 1);
    heed_copy_out(a, bytes, a->numel);
    heed_copy_out(b, bytes + size, b->numel);
    must(memcmp(bytes, bytes + size, size) == 0);
    free(bytes);
}

/* ---- one input ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_folder();
    if (size == 0) {
        return 0;
    }
    const int64_t bytes = heed_live_bytes(), tensors = heed_live_tensors();
    const int descriptor = free_descriptor();
    {
        HEED_SCOPE(scope);
        fuzz_one(data, size);
        must(heed_error_pending() == HEED_OK);
    }
    must(heed_live_bytes() == bytes);
    must(heed_live_tensors() == tensors);
    must(free_descriptor() == descriptor);
    remove_files();
    return 0;
}

/* Writes the seeds into the corpus, if libFuzzer's last argument is a folder. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *corpus = (*argv)[*argc - 1];
    struct stat at;
    for (int i = 0;
         *argc > 1 && stat(corpus, &at) == 0 && S_ISDIR(at.st_mode) && fuzz_seeds[i].bytes != NULL;
         i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed-%d", corpus, i);
        FILE *file = fopen(path, "wb");
        must(file != NULL);
        must(fwrite(fuzz_seeds[i].bytes, 1, fuzz_seeds[i].size, file) == fuzz_seeds[i].size);
        must(fclose(file) == 0);
    }
    return 0;
}
