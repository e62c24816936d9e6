/* What a terminal can show: its size, colors and characters, from the environment; labels. */
#include "terminal.h"

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../tensor/text.h"

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

/* The environment variable `name`, else the terminal's size, else `otherwise`. */
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

/* True if the locale of the environment is UTF-8. */
static bool is_utf8(void)
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

unsigned heed_label_terminal(void)
{
    return is_utf8() ? 0 : HEED_LABEL_ASCII;
}

/* ---- labels ---- */

typedef struct range {
    uint32_t first, last;
} range;

/* Unicode 15: East_Asian_Width W and F, merged across small gaps. */
static const range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},
    {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},   {0x274C, 0x274C},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2E80, 0x303E},
    {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F18E, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FC},
    {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1FAF8}, {0x20000, 0x3FFFD},
};

/* Marks that combine with the character before them, joiners, and skin tones. */
static const range combining[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x05BF, 0x05BF},   {0x05C1, 0x05C7},
    {0x0610, 0x061A}, {0x064B, 0x065F}, {0x0670, 0x0670}, {0x06D6, 0x06DC},   {0x06DF, 0x06E4},
    {0x0900, 0x0902}, {0x093A, 0x093A}, {0x093C, 0x093C}, {0x0941, 0x0948},   {0x094D, 0x094D},
    {0x0951, 0x0957}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200B, 0x200D}, {0x2060, 0x2060}, {0x20D0, 0x20F0},   {0x302A, 0x302D},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF},
};

/* Controls, directional marks, and code points that XML forbids. */
static const range hidden[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x200E, 0x200F}, {0x2028, 0x202E},
    {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFFE, 0xFFFF},
};

#define IS_AMONG(code, ranges) is_among(code, ranges, sizeof(ranges) / sizeof *(ranges))

static bool is_among(uint32_t code, const range *ranges, size_t count)
{
    for (size_t i = 0; i < count && code >= ranges[i].first; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* Like heed_utf8_read, but an invalid byte counts as the control 0. */
static size_t decode(const char *text, uint32_t *code)
{
    const int length = heed_utf8_read(text, code);
    return length > 0 ? (size_t)length : 1;
}

static heed_glyph replacement(const char *bytes)
{
    return (heed_glyph){bytes, (int)strlen(bytes), 1};
}

/* The symbol for a character of a token; NULL: the character itself. */
static const char *symbol(const char *label, size_t at)
{
    const char next = label[at + 1];
    switch (label[at]) {
    case ' ':
        return at > 0 && label[at - 1] != ' ' && next != ' ' && next != '\0' ? NULL : "\u2423";
    case '\n':
        return "\u21B5";
    case '\t':
        return "\u21E5";
    }
    return NULL;
}

static heed_glyph glyph_next(const char *label, size_t *at, unsigned style)
{
    uint32_t code, mark;
    const size_t start = *at;
    if (label == NULL || label[start] == '\0') {
        return (heed_glyph){"", 0, 0};
    }
    size_t end = start, length = decode(label + start, &code);
    do {
        end += length;
        length = decode(label + end, &mark);
    } while (IS_AMONG(mark, combining));
    *at = end;
    const bool ascii = (style & HEED_LABEL_ASCII) != 0;
    const char *instead = (style & HEED_LABEL_TOKEN) && !ascii ? symbol(label, start) : NULL;
    if (instead != NULL) {
        return replacement(instead);
    }
    if (IS_AMONG(code, hidden) || IS_AMONG(code, combining) || (ascii && code >= 0x80)) {
        return replacement("?");
    }
    return (heed_glyph){label + start, ascii ? 1 : (int)(end - start),
                        IS_AMONG(code, wide) ? 2 : 1};
}

static heed_glyph ellipsis(unsigned style)
{
    return replacement(style & HEED_LABEL_ASCII ? "." : "\u2026");
}

int heed_label_glyphs(const char *label, heed_glyph *glyphs, int most, unsigned style)
{
    size_t at = 0;
    int count = 0;
    for (; count < most; count++) {
        glyphs[count] = glyph_next(label, &at, style);
        if (glyphs[count].length == 0) {
            return count;
        }
    }
    if (label[at] != '\0') {
        glyphs[most - 1] = ellipsis(style);
    }
    return count;
}

int heed_label_write(FILE *stream, const char *label, int most, unsigned style,
                     heed_glyph_writer *write)
{
    heed_glyph glyph;
    int columns = 0, total = 0;
    for (size_t at = 0; total <= most && (glyph = glyph_next(label, &at, style)).length > 0;) {
        total += glyph.columns;
    }
    const int kept = total > most ? most - 1 : total;
    for (size_t at = 0; (glyph = glyph_next(label, &at, style)).length > 0;) {
        if (columns + glyph.columns > kept) {
            break;
        }
        columns += glyph.columns;
        write(stream, glyph);
    }
    if (total > most && most > 0) {
        columns++;
        write(stream, ellipsis(style));
    }
    return columns;
}

/* Only measures if the stream is NULL. */
static void write_plain(FILE *stream, heed_glyph glyph)
{
    if (stream != NULL) {
        fwrite(glyph.bytes, 1, (size_t)glyph.length, stream);
    }
}

int heed_label_columns(const char *label, int most, unsigned style)
{
    return heed_label_write(NULL, label, most, style, write_plain);
}

int heed_label_put(FILE *stream, const char *label, int most, unsigned style)
{
    return heed_label_write(stream, label, most, style, write_plain);
}
