/* Batches draw the indices of torch's DataLoader. */
#include "tests/fixtures/batches.h"

#include "tests/common/test_util.h"

/* ---- parity with torch; make_batches.py describes the hashes ---- */

static const struct {
    uint64_t seed;
    int64_t count, batch_size;
    bool shuffle, drop_last;
    uint64_t hash;
} loaders[] = {BATCHES};

enum { LOADERS = sizeof loaders / sizeof *loaders };

static uint64_t hash_number(int64_t number, uint64_t sum)
{
    return fnv(&number, sizeof number, sum);
}

static uint64_t hash_indices(heed_tensor *indices, uint64_t sum)
{
    const int64_t length = heed_size(indices, 0);
    return fnv(heed_const_data_i64(indices), (size_t)length * sizeof length,
               hash_number(length, sum));
}

static uint64_t hash_position(uint64_t sum)
{
    return hash_number(heed_item_i64(heed_randint(0, 1 << 27, HEED_SCALAR)), sum);
}

START_TEST(epochs_are_those_of_a_data_loader)
{
    heed_manual_seed(loaders[_i].seed);
    heed_batches *b = heed_batches_new(
        loaders[_i].count, loaders[_i].batch_size,
        (heed_batches_options){.shuffle = loaders[_i].shuffle, .drop_last = loaders[_i].drop_last});
    uint64_t sum = FNV_BASIS;
    for (int epoch = 0; epoch < 3; epoch++) {
        heed_tensor *indices = NULL;
        while (heed_batches_next(b, &indices)) {
            sum = hash_indices(indices, sum);
        }
        ck_assert_ptr_null(indices);
        sum = hash_position(hash_number(-1, sum));
        heed_rand(HEED_SHAPE(3), HEED_F32);
    }
    heed_batches_free(b);
    ck_assert_uint_eq(sum, loaders[_i].hash);
}
END_TEST

/* ---- lifetimes ---- */

/* A batch outlives the scopes that end before the next call; a loop needs no open scope. */
START_TEST(a_batch_stays_until_the_next_call)
{
    heed_batches *b = heed_batches_new(5, 2, (heed_batches_options){0});
    heed_tensor *indices = NULL;
    const int64_t live = heed_live_tensors();
    for (int64_t first = 0; heed_batches_next(b, &indices); first += 2) {
        {
            HEED_SCOPE(scope);
            heed_one_hot(indices, 5);
        }
        ck_assert_int_eq(heed_const_data_i64(indices)[0], first);
        ck_assert_int_le(heed_live_tensors(), live + 2);
    }
    ck_assert_int_eq(heed_live_tensors(), live);
    ck_assert(heed_batches_next(b, &indices)); /* freed within an epoch */
    heed_batches_free(b);
    ck_assert_int_eq(heed_live_tensors(), live);
    heed_batches_free(NULL);
}
END_TEST

/* Loops over batches and epochs end if an error is pending. */
START_TEST(an_error_ends_the_epoch)
{
    heed_batches *b = heed_batches_new(6, 4, (heed_batches_options){.shuffle = true});
    heed_tensor *indices = NULL;
    ck_assert(heed_batches_next(b, &indices));
    heed_reshape(indices, HEED_SHAPE(3));
    ck_assert(!heed_batches_next(b, &indices) && !heed_batches_next(b, &indices));
    expect_error(HEED_ERR_SHAPE, "reshape");
    ck_assert(heed_batches_next(b, &indices));
    ck_assert_int_eq(heed_size(indices, 0), 4);
    heed_batches_free(b);
    ck_assert(!heed_batches_next(NULL, &indices));
    expect_error(HEED_ERR_NULL, "batches_next");
}
END_TEST

void add_batches_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "batches");
    tcase_add_loop_test(tests, epochs_are_those_of_a_data_loader, 0, LOADERS);
    tcase_add_test(tests, a_batch_stays_until_the_next_call);
    tcase_add_test(tests, an_error_ends_the_epoch);
}
