/* gpt plot: the curves of a log and the attention of a model. */
#ifndef HEED_GPT_PLOT_H
#define HEED_GPT_PLOT_H

/* gpt_plot: the command. */
int gpt_plot(int argc, char **argv);

#endif
