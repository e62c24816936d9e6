#include "version.h"

#include <stdio.h>

#include "kernels/kernels.h"
#include "parallel.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#elif defined __GNUC__
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

#ifdef __x86_64__
#define MACHINE "x86_64"
#elif defined __i386__
#define MACHINE "i386"
#elif defined __aarch64__
#define MACHINE "aarch64"
#elif defined __wasm__
#define MACHINE "wasm"
#else
#define MACHINE "unknown machine"
#endif

#define NAME(isa) " " #isa /* of each instruction set of this build */

const char *heed_version(void)
{
    return HEED_VERSION;
}

heed_text heed_build_info(void)
{
    heed_text info;
    const int threads = heed_get_num_threads();
    snprintf(info.text, sizeof info.text,
             "Heed %s, %.40s, %s %s (of" HEED_ISAS(NAME) "), %d thread%s", HEED_VERSION, COMPILER,
             MACHINE, heed_isa_in_use(), threads, threads == 1 ? "" : "s");
    return info;
}
