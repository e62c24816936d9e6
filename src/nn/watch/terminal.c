/* What a stream can show: read from the environment and from the terminal. */
#include "terminal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

bool heed_terminal_is_smart(FILE *stream)
{
    const char *term = variable("TERM");
    return term != NULL && strcmp(term, "dumb") != 0 && isatty(fileno(stream));
}

bool heed_terminal_has_color(FILE *stream)
{
    return variable("NO_COLOR") == NULL && heed_terminal_is_smart(stream);
}

int heed_terminal_columns(FILE *stream, int otherwise)
{
    enum { MOST = 10000 };
    const char *columns = variable("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
#ifdef TIOCGWINSZ
    struct winsize window;
    if (width <= 0 && ioctl(fileno(stream), TIOCGWINSZ, &window) == 0) {
        width = window.ws_col;
    }
#endif
    return width > MOST ? MOST : width > 0 ? (int)width : otherwise;
}

bool heed_terminal_is_utf8(void)
{
    const char *all = variable("LC_ALL"), *type = variable("LC_CTYPE");
    const char *locale = all != NULL ? all : type != NULL ? type : variable("LANG");
    for (const char *c = locale; c != NULL && *c != '\0'; c++) {
        if (tolower((unsigned char)c[0]) == 'u' && tolower((unsigned char)c[1]) == 't' &&
            tolower((unsigned char)c[2]) == 'f' && c[c[3] == '-' ? 4 : 3] == '8') {
            return true;
        }
    }
    return false;
}

heed_status heed_picture_end(const char *function, FILE *stream)
{
    if (!heed_error_pending() && (fflush(stream) != 0 || ferror(stream))) {
        return heed_fail(HEED_ERR_FILE, "%s: cannot write to the stream; is the disk full?",
                         function);
    }
    return heed_error_pending();
}
