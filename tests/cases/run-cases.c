/* usage: run-cases FILE…   runs the cases of contract case files; see cases.h. */
#include "cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"

#define FILE_MAX (64 << 20)

static const struct case_section *const tables[] = {
    experiment_config_sections, launcher_sections, lifecycle_sections,
    scheduling_sections,        searcher_sections, searcher_run_sections,
};

void case_pass(struct case_results *r)
{
    r->passed++;
}

void case_fail(struct case_results *r, const char *section, size_t i, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    r->failed++;
    printf("FAIL %s[%zu]: %s\n", section, i, strbuf_str(&text));
}

void case_expect_json(struct case_results *r, const char *section, size_t i, struct json_object *found,
                      struct json_object *expected)
{
    if (json_object_equal(found, expected)) {
        case_pass(r);
        return;
    }
    cleanup_strbuf struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    json_print_sorted(expected, 1, &a);
    json_print_sorted(found, 1, &b);
    case_fail(r, section, i, "expected %s\nfound %s", strbuf_str(&a), strbuf_str(&b));
}

static const struct case_section *find_section(const char *name)
{
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++) {
        for (const struct case_section *s = tables[t]; s->name; s++) {
            if (strcmp(s->name, name) == 0)
                return s;
        }
    }
    return NULL;
}

static void skip_section(const char *name, struct json_object *section, struct case_results *r)
{
    int n = 1;
    if (json_object_is_type(section, json_type_array))
        n = (int)json_object_array_length(section);
    else if (json_object_is_type(section, json_type_object))
        n = json_object_object_length(section);
    printf("FAIL %s: no runner for this section (%d cases)\n", name, n);
    r->failed += n;
}

static void run_section(const char *name, struct json_object *section, struct json_object *file, struct case_results *r)
{
    static const char *const remarks[] = {"source", "notes"};
    for (size_t i = 0; i < sizeof(remarks) / sizeof(*remarks); i++) {
        if (strcmp(name, remarks[i]) == 0)
            return;
    }
    const struct case_section *s = find_section(name);
    struct case_results before = *r;
    if (!s) {
        skip_section(name, section, r);
    } else if (s->run) {
        s->run(section, file, r);
        printf("%s: %d passed, %d failed\n", name, r->passed - before.passed, r->failed - before.failed);
    }
}

static int run_file(const char *path, struct case_results *r, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_json struct json_object *file = NULL;
    if (file_read(path, FILE_MAX, &text, err) < 0 || json_parse(strbuf_str(&text), text.n, &file, err) < 0)
        return error_wrap(err, "%s", path);
    if (!json_object_is_type(file, json_type_object))
        return error_set(err, ERR_INVALID, "%s: is no object of sections", path);
    json_object_object_foreach(file, name, section) run_section(name, section, file, r);
    return 0;
}

int main(int argc, char **argv)
{
    struct case_results r = {0};
    cleanup_error struct error err = ERROR_INIT;
    if (argc < 2) {
        fprintf(stderr, "usage: run-cases FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        if (run_file(argv[i], &r, &err) < 0) {
            fprintf(stderr, "run-cases: %s\n", error_msg(&err));
            return 2;
        }
    }
    printf("%d passed, %d failed\n", r.passed, r.failed);
    return r.failed > 0;
}
