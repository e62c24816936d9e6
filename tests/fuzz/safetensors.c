/* Safetensors files: a file that opens can be saved, and the copy has the same contents. */
#include <string.h>

#include "tests/fuzz/common/fuzz.h"

/* The first byte: 'r' for a whole file; otherwise the header follows, up to a NUL, and its length
 * is added. */
const fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("h{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":"
              "\"BOOL\",\"shape\":[1,1],\"data_offsets\":[8,9]}}\0"
              "abcdefgh\1"),
    FUZZ_SEED("h{\"__metadata__\":{\"format\":\"pt\",\"n\":\"\\u001f\\n\"},\"w.0\":{\"dtype\":"
              "\"I64\",\"shape\":[],\"data_offsets\":[0,8]}} \0"
              "12345678"),
    FUZZ_SEED("h{\"y\":{\"dtype\":\"F64\",\"shape\":[0,3],\"data_offsets\":[0,0]},\"z\" : "
              "{\"dtype\":\"I64\",\"shape\":[1, 1],\"data_offsets\":[0,8]}}\0"
              "12345678"),
    FUZZ_SEED("r\2\0\0\0\0\0\0\0{}"),
    {NULL, 0}};

/* The tensors of a file; false: one has a dtype or a shape that Heed does not support. */
static bool read_tensors(const heed_safetensors *file, heed_tensor **tensors, const char **names)
{
    bool all = true;
    for (int i = 0; i < heed_safetensors_count(file); i++) {
        names[i] = heed_safetensors_name(file, i);
        tensors[i] = heed_safetensors_tensor(file, names[i]);
        all = tensors[i] != NULL && all;
        if (tensors[i] == NULL) {
            must_fail_printably();
        }
    }
    return all;
}

static void must_contain(const char *path, heed_tensor_list list, const heed_metadata *metadata)
{
    heed_safetensors *file = heed_safetensors_open(path);
    must(file != NULL && heed_safetensors_count(file) == list.count);
    for (int i = 0; i < list.count; i++) {
        must(strcmp(heed_safetensors_name(file, i), list.names[i]) == 0);
        must_equal_tensors(heed_safetensors_tensor(file, list.names[i]), list.tensors[i]);
    }
    for (; metadata->key != NULL; metadata++) {
        const char *value = heed_safetensors_metadata(file, metadata->key);
        must(value != NULL && strcmp(value, metadata->value) == 0);
    }
    heed_safetensors_close(file);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    enum { MOST = 100 };
    heed_tensor *tensors[MOST];
    const char *names[MOST];
    const bool raw = data[0] == 'r';
    const uint8_t *end = raw ? NULL : memchr(data + 1, '\0', size - 1);
    const uint64_t length = end != NULL ? (uint64_t)(end - data - 1) : size - 1;
    char whole[8 + 4096];
    if (size > 4096) {
        return;
    }
    memcpy(whole, &length, sizeof length);
    memcpy(whole + 8, data + 1, (size_t)length);
    const uint8_t *rest = data + 1 + length + (end != NULL);
    const char *path =
        raw ? fuzz_file("in", data + 1, size - 1, "", 0)
            : fuzz_file("in", whole, 8 + (size_t)length, rest, (size_t)(data + size - rest));
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        must_fail_printably();
        return;
    }
    const char *value = heed_safetensors_metadata(file, "n");
    const heed_metadata about[] = {{value != NULL ? "n" : NULL, value}, {NULL, NULL}};
    if (heed_safetensors_count(file) <= MOST && read_tensors(file, tensors, names)) {
        const heed_tensor_list list = {heed_safetensors_count(file), tensors, names};
        must(heed_save_file(list, fuzz_path("out"), about) == HEED_OK);
        must_contain(fuzz_path("out"), list, about);
    }
    heed_safetensors_close(file);
}
