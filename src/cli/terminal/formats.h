/* Turns results from one form into another, so that every command that reads has --json, --yaml and --csv: a document
 * becomes a table for CSV, and a table becomes a document for JSON and YAML. Pure. */
#ifndef DET_CLI_TERMINAL_FORMATS_H
#define DET_CLI_TERMINAL_FORMATS_H

#include "cli/terminal/table.h"
#include "common/base/error.h"
#include "common/json/json.h"

/* A list becomes a row for each of its items, whose columns are all names that the items have, sorted. An object
 * becomes one row. An object that has a list and nothing else but a pagination stands for that list. Values that are
 * objects or lists are written as JSON. */
void table_of_document(struct json_object *document, struct table *ret);
/* One row, with these values of the object. */
void table_of_object(struct json_object *object, const char *const *name, size_t n, struct table *ret);

/* A list of objects, whose names are the columns' titles. Every value is a string, or null for an empty cell. The
 * caller puts the result. */
struct json_object *document_of_table(const struct table *t);

/* The first row has the columns' titles. ERR_INVALID, unless every row has as many fields. */
int table_of_csv(const char *text, size_t n, struct table *ret, struct error *err);

#endif
