/* The frame of SVG pictures, with colors for light and dark. */
#include "svg.h"

#include <stddef.h>

#include "labels.h"

/* Curves: the palette of Okabe and Ito (2008), which color-blind people can tell apart. */
static const struct {
    const char *name, *light, *dark;
} classes[] = {
    {"page", "#fff", "#14181d"},    {"ink", "#1f2933", "#dde3e9"}, {"grid", "#dde2e7", "#343c45"},
    {"heat", "#0b3c7d", "#9fd0ff"}, {"c0", "#0072b2", "#56b4e9"},  {"c1", "#d55e00", "#e69f00"},
    {"c2", "#009e73", "#2fc79b"},   {"c3", "#cc79a7", "#e49cc4"},  {"c4", "#8a6d00", "#f0e442"},
    {"c5", "#56b4e9", "#ff8a4c"},
};

static void put_colors(FILE *stream, const char *root, bool is_dark)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        fprintf(stream, "%s.heed-%s{color:%s}", root, classes[i].name,
                is_dark ? classes[i].dark : classes[i].light);
    }
}

/* Every SVG has the same rules, so several can share a page. data-theme on the page's root element
 * overrides the reader's theme. */
static void put_style(FILE *stream)
{
    fputs("<style>.heed-svg{max-width:100%;height:auto}", stream);
    put_colors(stream, "", false);
    fputs("\n@media (prefers-color-scheme:dark){", stream);
    put_colors(stream, ":root:not([data-theme=light]) ", true);
    fputs("}\n", stream);
    put_colors(stream, ":root[data-theme=dark] ", true);
    fputs("</style>\n", stream);
}

void heed_svg_text(FILE *stream, const char *text, int most)
{
    heed_label_put(stream, text, most, HEED_LABEL_XML);
    fputs("</text>\n", stream);
}

void heed_svg_begin(FILE *stream, double width, double height, const char *title,
                    const char *otherwise)
{
    enum { MOST = 200 };
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heed-svg\" role=\"img\" "
            "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<title>",
            width, height, width, height);
    heed_label_put(stream, title != NULL ? title : otherwise, MOST, HEED_LABEL_XML);
    fputs("</title>\n", stream);
}

void heed_svg_page(FILE *stream, double width, const char *title)
{
    put_style(stream);
    fputs("<rect class=\"heed-page\" width=\"100%\" height=\"100%\" fill=\"currentColor\"/>\n",
          stream);
    if (title != NULL) {
        fputs("<text class=\"heed-ink\" fill=\"currentColor\" x=\"10\" y=\"20\" font-size=\"15\" "
              "font-weight=\"bold\">",
              stream);
        heed_svg_text(stream, title, (int)(width / (1.4 * HEED_SVG_LETTER)));
    }
}
