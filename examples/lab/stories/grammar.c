/* The grammar: tables of words and sentences, the world that sentences depend on and change, and
 * the code that draws sentences that fit the world. */
#include "examples/lab/stories/grammar.h"

#include <string.h>

#include "heed.h"

/* ---- words: first letters differ within a list ---- */

enum { GIRL, BOY, ANIMAL, CHARACTERS };
enum { NAMES = 3, THINGS = 6, PLACES = 6 };

/* Girls, then boys: the whole list is the choices for "who". */
static const char *const people[] = {"Ann", "Eva", "Mia", "Ben", "Dan", "Leo", NULL};
static const char *const animals[] = {"cat", "dog", "fox", "hen", "owl", "pig"};
static const char *const things[] = {"ball", "coin", "drum", "kite", "lamp", "rope"};
static const char *const places[] = {"Cork", "Kiel", "Oslo", "Pisa", "Vigo", "York", NULL};
static const char *const pronouns[] = {"she", "he", "it", NULL};
static const char *const first_pronouns[] = {"She", "He", "It", NULL};

/* ---- sentences: X is the subject, Y the other person, T the thing, P a new place ---- */

typedef enum fact {
    ALWAYS,
    NOBODY_HAS, /* the thing */
    X_HAS,
    Y_HAS,
    X_GOT, /* the thing, in the sentence before */
    X_UNPLACED,
    X_AT_P,
    APART, /* X and Y are known not to be in the same place */
    TOGETHER
} fact;

/* People who are apart cannot hand anything over. Those who hand something over, meet or visit are
 * together afterwards. */
typedef struct sentence {
    const char *text;
    int first, last;  /* the characters that X may be */
    fact needs, then; /* before the sentence and after it */
} sentence;

static const sentence sentences[] = {
    {"%X has a %T.", GIRL, BOY, NOBODY_HAS, X_HAS},
    {"%X gives the %T to %Y.", GIRL, BOY, X_HAS, Y_HAS},
    {"%X takes the %T from %Y.", GIRL, BOY, Y_HAS, X_HAS},
    {"Now %x has the %T.", GIRL, BOY, X_GOT, ALWAYS},
    {"%X is in %P.", GIRL, ANIMAL, X_UNPLACED, X_AT_P},
    {"%X goes to %P.", GIRL, ANIMAL, ALWAYS, X_AT_P},
    {"%X meets %Y.", GIRL, BOY, X_UNPLACED, TOGETHER},
    {"%X visits %Y.", GIRL, BOY, APART, TOGETHER},
    {"%X sleeps.", ANIMAL, ANIMAL, ALWAYS, ALWAYS},
    {"%X is happy.", ANIMAL, ANIMAL, ALWAYS, ALWAYS},
};
enum { SENTENCES = sizeof sentences / sizeof *sentences };

static const char who_has[] = "Who has the %T? ", who_is_in[] = "Who is in %P? ",
                  where_is[] = "Where is %X? In ";

/* ---- the world of a story ---- */

enum { NOBODY = -1, NOWHERE = -1 };

/* ..._told: where the text that tells a fact begins, at the sentence that names the character. */
typedef struct world {
    const char *name[CHARACTERS];
    const char *thing;
    int holder, holder_told, got; /* got: who received the thing in the last sentence */
    int place[CHARACTERS], place_told[CHARACTERS];
    bool moved[CHARACTERS]; /* has been somewhere in this story */
    unsigned places_used;
    int subject;                      /* of the last sentence */
    fact meeting;                     /* APART, TOGETHER or ALWAYS: not known */
    int named[CHARACTERS];            /* where the last sentence with this name begins */
    unsigned names_now, names_before; /* characters named in this sentence and the last, as bits */
} world;

static int draw(int below)
{
    HEED_SCOPE(scope);
    return (int)heed_item_i64(heed_randint(0, below, HEED_SHAPE(1)));
}

static int other(int person)
{
    return person == GIRL ? BOY : GIRL;
}

static bool holds(const world *w, fact needed, int x)
{
    const int y = other(x);
    switch (needed) {
    case NOBODY_HAS:
        return w->holder == NOBODY;
    case X_HAS:
        return w->holder == x && w->meeting != APART && w->got == NOBODY;
    case Y_HAS:
        return w->holder == y && w->meeting != APART && w->got == NOBODY;
    case X_GOT:
        return w->got == x;
    case X_UNPLACED:
        return !w->moved[x] && (x == ANIMAL || w->meeting == ALWAYS);
    case APART:
        return w->meeting == APART;
    default:
        return true;
    }
}

