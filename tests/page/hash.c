/* Prints the hash of the page's weights after training the toy model without a browser:
 *     page_hash STEPS HEADS
 */
#include <stdio.h>
#include <stdlib.h>

#include "examples/page/engine.h"

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 500, heads = argc > 2 ? atoi(argv[2]) : 1;
    page_start(0, heads, 0.02, 2000, 0);
    page_go_to(steps);
    const char *hash = page_hash();
    puts(hash != NULL ? hash : page_error());
    page_end();
    return hash != NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
