/* Within the tables of lookups: documents of runs (hyperparameters, metadata, summaries of metrics) as columns, one
 * for each path in them. A list is kept as its JSON text; objects and null are not values. */
#ifndef DET_STORE_LOOKUP_LOOKUP_PATHS_H
#define DET_STORE_LOOKUP_LOOKUP_PATHS_H

#include "store/lookup/lookup_tables.h"

/* The first letter of a path's name gives the kind of document. The rest is written as in the filter language:
 * "hlr", "mvalidation.loss.min". */
enum lookup_document { LOOKUP_HPARAMS = 'h', LOOKUP_METADATA_OF_RUN = 'd', LOOKUP_SUMMARY = 'm' };
enum lookup_document lookup_path_kind(const char *name);

/* Takes over one document of a run; with `only`, just the value at that path. json is NULL if there is no document. */
void lookup_document(struct lookup_tables *t, enum lookup_document kind, uint32_t run, const char *json,
                     const char *only);
void lookup_summary(struct lookup_tables *t, uint32_t run, const char *group, const char *json, const char *only);
void lookup_summary_forget(struct lookup_tables *t, uint32_t run);
void lookup_paths_forget(struct lookup_tables *t, uint32_t run);

void lookup_paths_bound(struct lookup_tables *t); /* drops columns that are beyond the limit of memory */
size_t lookup_paths_bytes(const struct lookup_tables *t);
void lookup_paths_release(struct lookup_tables *t);

/* Reads the documents of all runs again, for one path (lookup_tables.c). */
int lookup_documents_again(struct lookup_tables *t, struct store *st, const char *path, struct error *err);

#endif
