/* The arguments of operations, as text. */
#include <math.h>

#include "autograd/notify.h"
#include "tests/common/observe_util.h"
#include "tests/ops/table.h"

/* For each argument struct, read according to its declared layout. */
START_TEST(arguments_are_shown_as_text)
{
    heed_recording *r = heed_recording_begin();
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F64);
    heed_tensor *ids = heed_from_i64((int64_t[]){1, 0}, HEED_SHAPE(2)), *y;
#define EXPECT(call, text)                                                                         \
    y = call;                                                                                      \
    ck_assert_ptr_eq(last_of(r)->result, y);                                                       \
    ck_assert_str_eq(last_of(r)->arguments, text)

    EXPECT(heed_neg(x), "");
    EXPECT(heed_add(x, x), "");
    EXPECT(heed_mul_scalar(x, 0.5), "b=0.5");
    EXPECT(heed_mul_scalar(x, -(double)NAN), "b=nan");
    EXPECT(heed_lt_scalar(x, -1e30), "b=-1e+30");
    EXPECT(heed_lerp_scalar(x, x, 0.25), "c=0.25");
    EXPECT(heed_clamp(x, -HUGE_VAL, 2), "min=-inf, max=2");
    EXPECT(heed_transpose(x, 0, -1), "dim0=0, dim1=-1");
    EXPECT(heed_permute(x, HEED_DIMS(1, 0)), "dims=(1, 0)");
    EXPECT(heed_expand(x, HEED_SHAPE(4, 2, 3)), "shape=(4, 2, 3)");
    EXPECT(heed_reshape(x, HEED_SHAPE(6)), "shape=(6)");
    EXPECT(heed_squeeze(x, 1), "dim=1");
    EXPECT(heed_unsqueeze(x, 2), "dim=2");
    EXPECT(heed_to(x, HEED_F32), "dtype=f32");
    EXPECT(heed_sum(x), "");
    EXPECT(heed_sum_dim(x, 1, true), "dims=(1), keepdim=True");
    EXPECT(heed_mean_dims(x, HEED_DIMS(0, 1), false), "dims=(0, 1)");
    EXPECT(heed_amax_dim(x, -1, false), "dims=(-1)");
    EXPECT(heed_argmax_dim(x, 0, true), "dims=(0), keepdim=True");
    EXPECT(heed_var_dim(x, 1, 1, true), "dims=(1), keepdim=True, correction=1");
    EXPECT(heed_std_dim(x, 1, 0, false), "dims=(1), correction=0");
    EXPECT(heed_norm_dim(x, 2, 1, false), "dims=(1), p=2");
    EXPECT(heed_cumsum(x, 1), "dim=1");
    EXPECT(heed_softmax(x, -1), "dim=-1");
    EXPECT(heed_argsort(x, 1, true), "dim=1, descending=True");
    EXPECT(heed_index_select(x, 0, ids), "dim=0");
    EXPECT(heed_embedding_dense_backward(x, ids, 5), "num_embeddings=5");
    EXPECT(heed_cat((heed_tensor *[]){x, x}, 2, 1), "dim=1");
    EXPECT(heed_flip(x, HEED_DIMS(0)), "dims=(0)");
    EXPECT(heed_masked_fill(x, heed_ones(HEED_SHAPE(3), HEED_BOOL), -HUGE_VAL), "value=-inf");
    EXPECT(heed_triu(x, -1), "diagonal=-1");
    EXPECT(heed_slice(x, 1, 0, 3, 2), "dim=1, start=0, end=3, step=2");
    EXPECT(heed_slice_backward(heed_ones(HEED_SHAPE(1, 3), HEED_F64), HEED_SHAPE(4, 3), 0, 1, 2, 1),
           "shape=(4, 3), dim=0, start=1, end=2, step=1");
    EXPECT(heed_diagonal(x, 1, 0, 1), "offset=1, dim1=0, dim2=1");
    EXPECT(heed_layer_norm(x, HEED_SHAPE(3), NULL, NULL, 1e-5), "eps=1e-05");
    EXPECT(heed_cross_entropy(x, ids), "ignore_index=-100, label_smoothing=0, reduction=mean");
    heed_recording_free(r);
}
END_TEST

/* Every operation with arguments declares their layout. */
START_TEST(no_operation_hides_its_arguments)
{
    heed_recording *r = heed_recording_begin();
    for (int i = 0; i < operation_row_count; i++) {
        heed_tensor *inputs[ROW_INPUTS];
        if (operation_rows[i].derivative != NOT_CHECKED) {
            row_inputs(&operation_rows[i], inputs);
            operation_rows[i].f(inputs, NULL);
        }
    }
    const size_t origin_size = heed_self.observers->origin_size;
    heed_trace(NULL);
    heed_recording_stop(r);
    int shown = 0;
    for (int64_t i = 0; i < heed_recording_count(r); i++) {
        const heed_recorded *entry = heed_recording_at(r, i);
        const size_t origin = entry->result->has_origin ? origin_size : 0;
        if (entry->result->args_size > origin) {
            ck_assert_msg(entry->op->args != NULL, "%s declares no .args", entry->op->name);
            shown += *entry->arguments != '\0';
        }
    }
    expect_no_error();
    ck_assert_int_gt(shown, 50);
    heed_recording_free(r);
}
END_TEST

START_TEST(a_wrong_layout_reads_nothing_behind_the_arguments)
{
    const struct {
        int dim;
        double scale;
    } args = {3, 0.5};
    const char *const layouts[] = {"int dim, double scale", "int dim, double scale, int64 more",
                                   "int dim, float scale",  "int dim, double",
                                   "shape shape",           ""};
    const char *const texts[] = {"dim=3, scale=0.5", "dim=3, scale=0.5", "dim=3", "dim=3", "", ""};
    for (int i = 0; i < 6; i++) {
        const heed_op op = {.name = "own", .args = layouts[i]};
        const heed_text text = heed_args_text(&op, &args, sizeof args);
        ck_assert_str_eq(text.text, texts[i]);
    }
    const heed_op reducing = {.name = "own", .args = "reduction reduction"};
    for (int reduction = 0; reduction < 6; reduction++) {
        static const char *const names[] = {"mean", "sum", "none", "batchmean", "?", "?"};
        const heed_text text = heed_args_text(&reducing, &reduction, sizeof reduction);
        ck_assert_str_eq(text.text + strlen("reduction="), names[reduction]);
    }
    const heed_op many = {.name = "own",
                          .args = "shape first_shape, shape second_shape, shape third_shape"};
    heed_shape shapes[3];
    for (int i = 0; i < 24; i++) {
        shapes[i / 8].ndim = 8;
        shapes[i / 8].size[i % 8] = 10000000 + i;
    }
    const heed_text text = heed_args_text(&many, shapes, sizeof shapes); /* truncated */
    ck_assert_uint_eq(strlen(text.text), sizeof text.text - 1);
    ck_assert(strncmp(text.text, "first_shape=(10000000, 10000001, ", 33) == 0);
    ck_assert_str_eq(heed_args_text(NULL, &args, sizeof args).text, "");
    ck_assert_str_eq(heed_args_text(&twice, NULL, 0).text, "");
}
END_TEST

void add_args_text_cases(Suite *suite)
{
    TCase *arguments = heed_case(suite, "arguments");
    tcase_add_test(arguments, arguments_are_shown_as_text);
    tcase_add_test(arguments, no_operation_hides_its_arguments);
    tcase_add_test(arguments, a_wrong_layout_reads_nothing_behind_the_arguments);
}
