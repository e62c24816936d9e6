#include "tests/common/files_util.h"
#include "tests/common/bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static int lowest_descriptor;

static int free_descriptor(void)
{
    int descriptor = open("/dev/null", O_RDONLY);
    close(descriptor);
    return descriptor;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/heed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    lowest_descriptor = free_descriptor();
}

/* Calls `visit` on each file of the folder; returns their number. */
static int each_file(int (*visit)(const char *path))
{
    int count = 0;
    DIR *d = opendir(folder);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            count++;
            if (visit != NULL) {
                visit(in_folder(e->d_name));
            }
        }
    }
    closedir(d);
    return count;
}

static void remove_folder(void)
{
    ck_assert_int_eq(free_descriptor(), lowest_descriptor);
    each_file(remove);
    ck_assert_int_eq(rmdir(folder), 0);
}

TCase *files_case(Suite *suite, const char *name)
{
    TCase *test_case = heed_case(suite, name);
    tcase_add_checked_fixture(test_case, make_folder, remove_folder);
    return test_case;
}

static char paths[8][512];

static char *next_path(void)
{
    static int next;
    return paths[next++ % 8];
}

const char *in_folder(const char *name)
{
    char *path = next_path();
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

int files_in_folder(void)
{
    return each_file(NULL);
}

void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

char *read_bytes(const char *path, size_t *size)
{
    char *bytes = bytes_of(path, size);
    ck_assert_msg(bytes != NULL, "%s is missing; run tests in the root of the source tree", path);
    return bytes;
}

void expect_same_files(const char *path, const char *other)
{
    const int64_t place = first_difference(path, other);
    ck_assert_msg(place == -1, "%s and %s differ at byte %lld", path, other, (long long)place);
}

void write_header(const char *path, const char *header, size_t size, size_t data)
{
    char *bytes = calloc(8 + size + data, 1);
    for (int i = 0; i < 8; i++) {
        bytes[i] = (char)((uint64_t)size >> 8 * i & 255);
    }
    memcpy(bytes + 8, header, size);
    write_bytes(path, bytes, 8 + size + data);
    free(bytes);
}

void save_one(const char *path, heed_tensor *x)
{
    const char *name = "x";
    heed_save_file((heed_tensor_list){1, &x, &name}, path, NULL);
    expect_no_error();
}

heed_tensor *load_one(const char *path, const char *name)
{
    heed_safetensors *file = heed_safetensors_open(path);
    heed_tensor *x = heed_safetensors_tensor(file, name);
    heed_safetensors_close(file);
    return x;
}
