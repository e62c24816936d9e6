/* A grammar of short stories: who has what, who went where, pronouns that refer to them, and at the
 * end of most stories a question with one right answer.
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

/* The facts that answer a question, with the names they refer to, are within this many characters
 * before the end of the answer: the default context of build/gpt. */
enum { STORY_REACH = 64 };

/* The kinds of questions in a quiz. */
typedef enum story_kind {
    STORY_PRONOUN, /* "She", "he": the sentence before determines who is meant */
    STORY_WHO,     /* "Who has the drum?", "Who is in Oslo?" */
    STORY_WHERE,   /* "Where is Eva?" */
    STORY_KINDS
} story_kind;

/* A position in a story where exactly one word is right. */
typedef struct story_point {
    story_kind kind;
    bool latest;                /* is it the choice that the story names last? */
    int at;                     /* where the word begins */
    const char *right;          /* the word */
    const char *const *choices; /* this and the wrong ones, NULL-terminated */
} story_point;

enum { STORY_MOST_BYTES = 400, STORY_MOST_POINTS = 8 };
typedef struct story {
    char text[STORY_MOST_BYTES];
    int length;
    story_point points[STORY_MOST_POINTS];
    int point_count;
} story;

/* story_tell: draws a story: three or four sentences and up to two questions. Of the nine pairs of
 * a girl and a boy three are `held_out` for quizzes; texts use the others. Each story names both,
 * so no quiz story occurs in a text, whatever the seeds. */
void story_tell(story *s, bool held_out);

/* stories_text: writes stories drawn from this seed, each followed by a blank line, as many as fit
 * into `bytes`. stories_quiz: writes questions about held-out stories, each kind in turn, as
 * examples/lab/gpt/quiz.h reads them. In half of the "who" and "where" questions the answer is not
 * the name mentioned last, so guessing that name scores 50 %. The caller checks the stream for
 * errors. */
void stories_text(FILE *to, uint64_t seed, int64_t bytes);
void stories_quiz(FILE *to, uint64_t seed, int64_t questions);

#endif
