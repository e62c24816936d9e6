#include "tests/oom/oom.h"

#include <stdlib.h>
#include <string.h>

#include "tests/common/test_util.h"

TCase *oom_case(Suite *suite, const char *name)
{
    TCase *test_case = files_case(suite, name);
    tcase_set_timeout(test_case, 1200);
    return test_case;
}

uint64_t hash_of(heed_tensor *x, uint64_t sum)
{
    const heed_tensor *flat = x != NULL && !heed_error_pending() ? heed_contiguous(x) : NULL;
    if (flat != NULL) {
        sum = fnv(flat->shape, (size_t)flat->ndim * sizeof *flat->shape, sum);
        sum = fnv(flat->data, (size_t)flat->numel * heed_dtype_size(flat->dtype), sum);
    }
    return sum;
}

static uint64_t run_untouched(const char *name, scenario *run, const void *context)
{
    const uint64_t sum = run(context);
    const heed_status status = heed_error();
    ck_assert_msg(status == HEED_OK, "%s: %s", name, heed_error_message());
    return sum;
}

/* The number of allocations of one run. */
static int64_t allocations_of(const char *name, scenario *run, const void *context)
{
    heed_fail_allocation(INT64_MAX - 1);
    run_untouched(name, run, context);
    const int64_t allocations = INT64_MAX - heed_self.fail_countdown;
    heed_fail_allocation(-1);
    return allocations;
}

static void starve_at(const char *name, scenario *run, const void *context, int64_t n,
                      int64_t count, uint64_t expected)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    const int64_t failures = heed_self.failures;
    heed_fail_allocations(n, count);
    uint64_t sum = run(context);
    heed_fail_allocation(-1);
    const heed_status status = heed_error();
    const bool reported =
        status == HEED_ERR_MEMORY && strstr(heed_error_message(), "out of memory") != NULL;
    const char *mode = count == 1 ? "once" : "with all later ones";
    ck_assert_msg(heed_self.failures > failures, "%s: allocation %lld was not reached", name,
                  (long long)n);
    ck_assert_msg(reported || (status == HEED_OK && sum == expected),
                  "%s: allocation %lld failed %s: %s, %s: %s", name, (long long)n, mode,
                  heed_status_name(status), sum == expected ? "right" : "wrong",
                  heed_error_message());
    ck_assert_msg(heed_live_tensors() == tensors && heed_live_bytes() == bytes,
                  "%s: allocation %lld failed %s: %lld tensors and %lld bytes leak", name,
                  (long long)n, mode, (long long)(heed_live_tensors() - tensors),
                  (long long)(heed_live_bytes() - bytes));
    sum = run_untouched(name, run, context);
    ck_assert_msg(sum == expected, "%s: allocation %lld failed %s: the next run differs", name,
                  (long long)n, mode);
}

/* The number of allocations to try: fewer in sanitizer builds, which are about ten times slower. */
static int64_t tries(int few)
{
    const char *wanted = getenv("HEED_OOM");
    if (wanted != NULL && *wanted != '\0') {
        ck_assert_msg(strcmp(wanted, "all") == 0, "HEED_OOM=%s: unset it, or use all", wanted);
        return INT64_MAX;
    }
    return heed_allocator_keeps_blocks() ? few : 1 + few / 10;
}

/* A handler, so that Heed does not report errors that stay unread for long. */
static void ignore(heed_status status, const char *message)
{
    (void)status, (void)message;
}

void starve(const char *name, scenario *run, const void *context, int few)
{
    heed_on_error(ignore);
    const uint64_t expected = run_untouched(name, run, context);
    const int64_t allocations = allocations_of(name, run, context);
    const int64_t step = 1 + (allocations - 1) / tries(few);
    for (int64_t n = (int64_t)(expected % (uint64_t)step); n < allocations; n += step) {
        starve_at(name, run, context, n, 1, expected);
        starve_at(name, run, context, n, INT64_MAX, expected);
    }
}
