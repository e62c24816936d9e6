/* gpt compare: two training runs side by side. */
#ifndef HEED_GPT_COMPARE_H
#define HEED_GPT_COMPARE_H

int gpt_compare(int argc, char **argv);

#endif
