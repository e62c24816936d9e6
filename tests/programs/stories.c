/* The stories of examples/lab/stories, read again as text: a reader that does not know the
 * grammar's tables follows the events, and checks every answer and every pronoun. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/stories/grammar.h"
#include "tests/common/test_util.h"

static const char *const girls[] = {"Ann", "Eva", "Mia"}, *const boys[] = {"Ben", "Dan", "Leo"};

/* What `writes`, stories_text or stories_quiz, writes. */
static char *written_by(void (*writes)(FILE *, uint64_t, int64_t), uint64_t seed, int64_t count,
                        size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    writes(to, seed, count);
    fclose(to);
    expect_no_error();
    return text;
}

static char *text_of(uint64_t seed, int64_t bytes, size_t *size)
{
    return written_by(stories_text, seed, bytes, size);
}

static char *quiz_of(uint64_t seed, int64_t questions, size_t *size)
{
    return written_by(stories_quiz, seed, questions, size);
}

/* ---- a reader ---- */

enum { WORDS = 6, MOST_CHARACTERS = 6, UNKNOWN = -1 };

typedef struct character {
    char name[8], place[8];
    int sentence; /* the last that names it */
} character;

typedef struct reader {
    bool cropped; /* the beginning of the story is missing, so not all is known */
    character all[MOST_CHARACTERS];
    int count, sentence, questions;
    int holder, gave;           /* gave: the sentence in which the thing changed hands */
    char thing[8], expected[8]; /* expected: the answer of the question just read; or "" */
    enum { UNSAID, TOGETHER, APART } meeting;
} reader;

static const char *pronoun_of(const char *name)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, girls[i]) == 0 || strcmp(name, boys[i]) == 0) {
            return strcmp(name, girls[i]) == 0 ? "she" : "he";
        }
    }
    return "it";
}

static int named(reader *r, const char *name)
{
    int i = 0;
    while (i < r->count && strcmp(r->all[i].name, name) != 0) {
        i++;
    }
    if (i == r->count) {
        ck_assert_int_lt(r->count++, MOST_CHARACTERS);
        strcpy(r->all[i].name, name);
    }
    r->all[i].sentence = r->sentence;
    return i;
}

/* Whom a word means: a pronoun must fit one character alone. */
static int referred(reader *r, const char *word)
{
    char lower[8] = "";
    int found = UNKNOWN, fitting = 0;
    strcpy(lower, word);
    lower[0] |= 0x20;
    if (strcmp(lower, "she") != 0 && strcmp(lower, "he") != 0 && strcmp(lower, "it") != 0) {
        return named(r, word);
    }
    for (int i = 0; i < r->count; i++) {
        const bool fits = strcmp(pronoun_of(r->all[i].name), lower) == 0;
        found = fits ? i : found;
        fitting += fits;
    }
    if (r->cropped && fitting == 0) {
        return named(r, lower);
    }
    ck_assert_msg(fitting == 1, "\"%s\" may be %d characters", word, fitting);
    return found;
}

/* They must be able to be in one place. */
static void join(reader *r, int x, int y)
{
    char *a = r->all[x].place, *b = r->all[y].place;
    ck_assert_msg(r->cropped ||
                      (r->meeting != APART && (*a == '\0' || *b == '\0' || strcmp(a, b) == 0)),
                  "%s and %s are apart", r->all[x].name, r->all[y].name);
    strcpy(*a == '\0' ? a : b, *a == '\0' ? b : a);
    r->meeting = TOGETHER;
}

static void hand_over(reader *r, int from, int to, const char *thing)
{
    ck_assert(r->cropped || (r->holder == from && strcmp(r->thing, thing) == 0));
    join(r, from, to);
    strcpy(r->thing, thing);
    r->holder = to;
    r->gave = r->sentence;
}

static void go(reader *r, int x, const char *place)
{
    ck_assert_str_ne(r->all[x].place, place);
    strcpy(r->all[x].place, place);
    if (strcmp(pronoun_of(r->all[x].name), "it") != 0 && r->meeting == TOGETHER) {
        r->meeting = APART;
    }
}

static void visit(reader *r, int x, int y)
{
    strcpy(r->all[x].place, r->all[y].place);
    r->meeting = TOGETHER;
}

/* The only one in a place. */
static const char *found_in(const reader *r, const char *place)
{
    const char *found = "";
    for (int i = 0; i < r->count; i++) {
        if (strcmp(r->all[i].place, place) == 0) {
            ck_assert_msg(*found == '\0', "%s and %s are in %s", found, r->all[i].name, place);
            found = r->all[i].name;
        }
    }
    return found;
}

