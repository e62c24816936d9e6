/* Argument checks and their error messages. */

#include "nn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

heed_status heed_check_not_null(const char *function, const char *argument, const void *value)
{
    return value != NULL ? heed_error_pending()
                         : heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
}

heed_status heed_check_positive(const char *function, const heed_named_size *sizes, int count)
{
    char list[200] = "";
    bool all_positive = true;
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s %lld", i > 0 ? ", " : "", sizes[i].name,
                 (long long)sizes[i].size);
        all_positive = all_positive && sizes[i].size >= 1;
    }
    return all_positive
               ? heed_error_pending()
               : heed_fail(HEED_ERR_VALUE, "%s: %s; each must be 1 or more", function, list);
}

void heed_check_not_negative(const char *function, const char *argument, double number)
{
    if (!(number >= 0 && isfinite(number))) {
        heed_raise(HEED_ERR_VALUE, "%s: %s is %g; it must be finite and 0 or more", function,
                   argument, number);
    }
}
