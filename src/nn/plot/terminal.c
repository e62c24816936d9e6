/* Capabilities of a stream, from the environment and the terminal. */
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

/* The environment variable `name`, else what the terminal reports, else `otherwise`. */
static int size_of(FILE *stream, const char *name, bool lines, int otherwise)
{
    enum { MOST = 10000 };
    const char *set = variable(name);
    long size = set != NULL ? strtol(set, NULL, 10) : 0;
#ifdef TIOCGWINSZ
    struct winsize window;
    if (size <= 0 && ioctl(fileno(stream), TIOCGWINSZ, &window) == 0) {
        size = lines ? window.ws_row : window.ws_col;
    }
#endif
    return size > MOST ? MOST : size > 0 ? (int)size : otherwise;
}

int heed_terminal_columns(FILE *stream, int otherwise)
{
    return size_of(stream, "COLUMNS", false, otherwise);
}

int heed_terminal_lines(FILE *stream, int otherwise)
{
    return size_of(stream, "LINES", true, otherwise);
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
