/* Quizzes: questions whose answers show what a model has understood. A quiz is a text file with a
 * question on each line, its parts separated by tabs:
 *
 *     kind   context   right answer   wrong answer   wrong answer ...
 *
 * A question is answered correctly if the model finds the right answer more probable than each
 * wrong one: the probability of an answer is the product of those of its tokens after the context.
 * A tie is wrong. If context and answers are longer than the model's context, the first tokens are
 * dropped, the same number for each answer.
 */
#ifndef HEED_GPT_QUIZ_H
#define HEED_GPT_QUIZ_H

#include <stdio.h>

#include "examples/lab/gpt/model.h"
#include "examples/lab/gpt/tokenizer.h"

enum { QUIZ_MOST_KINDS = 8, QUIZ_MOST_ANSWERS = 64 };

/* The questions of one kind: how many there are, how many the model answered correctly, and how
 * many a guesser would:
 *
 *     chance      picks an answer at random (the expected number)
 *     frequent    always gives the most frequent right answer of the kind
 *     recent      gives the answer that occurs last in the context; picks at random if none does */
typedef struct quiz_kind {
    const char *name; /* in the text of the quiz */
    int64_t questions, right;
    double chance, frequent, recent;
} quiz_kind;

typedef struct quiz_question {
    int kind, answers;
    const char *context; /* then the answers, the right one first, each NUL-terminated */
} quiz_question;

/* Zero-initialised, it is empty. */
typedef struct quiz {
    text_buffer text;
    const tokenizer *tokenizer; /* owned by the caller */
    quiz_question *questions;
    int64_t count;
    size_t capacity;
    quiz_kind kinds[QUIZ_MOST_KINDS];
    int kind_count;
} quiz;

/* quiz_open: reads a quiz for a model with this tokenizer.
 * HEED_ERR_VALUE: the file cannot be read, or a line is not a question; the message gives its
 * number. */
heed_status quiz_open(quiz *q, const char *path, const tokenizer *t);
void quiz_close(quiz *q);

/* quiz_ask: asks all questions and counts the right answers. It runs in eval mode, records no graph
 * and draws no random numbers. */
heed_status quiz_ask(quiz *q, struct gpt *m);

/* quiz_print: a table with a row for each kind: the shares of right answers of the model and of the
 * guessers. */
void quiz_print(const quiz *q, FILE *stream);

#endif
