/* Deletes a project or a workspace with everything in it. Both are called a *place* here.
 *
 * One transaction marks the place and its experiments DELETING. The experiments are deleted one by one (master/removal/deletions.c), and
 * the place with the last of them. If one cannot be deleted, or the master ends meanwhile, the place is DELETE_FAILED with the
 * reason, and deleting it may be asked for again. */
#ifndef DET_STORE_PLACES_H
#define DET_STORE_PLACES_H

#include "store/store.h"

struct store_place { int32_t project_id, workspace_id; }; /* one of the two, the other is 0 */

/* What speaks against it: experiments that are not over; experiments and projects of somebody else. */
struct store_place_check { int64_t live, of_others; };
int store_place_check(struct store *st, struct store_place p, int32_t user_id, struct store_place_check *ret,
                      struct error *err);
/* Marks it, its projects and its experiments. *ret: the experiments, which the caller has deleted. Without any the place
 * goes at once. */
int store_place_delete(struct store *st, struct store_place p, struct arena *a, struct store_ints *ret,
                       struct error *err);
/* After an experiment went: what is DELETING and empty goes as well. */
int store_places_finish(struct store *st, struct error *err);
/* An experiment in it could not be deleted. */
int store_places_fail(struct store *st, int32_t experiment_id, const char *reason, struct error *err);
/* On the start of a master. */
int store_places_fail_all(struct store *st, struct error *err);

#endif
