/* Error messages about files. */
#include "file_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

heed_status heed_fail_at(heed_status status, const char *function, const char *path,
                         const char *format, ...)
{
    char what[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return heed_fail(status, "%s: %s: %s", function, heed_show_path(path).text, what);
}

heed_status heed_fail_file(const char *function, const char *path, const char *what, int error)
{
    char reason[100] = "";
    if (strerror_r(error, reason, sizeof reason) != 0) {
        snprintf(reason, sizeof reason, "error %d", error);
    }
    return heed_fail_at(HEED_ERR_FILE, function, path, "cannot %s: %s%s", what, reason,
                        error == EFBIG ? "; ulimit -f or the file system limits its size" : "");
}
