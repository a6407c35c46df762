/* Case files: samples of the rules of docs/spec as data (contract/cases, or any other file of the same form).
 *
 * A file is an object whose members are sections. The program walks them: a section with a runner has its cases run, a
 * section without one counts each of its cases as failed and says so, so that nothing passes by being forgotten. The
 * last line is "N passed, M failed"; the exit status is 1 if any failed.
 *
 * To add a section: a function in a file of its subject, a row in a table, the table in run-cases.c. */
#ifndef DET_TESTS_CASES_CASES_H
#define DET_TESTS_CASES_CASES_H

#include "common/json/json.h"

struct case_results {
    int passed, failed;
};

/* Judges one case. `fmt` says what was wrong; the line printed begins with "FAIL section[i]: ". */
void case_pass(struct case_results *r);
void case_fail(struct case_results *r, const char *section, size_t i, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Passes if equal, else prints both. Takes neither. */
void case_expect_json(struct case_results *r, const char *section, size_t i, struct json_object *found,
                      struct json_object *expected);

struct case_section {
    const char *name;
    /* `section` is the member, `file` the whole document, for sections that lean on another. NULL: no cases, only
     * data. */
    void (*run)(struct json_object *section, struct json_object *file, struct case_results *r);
};

/* Each table ends with a NULL name. */
extern const struct case_section experiment_config_sections[], launcher_sections[], lifecycle_sections[],
    scheduling_sections[], searcher_sections[], searcher_run_sections[];

#endif
