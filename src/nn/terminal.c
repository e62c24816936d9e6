/* What a terminal can do, and its width. */
#include "terminal.h"

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
    const char *set = variable("COLUMNS");
    long columns = set != NULL ? strtol(set, NULL, 10) : 0;
    struct winsize window;
    if (columns <= 0 && ioctl(fileno(stream), TIOCGWINSZ, &window) == 0) {
        columns = window.ws_col;
    }
    return columns > 10000 ? 10000 : columns > 0 ? (int)columns : otherwise;
}
