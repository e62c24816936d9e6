/* Decimal numbers in text (internal to nn). */
#ifndef HEED_NN_DECIMAL_H
#define HEED_NN_DECIMAL_H

/* heed_read_decimal: reads the number at the start of a null-terminated text: an optional sign,
 * digits with at most one point among them, an optional exponent. Rounds it correctly to f64 in any
 * locale; a number that is too large becomes infinity. Returns the end of the number, or NULL if
 * there is none. */
const char *heed_read_decimal(const char *text, double *value);

#endif
