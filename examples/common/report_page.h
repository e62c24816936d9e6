/* The parts of a report that are the same for all runs: HTML, style and script. */
#ifndef HEED_COMMON_REPORT_PAGE_H
#define HEED_COMMON_REPORT_PAGE_H

#include "examples/common/text.h"

/* Lines without their line ends; NULL ends a list. The data stand between the two. */
extern const char *const report_head[], *const report_tail[];

#endif
