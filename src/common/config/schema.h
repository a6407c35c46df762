/* Key tables: what a configuration may say, as data.
 *
 * tools/gen-config turns contract/master-config.json, agent-config.json and experiment-config.json into one constant
 * tree of `struct schema_key` each (gen/config_tables.h). Everything that knows about configuration walks these trees:
 * checking with every mistake named at once, defaults, merging, secrets, --help, environment variables, the reference
 * pages.
 *
 *     object       named members (`child`); with `selector` it is a union: the value of that member decides which rows
 *                  exist
 *     list, map    `item` describes each element; NULL means anything
 *     a value      bool, int, number, string, duration ("1h30m" or nanoseconds), size (bytes or "1.5 GiB")
 *
 * Null always means "not set" and is accepted everywhere. */
#ifndef DET_COMMON_CONFIG_SCHEMA_H
#define DET_COMMON_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "common/json/json.h"

/* Accepted types are a set: an entrypoint is a string or a list. */
enum schema_type {
    SCHEMA_BOOL = 1 << 0,
    SCHEMA_INT = 1 << 1,
    SCHEMA_NUMBER = 1 << 2,
    SCHEMA_STRING = 1 << 3,
    SCHEMA_DURATION = 1 << 4,
    SCHEMA_SIZE = 1 << 5,
    SCHEMA_LIST = 1 << 6,
    SCHEMA_MAP = 1 << 7,
    SCHEMA_OBJECT = 1 << 8,
    SCHEMA_ANY = 1 << 9,
    SCHEMA_NULL = 1 << 10, /* null only: a key that must stay unset */
};
#define SCHEMA_SCALAR (SCHEMA_BOOL | SCHEMA_INT | SCHEMA_NUMBER | SCHEMA_STRING | SCHEMA_DURATION | SCHEMA_SIZE)

enum schema_flag {
    SCHEMA_SECRET = 1 << 0,   /* printed as ********, which is no value of it */
    SCHEMA_RUNTIME = 1 << 1,  /* may change while the program runs */
    SCHEMA_REQUIRED = 1 << 2, /* must be set when its parent is: a field without which its parent makes no sense */
    SCHEMA_COMPLETE = 1 << 3, /* must be set in the end, after every merge */
    SCHEMA_OMIT = 1 << 4,     /* left out of the effective form while unset; others are written as null */
    SCHEMA_DROP = 1 << 5,     /* legacy: accepted and forgotten */
    SCHEMA_MIN_EXCLUSIVE = 1 << 6,
    SCHEMA_HAS_MIN = 1 << 7,
    SCHEMA_HAS_MAX = 1 << 8,
};

/* How two documents combine. Lists: one after the other unless the row says otherwise. */
enum schema_merge_rule {
    SCHEMA_MERGE_DEFAULT, /* scalar: upper; object and map: member by member; list: lower, then upper */
    SCHEMA_MERGE_REPLACE, /* the list is one value: upper replaces lower */
    SCHEMA_MERGE_SET,     /* sorted union of both, without repeats */
    SCHEMA_MERGE_KEYED,   /* upper's items, then those of lower whose key upper does not have */
    SCHEMA_MERGE_UNION,   /* object with selector: members of lower's kind only while both are of the same kind */
    SCHEMA_MERGE_MEMBERS, /* objects member by member; everything below them that is no object: upper */
};

struct schema_key {
    const char *name; /* member name; "[]" for items of a list, "*" for values of a map */
    unsigned types;   /* enum schema_type */
    unsigned flags;   /* enum schema_flag */
    /* default as JSON, NULL if there is none; an object with a default is filled, others stay null */
    const char *def;
    double min, max;
    uint32_t max_items;        /* elements of a list, members of a map; 0: no limit of their own */
    uint32_t max_bytes;        /* of a string; 0: no limit of its own */
    const char *const *choice; /* NULL-terminated, or NULL */
    const char *unit;          /* "s", "bytes", "batches", or NULL */
    const char *help;          /* one sentence */
    const char *check;         /* name of a further check, or NULL */
    const char *replaced_by;   /* this row is an older spelling of the sibling with this name */
    /* A key of release 0.38.1 that is not served, with the reason: asked for, it is a warning, or a mistake where
     * ignoring it would weaken security or lose data. NULL: it is served. */
    const char *ignored, *refused;
    const char *option; /* one letter for the command line, or NULL */
    enum schema_merge_rule merge;
    const char *merge_key;   /* KEYED: the member that tells items apart */
    const char *selector;    /* union: name of the member that decides, e.g. "type" */
    const char *const *only; /* this row exists for these values of its parent's selector; NULL: for all */
    const struct schema_key *child;
    size_t child_n;
    const struct schema_key *item;
};

