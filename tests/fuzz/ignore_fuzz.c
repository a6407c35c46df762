/* Any text as a .detignore, and paths behind a NUL byte, one a line. As the last pattern that matches decides, the same
 * file twice means the same; and a comment or an empty line at its end means nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files/ignore.h"
#include "common/base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void add_patterns(struct ignore *ig, const struct strbuf *patterns, const char *behind)
{
    struct strbuf text cleanup_strbuf = STRBUF_INIT;
    strbuf_add(&text, strbuf_str(patterns), patterns->n);
    strbuf_adds(&text, behind);
    ignore_add_file(ig, strbuf_str(&text), text.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct ignore once = IGNORE_INIT, twice = IGNORE_INIT;
    struct strbuf patterns cleanup_strbuf = STRBUF_INIT, paths cleanup_strbuf = STRBUF_INIT;
    const uint8_t *end = n ? memchr(data, '\0', n) : NULL;
    size_t pattern_n = end ? (size_t)(end - data) : n;
    strbuf_add(&patterns, data, pattern_n);
    if (end)
        strbuf_add(&paths, end + 1, n - pattern_n - 1);
    add_patterns(&once, &patterns, "\n");
    add_patterns(&twice, &patterns, "\n");
    add_patterns(&twice, &patterns, "\n# nothing\n\n");
    for (char *path = paths.n ? paths.s : NULL, *rest; path; path = rest) {
        if ((rest = strchr(path, '\n')))
            *rest++ = '\0';
        for (int directory = 0; directory < 2; directory++)
            if (ignore_matches(&once, path, directory) != ignore_matches(&twice, path, directory))
                abort();
    }
    ignore_release(&once);
    ignore_release(&twice);
    return 0;
}
