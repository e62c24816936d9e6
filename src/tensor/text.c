/* UTF-8 (RFC 3629); untrusted names and paths in messages, truncated between characters and without
 * control characters. */
#include "text.h"

#include <stdio.h>
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

/* Control characters: below 0x20, DEL, and U+0080 to U+009F, encoded as 0xC2 and one more byte. */
static void hide_controls(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            *c = '?';
        } else if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) {
            c[0] = c[1] = '?';
        }
    }
}

heed_text heed_show_name(const char *name)
{
    heed_text shown;
    size_t length = strlen(name);
    const bool cut = length > MOST_NAME;
    if (cut) {
        for (length = MOST_NAME; length > 0 && continues_character(name[length]); length--) {
        }
    }
    snprintf(shown.text, sizeof shown.text, "%.*s%s", (int)length, name, cut ? "..." : "");
    hide_controls(shown.text);
    return shown;
}

heed_text heed_show_path(const char *path)
{
    heed_text shown;
    const size_t length = strlen(path);
    const char *from = path;
    if (length > MOST_PATH) {
        for (from += length - MOST_PATH; continues_character(*from); from++) {
        }
    }
    snprintf(shown.text, sizeof shown.text, "%s%s", from > path ? "..." : "", from);
    hide_controls(shown.text);
    return shown;
}
