/* Columns of the current row, in their order. NULL reads as 0, "" or false; take_opt_* tell.
 *
 * This is for the readers that tools/gen-sql makes: who takes columns by hand takes the wrong one when a column comes
 * or goes (tools/check-deps knows who may). */
#ifndef DET_STORE_ENGINE_TAKE_H
#define DET_STORE_ENGINE_TAKE_H

#include "store/engine/query.h"

int64_t take_int(struct query *q);
int32_t take_i32(struct query *q);
bool take_bool(struct query *q);
double take_real(struct query *q);
bool take_opt_int(struct query *q, int64_t *ret);
bool take_opt_i32(struct query *q, int32_t *ret);
bool take_opt_real(struct query *q, double *ret);
const char *take_text(struct query *q, struct arena *a);     /* never NULL */
const char *take_opt_text(struct query *q, struct arena *a); /* NULL for NULL */
void take_chars(struct query *q, char *buf, size_t size);    /* into a fixed field; too long is cut */
void take_bytes(struct query *q, uint8_t *buf, size_t size); /* as take_chars; zeros fill it up */
const void *take_blob(struct query *q, struct arena *a, size_t *ret_n);
const void *take_borrowed(struct query *q, size_t *ret_n); /* text or blob, valid until the next step */

#endif
