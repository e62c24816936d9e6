/* Runs a fuzzer without libFuzzer: replay_NAME RUNS [FILE...] checks the files and all seeds, then
 * RUNS random mutations of the seeds, the same ones in each run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/common/fuzz.h"

enum { LONGEST = 4096, MOST_CHANGES = 6 };

static uint64_t state = 1;

/* A random number below n (Vigna's xorshift64*). */
static size_t below(size_t n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)((state * 0x2545F4914F6CDD1D) >> 33) % n;
}

/* Characters with a meaning in some format, and numbers at the limits of types. */
static const char *const words[] = {
    "\"", "{", "}", "[",  "]",    ":",          ",",
    "0",  "-", "9", "\\", "\n",   "\xFF",       "\xC3\xA9",
    "=",  "(", ")", " ",  "true", "2147483648", "9223372036854775807",
    "1e9"};

/* Replaces `cut` bytes at `at`. */
static void splice(uint8_t *data, size_t *size, size_t at, size_t cut, const void *bytes,
                   size_t length)
{
    if (*size - cut + length <= LONGEST) {
        memmove(data + at + length, data + at + cut, *size - at - cut);
        memcpy(data + at, bytes, length);
        *size += length - cut;
    }
}

static void change(uint8_t *data, size_t *size)
{
    uint8_t piece[64];
    const size_t at = below(*size + 1), left = *size - at;
    const size_t length = below(left < sizeof piece ? left + 1 : sizeof piece);
    memcpy(piece, data + at, length);
    const char *word = words[below(sizeof words / sizeof *words)];
    switch (below(5)) {
    case 0: /* another byte */
        if (left > 0) {
            data[at] ^= (uint8_t)(1u << below(8));
        }
        break;
    case 1:
        splice(data, size, at, 0, word, strlen(word));
        break;
    case 2:
        splice(data, size, at, left > 0, word, strlen(word));
        break;
    case 3:
        splice(data, size, at, length, "", 0);
        break;
    default:
        splice(data, size, below(*size + 1), 0, piece, length);
    }
}

static void run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    must(file != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    fuzz_run(bytes, size);
}

int main(int argc, char **argv)
{
    const long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    size_t seeds = 0;
    for (; fuzz_seeds[seeds].bytes != NULL; seeds++) {
        fuzz_run((const uint8_t *)fuzz_seeds[seeds].bytes, fuzz_seeds[seeds].size);
    }
    for (int i = 2; i < argc; i++) {
        run_file(argv[i]);
    }
    for (long i = 0; i < runs; i++) {
        static uint8_t data[LONGEST];
        const fuzz_seed *seed = &fuzz_seeds[below(seeds)];
        size_t size = seed->size;
        memcpy(data, seed->bytes, size);
        for (size_t changes = 1 + below(MOST_CHANGES); changes > 0; changes--) {
            change(data, &size);
        }
        uint8_t *exact = malloc(size + 1); /* on the heap, to detect reads past the end */
        memcpy(exact, data, size);
        fuzz_run(exact, size);
        free(exact);
    }
    printf("%s: %zu seeds and %ld mutated inputs\n", argv[0], seeds, runs);
    return 0;
}
