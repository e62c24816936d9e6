/* Helpers that begin and end functions that write pictures (internal). */
#ifndef HEED_NN_PICTURE_H
#define HEED_NN_PICTURE_H

#include <locale.h>
#include <stdio.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "../../tensor/error.h"

/* HEED_DECIMAL_POINT: the first statement of a function that writes a picture. Until its block
 * ends, printf in this thread writes 0.5 with a point, even if the program has set a locale with
 * another separator. If memory runs out, the program's locale stays. */
#define HEED_DECIMAL_POINT                                                                         \
    const heed_locales heed_locales_before __attribute__((cleanup(heed_restore_locale), unused)) = \
        heed_use_c_numbers()

typedef struct heed_locales {
    locale_t own, before; /* 0: not changed */
} heed_locales;

static inline heed_locales heed_use_c_numbers(void)
{
    heed_locales locales = {.own = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (locales.own != (locale_t)0) {
        locales.before = uselocale(locales.own);
    }
    return locales;
}

static inline void heed_restore_locale(const heed_locales *locales)
{
    if (locales->own != (locale_t)0) {
        uselocale(locales->before);
        freelocale(locales->own);
    }
}

/* heed_picture_end: flushes the picture written by `function`. HEED_ERR_FILE: the stream reports an
 * error. */
heed_status heed_picture_end(const char *function, FILE *stream);

#endif
