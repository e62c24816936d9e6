/* UTF-8 (RFC 3629); untrusted names and paths in messages, truncated between characters and without
 * control characters. */
#include "tensor.h"

#include <string.h>

int heed_utf8_read(const char *text, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    *code = 0;
    if (s[0] < 0x80) {
        *code = s[0];
        return 1;
    }
    if (s[0] < 0xC2 || s[0] > 0xF4) {
        return 0;
    }
    const int size = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    const unsigned char low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    uint32_t value = s[0] & (0x7Fu >> size);
    for (int i = 1; i < size; i++) {
        if ((s[i] & 0xC0) != 0x80) { /* also true at the end of the text */
            return 0;
        }
        value = value << 6 | (s[i] & 0x3Fu);
    }
    *code = value;
    return size;
}

bool heed_is_utf8(const char *text)
{
    uint32_t code;
    int size = 1;
    for (; *text != '\0' && size > 0; text += size) {
        size = heed_utf8_read(text, &code);
    }
    return size > 0;
}

enum { MOST_NAME = 60, MOST_PATH = 90 };

static bool continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Replaces control characters: below 0x20, DEL, and U+0080 to U+009F, encoded as 0xC2 and one more
 * byte. */
static heed_text show(const char *before, const char *text, size_t length, const char *after)
{
    heed_text shown;
    snprintf(shown.text, sizeof shown.text, "%s%.*s%s", before, (int)length, text, after);
    for (unsigned char *c = (unsigned char *)shown.text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            *c = '?';
        } else if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) {
            c[0] = c[1] = '?';
        }
    }
    return shown;
}

heed_text heed_show_name(const char *name)
{
    size_t length = strlen(name);
    const bool is_long = length > MOST_NAME;
    for (length = is_long ? MOST_NAME : length; is_long && continues_character(name[length]);) {
        length--;
    }
    return show("", name, length, is_long ? "..." : "");
}

heed_text heed_show_path(const char *path)
{
    const size_t length = strlen(path);
    const bool is_long = length > MOST_PATH;
    for (path += is_long ? length - MOST_PATH : 0; is_long && continues_character(*path); path++) {
    }
    return show(is_long ? "..." : "", path, strlen(path), "");
}