/* The words of a sentence up to its end, without articles; returns what follows. */
static const char *cut(const char *text, char w[WORDS][8], int *count)
{
    memset(w, 0, WORDS * sizeof *w);
    *count = 0;
    while (*text != '\0' && strchr(".?", *text) == NULL) {
        const size_t length = strcspn(text, " .?");
        ck_assert(*count < WORDS && length < sizeof *w);
        memcpy(w[*count], text, length);
        w[*count][length] = '\0';
        *count += length > 0 && strcmp(w[*count], "the") != 0 && strcmp(w[*count], "The") != 0 &&
                  strcmp(w[*count], "a") != 0;
        text += length + (text[length] == ' ');
    }
    return *text == '\0' ? text : text + 1 + (text[1] == ' ');
}

#define IS(i, word) (strcmp(w[i], word) == 0)

static void read_question(reader *r, char w[WORDS][8])
{
    r->questions++;
    if (IS(1, "has")) {
        ck_assert_str_eq(w[2], r->thing);
        strcpy(r->expected, r->holder == UNKNOWN ? "" : r->all[r->holder].name);
    } else {
        strcpy(r->expected, IS(0, "Who") ? found_in(r, w[3]) : r->all[named(r, w[2])].place);
    }
    ck_assert_msg(*r->expected != '\0', "nothing answers \"%s %s %s\"", w[0], w[1], w[2]);
}

static void read_event(reader *r, char w[WORDS][8])
{
    const int x = referred(r, w[0]), last = r->all[x].sentence;
    ck_assert_msg(r->cropped || last >= r->sentence - 1, "\"%s\" was last named %d sentences ago",
                  w[0], r->sentence - last);
    if (IS(1, "has")) {
        ck_assert_int_eq(r->holder, UNKNOWN);
        r->holder = x;
        strcpy(r->thing, w[2]);
    } else if (IS(1, "gives")) {
        hand_over(r, x, named(r, w[4]), w[2]);
    } else if (IS(1, "takes")) {
        hand_over(r, named(r, w[4]), x, w[2]);
    } else if (IS(1, "goes") || (IS(1, "is") && IS(2, "in"))) {
        go(r, x, w[3]);
    } else if (IS(1, "meets")) {
        join(r, x, named(r, w[2]));
    } else if (IS(1, "visits")) {
        visit(r, x, named(r, w[2]));
    } else {
        ck_assert_msg(IS(1, "sleeps") || IS(2, "happy"), "\"%s %s %s\"?", w[0], w[1], w[2]);
        ck_assert_str_eq(pronoun_of(r->all[x].name), r->cropped ? pronoun_of("cat") : "it");
    }
}

/* Reads a text up to its end, or to where an answer is missing. */
static void read_on(reader *r, const char *text)
{
    char w[WORDS][8];
    for (int count; *text != '\0';) {
        text = cut(text, w, &count);
        r->sentence++;
        if (*r->expected != '\0' && *text == '\0' && text[-1] != '.') {
            return; /* "In ", and the answer is missing */
        }
        if (*r->expected != '\0') {
            ck_assert_str_eq(w[count - 1], r->expected);
            ck_assert_int_eq(count, IS(0, "In") ? 2 : 1);
            *r->expected = '\0';
        } else if (IS(0, "Who") || IS(0, "Where")) {
            read_question(r, w);
        } else if (IS(0, "Now") && count > 1) {
            const int x = referred(r, w[1]);
            ck_assert(r->cropped ||
                      (r->gave == r->sentence - 1 && x == r->holder && IS(3, r->thing)));
            r->holder = x;
            strcpy(r->thing, w[3]);
        } else if (!IS(0, "Now")) {
            read_event(r, w);
        }
    }
}

static const reader nothing = {.holder = UNKNOWN, .gave = UNKNOWN};

/* ---- texts ---- */

/* The girl and the boy of a story, as a number. */
static int pair_of(const char *text)
{
    int girl = UNKNOWN, boy = UNKNOWN;
    for (int i = 0; i < 3; i++) {
        if (strstr(text, girls[i]) != NULL) {
            ck_assert_int_eq(girl, UNKNOWN);
            girl = i;
        }
        if (strstr(text, boys[i]) != NULL) {
            ck_assert_int_eq(boy, UNKNOWN);
            boy = i;
        }
    }
    ck_assert(girl != UNKNOWN && boy != UNKNOWN);
    return 3 * girl + boy;
}

/* Calls `use` with each story. */
static int each_story(char *text, void (*use)(const char *, void *), void *context)
{
    int count = 0;
    for (char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        *end = '\0';
        use(text, context);
        count++;
    }
    ck_assert_str_eq(text, "");
    return count;
}

static void replay(const char *text, void *context)
{
    reader r = nothing;
    read_on(&r, text);
    ck_assert_msg(*r.expected == '\0' && r.sentence >= 3 && strlen(text) < STORY_MOST_BYTES / 2,
                  "%s", text);
    *(int *)context += r.questions;
}

START_TEST(test_answers_and_pronouns)
{
    size_t size;
    int questions = 0;
    char *text = text_of((uint64_t)_i, 200000, &size);
    const int stories = each_story(text, replay, &questions);
    ck_assert_msg(stories > 1500 && questions > stories / 2, "%d stories, %d questions", stories,
                  questions);
    free(text);
}
END_TEST

