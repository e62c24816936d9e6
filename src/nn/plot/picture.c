/* Flushes a finished picture. */
#include "picture.h"

#include <errno.h>

#include "../files/file_error.h"

heed_status heed_picture_end(const char *function, FILE *stream)
{
    errno = 0;
    if (!heed_error_pending() && (fflush(stream) != 0 || ferror(stream))) {
        return heed_fail_file(function, "stream", "write", errno != 0 ? errno : EIO);
    }
    return heed_error_pending();
}
