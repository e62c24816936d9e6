/* The version, and the choice of the kernels: once, when the first tensor is made, according to CPU
 * features and HEED_ISA. A value of HEED_ISA or HEED_NUM_THREADS that cannot be used is an error
 * then. */
#include "../heed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernels/kernels.h"

#define DECLARE(isa) extern const heed_kernels heed_kernels_##isa##_f32, heed_kernels_##isa##_f64;
HEED_ISAS(DECLARE)
extern const heed_kernels heed_kernels_baseline_i64, heed_kernels_baseline_bool;

#define NAME(isa) " " #isa

/* Integers and bool have baseline kernels only. */
#define TABLES(isa)                                                                                \
    {#isa,                                                                                         \
     {[HEED_F32] = &heed_kernels_##isa##_f32,                                                      \
      [HEED_F64] = &heed_kernels_##isa##_f64,                                                      \
      [HEED_I64] = &heed_kernels_baseline_i64,                                                     \
      [HEED_BOOL] = &heed_kernels_baseline_bool}},
static const struct isa {
    const char *name;
    const heed_kernels *tables[HEED_DTYPES];
} isas[] = {HEED_ISAS(TABLES)};

enum { ISAS = sizeof isas / sizeof *isas };

/* Tests features by name, because clang 14 does not know "x86-64-v4". */
static bool runs_here(const char *isa)
{
    bool v3 = false, v4 = false;
#ifdef __x86_64__
    v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
    v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#endif
    return strcmp(isa, "v4") == 0 ? v4 : strcmp(isa, "v3") == 0 ? v3 : true;
}

static const struct isa *chosen; /* NULL: none can be used */
int heed_chosen_isa;
const heed_kernels *const *heed_chosen_kernels;

/* Chooses the widest that HEED_ISA allows. */
static void choose(void)
{
    const char *wanted = getenv("HEED_ISA");
    const bool any = wanted == NULL || *wanted == '\0';
    for (int i = ISAS - 1; i >= 0 && chosen == NULL; i--) {
        if ((any || strcmp(wanted, isas[i].name) == 0) && runs_here(isas[i].name)) {
            chosen = &isas[i];
            heed_chosen_isa = i;
        }
    }
}

static const char *isa_in_use(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen != NULL ? chosen->name : "no instruction set";
}

heed_status heed_choose_isa(void)
{
    isa_in_use();
    if (chosen != NULL) {
        if (heed_check_num_threads() == HEED_OK &&
            __atomic_load_n(&heed_chosen_kernels, __ATOMIC_ACQUIRE) == NULL) {
            __atomic_store_n(&heed_chosen_kernels, chosen->tables, __ATOMIC_RELEASE);
        }
        return heed_error_pending();
    }
    const char *wanted = getenv("HEED_ISA");
    return heed_fail(
        HEED_ERR_VALUE,
        "HEED_ISA=%s: unset it, or use one that this machine supports, of" HEED_ISAS(NAME),
        wanted != NULL ? wanted : "");
}

const char *heed_isa(void)
{
    return !heed_error_pending() && heed_choose_isa() == HEED_OK ? chosen->name : "";
}

heed_text heed_build_info(void)
{
    heed_text info;
    struct utsname system = {.machine = "unknown machine"};
    const int threads = heed_get_num_threads();
    uname(&system);
    snprintf(info.text, sizeof info.text,
             "Heed %s, compiler %.40s, %.20s %s (of" HEED_ISAS(NAME) "), %d thread%s", HEED_VERSION,
             __VERSION__, system.machine, isa_in_use(), threads, threads == 1 ? "" : "s");
    return info;
}
