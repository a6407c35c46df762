/* Within the tables of searches: documents of runs (hyperparameters, metadata, summaries of metrics) as a column for each
 * path in them. Lists are their text; objects and null are no values. */
#ifndef DET_STORE_SEARCH_PATHS_H
#define DET_STORE_SEARCH_PATHS_H

#include "store/search/search_tables.h"

/* The first letter of a path's name; the rest is as in the language of filters: "hlr", "mvalidation.loss.min". */
enum search_document { SEARCH_HPARAMS = 'h', SEARCH_METADATA_OF_RUN = 'd', SEARCH_SUMMARY = 'm' };
enum search_document search_path_kind(const char *name);

/* Takes over one document of a run; with `only`, what it has at that path. json NULL: there is none. */
void search_document(struct search_tables *t, enum search_document kind, uint32_t run, const char *json, const char *only);
void search_summary(struct search_tables *t, uint32_t run, const char *group, const char *json, const char *only);
void search_summary_forget(struct search_tables *t, uint32_t run);
void search_paths_forget(struct search_tables *t, uint32_t run);

void search_paths_bound(struct search_tables *t); /* drops columns that are beyond the limit */
size_t search_paths_bytes(const struct search_tables *t);
void search_paths_release(struct search_tables *t);

/* Reads the documents of all runs once more, for one path (search_tables.c). */
int search_documents_again(struct search_tables *t, struct store *st, const char *path, struct error *err);

#endif
