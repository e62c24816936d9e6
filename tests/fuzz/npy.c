/* .npy files: an array that loads survives a round trip of saving and loading. */
#include <string.h>

#include "tests/fuzz/common/fuzz.h"

/* The first byte: 'r' for a whole file; '1', '2' or '3' for a header of that version, up to a NUL,
 * to which the magic bytes and the length are added. */
const fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("1{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n\0"
              "12345678"),
    FUZZ_SEED("1{'descr': '>f8', 'fortran_order': True, 'shape': (1, 2), }\n\0"
              "1234567812345678"),
    FUZZ_SEED("2{'shape': (), 'fortran_order': False, 'descr': '|b1'}\0\1"),
    FUZZ_SEED("3{\"descr\": \"<i4\", \"fortran_order\": False, \"shape\": (0, 3), }\0"),
    FUZZ_SEED("1{'descr': '<f2', 'fortran_order': True, 'shape': (2, 1, 3), }\n\0"
              "abcdefghijkl"),
    FUZZ_SEED("r\x93NUMPY\1\0\1\0 "),
    {NULL, 0}};

void fuzz_one(const uint8_t *data, size_t size)
{
    const bool raw = data[0] == 'r';
    const uint8_t *end = raw ? NULL : memchr(data + 1, '\0', size - 1);
    const size_t length = end != NULL ? (size_t)(end - data - 1) : size - 1;
    const uint8_t version = (uint8_t)(data[0] - '0');
    uint8_t whole[12 + 4096] = "\x93NUMPY";
    const size_t start = version == 1 ? 10 : 12;
    if (size > 4096) {
        return;
    }
    whole[6] = version;
    whole[8] = (uint8_t)(length & 255);
    whole[9] = (uint8_t)(length >> 8);
    memcpy(whole + start, data + 1, length);
    const uint8_t *rest = data + 1 + length + (end != NULL);
    const char *path =
        raw ? fuzz_file("in", data + 1, size - 1, "", 0)
            : fuzz_file("in", whole, start + length, rest, (size_t)(data + size - rest));
    heed_tensor *x = heed_load_npy(path);
    if (x == NULL) {
        must_fail_printably();
        return;
    }
    must(heed_save_npy(x, fuzz_path("out")) == HEED_OK);
    heed_tensor *y = heed_load_npy(fuzz_path("out"));
    must_equal_tensors(x, y);
    must(heed_save_npy(y, fuzz_path("again")) == HEED_OK);
    must_equal_files(fuzz_path("out"), fuzz_path("again"));
}
