/* Strict JSON, read in place. Relies on the terminating '\0': nothing matches it, so no function
 * reads past it. */
#include "json.h"

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
    json->at += strspn(json->at, " \t\n\r");
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
        return fail(json, close == '}' ? "',' or '}' is expected" : "',' or ']' is expected");
    }
    return true;
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
    return json->wrong == NULL ? n : -1;
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
    if (!heed_json_take(json, '"')) {
        return NULL;
    }
    char *const text = json->at, *to = text; /* `to` never overtakes `at` */
    while (json->wrong == NULL && *json->at != '"') {
        const unsigned char c = (unsigned char)*json->at;
        uint32_t code;
        const int size = heed_utf8_read(json->at, &code);
        if (c < 0x20) {
            fail(json, json->at == json->end ? "the text ends inside a string"
                                             : "a control character inside a string");
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

/* ---- objects with known members ---- */

static void read_sizes(heed_json *json, heed_json_sizes *sizes)
{
    const int64_t most = INT64_C(1) << 56; /* elements: the number of bits still fits */
    int64_t reach = 1;                     /* counts sizes of 0 as 1 */
    bool empty = false;
    int n = 0;
    heed_json_take(json, '[');
    for (bool first = true; heed_json_more(json, ']', &first); n++) {
        const int64_t size = heed_json_number(json);
        empty = empty || size == 0;
        if (size > 0 && __builtin_mul_overflow(reach, size, &reach)) {
            reach = INT64_MAX;
        }
        if (n < HEED_MAX_DIMS) {
            sizes->shape.size[n] = size;
        }
    }
    sizes->shape.ndim = n;
    sizes->numel = reach > most ? -1 : empty ? 0 : reach;
}

static void fail_key(heed_json *json, const char *before, const char *key, const char *after)
{
    if (json->wrong == NULL) {
        snprintf(json->words, sizeof json->words, "%s%s%s", before, heed_show_name(key).text,
                 after);
        json->wrong = json->words;
    }
}

static void read_member(heed_json *json, const heed_json_key *keys, bool *seen, void *to)
{
    const heed_json_key *k = keys;
    const char *name = json->key = heed_json_string(json);
    if (!heed_json_take(json, ':')) {
        return;
    }
    while (k->name != NULL && strcmp(k->name, name) != 0) {
        k++;
    }
    if (k->name == NULL) {
        fail_key(json, "unknown member '", name, "'");
    } else if (seen[k - keys]) {
        fail_key(json, "'", name, "' appears twice");
    } else {
        seen[k - keys] = true;
        void *value = (char *)to + k->offset;
        if (k->type == HEED_JSON_STRING) {
            *(const char **)value = heed_json_string(json);
        } else {
            read_sizes(json, value);
        }
    }
}

bool heed_json_members(heed_json *json, const heed_json_key *keys, void *to)
{
    bool seen[MOST_KEYS] = {false};
    heed_json_take(json, '{');
    for (bool first = true; heed_json_more(json, '}', &first);) {
        read_member(json, keys, seen, to);
        json->key = json->wrong == NULL ? NULL : json->key;
    }
    for (int i = 0; keys[i].name != NULL && json->wrong == NULL; i++) {
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
