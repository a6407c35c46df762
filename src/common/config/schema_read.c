#include "common/config/schema_read.h"

#include <stdbool.h>
#include <string.h>

#include "common/config/schema.h"

static void read_members(const struct schema_record *record, struct json_object *section, struct arena *a, char *ret);

/* Reads a section; `ret` holds the defaults already. */
static void read_record(const struct schema_record *record, struct json_object *section, struct arena *a, void *ret)
{
    memcpy(ret, record->defaults, record->size);
    read_members(record, section, a, ret);
}

/* ---- single values ----------------------------------------------------------------------------------------------- */

static bool is_number(struct json_object *v)
{
    return json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);
}

static bool read_size(struct json_object *v, int64_t *ret)
{
    if (json_object_is_type(v, json_type_string))
        return size_parse(json_object_get_string(v), ret) == 0;
    *ret = json_object_get_int64(v);
    return is_number(v);
}

static bool read_duration(struct json_object *v, int64_t *ret_us)
{
    int64_t ns = json_object_get_int64(v);
    if (json_object_is_type(v, json_type_string) && duration_parse(json_object_get_string(v), &ns) < 0)
        return false;
    *ret_us = ns / 1000;
    return json_object_is_type(v, json_type_string) || json_object_is_type(v, json_type_int);
}

static bool read_choice(const char *const *choice, struct json_object *v, int *ret)
{
    const char *word = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
    int i = 0;
    while (word && choice[i] && strcmp(choice[i], word) != 0)
        i++;
    *ret = i;
    return word && choice[i];
}

