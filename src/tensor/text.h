/* Text (internal): numbers with a point in any locale; UTF-8; untrusted text in messages. */
#ifndef HEED_TENSOR_TEXT_H
#define HEED_TENSOR_TEXT_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "error.h"

/* ---- numbers ---- */

/* HEED_DECIMAL_POINT: until the end of its block, printf and strtod in this thread write and read
 * 0.5 with a point, even if the program has set a locale with another separator. If memory runs
 * out, the program's locale stays; the C libraries of Linux need none. */
#define HEED_DECIMAL_POINT                                                                         \
    const locale_t heed_locale_before __attribute__((cleanup(heed_restore_locale), unused)) =      \
        heed_use_c_numbers()

static inline locale_t heed_use_c_numbers(void)
{
    const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    return c != (locale_t)0 ? uselocale(c) : c;
}

static inline void heed_restore_locale(const locale_t *before)
{
    if (*before != (locale_t)0) {
        freelocale(uselocale(*before));
    }
}

/* ---- UTF-8 ---- */

/* heed_utf8_read: the length in bytes, 1 to 4, of the character at `text`, which ends in '\0'; sets
 * *code to its code point. Returns 0 and sets *code to 0 if it is invalid: a wrong first byte,
 * truncated, overlong, a surrogate, or past U+10FFFF. */
int heed_utf8_read(const char *text, uint32_t *code);

/* heed_is_utf8: true if the whole text is valid UTF-8. */
bool heed_is_utf8(const char *text);

/* heed_show_name: a name truncated to about 60 bytes, with control characters replaced, since
 * they could send commands to the terminal. heed_show_path: the same, keeping the last 90 bytes
 * or so. */
heed_text heed_show_name(const char *name);
heed_text heed_show_path(const char *path);

#endif
