/* Labels: looks up widths, replaces unprintable characters. */
#include "labels.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../files/utf8.h"
#include "terminal.h"

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
static int decode(const char *text, uint32_t *code)
{
    const int length = heed_utf8_read(text, code);
    return length > 0 ? length : 1;
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
    size_t end = start + (size_t)decode(label + start, &code);
    int step;
    while (label[end] != '\0' && (step = decode(label + end, &mark)) > 0 &&
           IS_AMONG(mark, combining)) {
        end += (size_t)step;
    }
    *at = end;
    const bool ascii = (style & HEED_LABEL_ASCII) != 0;
    const char *instead = (style & HEED_LABEL_TOKEN) && !ascii ? symbol(label, start) : NULL;
    if (instead != NULL) {
        return replacement(instead);
    }
    if (IS_AMONG(code, hidden) || IS_AMONG(code, combining) || (ascii && code >= 0x80)) {
        return replacement("?");
    }
    const int length = ascii ? 1 : (int)(end - start);
    return (heed_glyph){label + start, length, IS_AMONG(code, wide) ? 2 : 1};
}

static heed_glyph ellipsis(unsigned style)
{
    return replacement(style & HEED_LABEL_ASCII ? "." : "\u2026");
}

int heed_glyph_count(const char *label, int most, unsigned style)
{
    int count = 0;
    for (size_t at = 0; count < most && glyph_next(label, &at, style).length > 0;) {
        count++;
    }
    return count;
}

heed_glyph heed_glyph_at(const char *label, int i, int most, unsigned style)
{
    size_t at = 0;
    heed_glyph glyph = {"", 0, 0};
    for (int k = 0; k <= i; k++) {
        glyph = glyph_next(label, &at, style);
    }
    const bool is_cut = i == most - 1 && glyph.length > 0 && label[at] != '\0';
    return is_cut ? ellipsis(style) : glyph;
}

static void put_glyph(FILE *stream, heed_glyph glyph, unsigned style)
{
    const char *entity = NULL;
    if (style & HEED_LABEL_XML && glyph.length > 0) {
        entity = *glyph.bytes == '&'    ? "&amp;"
                 : *glyph.bytes == '<'  ? "&lt;"
                 : *glyph.bytes == '>'  ? "&gt;"
                 : *glyph.bytes == '"'  ? "&quot;"
                 : *glyph.bytes == '\\' ? "&#92;"
                                        : NULL;
    }
    if (entity != NULL) {
        fputs(entity, stream);
        glyph.bytes++; /* marks may follow */
        glyph.length--;
    }
    fwrite(glyph.bytes, 1, (size_t)glyph.length, stream);
}

/* Prints unless the stream is NULL. */
static int put(FILE *stream, const char *label, int most, unsigned style)
{
    int columns = 0, total = 0;
    for (size_t at = 0; total <= most;) {
        const heed_glyph glyph = glyph_next(label, &at, style);
        if (glyph.length == 0) {
            break;
        }
        total += glyph.columns;
    }
    const int kept = total > most ? most - 1 : total;
    for (size_t at = 0;;) {
        const heed_glyph glyph = glyph_next(label, &at, style);
        if (glyph.length == 0 || columns + glyph.columns > kept) {
            break;
        }
        columns += glyph.columns;
        if (stream != NULL) {
            put_glyph(stream, glyph, style);
        }
    }
    if (total > most && most > 0) {
        columns++;
        if (stream != NULL) {
            put_glyph(stream, ellipsis(style), style);
        }
    }
    return columns;
}

int heed_label_columns(const char *label, int most, unsigned style)
{
    return put(NULL, label, most, style);
}

int heed_label_put(FILE *stream, const char *label, int most, unsigned style)
{
    return put(stream, label, most, style);
}

unsigned heed_label_terminal(void)
{
    return heed_terminal_is_utf8() ? 0 : HEED_LABEL_ASCII;
}