/* Both are now in the same place, so "who is in" has two answers and is not asked. */
static void come_together(world *w)
{
    w->meeting = TOGETHER;
    w->place[GIRL] = w->place[BOY] = NOWHERE;
}

static void change(world *w, fact then, int x, int place)
{
    const int y = other(x);
    w->got = NOBODY;
    if (then == X_HAS || then == Y_HAS) {
        const bool first = w->holder == NOBODY;
        w->holder = then == X_HAS ? x : y;
        w->holder_told = w->named[w->holder];
        if (!first) {
            w->got = w->holder;
            come_together(w);
        }
    } else if (then == X_AT_P) {
        w->place[x] = place;
        w->place_told[x] = w->named[x];
        w->moved[x] = true;
        if (x != ANIMAL && (w->meeting == TOGETHER || w->place[y] != NOWHERE)) {
            w->meeting = APART;
        }
    } else if (then == TOGETHER) {
        come_together(w);
    }
}

/* ---- text ---- */

static void put(story *s, const char *word)
{
    memcpy(s->text + s->length, word, strlen(word) + 1);
    s->length += (int)strlen(word);
}

/* Is this the choice that the story names last? */
static bool is_latest(const story *s, const char *right, const char *const *choices)
{
    const char *latest = "";
    for (int at = s->length - 1; at >= 0 && *latest == '\0'; at--) {
        for (const char *const *c = choices; *c != NULL; c++) {
            latest = strncmp(s->text + at, *c, strlen(*c)) == 0 ? *c : latest;
        }
    }
    return strcmp(latest, right) == 0;
}

static void add_point(story *s, story_kind kind, const char *right, const char *const *choices)
{
    s->points[s->point_count++] =
        (story_point){kind, is_latest(s, right, choices), s->length, right, choices};
}

static void put_name(story *s, world *w, int x, int begin)
{
    put(s, x != ANIMAL ? "" : begin == s->length ? "The " : "the ");
    put(s, w->name[x]);
    w->named[x] = begin;
    w->names_now |= 1U << x;
}

/* The subject is a pronoun if the last sentence names this character and no other. */
static void put_subject(story *s, world *w, int x, int begin)
{
    if (w->names_before == 1U << x) {
        add_point(s, STORY_PRONOUN, first_pronouns[x], first_pronouns);
        put(s, first_pronouns[x]);
    } else {
        put_name(s, w, x, begin);
    }
}

static void put_sentence(story *s, world *w, const char *text, int x, int place)
{
    const int begin = s->length;
    w->names_before = w->names_now;
    w->names_now = 0;
    for (; *text != '\0'; text++) {
        const char one[] = {*text, '\0'};
        switch (*text == '%' ? *++text : '\0') {
        case 'X':
            put_subject(s, w, x, begin);
            break;
        case 'x':
            add_point(s, STORY_PRONOUN, pronouns[x], pronouns);
            put(s, pronouns[x]);
            break;
        case 'Y':
            put_name(s, w, other(x), begin);
            break;
        case 'T':
            put(s, w->thing);
            break;
        case 'P':
            put(s, places[place]);
            break;
        default:
            put(s, one);
        }
    }
}

/* ---- telling ---- */

static int draw_place(world *w)
{
    int place = draw(PLACES);
    while ((w->places_used & 1U << place) != 0 && !heed_error_pending()) {
        place = draw(PLACES);
    }
    return place;
}

/* Draws until a sentence fits. Three times out of four the subject is the character named last. */
static int tell_sentence(story *s, world *w, int last, int characters)
{
    int i, x;
    do {
        i = draw(SENTENCES);
        x = draw(4) > 0 ? w->subject : draw(characters);
    } while (!heed_error_pending() && (i == last || x < sentences[i].first ||
                                       x > sentences[i].last || !holds(w, sentences[i].needs, x)));
    const int place = sentences[i].then == X_AT_P ? draw_place(w) : 0;
    w->places_used |= sentences[i].then == X_AT_P ? 1U << place : 0;
    put_sentence(s, w, sentences[i].text, x, place);
    change(w, sentences[i].then, x, place);
    w->subject = strstr(sentences[i].text, "%Y") != NULL ? other(x) : x;
    return i;
}

/* Asks a question about X, and answers it. False: the answer is the latest name and should not be
 * (or the reverse), or the facts, which begin at `told`, are too far back. */
