/* Strict JSON, read in place. Relies on the terminating '\0': nothing matches it, so no function
 * reads past it. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../tensor/text.h"
#include "file_io.h"

enum { MOST_KEYS = 32 }; /* of heed_json_members */

static bool fail(heed_json *json, const char *wrong)
{
    if (json->wrong == NULL) {
        json->wrong = wrong;
    }
    return false;
}

heed_status heed_json_fail(const heed_json *json, const char *function, const char *path,
                           const char *name, const char *where)
{
    return heed_fail_in(HEED_ERR_FORMAT, function, path, name, "at byte %lld%s: %s",
                        (long long)(json->at - json->start), where, json->wrong);
}

static void skip_space(heed_json *json)
{
    json->at += strspn(json->at, json->python ? " \t\n\r\f" : " \t\n\r");
}

/* ---- punctuation ---- */

static bool next_is(heed_json *json, char c)
{
    skip_space(json);
    if (json->wrong != NULL || *json->at != c) {
        return false;
    }
    json->at++;
    return true;
}

bool heed_json_take(heed_json *json, char c)
{
    return next_is(json, c) || fail(json, c == '{'   ? "an object is expected"
                                          : c == '[' ? "an array is expected"
                                          : c == '(' ? "a tuple is expected"
                                          : c == '"' ? "a string is expected"
                                                     : "':' is expected");
}

bool heed_json_more(heed_json *json, char close, bool *first)
{
    if (json->wrong != NULL) {
        return false;
    }
    const bool is_first = *first;
    *first = false;
    if (next_is(json, close)) {
        return false;
    }
    if (!is_first && !next_is(json, ',')) {
        return fail(json, close == '}'   ? "',' or '}' is expected"
                          : close == ']' ? "',' or ']' is expected"
                                         : "',' or ')' is expected");
    }
    return is_first || !json->python || !next_is(json, close);
}

bool heed_json_end(heed_json *json)
{
    if (json->wrong == NULL) {
        skip_space(json);
    }
    return json->wrong == NULL &&
           (json->at == json->end || fail(json, "something follows the closing '}'"));
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int64_t heed_json_number(heed_json *json)
{
    int64_t n = 0;
    skip_space(json);
    const char *digits = json->at;
    for (; json->wrong == NULL && is_digit(*json->at); json->at++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *json->at - '0', &n)) {
            fail(json, "a number is larger than 2^63 - 1");
        }
    }
    const char next = *json->at;
    if (json->at == digits || (*digits == '0' && json->at > digits + 1) || next == '.' ||
        next == 'e' || next == 'E') {
        fail(json, "a non-negative integer is expected");
    }
    json->at += json->python2 && next == 'L';
    return json->wrong == NULL ? n : -1;
}

/* Stricter than heed_read_decimal: JSON requires digits before and after the point and after an e,
 * and has neither a plus sign nor leading zeros. */
double heed_json_real(heed_json *json)
{
    double value = 0;
    skip_space(json);
    if (json->wrong != NULL) {
        return 0;
    }
    const char *first = json->at + (*json->at == '-');
    const char *point = first + strspn(first, "0123456789");
    const char *end = is_digit(*first) ? heed_read_decimal(json->at, &value) : NULL;
    if (end == NULL || (*point == '.' && !is_digit(point[1])) || *end == 'e' || *end == 'E') {
        fail(json, "a number is expected");
    } else if (*first == '0' && is_digit(first[1])) {
        fail(json, "a number has a leading 0");
    } else if (isinf(value)) {
        fail(json, "a number is too large");
    } else {
        json->at += end - json->at;
        return value;
    }
    return 0;
}

/* ---- keywords ---- */

static bool next_word(heed_json *json, const char *word)
{
    const size_t length = strlen(word);
    skip_space(json);
    if (json->wrong != NULL || strncmp(json->at, word, length) != 0) {
        return false;
    }
    json->at += length;
    return true;
}

bool heed_json_null(heed_json *json)
{
    return next_word(json, "null");
}

bool heed_json_bool(heed_json *json)
{
    const bool python = json->python;
    return next_word(json, python ? "True" : "true") ||
           (!next_word(json, python ? "False" : "false") &&
            fail(json, python ? "True or False is expected" : "true or false is expected"));
}

/* ---- strings ---- */

