/* Reading a document into a struct.
 *
 * tools/gen-config makes a struct for each section of the configurations of experiments and of other tasks
 * (gen/experiment_config.h, gen/task_config.h), constants with its defaults, and a `struct schema_record`, which tells
 * where the value of each key goes. What is declared here reads any section by its record. Nobody writes the name of a
 * key twice.
 *
 * The first member of each such struct is its section of the document. It is NULL if the document does not have the
 * section. */
#ifndef DET_COMMON_CONFIG_SCHEMA_READ_H
#define DET_COMMON_CONFIG_SCHEMA_READ_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/json/json.h"

/* A length of training. In a document it is {batches: 100}, or a bare number, whose unit nobody but its writer knows.
 */
struct schema_length {
    int unit; /* 0: a bare number; otherwise the place of the unit's name in `choice` of the field, from 1 */
    int64_t units;
};

enum schema_field_type {
    SCHEMA_FIELD_BOOL,
    SCHEMA_FIELD_INT32,
    SCHEMA_FIELD_INT64,
    SCHEMA_FIELD_SIZE,     /* int64_t: bytes */
    SCHEMA_FIELD_DURATION, /* int64_t: microseconds */
    SCHEMA_FIELD_DOUBLE,
    SCHEMA_FIELD_TEXT,    /* const char *: NULL if it is unset */
    SCHEMA_FIELD_CHOICE,  /* an enum: the place of the word in `choice` */
    SCHEMA_FIELD_LENGTH,  /* struct schema_length */
    SCHEMA_FIELD_TREE,    /* struct json_object *: as it stands in the document; NULL if it is unset */
    SCHEMA_FIELD_RECORD,  /* a struct, by `record` */
    SCHEMA_FIELD_TEXTS,   /* a list: const char *const *, and their number */
    SCHEMA_FIELD_INT32S,  /* a list: const int32_t *, and their number */
    SCHEMA_FIELD_RECORDS, /* a list of structs, by `record`, and their number */
};

struct schema_field {
    const char *name; /* of the key, within its section */
    enum schema_field_type type;
    unsigned only; /* in a union: a bit for each kind that has the key; 0: all have it */
    size_t offset;
    size_t beside;             /* offset of has_NAME (bool) or NAME_n (size_t) of the field; 0: there is none */
    const char *const *choice; /* ends with NULL */
    const struct schema_record *record;
};

struct schema_record {
    size_t size;
    const void *defaults;             /* a struct with the defaults of the section's keys */
    const struct schema_field *field; /* in a union, the first one is the key that tells the kind */
    size_t field_n;
};

/* Fills *ret from a section of a document that was checked. A key that is not there, or null, has its default. A key
 * that the kind of a union does not have is zero. Texts and trees are the document's, which must live as long as the
 * struct; lists are in the arena. A value of another type than the key's counts as unset. */
void schema_read(const struct schema_record *record, struct json_object *section, struct arena *a, void *ret);

/* Changing a document. The key is that of the struct's field, so that a key which does not exist does not compile:
 *     schema_put(exp_resources, section, priority, json_object_new_int(50)) */
#define schema_get(type, section, field) schema_get_at(&type##_record, offsetof(struct type, field), (section))
#define schema_put(type, section, field, take_value) \
    schema_put_at(&type##_record, offsetof(struct type, field), (section), (take_value))
#define schema_section(type, document, field) \
    schema_section_at(&type##_record, offsetof(struct type, field), (document))

struct json_object *schema_get_at(const struct schema_record *record, size_t offset,
                                  struct json_object *section); /* NULL: unset */
/* The value NULL unsets the key. */
void schema_put_at(const struct schema_record *record, size_t offset, struct json_object *section,
                   struct json_object *take_value);
/* A section of a document, borrowed; it is made if the document does not have it. */
struct json_object *schema_section_at(const struct schema_record *record, size_t offset, struct json_object *document);

#endif
