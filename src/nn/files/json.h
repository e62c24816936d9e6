/* JSON as the files of models need it, read as strictly as RFC 8259 has it (internal to nn).
 *
 * Reads from memory, which is overwritten: strings are decoded where they stand, so that reading
 * asks for no memory. After the first thing that is wrong `wrong` says what it was, and nothing
 * more is read.
 */
#ifndef HEED_NN_JSON_H
#define HEED_NN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct heed_json {
    char *start, *at, *end; /* *end is '\0' */
    const char *wrong;      /* NULL: nothing */
} heed_json;

/* heed_json_take: steps over c, which must come next, and white space before it. */
bool heed_json_take(heed_json *json, char c);

/* heed_json_more: inside an object or array: does another element follow? Steps over the comma
 * before it or over `close`, which ends the list. *first: none has been read yet.
 *
 *     heed_json_take(json, '[');
 *     for (bool first = true; heed_json_more(json, ']', &first);) ... */
bool heed_json_more(heed_json *json, char close, bool *first);

/* heed_json_string: a string, valid UTF-8 without zeros; NULL where it is not. */
const char *heed_json_string(heed_json *json);

/* heed_json_number: a whole number from 0 to INT64_MAX; -1 where it is not. */
int64_t heed_json_number(heed_json *json);

/* heed_json_real: any finite number, fractions and exponents too; 0 where it is not. It is read
 * alike in every locale; of more than 15 digits the last bit may be off. */
double heed_json_real(heed_json *json);

/* heed_json_bool: true or false. heed_json_null: steps over null if that comes next; nothing is
 * wrong if it does not. */
bool heed_json_bool(heed_json *json);
bool heed_json_null(heed_json *json);

/* heed_json_skip: steps over a value of any kind, up to 64 lists and objects inside each other. */
void heed_json_skip(heed_json *json);

/* heed_json_end: nothing but white space is left. */
bool heed_json_end(heed_json *json);

/* heed_is_utf8: is all of it UTF-8? */
bool heed_is_utf8(const char *text);

/* heed_json_escape: the two or six characters that stand for c inside a string, or NULL if it
 * stands for itself. `buffer` holds 7. */
const char *heed_json_escape(char c, char *buffer);

#endif
