/* How a text is cut into tokens, and how tokens are joined to a text. */
#include <string.h>

#include "examples/common/text.h"

/* ---- kinds of characters ---- */

typedef enum kind { BLANK, LINE_END, LETTER, MARK } kind; /* digits and _ count as letters */

typedef struct range {
    uint32_t first, last;
    kind kind;
} range;

/* Outside ASCII all are letters but these. */
static const range others[] = {
    {0x80, 0xA0, BLANK},     {0xA1, 0xA9, MARK},      {0xAB, 0xB1, MARK},
    {0xB4, 0xB4, MARK},      {0xB6, 0xB8, MARK},      {0xBB, 0xBB, MARK},
    {0xBF, 0xBF, MARK},      {0xD7, 0xD7, MARK},      {0xF7, 0xF7, MARK},
    {0x1680, 0x1680, BLANK}, {0x2000, 0x200B, BLANK}, {0x2010, 0x2027, MARK},
    {0x2028, 0x202F, BLANK}, {0x2030, 0x205E, MARK},  {0x205F, 0x2064, BLANK},
    {0x20A0, 0x20CF, MARK},  {0x2190, 0x2BFF, MARK},  {0x3000, 0x3000, BLANK},
    {0x3001, 0x3003, MARK},  {0x3008, 0x3020, MARK},  {0x30FB, 0x30FB, MARK},
    {0xFEFF, 0xFEFF, BLANK}, {0xFF01, 0xFF0F, MARK},  {0xFF1A, 0xFF20, MARK},
    {0xFF3B, 0xFF40, MARK},  {0xFF5B, 0xFF65, MARK},  {0x1F000, 0x1FAFF, MARK},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static kind kind_of(uint32_t code)
{
    if (code < 0x80) {
        const char c = (char)code;
        return c == '\n'                                ? LINE_END
               : c <= ' ' || c == 0x7F                  ? BLANK
               : is_digit(c) || c == '_'                ? LETTER
               : (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? LETTER
                                                        : MARK;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (code >= others[i].first && code <= others[i].last) {
            return others[i].kind;
        }
    }
    return LETTER;
}

/* The kind of the character at `at`, and its length; BLANK and 0 past the end. */
static kind kind_at(const char *bytes, size_t length, size_t at, size_t *step)
{
    uint32_t code = ' ';
    *step = at < length ? (size_t)utf8_length(bytes + at, length - at, &code) : 0;
    return kind_of(code);
}

/* ---- cutting ---- */

/* The length of what may stand inside a word: the apostrophe of "don't", the point of "3.14". */
static size_t link_at(const char *bytes, size_t length, size_t at)
{
    static const char curly[] = "\u2019";
    size_t step = 0;
    if (at >= length) {
        return 0;
    }
    if (bytes[at] == '.' || bytes[at] == ',') {
        return is_digit(bytes[at - 1]) && at + 1 < length && is_digit(bytes[at + 1]);
    }
    const size_t link = bytes[at] == '\''                                       ? 1
                        : length - at >= 3 && memcmp(bytes + at, curly, 3) == 0 ? 3
                                                                                : 0;
    return link > 0 && kind_at(bytes, length, at + link, &step) == LETTER ? link : 0;
}

size_t text_next_token(text_level level, const char *bytes, size_t length, size_t at, size_t *start)
{
    size_t step = 0;
    kind first = kind_at(bytes, length, at, &step);
    while (level == TEXT_WORD && first == BLANK && step > 0) {
        at += step;
        first = kind_at(bytes, length, at, &step);
    }
    *start = at;
    if (level == TEXT_CHAR || first != LETTER) {
        return step;
    }
    do {
        at += step;
        at += link_at(bytes, length, at);
    } while (kind_at(bytes, length, at, &step) == LETTER);
    return at - *start;
}

/* ---- joining ---- */

/* Marks that stand close to the token before them, after them, or both; each after a blank, so that
 * a search finds whole marks alone. */
static const char close_before[] =
    " . , ; : ! ? ) ] } % … ’ ” » ‰ ° - / \\ – — ‑ @ ^ 、 。 ， ！ ？ ； ： ） 」 』 》 〉";
static const char close_after[] =
    " ( [ { $ £ € # “ ‘ „ « ¿ ¡ - / \\ – — ‑ @ ^ 、 。 ， ！ ？ ； ： （ 「 『 《 〈";
static const char quotes[] = "\"'`"; /* which open and close by turns */

static bool is_among(const char *marks, const char *mark, size_t length)
{
    for (const char *at = marks; (at = strchr(at, ' ')) != NULL; at++) {
        if (strncmp(at + 1, mark, length) == 0 && (at[1 + length] == ' ' || at[1 + length] == 0)) {
            return true;
        }
    }
    return false;
}

void text_join(text_buffer *to, text_level level, text_joint *joint, const char *token)
{
    const size_t length = strlen(token);
    size_t step;
    const kind first = kind_at(token, length, 0, &step);
    bool before = first == LINE_END, after = before; /* close to its neighbours? */
    if (level == TEXT_WORD && first == MARK) {
        const char *quote = strchr(quotes, token[0]);
        if (quote != NULL) {
            const unsigned bit = 1u << (quote - quotes);
            joint->quotes ^= bit;
            after = (joint->quotes & bit) != 0;
            before = !after;
        } else {
            before = is_among(close_before, token, length);
            after = is_among(close_after, token, length);
        }
    }
    if (first == LINE_END) {
        joint->quotes = 0;
    }
    if (level == TEXT_WORD && !before && !joint->tight) {
        text_append(to, " ", 1);
    }
    text_append(to, token, length);
    joint->tight = after;
}
