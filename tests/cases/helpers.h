/* For sections that judge case by case: counting, naming, and reading members. */
#ifndef DET_TESTS_CASES_HELPERS_H
#define DET_TESTS_CASES_HELPERS_H

#include <stdbool.h>

#include "cases.h"

struct cases {
    const char *section;
    size_t n; /* cases judged so far */
    struct case_results *results;
};

/* One case; fmt names it, for when it failed. */
void case_check(struct cases *c, bool ok, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Members of objects: NULL, 0, "" or false when there is none. */
struct json_object *member(struct json_object *o, const char *key);
int64_t member_int(struct json_object *o, const char *key);
double member_double(struct json_object *o, const char *key);
const char *member_string(struct json_object *o, const char *key);
bool member_bool(struct json_object *o, const char *key);
bool list_has(struct json_object *list, const char *text);

/* Makes the runner of a section, <name>_section, from a function over its cases. */
#define CASE_SECTION(name, function) \
    static void name##_section(struct json_object *section, struct json_object *file, struct case_results *r) \
    { \
        (void)file; \
        struct cases c = {.section = #name, .results = r}; \
        function(&c, section); \
    }
#define CASE_ROW(name) {#name, name##_section}

#endif
