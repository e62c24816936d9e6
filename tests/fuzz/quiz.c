/* Quizzes: each question of an accepted quiz has a kind, a context and two or more answers, all
 * within its text. */
#include <string.h>

#include "examples/lab/gpt/quiz.h"
#include "tests/fuzz/common/fuzz.h"

/* The file; its length chooses the level of the tokenizer. */
const fuzz_seed fuzz_seeds[] = {FUZZ_SEED("who\tAnn is in Kiel. Who is?\tAnn\tDan\twhere\n"
                                          "where\tAnn is in Kiel. Where?\tKiel\tBonn\n"),
                                FUZZ_SEED("k\tc\ta\tb"),
                                FUZZ_SEED("k\tc\ta\tb\nk\tc\ta\tb\r\n\nl\tcaf\xC3\xA9\ta\tc\n"),
                                {NULL, 0}};

static void check_text(const quiz *q, const char *text)
{
    must(text >= q->text.bytes && text < q->text.bytes + q->text.length);
    must(memchr(text, '\0', (size_t)(q->text.bytes + q->text.length - text)) != NULL);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    static const char known[] = "abc Ann is in Kiel. Who is? Where? Dan Bonn";
    tokenizer t = tokenizer_of_text((token_level)(size % 2), "it", known, sizeof known - 1, 299);
    quiz q = {.count = 0};
    if (quiz_open(&q, fuzz_file("quiz", data, size, "", 0), &t) != HEED_OK) {
        must_fail();
    } else {
        must(q.count > 0 && q.kind_count > 0 && q.kind_count <= QUIZ_MOST_KINDS);
        for (int64_t i = 0; i < q.count; i++) {
            const quiz_question *question = &q.questions[i];
            const char *part = question->context;
            must(question->kind >= 0 && question->kind < q.kind_count);
            must(question->answers >= 2 && question->answers <= QUIZ_MOST_ANSWERS);
            for (int answer = -1; answer < question->answers; answer++) {
                check_text(&q, part);
                part += strlen(part) + 1;
            }
        }
    }
    quiz_close(&q);
    tokenizer_free(&t);
}
