/* Combines SVG pictures: each becomes an <svg> nested in the file's <svg>. */
#include "examples/lab/common/figure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

FILE *figure_part(figure *f)
{
    f->stream = heed_error_pending() ? NULL : open_memstream(&f->drawn, &f->length);
    if (f->stream == NULL && !heed_error_pending()) {
        heed_fail(HEED_ERR_MEMORY, "figure: out of memory");
    }
    return f->stream;
}

/* The number in the attribute ` name="` of the first tag. */
static double attribute(const char *svg, const char *name)
{
    const char *at = strstr(svg, name);
    return at != NULL ? strtod(at + strlen(name), NULL) : 0;
}

/* The part's own tag would scale it to the size of the file. */
static void add(figure *f)
{
    char tag[160];
    const double width = attribute(f->drawn, " width=\""),
                 height = attribute(f->drawn, " height=\"");
    const char *inside = strchr(f->drawn, '>');
    if (inside == NULL || width <= 0 || height <= 0) {
        return; /* nothing was drawn */
    }
    snprintf(tag, sizeof tag, "<svg role=\"img\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\">",
             f->height, width, height);
    text_append(&f->parts, tag, strlen(tag));
    text_append(&f->parts, inside + 1, strlen(inside + 1));
    f->width = width > f->width ? width : f->width;
    f->height += height;
}

void figure_end_part(figure *f)
{
    if (f->stream == NULL) {
        return;
    }
    const bool failed = ferror(f->stream) != 0;
    if ((fclose(f->stream) != 0 || failed || f->drawn == NULL) && !heed_error_pending()) {
        heed_fail(HEED_ERR_MEMORY, "figure: out of memory");
    }
    if (!heed_error_pending()) {
        add(f);
    }
    free(f->drawn);
    f->drawn = NULL;
    f->stream = NULL;
}

heed_status figure_write(const figure *f, const char *flag, const char *path)
{
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\">\n",
                f->width, f->height, f->width, f->height);
        fwrite(f->parts.bytes, 1, f->parts.length, file);
        fputs("</svg>\n", file);
    }
    const bool failed = file == NULL || ferror(file);
    if ((file != NULL && fclose(file) != 0) || failed) {
        heed_fail(HEED_ERR_FILE, "%s: cannot write %s: %s", flag, path, strerror(errno));
    }
    return heed_error_pending();
}

void figure_free(figure *f)
{
    text_free(&f->parts);
    *f = (figure){.height = 0};
}
