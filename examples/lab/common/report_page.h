/* The parts shared by all reports: HTML, style and script. */
#ifndef HEED_COMMON_REPORT_PAGE_H
#define HEED_COMMON_REPORT_PAGE_H

#include "examples/lab/common/text.h"

/* Lines without line ends; each list ends with NULL. The data come between the two. */
extern const char *const report_head[], *const report_tail[];

#endif
