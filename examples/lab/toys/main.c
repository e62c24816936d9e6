/* Small attention models on tasks with known answers: one run that is looked into, or many seeds
 * with their table. program.c reads the command line, run.c trains, runs.c trains many; each task
 * is a file of its own.
 *
 *     build/toys induction --seeds 20        build/toys list        build/toys --help
 */
#include "examples/lab/toys/runs.h"

int main(int argc, char **argv)
{
    return toys_program(argc, argv, NULL);
}