/* Where the values of a document came from, for messages. */
struct schema_place {
    const struct yaml_positions *positions; /* NULL if unknown */
    /* "master.yaml": gives "master.yaml:3:7: "; NULL gives "(line 3, column 7)" */
    const char *file;
    const char *source; /* "DET_PORT" or "--port" instead of a file, or NULL */
    const char *root;   /* what paths start with: "<config>", or NULL for none */
};

/* All mistakes of a document, one in each line, in the order of the document. */
struct schema_problems {
    struct strbuf text;
    int n;
};
#define SCHEMA_PROBLEMS_INIT {STRBUF_INIT, 0}

void schema_problem(struct schema_problems *p, const struct schema_place *place, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* As schema_problem, about a member `name` that should not be there: the place is that of its key. */
void schema_problem_member(struct schema_problems *p, const struct schema_place *place, const char *path,
                           const char *name, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void schema_problems_release(struct schema_problems *p);
/* 0 if there is none, else ERR_INVALID */
int schema_problems_error(const struct schema_problems *p, struct error *err);

/* A further check named by a row's `check`. `path` is that of the value, which is never null and has an accepted
 * type. */
typedef void schema_check_fn(struct json_object *v, const char *path, const struct schema_place *place,
                             struct schema_problems *problems);
struct schema_check {
    const char *name;
    schema_check_fn *fn;
};

enum schema_phase {
    SCHEMA_PARTIAL,  /* judge names and types of what is there; it may need what another document has */
    SCHEMA_PRESENT,  /* judge what is there */
    SCHEMA_FINISHED, /* and that nothing is missing (SCHEMA_COMPLETE); lengths (max_items, max_bytes) were judged before
                      */
    SCHEMA_MISSING,  /* only that: what is there may be wrong, and was judged elsewhere */
};

/* Checks `v` against `key`. `checks` ends with a NULL name and adds to the built-in ones (schema_builtin_checks). */
void schema_validate(const struct schema_key *key, struct json_object *v, enum schema_phase phase,
                     const struct schema_check *checks, const struct schema_place *place,
                     struct schema_problems *problems);

/* As schema_validate(), for a value that stands at `path` of the document. */
void schema_validate_at(const struct schema_key *key, struct json_object *v, const char *path, enum schema_phase phase,
                        const struct schema_check *checks, const struct schema_place *place,
                        struct schema_problems *problems);

/* Lays `upper` over `lower` by the merge rules of the rows. Both are only read, and the result shares nothing with
 * them. The caller puts it. */
struct json_object *schema_merge(const struct schema_key *key, struct json_object *upper, struct json_object *lower);
/* The effective form: defaults, nulls for what is unset and not SCHEMA_OMIT, no SCHEMA_DROP members, members in the
 * order of the table. The result shares nothing with v, which may be null. Caller puts it. */
struct json_object *schema_fill(const struct schema_key *key, struct json_object *v);
/* Moves values of older spellings to the new ones, in place. If both are set, the older spelling wins. */
void schema_rename(const struct schema_key *key, struct json_object *v);
/* Calls fn for each value that asks for what is not served; the default and nothing at all do not. */
typedef void schema_unserved_fn(void *ctx, const char *path, const struct schema_key *key);
void schema_each_unserved(const struct schema_key *key, struct json_object *v, schema_unserved_fn *fn, void *ctx);
/* Removes, in place, what the table does not know or what has another type, so that the rest can be filled and read. */
void schema_prune(const struct schema_key *key, struct json_object *v);
bool schema_has_type(unsigned types, struct json_object *v); /* whether v has one of the types; null has every type */
/* A copy in which `shown` (NULL: null, as if it were not set) stands for each secret: for each value of a row that is
 * marked so, or each value within it. Caller puts it. */
struct json_object *schema_mask(const struct schema_key *key, struct json_object *v, const char *shown);

/* The row of a dotted path (`db.password`, `resource_pools[0].pool_name`); NULL if there is none. */
const struct schema_key *schema_find(const struct schema_key *root, const char *path);
/* The member row `name` of an object whose selector says `kind` (NULL: any kind). */
const struct schema_key *schema_member(const struct schema_key *object, const char *name, const char *kind);
const char *schema_kind(const struct schema_key *object, struct json_object *v); /* value of its selector, or NULL */
void schema_describe_types(unsigned types, struct strbuf *out);                  /* "a string or a list" */
const struct schema_check *schema_find_check(const struct schema_check *checks, const char *name);

#define SCHEMA_MASKED "********"

/* Values with units. -1 if malformed or out of range. Durations as Go writes them: "20m", "1h30m", "-1.5s", "300ms". */
int duration_parse(const char *s, int64_t *ret_ns);
void duration_format(int64_t ns, struct strbuf *out);
int size_parse(const char *s, int64_t *ret_bytes); /* "512m", "1.5 GiB": binary multiples */

#endif
