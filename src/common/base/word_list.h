/* A list of words that grows in an arena, as programs take them: NULL-terminated whenever it has a word. */
#ifndef DET_COMMON_BASE_WORD_LIST_H
#define DET_COMMON_BASE_WORD_LIST_H

#include "common/base/arena.h"

struct word_list {
    struct arena *arena;
    char **item; /* NULL while the list is empty */
    size_t n, cap;
};

/* Appends a word, which must live as long as the list. */
void word_list_add(struct word_list *w, char *word);
void word_list_add_copy(struct word_list *w, const char *word);
/* Appends copies of an option and of its value; nothing if there is no value (NULL). */
void word_list_add_option(struct word_list *w, const char *option, const char *value);

#endif
