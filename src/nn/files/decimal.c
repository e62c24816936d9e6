/* Reads decimal numbers. Most are exact products or quotients of two doubles (Clinger, 1990).
 * strtod converts the others, as digits and an exponent without a point, which depends on the
 * locale. */
#include "decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The midpoint of two doubles has at most 767 digits. */
enum { MOST_DIGITS = 768, MOST_EXPONENT = 1000000000 };

/* digits * 10^exponent; the digits do not begin with 0. */
typedef struct decimal {
    char digits[MOST_DIGITS + 32]; /* followed by "1" and "e-1000000000" */
    int count;
    bool more; /* nonzero digits were dropped */
    int64_t exponent;
    uint64_t first; /* the first 19 digits */
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_digit(decimal *d, char digit, bool after_point)
{
    if (d->count == MOST_DIGITS) {
        d->more = d->more || digit != '0';
        d->exponent += !after_point;
        return;
    }
    d->exponent -= after_point;
    if (digit != '0' || d->count > 0) {
        d->first = d->count < 19 ? d->first * 10 + (uint64_t)(digit - '0') : d->first;
        d->digits[d->count++] = digit;
    }
}

/* Returns the end of an exponent at `text`, or `text` if there is none. */
static const char *read_exponent(const char *text, int64_t *exponent)
{
    const bool negative = text[0] != '\0' && text[1] == '-';
    const char *at = text + 1 + (negative || (text[0] != '\0' && text[1] == '+'));
    int64_t n = 0;
    if ((*text != 'e' && *text != 'E') || !is_digit(*at)) {
        return text;
    }
    for (; is_digit(*at); at++) {
        n = n < MOST_EXPONENT ? n * 10 + (*at - '0') : n;
    }
    *exponent += negative ? -n : n;
    return at;
}

static double value_of(decimal *d)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t power = llabs(d->exponent);
    if (d->count == 0) {
        return 0;
    }
    if (d->count <= 19 && d->first <= UINT64_C(1) << 53 && power <= 22) {
        return d->exponent < 0 ? (double)d->first / powers[power]
                               : (double)d->first * powers[power];
    }
    if (d->more) { /* rounds up past the digits kept */
        d->digits[d->count++] = '1';
        d->exponent--;
    }
    const int64_t most = MOST_EXPONENT;
    const int64_t exponent = d->exponent > most ? most : d->exponent < -most ? -most : d->exponent;
    snprintf(d->digits + d->count, sizeof d->digits - (size_t)d->count, "e%lld",
             (long long)exponent);
    return strtod(d->digits, NULL);
}

const char *heed_read_decimal(const char *text, double *value)
{
    decimal d;
    d.count = 0;
    d.more = false;
    d.exponent = 0;
    d.first = 0;
    const bool negative = *text == '-';
    bool any = false, point = false;
    text += negative || *text == '+';
    for (; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
        } else {
            any = true;
            add_digit(&d, *text, point);
        }
    }
    if (!any) {
        return NULL;
    }
    text = read_exponent(text, &d.exponent);
    *value = negative ? -value_of(&d) : value_of(&d);
    return text;
}