/* The four digits of \uXXXX; -1 on error. */
static int32_t read_hex(heed_json *json)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = *json->at, lower = c >= 'A' && c <= 'F' ? (char)(c + 32) : c;
        const char *digit = c != '\0' ? strchr(digits, lower) : NULL;
        if (digit == NULL) {
            fail(json, "\\u needs four hexadecimal digits");
            return -1;
        }
        value = value * 16 + (int32_t)(digit - digits);
        json->at++;
    }
    return value;
}

/* Writes a character as UTF-8, in at most 4 bytes, and returns the end. */
static char *write_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; /* bytes that follow the first */
    *to++ = (char)((0xFFu << (7 - more) & 0xFF) | (code >> 6 * more));
    for (int i = more - 1; i >= 0; i--) {
        *to++ = (char)(0x80 | (code >> 6 * i & 0x3F));
    }
    return to;
}

/* \uXXXX, or a pair of them for a character past U+FFFF. */
static char *read_unicode(heed_json *json, char *to)
{
    int32_t c = read_hex(json);
    if (c >= 0xD800 && c < 0xE000) {
        int32_t low = -1;
        if (c < 0xDC00 && json->at[0] == '\\' && json->at[1] == 'u') {
            json->at += 2;
            low = read_hex(json);
        }
        if (low < 0xDC00 || low >= 0xE000) {
            fail(json, "an unpaired surrogate");
            return to;
        }
        c = 0x10000 + (c - 0xD800) * 0x400 + (low - 0xDC00);
    }
    if (c <= 0) {
        fail(json, "\\u0000, which is not supported");
        return to;
    }
    return write_utf8(to, (uint32_t)c);
}

static char *read_escape(heed_json *json, char *to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *json->at;
    const char *name = c != '\0' ? strchr(names, c) : NULL;
    if (name != NULL) {
        json->at++;
        *to++ = values[name - names];
        return to;
    }
    if (c != 'u') {
        fail(json, "an invalid escape sequence");
        return to;
    }
    json->at++;
    return read_unicode(json, to);
}

const char *heed_json_string(heed_json *json)
{
    const char mark = json->python && next_is(json, '\'') ? '\'' : '"';
    if (mark == '"' && !heed_json_take(json, mark)) {
        return NULL;
    }
    char *const text = json->at, *to = text; /* `to` never overtakes `at` */
    while (json->wrong == NULL && *json->at != mark) {
        const unsigned char c = (unsigned char)*json->at;
        uint32_t code;
        const int size = heed_utf8_read(json->at, &code);
        if (c < 0x20) {
            fail(json, json->at == json->end ? "the text ends inside a string"
                                             : "a control character inside a string");
        } else if (c == '\\' && json->python) {
            fail(json, "an escape sequence, which is not supported");
        } else if (c == '\\') {
            json->at++;
            to = read_escape(json, to);
        } else if (size == 0) {
            fail(json, "invalid UTF-8");
        } else {
            memmove(to, json->at, (size_t)size);
            to += size;
            json->at += size;
        }
    }
    if (json->wrong != NULL) {
        return NULL;
    }
    json->at++;
    *to = '\0';
    return text;
}

/* ---- any value ---- */

/* A value that is not an object or array. */
static void skip_plain(heed_json *json)
{
    const char c = *json->at;
    if (c == '"') {
        heed_json_string(json);
    } else if (c == 't' || c == 'f') {
        heed_json_bool(json);
    } else if (c == '-' || is_digit(c)) {
        heed_json_real(json);
    } else if (!heed_json_null(json)) {
        fail(json, "a value is expected");
    }
}

/* Not recursive, so that no input overflows the stack. */
void heed_json_skip(heed_json *json)
{
    enum { DEEPEST = 64 };
    char close[DEEPEST]; /* the closing brackets of open arrays and objects */
    int depth = 0;
    bool first = true;
    do {
        skip_space(json);
        if (depth > 0) {
            if (!heed_json_more(json, close[depth - 1], &first)) {
                depth--;
                continue;
            }
            if (close[depth - 1] == '}') {
                heed_json_string(json);
                heed_json_take(json, ':');
            }
            skip_space(json);
        }
        if (*json->at != '{' && *json->at != '[') {
            skip_plain(json);
        } else if (depth == DEEPEST) {
            fail(json, "arrays and objects are nested more than 64 deep");
        } else {
            close[depth++] = *json->at++ == '{' ? '}' : ']';
            first = true;
        }
    } while (depth > 0 && json->wrong == NULL);
}

