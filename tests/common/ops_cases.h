/* The parts of the `tensor` and `ops` suites; each file adds its cases. */
#ifndef HEED_TESTS_OPS_CASES_H
#define HEED_TESTS_OPS_CASES_H

#include "tests/common/reference.h"

void add_create_cases(Suite *suite);
void add_tensor_copy_cases(Suite *suite);
void add_tensor_view_cases(Suite *suite);

void add_math_cases(Suite *suite);
void add_special_cases(Suite *suite);
void add_text_cases(Suite *suite);
void add_select_cases(Suite *suite);
void add_join_cases(Suite *suite);
void add_shape_cases(Suite *suite);
void add_reduce_cases(Suite *suite);
void add_extremes_cases(Suite *suite);
void add_spread_cases(Suite *suite);
void add_product_cases(Suite *suite);
void add_matmul_cases(Suite *suite);
void add_multiply_cases(Suite *suite);
void add_attention_cases(Suite *suite);
void add_attend_cases(Suite *suite);
void add_einsum_cases(Suite *suite);
void add_equation_cases(Suite *suite);
void add_index_cases(Suite *suite);
void add_sort_cases(Suite *suite);
void add_rearrange_cases(Suite *suite);
void add_loss_cases(Suite *suite);
void add_class_loss_cases(Suite *suite);
void add_pair_loss_cases(Suite *suite);
void add_normalize_cases(Suite *suite);

#endif
