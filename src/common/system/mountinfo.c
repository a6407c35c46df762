#include "common/system/mountinfo.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"

bool mountinfo_next(const char **text, struct mountinfo_line *ret)
{
    const struct {
        char *to; /* NULL: the field is passed over */
        size_t size;
    } field[] = {{NULL, 0},
                 {NULL, 0},
                 {ret->device, sizeof(ret->device)},
                 {ret->root, sizeof(ret->root)},
                 {ret->at, sizeof(ret->at)}};
    const char *at = *text;
    bool good = true;
    if (!*at)
        return false;
    for (size_t i = 0; i < sizeof(field) / sizeof(*field) && good; i++) {
        size_t n = strcspn(at, " \n");
        good = n > 0 && (!field[i].to || n < field[i].size);
        if (good && field[i].to) {
            memcpy(field[i].to, at, n);
            field[i].to[n] = 0;
        }
        at += n + (at[n] == ' ');
    }
    if (!good)
        ret->device[0] = ret->root[0] = ret->at[0] = 0;
    *text = at + strcspn(at, "\n");
    *text += **text == '\n';
    return true;
}

const char *mountinfo_path(const char *path, struct arena *a)
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    for (; *path; path++) {
        if (strchr(" \t\n\\#", *path))
            strbuf_addf(&b, "\\%03o", (unsigned)*path);
        else
            strbuf_addc(&b, *path);
    }
    return arena_strdup(a, strbuf_str(&b));
}
