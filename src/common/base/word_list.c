#include "common/base/word_list.h"

#include <string.h>

enum { FIRST = 32 };

void word_list_add(struct word_list *w, char *word)
{
    if (w->n + 1 >= w->cap) {
        size_t cap = w->cap ? 2 * w->cap : FIRST;
        char **item = arena_array(w->arena, char *, cap);
        if (w->n)
            memcpy(item, w->item, w->n * sizeof(*item));
        w->item = item;
        w->cap = cap;
    }
    w->item[w->n++] = word;
    w->item[w->n] = NULL;
}

void word_list_add_copy(struct word_list *w, const char *word)
{
    word_list_add(w, arena_strdup(w->arena, word));
}

void word_list_add_option(struct word_list *w, const char *option, const char *value)
{
    if (!value)
        return;
    word_list_add_copy(w, option);
    word_list_add_copy(w, value);
}
