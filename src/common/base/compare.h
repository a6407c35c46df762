/* Comparisons: of the items of arrays, for qsort() and bsearch(), and of a word with the words of a list. */
#ifndef DET_COMMON_BASE_COMPARE_H
#define DET_COMMON_BASE_COMPARE_H

#include <stdbool.h>

int compare_int32(const void *a, const void *b); /* of int32_t */
int compare_texts(const void *a, const void *b); /* of const char * */
/* The order of paths that has a directory's members right behind the directory: '/' comes before every other character.
 */
int compare_paths(const char *a, const char *b);
/* Whether the text is one of the words; the list ends with NULL. */
bool text_is_one_of(const char *s, const char *const *words);

#endif
