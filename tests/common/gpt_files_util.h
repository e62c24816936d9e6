/* Shared by the tests of GPT files. */
#ifndef HEED_TESTS_GPT_FILES_UTIL_H
#define HEED_TESTS_GPT_FILES_UTIL_H

#include "tests/common/files_util.h"

#define GPT2_FIXTURE(name) "tests/fixtures/gpt2/" name

/* new_gpt: the fixtures' sizes, all parameters drawn with that seed, in eval mode. */
struct heed_gpt *new_gpt(heed_gpt_config config, uint64_t seed);

#endif
