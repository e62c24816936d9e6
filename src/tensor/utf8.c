/* Reads and writes UTF-8 (RFC 3629). */
#include "text.h"

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

char *heed_utf8_write(char *to, uint32_t code)
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

bool heed_is_utf8(const char *text)
{
    uint32_t code;
    int size = 1;
    for (; *text != '\0' && size > 0; text += size) {
        size = heed_utf8_read(text, &code);
    }
    return size > 0;
}
