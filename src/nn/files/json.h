/* A strict JSON reader (RFC 8259) for model files (internal to nn).
 *
 * Reads from a buffer and overwrites it: strings are decoded in place, so reading allocates no
 * memory. `wrong` describes the first error; after it, nothing more is read.
 */
#ifndef HEED_NN_JSON_H
#define HEED_NN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct heed_json {
    char *start, *at, *end; /* *end is '\0' */
    const char *wrong;      /* NULL: no error */
} heed_json;

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

/* heed_json_real: any finite number, including fractions and exponents; 0 on error. Correctly
 * rounded in any locale. */
double heed_json_real(heed_json *json);

/* heed_json_bool: true or false. heed_json_null: consumes null if it comes next; reports no error
 * otherwise. */
bool heed_json_bool(heed_json *json);
bool heed_json_null(heed_json *json);

/* heed_json_skip: skips any value, with arrays and objects nested at most 64 deep. */
void heed_json_skip(heed_json *json);

/* heed_json_end: checks that only whitespace is left. */
bool heed_json_end(heed_json *json);

/* heed_json_escape: the escape sequence of c inside a string, 2 or 6 characters, or NULL if it
 * needs none. `buffer` has space for 7 bytes. */
const char *heed_json_escape(char c, char *buffer);

#endif
