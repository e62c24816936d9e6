/* Reads decimal numbers. Most are exact products or quotients of two doubles (Clinger, 1990), which
 * is several times as fast as strtod, which converts the others. */
#include "text.h"

#include <stdlib.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

const char *heed_read_digits(const char *text, bool negative, int64_t *value, bool *fits)
{
    *value = 0;
    *fits = true;
    for (; is_digit(*text); text++) {
        const int digit = *text - '0';
        *fits = *fits && !__builtin_mul_overflow(*value, 10, value) &&
                !__builtin_add_overflow(*value, negative ? -digit : digit, value);
    }
    return text;
}

/* Adds the exponent at `text`, if there is one, and returns its end. */
static const char *read_exponent(const char *text, int64_t *exponent)
{
    const bool negative = text[0] != '\0' && text[1] == '-';
    const char *at = text + 1 + (negative || (text[0] != '\0' && text[1] == '+'));
    int64_t n = 0;
    if ((*text != 'e' && *text != 'E') || !is_digit(*at)) {
        return text;
    }
    for (; is_digit(*at); at++) {
        n = n < 1000000000 ? n * 10 + (*at - '0') : n;
    }
    *exponent += negative ? -n : n;
    return at;
}

static double convert(const char *number)
{
    HEED_DECIMAL_POINT;
    return strtod(number, NULL);
}

const char *heed_read_decimal(const char *text, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *const number = text;
    const bool negative = *text == '-';
    bool any = false, point = false, exact = true;
    uint64_t digits = 0;
    int64_t exponent = 0; /* the number is digits * 10^exponent, if exact */
    text += negative || *text == '+';
    for (; is_digit(*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        any = true;
        exact = exact && digits < UINT64_C(1) << 53;
        digits = exact ? digits * 10 + (uint64_t)(*text - '0') : digits;
        exponent -= point;
    }
    if (!any) {
        return NULL;
    }
    text = read_exponent(text, &exponent);
    if (exact && digits == 0) {
        *value = negative ? -0.0 : 0.0;
    } else if (!exact || digits > UINT64_C(1) << 53 || llabs(exponent) > 22) {
        *value = convert(number);
    } else {
        const double whole = negative ? -(double)digits : (double)digits;
        *value = exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent];
    }
    return text;
}