/* ---- objects with known members ---- */

static void read_sizes(heed_json *json, heed_json_sizes *sizes)
{
    const int64_t most = INT64_C(1) << 56; /* elements: the number of bits still fits */
    const char open = json->python ? '(' : '[', close = json->python ? ')' : ']';
    int64_t reach = 1; /* counts sizes of 0 as 1 */
    bool empty = false, comma = false;
    int n = 0;
    heed_json_take(json, open);
    for (bool first = true; heed_json_more(json, close, &first); n++) {
        const int64_t size = heed_json_number(json);
        empty = empty || size == 0;
        if (size > 0 && __builtin_mul_overflow(reach, size, &reach)) {
            reach = INT64_MAX;
        }
        if (n < HEED_MAX_DIMS) {
            sizes->shape.size[n] = size;
        }
        skip_space(json);
        comma = *json->at == ',';
    }
    if (json->python && n == 1 && !comma) {
        fail(json, "a tuple is expected; a tuple of one number needs a comma");
    }
    sizes->shape.ndim = n;
    sizes->numel = reach > most ? -1 : empty ? 0 : reach;
}

static void read_value(heed_json *json, heed_json_type type, void *to)
{
    switch (type) {
    case HEED_JSON_STRING:
        *(const char **)to = heed_json_string(json);
        break;
    case HEED_JSON_NUMBER:
        *(int64_t *)to = heed_json_number(json);
        break;
    case HEED_JSON_NUMBER_OR_NULL:
        *(int64_t *)to = heed_json_null(json) ? -1 : heed_json_number(json);
        break;
    case HEED_JSON_REAL:
        *(double *)to = heed_json_real(json);
        break;
    case HEED_JSON_BOOL:
        *(bool *)to = heed_json_bool(json);
        break;
    case HEED_JSON_SIZES:
        read_sizes(json, to);
        break;
    }
}

static void fail_key(heed_json *json, const char *before, const char *key, const char *after)
{
    if (json->wrong == NULL) {
        snprintf(json->words, sizeof json->words, "%s%s%s", before, heed_show_name(key).text,
                 after);
        json->wrong = json->words;
    }
}

static void read_member(heed_json *json, const heed_json_key *keys, bool sparse, bool *seen,
                        void *to)
{
    const heed_json_key *k = keys, *same = keys;
    const char *name = json->key = heed_json_string(json);
    if (!heed_json_take(json, ':')) {
        return;
    }
    while (k->name != NULL && strcmp(k->name, name) != 0) {
        k++;
    }
    while (same->name != NULL && same->offset != k->offset) {
        same++;
    }
    if (k->name == NULL && sparse) {
        heed_json_skip(json);
    } else if (k->name == NULL) {
        fail_key(json, "unknown member '", name, "'");
    } else if (seen[same - keys]) {
        fail_key(json, "'", name,
                 sparse ? "' appears twice, perhaps under a synonym" : "' appears twice");
    } else {
        seen[same - keys] = true;
        read_value(json, k->type, (char *)to + k->offset);
    }
}

bool heed_json_members(heed_json *json, const heed_json_key *keys, bool sparse, void *to)
{
    bool seen[MOST_KEYS] = {false}; /* synonyms share one */
    heed_json_take(json, '{');
    for (bool first = true; heed_json_more(json, '}', &first);) {
        read_member(json, keys, sparse, seen, to);
        json->key = json->wrong == NULL ? NULL : json->key;
    }
    for (int i = 0; keys[i].name != NULL && json->wrong == NULL && !sparse; i++) {
        if (!seen[i]) {
            fail_key(json, "it has no ", keys[i].name, "");
        }
    }
    return json->wrong == NULL;
}

const char *heed_json_escape(char c, char *buffer)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    const char *value = c != '\0' ? strchr(values, c) : NULL;
    if (value != NULL) {
        buffer[0] = '\\';
        buffer[1] = names[value - values];
        buffer[2] = '\0';
        return buffer;
    }
    if ((unsigned char)c < 0x20) {
        snprintf(buffer, 7, "\\u%04x", (unsigned)c);
        return buffer;
    }
    return NULL;
}
