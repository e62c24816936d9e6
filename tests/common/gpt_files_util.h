/* Shared by the tests of the `gpt_files` suite, and its parts. */
#ifndef HEED_TESTS_GPT_FILES_UTIL_H
#define HEED_TESTS_GPT_FILES_UTIL_H

#include "tests/common/files_util.h"

#define GPT2_FIXTURE(name) "tests/fixtures/gpt2/" name

/* new_gpt: the fixtures' sizes, all parameters drawn with that seed, in eval mode. */
struct heed_gpt *new_gpt(heed_gpt_config config, uint64_t seed);

void add_gpt_misfit_cases(Suite *suite);
void add_gpt_config_cases(Suite *suite);
void add_json_cases(Suite *suite);

#endif