static void collect_pair(const char *text, void *context)
{
    ((bool *)context)[pair_of(text)] = true;
}

/* No pair of people of a quiz occurs in a text, so no story does. */
START_TEST(test_quizzes_are_held_out)
{
    bool in_text[9] = {false}, in_quiz[9] = {false};
    size_t size;
    for (uint64_t seed = 0; seed < 5; seed++) {
        char *text = text_of(seed, 50000, &size);
        each_story(text, collect_pair, in_text);
        free(text);
    }
    for (uint64_t seed = 0; seed < 5; seed++) {
        story s;
        heed_manual_seed(seed);
        for (int i = 0; i < 300; i++) {
            story_tell(&s, true);
            collect_pair(s.text, in_quiz);
        }
    }
    int texts = 0, quizzes = 0;
    for (int i = 0; i < 9; i++) {
        ck_assert(!(in_text[i] && in_quiz[i]));
        texts += in_text[i];
        quizzes += in_quiz[i];
    }
    ck_assert(texts == 6 && quizzes == 3);
}
END_TEST

static const int64_t sizes[] = {400, 401, 1000, 12345, 100000};

START_TEST(test_size)
{
    size_t size;
    free(text_of(7, sizes[_i], &size));
    ck_assert_int_le((int64_t)size, sizes[_i]);
    ck_assert_int_gt((int64_t)size, sizes[_i] - STORY_MOST_BYTES);
}
END_TEST

/* The same bytes on every machine; a shorter text is the beginning of a longer one. */
static const struct {
    uint64_t seed, text, quiz;
} sums[] = {{1, 0x5cdc50da73dd653d, 0x59c88193cb510706},
            {1337, 0x6357cc702009da72, 0x36451d22c8d2c405}};

START_TEST(test_bytes)
{
    size_t size, shorter;
    char *text = text_of(sums[_i].seed, 100000, &size),
         *less = text_of(sums[_i].seed, 500, &shorter);
    ck_assert(memcmp(text, less, shorter) == 0);
    const uint64_t sum = fnv(text, size, FNV_BASIS);
    free(text);
    free(less);
    text = quiz_of(sums[_i].seed, 300, &size);
    const uint64_t of_quiz = fnv(text, size, FNV_BASIS);
    free(text);
    ck_assert_msg(sum == sums[_i].text && of_quiz == sums[_i].quiz, "0x%016llx, 0x%016llx",
                  (unsigned long long)sum, (unsigned long long)of_quiz);
}
END_TEST

/* ---- quizzes ---- */

typedef struct counted {
    int questions, latest;
} counted;

/* From the first whole sentence of these characters on. */
static const char *crop(const char *context, size_t most)
{
    const size_t length = strlen(context);
    if (length <= most) {
        return context;
    }
    const char *at = context + length - most - 1;
    while (!(*at == ' ' && strchr(".?", at[-1]) != NULL)) {
        at++;
    }
    return at + 1;
}

static const char *const kinds[] = {"pronoun", "who", "where"};

/* The answer follows from the story, and from the part of it that is within reach. */
START_TEST(test_quiz)
{
    size_t size;
    char *text = quiz_of((uint64_t)_i, 900, &size), *line = text;
    int number = 0;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1, number++) {
        char kind[10], context[STORY_MOST_BYTES], right[8], wrong[80];
        *end = '\0';
        ck_assert_int_eq(
            sscanf(line, "%9[^\t]\t%399[^\t]\t%7[^\t]\t%79[^\n]", kind, context, right, wrong), 4);
        ck_assert_str_eq(kind, kinds[number % 3]);
        ck_assert(strstr(wrong, right) == NULL || strcmp(right, "He") == 0 ||
                  strcmp(right, "he") == 0);
        for (int cropped = 0; cropped <= 1; cropped++) {
            reader r = nothing;
            r.cropped = cropped;
            read_on(&r, cropped ? crop(context, STORY_REACH + 1 - strlen(right)) : context);
            if (*kind != 'p') {
                ck_assert_msg(strcmp(r.expected, right) == 0, "%s", line);
                continue;
            }
            int found = r.holder;
            for (int i = 0; i < r.count && strstr(context, " Now ") == NULL; i++) {
                found = r.all[i].sentence == r.sentence ? i : found;
            }
            ck_assert_str_eq(pronoun_of(r.all[found].name) + 1, right + 1);
        }
    }
    ck_assert_int_eq(number, 900);
    free(text);
}
END_TEST

void add_stories_cases(Suite *suite)
{
    TCase *texts = heed_case(suite, "texts");
    tcase_add_loop_test(texts, test_answers_and_pronouns, 0, 4);
    tcase_add_test(texts, test_quizzes_are_held_out);
    tcase_add_loop_test(texts, test_size, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_loop_test(texts, test_bytes, 0, (int)(sizeof sums / sizeof *sums));
    tcase_add_loop_test(texts, test_quiz, 0, 3);
}
