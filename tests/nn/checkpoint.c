/* Saving and loading modules: strict, all or nothing, and in place, so that tensors keep their
 * identity. */
#include "tests/common/files_util.h"

/* The state dicts of two modules have the same names and bits. */
static void expect_same_state(void *a, void *b)
{
    expect_no_error();
    heed_tensor_list x = heed_state_dict(a), y = heed_state_dict(b);
    ck_assert_int_eq(x.count, y.count);
    for (int i = 0; i < x.count; i++) {
        ck_assert_str_eq(x.names[i], y.names[i]);
        expect_same_bits(x.tensors[i], y.tensors[i]);
    }
}

static struct heed_linear *new_linear(uint64_t seed, int64_t in, int64_t out)
{
    heed_manual_seed(seed);
    return heed_linear_new(in, out);
}

static heed_status load(void *module)
{
    return heed_load_state_dict(module, in_folder("a"));
}

static heed_status load_what_fits(void *module)
{
    return heed_load_state_dict(module, in_folder("a"), .no_strict = true);
}

/* ---- round trips ---- */

/* PyTorch saved the file at seed 42; the same module here, at that seed, equals it. */
START_TEST(a_module_of_pytorch_loads)
{
    heed_manual_seed(42);
    struct heed_self_attention *expected = heed_self_attention_new(2, 0, 1);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    const char *path = "tests/fixtures/attention.safetensors";
    ck_assert_int_eq(heed_load_state_dict(m, path), HEED_OK);
    expect_same_state(m, expected);
    const heed_metadata about[] = {{"format", "pt"}, {NULL, NULL}};
    ck_assert_int_eq(heed_save_state_dict(m, in_folder("a"), about), HEED_OK);
    expect_same_files(in_folder("a"), path);
    heed_module_free(m);
    heed_module_free(expected);
}
END_TEST

START_TEST(the_tensors_stay_the_same_ones)
{
    struct heed_linear *a = new_linear(1, 3, 2), *b = new_linear(2, 3, 2);
    heed_tensor *weight = b->weight, *x = heed_ones(HEED_SHAPE(1, 3), HEED_F32);
    const void *data = weight->data;
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(b), 0.5);
    heed_save_state_dict(a, in_folder("a"), NULL);
    heed_tensor *before = heed_sum(heed_mul(weight, weight));
    ck_assert_int_eq(load(b), HEED_OK);
    ck_assert(b->weight == weight && weight->data == data && weight->requires_grad);
    ck_assert(weight->op == NULL && weight->grad == NULL);
    ck_assert_int_eq(heed_backward(before), HEED_ERR_VERSION); /* it needs the old value */
    heed_error();
    heed_backward(heed_sum(heed_linear_forward(b, x)));
    ck_assert_int_eq(heed_optimizer_step(sgd), HEED_OK);
    heed_tensor *expected = heed_sub_scalar(heed_detach(a->weight), 0.5);
    expect_close(heed_detach(b->weight), expected, 1e-7);
    heed_optimizer_free(sgd);
    heed_module_free(a);
    heed_module_free(b);
}
END_TEST

START_TEST(floats_are_cast)
{
    struct heed_linear *a = new_linear(1, 3, 2), *b = new_linear(2, 3, 2);
    heed_save_state_dict(a, in_folder("a"), NULL);
    ck_assert_int_eq(heed_module_to(b, HEED_F64), HEED_OK);
    ck_assert_int_eq(load(b), HEED_OK);
    ck_assert_int_eq(b->weight->dtype, HEED_F64);
    expect_same_bits(heed_detach(b->weight), heed_to(heed_detach(a->weight), HEED_F64));
    heed_tensor *thirds = heed_div_scalar(heed_ones(HEED_SHAPE(2), HEED_F64), 3);
    heed_copy_into(b->bias, thirds);
    heed_save_state_dict(b, in_folder("a"), NULL);
    ck_assert_int_eq(load(a), HEED_OK);
    ck_assert_int_eq(a->bias->dtype, HEED_F32);
    expect_same_bits(heed_detach(a->bias), heed_to(thirds, HEED_F32));
    heed_module_free(a);
    heed_module_free(b);
}
END_TEST

/* ---- a user-defined module: ties, buffers, odd tensors ---- */

struct odd {
    heed_module module;
    heed_tensor *one, *other, *mask, *ids;
};
static const heed_module_kind odd_kind = {.name = "Odd", .size = sizeof(struct odd)};

static struct odd *odd_new(double value)
{
    struct odd *m = heed_module_new(&odd_kind);
    if (m == NULL) {
        return NULL;
    }
    heed_tensor *shared = heed_full(HEED_SHAPE(2, 3), value, HEED_F32);
    heed_add_tensor(m, "one", &m->one, shared, false);
    heed_add_tensor(m, "other", &m->other, shared, false);
    heed_add_tensor(m, "mask", &m->mask, heed_full(HEED_SHAPE(3), value > 1, HEED_BOOL), true);
    heed_add_tensor(m, "ids", &m->ids,
                    heed_transpose(heed_full(HEED_SHAPE(2, 2), value, HEED_I64), 0, 1), true);
    return m;
}

