/* The commands of gpt. Each takes its own arguments, argv[0] is its name, and returns the exit status
 * of the program. */
#ifndef HEED_GPT_COMMANDS_H
#define HEED_GPT_COMMANDS_H

#include "examples/common/flags.h"

int gpt_train(int argc, char **argv);
int gpt_sample(int argc, char **argv);
int gpt_eval(int argc, char **argv);
int gpt_info(int argc, char **argv);
int gpt_export(int argc, char **argv);

/* gpt_begin: reads the flags; false: the command ends with *status, because of --help or an error. */
bool gpt_begin(const flag_table *flags, void *options, int argc, char **argv, int *status);

/* gpt_end: the exit status of a command; what is wrong before it is `ready` is wrong with what was
 * asked for. */
int gpt_end(bool ready);

#endif
