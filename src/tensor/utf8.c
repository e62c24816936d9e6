/* Reads UTF-8 (RFC 3629). */
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