START_TEST(tied_parameters_are_saved_twice_and_stay_tied)
{
    struct odd *a = odd_new(1), *b = odd_new(2);
    heed_save_state_dict(a, in_folder("a"), NULL);
    expect_same_bits(load_one(in_folder("a"), "one"), load_one(in_folder("a"), "other"));
    ck_assert_int_eq(load(b), HEED_OK);
    ck_assert_ptr_eq(b->one, b->other);
    expect_same_state(a, b);
    /* one of the tied names is enough */
    struct odd *c = odd_new(3);
    heed_tensor *tensors[] = {a->other, a->mask, a->ids};
    for (int i = 0; i < 2; i++) {
        const char *names[] = {i == 0 ? "one" : "other", "mask", "ids"};
        heed_fill_into(c->one, 3);
        heed_save_file((heed_tensor_list){3, tensors, names}, in_folder("a"), NULL);
        ck_assert_int_eq(load(c), HEED_OK);
        expect_same_state(a, c);
    }
    const char *names[] = {"other", "mask", "ids"};
    tensors[0] = heed_ones(HEED_SHAPE(3, 2), HEED_F32); /* but its shape must match */
    heed_save_file((heed_tensor_list){3, tensors, names}, in_folder("a"), NULL);
    ck_assert_int_eq(load(c), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "/a: 'other' is F32 (3, 2), but in this Odd it is f32 (2, 3)");
    heed_module_free(a);
    heed_module_free(b);
    heed_module_free(c);
}
END_TEST

/* ---- mismatches ---- */

/* Saves these tensors and loads them into an Odd of seed 2, which must reject them and not
 * change. */
static void expect_misfit(int count, const char *const *names, heed_tensor *const *tensors,
                          bool strict, const char *words)
{
    struct odd *m = odd_new(2), *same = odd_new(2);
    heed_save_file((heed_tensor_list){count, tensors, names}, in_folder("a"), NULL);
    expect_no_error();
    const uint32_t version = m->one->storage->version;
    ck_assert_int_eq(strict ? load(m) : load_what_fits(m), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, words);
    ck_assert_uint_eq(m->one->storage->version, version);
    expect_same_state(m, same);
    heed_module_free(m);
    heed_module_free(same);
}

START_TEST(the_first_mismatch_is_named)
{
    heed_tensor *f32 = heed_zeros(HEED_SHAPE(2, 3), HEED_F32),
                *mask = heed_zeros(HEED_SHAPE(3), HEED_BOOL);
    heed_tensor *ids = heed_zeros(HEED_SHAPE(2, 2), HEED_I64);
    const char *names[] = {"one", "other", "mask", "ids", "more"};
    expect_misfit(4, names, (heed_tensor *[]){f32, f32, ids, mask}, true,
                  "/a: 'mask' is I64 (2, 2), but in this Odd it is bool (3)");
    expect_misfit(3, names, (heed_tensor *[]){f32, f32, mask}, true, "/a: 'ids' is missing");
    expect_misfit(5, names, (heed_tensor *[]){f32, f32, mask, ids, f32}, true,
                  "/a: this Odd has no 'more'");
    expect_misfit(3, names + 1, (heed_tensor *[]){f32, heed_to(mask, HEED_F32), ids}, true,
                  "/a: 'mask' is F32 (3), but in this Odd it is bool (3)");
    heed_tensor *wrong = heed_zeros(HEED_SHAPE(2, 3), HEED_I64);
    expect_misfit(1, names, &wrong, false, "'one' is I64 (2, 3), but in this Odd it is f32 (2, 3)");
    wrong = heed_zeros(HEED_SHAPE(0, 3), HEED_F32);
    expect_misfit(1, names, &wrong, false, "'one' is F32 (0, 3), but in this Odd it is f32 (2, 3)");
}
END_TEST

START_TEST(what_fits_loads_where_that_is_wanted)
{
    struct odd *a = odd_new(1), *b = odd_new(2);
    heed_tensor *tensors[] = {a->mask, a->ids};
    const char *names[] = {"mask", "more"};
    heed_save_file((heed_tensor_list){2, tensors, names}, in_folder("a"), NULL);
    ck_assert_int_eq(load_what_fits(b), HEED_OK);
    expect_same_bits(b->mask, a->mask);
    EXPECT_VALUES(b->ids, 0, 2, 2, 2, 2);
    EXPECT_VALUES(heed_detach(b->one), 0, 2, 2, 2, 2, 2, 2);
    heed_module_free(a);
    heed_module_free(b);
}
END_TEST

/* A parameter whose elements share memory cannot be copied into; this is detected before any
 * copy. */
START_TEST(expanded_parameters_do_not_load)
{
    struct odd *m = odd_new(2);
    heed_tensor *wide = heed_expand(heed_ones(HEED_SHAPE(1), HEED_I64), HEED_SHAPE(4));
    heed_add_tensor(m, "wide", NULL, wide, true);
    heed_save_state_dict(m, in_folder("a"), NULL);
    const uint32_t version = m->one->storage->version;
    ck_assert_int_eq(load(m), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "/a: 'wide' is I64 (4), but in this Odd it is i64 (4), expanded");
    ck_assert_uint_eq(m->one->storage->version, version);
    heed_module_free(m);
}
END_TEST

void add_checkpoint_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "checkpoints");
    tcase_add_test(tests, a_module_of_pytorch_loads);
    tcase_add_test(tests, the_tensors_stay_the_same_ones);
    tcase_add_test(tests, floats_are_cast);
    tcase_add_test(tests, tied_parameters_are_saved_twice_and_stay_tied);
    tcase_add_test(tests, the_first_mismatch_is_named);
    tcase_add_test(tests, what_fits_loads_where_that_is_wanted);
    tcase_add_test(tests, expanded_parameters_do_not_load);
}
