/* The page that --report writes of a run, or of many: curves, settings, results, attention. */
#ifndef HEED_TOYS_PAGE_H
#define HEED_TOYS_PAGE_H

#include "examples/lab/toys/inside.h"
#include "examples/lab/toys/runs.h"

typedef struct toys_page {
    report *report; /* NULL: not asked for */
    char title[64];
    const toys_run *run; /* of one run: whose attention is shown, on this input */
    toys_batch input;    /* retained */
} toys_page;

/* toys_page_begin_run, toys_page_begin_runs: begin the page of one run, or of many, if --report
 * asks for it. HEED_ERR_VALUE: the file exists and is not a report. */
void toys_page_begin_run(toys_page *p, const toys_options *o, const toys_run *run, heed_watch *w);
void toys_page_begin_runs(toys_page *p, const toys_options *o, const toys_runs *runs,
                          heed_watch *w);

/* toys_page_add_runs: adds the table of many runs.
 * toys_page_end: writes the page; an error stays pending. */
void toys_page_add_runs(toys_page *p, const toys_runs *runs);
void toys_page_end(toys_page *p);

#endif