static bool read_length(const char *const *unit, struct json_object *v, struct schema_length *ret)
{
    if (json_object_is_type(v, json_type_int)) {
        *ret = (struct schema_length){.units = json_object_get_int64(v)};
        return true;
    }
    for (int i = 0; json_object_is_type(v, json_type_object) && unit[i]; i++) {
        struct json_object *units = json_object_object_get(v, unit[i]);
        if (units) {
            *ret = (struct schema_length){.unit = i + 1, .units = json_object_get_int64(units)};
            return true;
        }
    }
    return false;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static size_t read_texts(struct json_object *list, struct arena *a, const char *const **ret)
{
    size_t n = json_object_array_length(list);
    const char **text = arena_array(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct json_object *v = json_object_array_get_idx(list, i);
        text[i] = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
    }
    *ret = text;
    return n;
}

static size_t read_int32s(struct json_object *list, struct arena *a, const int32_t **ret)
{
    size_t n = json_object_array_length(list);
    int32_t *number = arena_array(a, int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        number[i] = json_object_get_int(json_object_array_get_idx(list, i));
    *ret = number;
    return n;
}

static size_t read_records(const struct schema_record *record, struct json_object *list, struct arena *a,
                           const void **ret)
{
    size_t n = json_object_array_length(list);
    char *item = arena_alloc(a, (n + 1) * record->size);
    for (size_t i = 0; i < n; i++)
        read_record(record, json_object_array_get_idx(list, i), a, item + i * record->size);
    *ret = item;
    return n;
}

static bool read_list(const struct schema_field *f, struct json_object *list, struct arena *a, char *ret)
{
    size_t n;
    if (!json_object_is_type(list, json_type_array))
        return false;
    if (f->type == SCHEMA_FIELD_TEXTS)
        n = read_texts(list, a, (const char *const **)(ret + f->offset));
    else if (f->type == SCHEMA_FIELD_INT32S)
        n = read_int32s(list, a, (const int32_t **)(ret + f->offset));
    else
        n = read_records(f->record, list, a, (const void **)(ret + f->offset));
    memcpy(ret + f->beside, &n, sizeof(n));
    return false; /* `beside` of a list is its length */
}

/* ---- sections ---------------------------------------------------------------------------------------------------- */

/* Reads a field. Returns whether the value had the field's type. */
static bool read_field(const struct schema_field *f, struct json_object *v, struct arena *a, char *ret)
{
    void *to = ret + f->offset;
    switch (f->type) {
    case SCHEMA_FIELD_BOOL:
        if (!json_object_is_type(v, json_type_boolean))
            return false;
        *(bool *)to = json_object_get_boolean(v);
        return true;
    case SCHEMA_FIELD_INT32:
        if (!is_number(v))
            return false;
        *(int32_t *)to = json_object_get_int(v);
        return true;
    case SCHEMA_FIELD_INT64:
        if (!is_number(v))
            return false;
        *(int64_t *)to = json_object_get_int64(v);
        return true;
    case SCHEMA_FIELD_SIZE:
        return read_size(v, to);
    case SCHEMA_FIELD_DURATION:
        return read_duration(v, to);
    case SCHEMA_FIELD_DOUBLE:
        if (!is_number(v))
            return false;
        *(double *)to = json_object_get_double(v);
        return true;
    case SCHEMA_FIELD_TEXT:
        if (json_object_is_type(v, json_type_string))
            *(const char **)to = json_object_get_string(v);
        return true;
    case SCHEMA_FIELD_CHOICE:
        return read_choice(f->choice, v, to);
    case SCHEMA_FIELD_LENGTH:
        return read_length(f->choice, v, to);
    case SCHEMA_FIELD_TREE:
        *(struct json_object **)to = v;
        return true;
    case SCHEMA_FIELD_RECORD:
        if (json_object_is_type(v, json_type_object))
            read_record(f->record, v, a, to);
        return true;
    case SCHEMA_FIELD_TEXTS:
    case SCHEMA_FIELD_INT32S:
    case SCHEMA_FIELD_RECORDS:
        return read_list(f, v, a, ret);
    }
    return false;
}

static size_t size_of(const struct schema_field *f)
{
    switch (f->type) {
    case SCHEMA_FIELD_BOOL:
        return sizeof(bool);
    case SCHEMA_FIELD_INT32:
        return sizeof(int32_t);
    case SCHEMA_FIELD_INT64:
    case SCHEMA_FIELD_SIZE:
    case SCHEMA_FIELD_DURATION:
        return sizeof(int64_t);
    case SCHEMA_FIELD_DOUBLE:
        return sizeof(double);
    case SCHEMA_FIELD_CHOICE:
        return sizeof(int);
    case SCHEMA_FIELD_LENGTH:
        return sizeof(struct schema_length);
    case SCHEMA_FIELD_RECORD:
        return f->record->size;
    case SCHEMA_FIELD_TEXT:
    case SCHEMA_FIELD_TREE:
    case SCHEMA_FIELD_TEXTS:
    case SCHEMA_FIELD_INT32S:
    case SCHEMA_FIELD_RECORDS:
        return sizeof(void *);
    }
    return 0;
}

static bool is_list(const struct schema_field *f)
{
    return f->type == SCHEMA_FIELD_TEXTS || f->type == SCHEMA_FIELD_INT32S || f->type == SCHEMA_FIELD_RECORDS;
}

static void clear_field(const struct schema_field *f, char *ret)
{
    memset(ret + f->offset, 0, size_of(f));
    if (f->beside)
        memset(ret + f->beside, 0, is_list(f) ? sizeof(size_t) : sizeof(bool));
}

/* Finds the member of that name. A filled document has its members in the order of the table, as the fields are: *next,
 * the member after the last one that was found, is nearly always the right one, and is compared before anything is
 * searched for. */
static struct json_object *take_member(struct json_object *section, const char *name, struct lh_entry **next)
{
    struct lh_entry *e = *next;
    if (!e || strcmp(lh_entry_k(e), name) != 0)
        e = lh_table_lookup_entry(json_object_get_object(section), name);
    if (!e)
        return NULL;
    *next = lh_entry_next(e);
    return (struct json_object *)lh_entry_v(e);
}

static void read_members(const struct schema_record *record, struct json_object *section, struct arena *a, char *ret)
{
    unsigned kind = ~0u;
    if (!json_object_is_type(section, json_type_object))
        return;
    *(struct json_object **)ret = section;
    struct lh_entry *next = lh_table_head(json_object_get_object(section));
    for (size_t i = 0; i < record->field_n; i++) {
        const struct schema_field *f = &record->field[i];
        if (f->only && !(f->only & kind)) {
            clear_field(f, ret);
            continue;
        }
        struct json_object *v = take_member(section, f->name, &next);
        bool found = v && read_field(f, v, a, ret);
        if (found && f->beside)
            *(bool *)(ret + f->beside) = true;
        if (found && i == 0 && f->type == SCHEMA_FIELD_CHOICE)
            kind = 1u << *(int *)(ret + f->offset);
    }
}

void schema_read(const struct schema_record *record, struct json_object *section, struct arena *a, void *ret)
{
    read_record(record, section, a, ret);
}

/* ---- changing a document ----------------------------------------------------------------------------------------- */

static const char *key_of(const struct schema_record *record, size_t offset)
{
    size_t i = 0;
    while (record->field[i].offset != offset)
        i++;
    return record->field[i].name;
}

struct json_object *schema_get_at(const struct schema_record *record, size_t offset, struct json_object *section)
{
    return json_object_is_type(section, json_type_object) ? json_object_object_get(section, key_of(record, offset))
                                                          : NULL;
}

void schema_put_at(const struct schema_record *record, size_t offset, struct json_object *section,
                   struct json_object *take_value)
{
    json_object_object_add(section, key_of(record, offset), take_value);
}

struct json_object *schema_section_at(const struct schema_record *record, size_t offset, struct json_object *document)
{
    struct json_object *section = schema_get_at(record, offset, document);
    if (!json_object_is_type(section, json_type_object)) {
        section = json_object_new_object();
        schema_put_at(record, offset, document, section);
    }
    return section;
}
