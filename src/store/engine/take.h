/* Take the columns of the current row, in their order. NULL is read as 0, "" or false; the functions take_opt_* tell
 * NULL apart.
 *
 * Only the readers that tools/gen-sql makes call these functions: code written by hand would take the wrong column
 * when a column is added or removed (tools/check-deps knows which files may call them). */
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
const char *take_text(struct query *q, struct arena *a);     /* never returns NULL */
const char *take_opt_text(struct query *q, struct arena *a); /* returns NULL for NULL */
/* copies into a fixed field; a text that is too long is cut */
void take_chars(struct query *q, char *buf, size_t size);
/* as take_chars; the rest of the field is filled with zeros */
void take_bytes(struct query *q, uint8_t *buf, size_t size);
const void *take_blob(struct query *q, struct arena *a, size_t *ret_n);
const void *take_borrowed(struct query *q, size_t *ret_n); /* a text or a blob, valid until the next step */

#endif
