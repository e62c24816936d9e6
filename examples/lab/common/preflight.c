/* Opens the output file, without changing it. */
#include "examples/lab/common/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

heed_status path_check(const char *flag, const char *path, bool replaced)
{
    struct stat at;
    if (path == NULL || heed_error_pending()) {
        return heed_error_pending();
    }
    const bool exists = stat(path, &at) == 0;
    if (exists && !S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode)) {
        return HEED_OK; /* /dev/stdout or a pipe, which opening could change */
    }
    if (exists && S_ISREG(at.st_mode) && at.st_size > 0 && !replaced) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: %s exists; --force overwrites it, --resume continues an earlier run",
                         flag, path);
    }
    const int file = open(path, O_WRONLY | O_CREAT, 0666);
    if (file < 0) {
        return heed_fail(HEED_ERR_VALUE, "%s: cannot write %s: %s", flag, path, strerror(errno));
    }
    close(file);
    if (!exists) {
        unlink(path);
    }
    return HEED_OK;
}
