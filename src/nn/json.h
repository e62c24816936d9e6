/* A strict JSON reader (RFC 8259) of what the header of a safetensors file holds: objects, strings
 * and arrays of sizes (internal).
 *
 * Reads from a buffer and overwrites it: strings are decoded in place, so reading allocates no
 * memory. `wrong` describes the first error; after it, nothing more is read.
 */
#ifndef HEED_NN_JSON_H
#define HEED_NN_JSON_H

#include "../tensor/tensor.h"

typedef struct heed_json {
    char *start, *at, *end; /* *end is '\0' */
    const char *wrong;      /* NULL: no error */
    const char *key;        /* that heed_json_members is reading; NULL: none */
    char words[240];        /* for `wrong` */
} heed_json;

/* heed_json_fail: reports `wrong`: "function: path: 'name': at byte 5`where`: what is wrong". A
 * name of NULL is omitted. */
heed_status heed_json_fail(const heed_json *json, const char *function, const char *path,
                           const char *name, const char *where);

/* heed_json_take: consumes c, which must come next, and any whitespace before it. */
bool heed_json_take(heed_json *json, char c);

/* heed_json_more: true if another element follows in an object or array. Consumes the comma before
 * it, or `close` at the end. *first is true until the first element.
 *
 *     heed_json_take(json, '[');
 *     for (bool first = true; heed_json_more(json, ']', &first);) ... */
bool heed_json_more(heed_json *json, char close, bool *first);

/* heed_json_string: a string, valid UTF-8 without zero bytes; NULL on error. */
const char *heed_json_string(heed_json *json);

/* heed_json_number: an integer from 0 to INT64_MAX; -1 on error. */
int64_t heed_json_number(heed_json *json);

/* heed_json_sizes: an array of non-negative integers, of which the first HEED_MAX_DIMS are stored.
 * numel: the product of all; -1: more elements than a file can hold, even if another is 0. */
typedef struct heed_json_sizes {
    heed_shape shape; /* .ndim may exceed HEED_MAX_DIMS */
    int64_t numel;
} heed_json_sizes;

/* heed_json_members: reads an object into the struct `to`. Members may have any order; a missing,
 * an unknown or a repeated one is an error. `keys` has at most 32 keys and ends with a name of
 * NULL. */
typedef enum heed_json_type { HEED_JSON_STRING, HEED_JSON_SIZES } heed_json_type;

typedef struct heed_json_key {
    const char *name;
    heed_json_type type;
    size_t offset; /* in `to` */
} heed_json_key;

bool heed_json_members(heed_json *json, const heed_json_key *keys, void *to);

/* heed_json_end: checks that only whitespace is left. */
bool heed_json_end(heed_json *json);

/* heed_json_escape: the escape sequence of c inside a string, 2 or 6 characters, or NULL if it
 * needs none. `buffer` has space for 7 bytes. */
const char *heed_json_escape(char c, char *buffer);

#endif
