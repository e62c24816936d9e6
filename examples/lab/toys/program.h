/* The program: toys on one machine (main.c), and on several (examples/toys_mpi.c). */
#ifndef HEED_TOYS_PROGRAM_H
#define HEED_TOYS_PROGRAM_H

#include "examples/lab/toys/runs.h"

/* toys_program: returns the exit status. ranks: NULL, or the processes that take part, all with the
 * same arguments. */
int toys_program(int argc, char **argv, toys_ranks *ranks);

#endif
