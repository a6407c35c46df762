#include "cli/terminal/formats.h"

#include <csv.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"

static const char *cell_text(struct arena *a, struct json_object *v)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!v)
        return NULL;
    if (json_object_is_type(v, json_type_string))
        return arena_strdup(a, json_object_get_string(v));
    json_print(v, &text);
    return arena_strdup(a, strbuf_str(&text));
}

/* The list for which the object stands, as {"jobs": [], "pagination": {}} stands for the jobs; NULL: for none. */
static struct json_object *list_inside(struct json_object *v)
{
    struct json_object *list = NULL;
    if (!json_object_is_type(v, json_type_object))
        return NULL;
    json_object_object_foreach(v, name, value)
    {
        if (strcmp(name, "pagination") == 0)
            continue;
        if (list || !json_object_is_type(value, json_type_array))
            return NULL;
        list = value;
    }
    return list;
}

/* An object that has every name which an item of the list has. The caller puts it. */
static struct json_object *all_names(struct json_object *list)
{
    struct json_object *all = json_object_new_object();
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        if (!json_object_is_type(item, json_type_object))
            continue;
        json_object_object_foreach(item, name, value)
        {
            (void)value;
            json_object_object_add(all, name, NULL);
        }
    }
    return all;
}

static void add_row(struct table *t, struct json_object *item, const char *const *name, size_t n)
{
    bool is_object = json_object_is_type(item, json_type_object);
    for (size_t i = 0; i < n; i++)
        table_text(t, cell_text(&t->arena, is_object ? json_object_object_get(item, name[i]) : NULL));
    if (n == 0) /* a list of plain values */
        table_text(t, cell_text(&t->arena, item));
}

void table_of_object(struct json_object *object, const char *const *name, size_t n, struct table *ret)
{
    for (size_t i = 0; i < n; i++)
        table_column(ret, name[i]);
    add_row(ret, object, name, n);
}

void table_of_document(struct json_object *document, struct table *ret)
{
    cleanup_json struct json_object *single = NULL, *all = NULL;
    struct json_object *list = json_object_is_type(document, json_type_array) ? document : list_inside(document);
    size_t n;
    if (!list) {
        list = single = json_object_new_array();
        json_object_array_add(single, json_object_get(document));
    }
    all = all_names(list);
    cleanup_free const char **name = json_sorted_names(all, &n);
    for (size_t i = 0; i < n; i++)
        table_column(ret, name[i]);
    if (n == 0)
        table_column(ret, "value");
    for (size_t i = 0; i < json_object_array_length(list); i++)
        add_row(ret, json_object_array_get_idx(list, i), name, n);
}

struct json_object *document_of_table(const struct table *t)
{
    struct json_object *list = json_object_new_array();
    for (size_t i = 0; i + t->column_n <= t->cell_n; i += t->column_n) {
        struct json_object *row = json_object_new_object();
        for (size_t c = 0; c < t->column_n; c++) {
            const char *text = t->cell[i + c];
            json_object_object_add(row, t->title[c], text ? json_object_new_string(text) : NULL);
        }
        json_object_array_add(list, row);
    }
    return list;
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

struct csv_reader {
    struct table *table;
    size_t row_n, field_n; /* rows that have ended, fields of the present one */
    bool uneven;
};

static void on_field(void *text, size_t n, void *ctx)
{
    struct csv_reader *r = ctx;
    const char *field = arena_strndup(&r->table->arena, text ? text : "", n);
    if (r->row_n == 0)
        table_column(r->table, field);
    else if (r->field_n < r->table->column_n)
        table_text(r->table, field);
    r->field_n++;
}

static void on_row(int end, void *ctx)
{
    struct csv_reader *r = ctx;
    (void)end;
    r->uneven = r->uneven || r->field_n != r->table->column_n;
    r->row_n++;
    r->field_n = 0;
}

int table_of_csv(const char *text, size_t n, struct table *ret, struct error *err)
{
    struct csv_reader r = {.table = ret};
    struct csv_parser csv;
    if (csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return error_set(err, ERR_INTERNAL, "the reader of CSV does not start");
    bool whole = csv_parse(&csv, text, n, on_field, on_row, &r) == n && csv_fini(&csv, on_field, on_row, &r) == 0;
    csv_free(&csv);
    if (!whole || r.uneven || r.row_n == 0)
        return error_set(err, ERR_INVALID, "the master's answer is not a table in CSV (row %zu)", r.row_n);
    return 0;
}
