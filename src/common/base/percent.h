/* Texts within URLs and file names (RFC 3986, 2.1). */
#ifndef DET_COMMON_BASE_PERCENT_H
#define DET_COMMON_BASE_PERCENT_H

#include "common/base/strbuf.h"

#define PERCENT_UNRESERVED "-_.~" /* what RFC 3986 leaves as it is anywhere, beside letters and digits */

/* Appends the text; every byte but ASCII's letters and digits and those of `plain` becomes %XX. */
void strbuf_add_percent(struct strbuf *out, const char *text, const char *plain);

#endif
