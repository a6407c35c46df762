/* Configuration templates, by name. */
#ifndef DET_STORE_TEMPLATES_H
#define DET_STORE_TEMPLATES_H

#include "store/page.h"
#include "store/functions.h"

int store_template_insert(struct store *st, const struct store_template *t, struct error *err); /* ERR_CONFLICT: taken */
int store_template_set_config(struct store *st, const char *name, const char *config, struct error *err);
int store_template_rename(struct store *st, const char *name, const char *to, struct error *err);
int store_template_delete(struct store *st, const char *name, struct error *err);

/* By name; pages are those of query lists. */
struct store_template_filter {
    const char *name;                /* substring without regard to case */
    struct store_ints workspace_ids; /* none: all */
    bool descending;
    struct page page;
};
struct store_template_list { struct store_template *template; size_t template_n; struct page_window window; };
int store_template_list(struct store *st, const struct store_template_filter *f, struct arena *a,
                        struct store_template_list *ret, struct error *err);

#endif
