/* Trains the models of the page's story and writes their numbers (story.h):
 *
 *     page_train FILE
 *
 * `make page` runs it with the kernels that WebAssembly uses (HEED_ISA=baseline), so that the page
 * can compute the same numbers again. */
#include <stdio.h>
#include <stdlib.h>

#include "examples/page/engine.h"
#include "examples/page/story.h"

int main(int argc, char **argv)
{
    const size_t count = (size_t)page_story_numbers();
    float *numbers = calloc(count, sizeof *numbers);
    bool done = argc == 2 && numbers != NULL && page_story_make(numbers, 0);
    FILE *file = done ? fopen(argv[1], "wb") : NULL;
    done = file != NULL && fwrite(numbers, sizeof *numbers, count, file) == count;
    if (file != NULL) {
        done = fclose(file) == 0 && done;
    }
    if (!done) {
        const char *error = page_error();
        fprintf(stderr, "page_train: %s\n",
                error != NULL ? error
                : argc == 2   ? "the file cannot be written"
                              : "name a file");
    }
    free(numbers);
    page_end();
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
