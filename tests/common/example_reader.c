/* Lesson 3's model, for tests/nn/module_failures.c. The quickstart, which that file includes, has
 * some of the lesson's names. */
int lesson3_main(int count, char **arguments);
void *example_reader(void);

#define main lesson3_main
#include "examples/lesson3_self_attention_class.c"
#undef main

void *example_reader(void)
{
    return reader_new(4);
}
