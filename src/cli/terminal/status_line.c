#include "cli/terminal/status_line.h"

#include <string.h>

#include "cli/terminal/table_internal.h"
#include "common/base/strbuf.h"

enum { WIDTH_USUAL = 80 };

/* The last column stays free, because some terminals begin a new line when it is written to. */
static void fit(const char *text, size_t width, struct strbuf *to)
{
    const char *end = text + strlen(text);
    size_t used = 0;
    for (size_t n; *text; text += n) {
        n = text_character(text, (size_t)(end - text));
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            continue;
        used += text_width(text, n);
        if (used >= width)
            return;
        strbuf_add(to, text, n);
    }
}

void status_line_draw(struct status_line *l, const char *text)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    if (!l->cli->err_terminal)
        return;
    fit(text, l->cli->out_width ? l->cli->out_width : WIDTH_USUAL, &line);
    fprintf(l->cli->err, "\r%s\x1b[K", strbuf_str(&line));
    fflush(l->cli->err);
    l->drawn = true;
}

void status_line_end(struct status_line *l)
{
    if (!l->drawn)
        return;
    fputs("\r\x1b[K", l->cli->err);
    fflush(l->cli->err);
    l->drawn = false;
}