static bool ask(story *s, world *w, const char *question, int x, int told, bool easy)
{
    const bool where = question == where_is;
    const char *const *choices = where ? places : people;
    const char *right = where ? places[w->place[x]] : w->name[x];
    const int before = s->length;
    if (is_latest(s, right, choices) != easy) {
        return false;
    }
    w->names_now = 0; /* a question has no pronouns */
    put(s, " ");
    put_sentence(s, w, question, x, w->place[x]);
    if (s->length + (int)strlen(right) - 1 - told > STORY_REACH) {
        s->length = before;
        s->text[before] = '\0';
        return false;
    }
    add_point(s, where ? STORY_WHERE : STORY_WHO, right, choices);
    put(s, right);
    put(s, ".");
    return true;
}

/* Asks a question of this kind if the story answers one. Those whose answer is not the latest name
 * come first. */
static void tell_question(story *s, world *w, story_kind kind)
{
    const int first = draw(CHARACTERS);
    for (int i = 0; i < 2 * CHARACTERS; i++) {
        const int x = (first + i) % CHARACTERS;
        const bool easy = i >= CHARACTERS, placed = w->place[x] != NOWHERE;
        if ((kind == STORY_WHO && x == w->holder && ask(s, w, who_has, x, w->holder_told, easy)) ||
            (kind == STORY_WHO && x != ANIMAL && placed &&
             ask(s, w, who_is_in, x, w->place_told[x], easy)) ||
            (kind == STORY_WHERE && placed && ask(s, w, where_is, x, w->place_told[x], easy))) {
            return;
        }
    }
}

static void tell(story *s, int girl, int boy)
{
    world w = {.name = {people[girl], people[NAMES + boy], animals[draw(6)]},
               .thing = things[draw(THINGS)],
               .holder = NOBODY,
               .got = NOBODY,
               .place = {NOWHERE, NOWHERE, NOWHERE},
               .meeting = ALWAYS};
    const int characters = draw(3) == 0 ? CHARACTERS : ANIMAL, count = 3 + draw(2);
    s->length = s->point_count = 0;
    w.subject = draw(characters);
    for (int i = 0, last = SENTENCES; i < count; i++) {
        put(s, i > 0 ? " " : "");
        last = tell_sentence(s, &w, last, characters);
    }
    const bool where_first = draw(2) == 0;
    tell_question(s, &w, where_first ? STORY_WHERE : STORY_WHO);
    tell_question(s, &w, where_first ? STORY_WHO : STORY_WHERE);
}

void story_tell(story *s, bool held_out)
{
    int girl, boy;
    do {
        girl = draw(NAMES);
        boy = draw(NAMES);
    } while ((girl == boy) != held_out && !heed_error_pending());
    do {
        tell(s, girl, boy);
    } while (
        (strstr(s->text, people[girl]) == NULL || strstr(s->text, people[NAMES + boy]) == NULL) &&
        !heed_error_pending());
}

/* ---- texts and quizzes ---- */

void stories_text(FILE *to, uint64_t seed, int64_t bytes)
{
    story s;
    heed_manual_seed(seed);
    story_tell(&s, false);
    while (s.length + 2 <= bytes && !heed_error_pending() && fprintf(to, "%s\n\n", s.text) > 0) {
        bytes -= s.length + 2;
        story_tell(&s, false);
    }
}

/* The last pronoun; or the first question, if it is of this kind and has such an answer. A second
 * question may be answered by the first. NULL: none. */
static const story_point *quiz_point(const story *s, story_kind kind, bool latest)
{
    const story_point *found = NULL;
    for (int i = 0; i < s->point_count; i++) {
        const story_point *p = &s->points[i];
        if (kind == STORY_PRONOUN && p->kind == kind) {
            found = p;
        } else if (kind != STORY_PRONOUN && p->kind != STORY_PRONOUN) {
            return p->kind == kind && p->latest == latest ? p : NULL;
        }
    }
    return found;
}

void stories_quiz(FILE *to, uint64_t seed, int64_t questions)
{
    static const char *const names[STORY_KINDS] = {"pronoun", "who", "where"};
    story s;
    heed_manual_seed(seed);
    for (int64_t i = 0; i < questions && !heed_error_pending() && !ferror(to); i++) {
        const story_kind kind = (story_kind)(i % STORY_KINDS);
        const story_point *p = NULL;
        while (p == NULL && !heed_error_pending()) {
            story_tell(&s, true);
            p = quiz_point(&s, kind, i / STORY_KINDS % 2 == 0);
        }
        if (p == NULL) {
            return;
        }
        fprintf(to, "%s\t%.*s\t%s", names[kind], p->at, s.text, p->right);
        for (const char *const *choice = p->choices; *choice != NULL; choice++) {
            if (strcmp(*choice, p->right) != 0) {
                fprintf(to, "\t%s", *choice);
            }
        }
        fputc('\n', to);
    }
}
