/* A grammar of small stories: who has what, who went where, pronouns that refer, and at the end of
 * most a question with one right answer.
 *
 *     Eva has a drum. Tom visits Eva. He takes the drum from Eva. Who has the drum? Tom.
 *
 * A story has a girl, a boy and perhaps an animal, so "she", "he" and "it" each refer to exactly
 * one of them. Its facts come from a world that every sentence changes. Everything is drawn by
 * heed's generator: the same seed gives the same bytes on every machine.
 */
#ifndef HEED_STORIES_GRAMMAR_H
#define HEED_STORIES_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A question is only asked if what it takes to answer it, from the name of a person to the answer,
 * stands in this many characters: the default context of build/gpt. */
enum { STORY_REACH = 64 };

/* What a quiz asks for. */
typedef enum story_kind {
    STORY_PRONOUN, /* "She", "he", where the sentence before determines who is meant */
    STORY_WHO,     /* "Who has the drum?", "Who is in the barn?" */
    STORY_WHERE,   /* "Where is Eva? In the" */
    STORY_KINDS
} story_kind;

/* A place in a story where one word is right. */
typedef struct story_point {
    story_kind kind;
    bool latest;                /* is it the choice that the story names last? */
    int at;                     /* where the word begins */
    const char *right;          /* the word */
    const char *const *choices; /* this and the wrong ones, ended by NULL */
} story_point;

enum { STORY_MOST_BYTES = 400, STORY_MOST_POINTS = 8 };
typedef struct story {
    char text[STORY_MOST_BYTES];
    int length;
    story_point points[STORY_MOST_POINTS];
    int point_count;
} story;

/* story_tell: draws a story: three or four sentences and up to two questions. Of the nine pairs of
 * a girl and a boy three are `held_out` for quizzes, and the others are for training. Each story
 * names both, so no story of a quiz occurs in a text, whatever the seeds. */
void story_tell(story *s, bool held_out);

/* stories_text: writes stories drawn from this seed, each with a blank line after it: those that
 * fit into `bytes`. stories_quiz: writes questions of each kind in turn, on held-out stories, as
 * examples/gpt/quiz.h reads them. Half of the answers to "who" and "where" are not the latest name,
 * so guessing that is right half of the time. Errors of the stream are the caller's to check. */
void stories_text(FILE *to, uint64_t seed, int64_t bytes);
void stories_quiz(FILE *to, uint64_t seed, int64_t questions);

#endif
