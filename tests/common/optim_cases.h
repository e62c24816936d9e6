/* The parts of the `optim` suite. */
#ifndef HEED_TESTS_OPTIM_CASES_H
#define HEED_TESTS_OPTIM_CASES_H

#include "tests/common/test_util.h"

void add_clip_cases(Suite *suite);
void add_flatten_cases(Suite *suite);
void add_group_cases(Suite *suite);
void add_schedule_cases(Suite *suite);
void add_optim_state_cases(Suite *suite);
void add_update_cases(Suite *suite);

#endif
