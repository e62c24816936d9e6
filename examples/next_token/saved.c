/* Models in files, and whether there may be one. */
#include "examples/next_token/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char format[] = "heed next_token 1";
static const char *const tasks[TASKS] = {"toy", "char", "word"};

/* Library functions name themselves in messages; a user knows only the flag. */
static heed_status name_flag(const char *flag, heed_status status)
{
    char message[8192];
    if (heed_error_pending() != HEED_OK && status != HEED_ERR_MEMORY) {
        heed_error();
        snprintf(message, sizeof message, "%s", heed_error_message());
        const char *colon = strstr(message, ": ");
        heed_fail(status, "%s: %s", flag, colon != NULL ? colon + 2 : message);
    }
    return heed_error_pending();
}

/* ---- reading ---- */

/* A whole number from 1 to `most`; 0 if it is none. */
static int64_t read_size(const heed_safetensors *file, const char *key, int64_t most)
{
    const char *text = heed_safetensors_metadata(file, key);
    char *end = NULL;
    const int64_t size = text != NULL && *text >= '1' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    return size >= 1 && size <= most && *end == '\0' ? size : 0;
}

static void read_about(saved_model *saved, const heed_safetensors *file, const char *path)
{
    const char *is = heed_safetensors_metadata(file, "format");
    const char *task = heed_safetensors_metadata(file, "task");
    const char *words = heed_safetensors_metadata(file, "vocabulary");
    int i = 0;
    while (i < TASKS && (task == NULL || strcmp(task, tasks[i]) != 0)) {
        i++;
    }
    saved->task = (options_task)i;
    saved->sizes = (model_sizes){.context = read_size(file, "context", 4096),
                                 .d_model = read_size(file, "d_model", 4096),
                                 .heads = (int)read_size(file, "heads", MODEL_MOST_HEADS)};
    if (heed_error_pending()) {
        return;
    }
    if (is == NULL || strcmp(is, format) != 0 || words == NULL || *words == '\0' || i == TASKS ||
        saved->sizes.context == 0 || saved->sizes.d_model == 0 || saved->sizes.heads == 0) {
        heed_fail(HEED_ERR_VALUE, "--load: %s: no model that --save has written", path);
    } else if (text_check("--load: the vocabulary", words, strlen(words))) {
        saved->vocabulary =
            vocabulary_of_list(i == TASK_CHAR ? TEXT_CHAR : TEXT_WORD, i != TASK_TOY, words);
        saved->sizes.words = saved->vocabulary.count;
    }
}

saved_model saved_read(const char *path)
{
    saved_model saved = {.task = TASK_TOY};
    heed_safetensors *file = heed_safetensors_open(path);
    if (file == NULL) {
        name_flag("--load", HEED_ERR_VALUE);
        return saved;
    }
    read_about(&saved, file, path);
    heed_safetensors_close(file);
    return saved;
}

heed_status saved_load(const char *path, struct token_model *m)
{
    heed_load_state_dict(m, path, (heed_load_options){0});
    return name_flag("--load", HEED_ERR_VALUE);
}

/* ---- writing ---- */

heed_status saved_write(const char *path, struct token_model *m, options_task task,
                        const vocabulary *v)
{
    char context[24], d_model[24], heads[24];
    text_buffer words = vocabulary_list(v);
    snprintf(context, sizeof context, "%lld", (long long)m->sizes.context);
    snprintf(d_model, sizeof d_model, "%lld", (long long)m->sizes.d_model);
    snprintf(heads, sizeof heads, "%d", m->sizes.heads);
    const heed_metadata about[] = {
        {"format", format}, {"task", tasks[task]},       {"context", context}, {"d_model", d_model},
        {"heads", heads},   {"vocabulary", words.bytes}, {NULL, NULL}};
    heed_save_state_dict(m, path, about);
    text_free(&words);
    return name_flag("--save", HEED_ERR_FILE);
}

heed_status saved_write_logits(const char *path, struct token_model *m, const int64_t *tokens,
                               int64_t count)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_save_npy(model_forward(m, heed_from_i64(tokens, HEED_SHAPE(count))), path);
    heed_scope_end(&scope);
    return name_flag("--logits", HEED_ERR_FILE);
}

/* ---- is there a way to write? ---- */

enum { MOST_LINKS = 40, LONGEST_PATH = 4096 };

/* Where a file lies, or would lie, at the end of all links. */
typedef struct place {
    char path[LONGEST_PATH];
    struct stat at; /* if it is there */
    bool exists;
} place;

/* Puts `name` into the folder of the path, or in its place if it is absolute. */
static bool step_to(char path[LONGEST_PATH], const char *name)
{
    const char *slash = *name == '/' ? NULL : strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    if (folder + strlen(name) >= LONGEST_PATH) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(path + folder, name);
    return true;
}

/* False: errno says why there is no such place. */
static bool find_place(const char *path, place *p)
{
    char link[LONGEST_PATH];
    p->exists = false;
    *p->path = '\0';
    if (*path == '\0' || !step_to(p->path, path)) {
        errno = *path == '\0' ? ENOENT : errno;
        return false;
    }
    for (int i = 0; i < MOST_LINKS; i++) {
        const ssize_t length = readlink(p->path, link, sizeof link - 1);
        if (length < 0) { /* no link, or nothing there yet */
            p->exists = stat(p->path, &p->at) == 0;
            return p->exists || errno == ENOENT;
        }
        link[length] = '\0';
        if (!step_to(p->path, link)) {
            return false;
        }
    }
    errno = ELOOP;
    return false;
}

/* The folder that a path names a file of. */
static bool stat_folder(const char *path, struct stat *at)
{
    char folder[LONGEST_PATH];
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[1] = '\0';
    }
    return stat(slash != NULL ? folder : ".", at) == 0;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool saved_same_path(const char *a, const char *b)
{
    place first, second;
    struct stat one, other;
    if (a == NULL || b == NULL || !find_place(a, &first) || !find_place(b, &second) ||
        first.exists != second.exists) {
        return false;
    }
    if (first.exists) {
        return S_ISREG(first.at.st_mode) && first.at.st_dev == second.at.st_dev &&
               first.at.st_ino == second.at.st_ino;
    }
    return strcmp(name_in(first.path), name_in(second.path)) == 0 &&
           stat_folder(first.path, &one) && stat_folder(second.path, &other) &&
           one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static heed_status refuse(const char *flag, const char *path, const char *why)
{
    return heed_fail(HEED_ERR_VALUE, "%s: cannot write %s: %s", flag, path, why);
}

/* Makes a file beside the place, and takes it away. */
static heed_status try_folder(const char *flag, const char *path, const place *p)
{
    char beside[LONGEST_PATH + 32];
    snprintf(beside, sizeof beside, "%s.tmp-%ld", p->path, (long)getpid());
    const int file = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0 && errno != EEXIST) {
        return refuse(flag, path, strerror(errno));
    }
    if (file >= 0) {
        close(file);
        unlink(beside);
    }
    return HEED_OK;
}

heed_status saved_check_path(const char *flag, const char *path, bool device)
{
    place p;
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (!find_place(path, &p)) {
        return refuse(flag, path, strerror(errno));
    }
    if (!p.exists) {
        return try_folder(flag, path, &p);
    }
    if (S_ISDIR(p.at.st_mode) || (!S_ISREG(p.at.st_mode) && !device)) {
        return refuse(flag, path, S_ISDIR(p.at.st_mode) ? "it is a directory" : "it is no file");
    }
    if (access(p.path, W_OK) != 0) {
        return refuse(flag, path, strerror(errno));
    }
    return device ? HEED_OK : try_folder(flag, path, &p);
}
