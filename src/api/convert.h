/* From rows of the store and views of the core to messages of the contract. Everything lives in the given arena. */
#ifndef DET_API_CONVERT_H
#define DET_API_CONVERT_H

#include "common/arena.h"
#include "gen/wire.h"
#include "store/page.h"

struct identity_user;
struct store_user;

const struct wire_user *user_to_wire(const struct store_user *u, struct arena *a);
const struct wire_user *identity_to_wire(const struct identity_user *u, struct arena *a);
void identity_of_store(const struct store_user *u, struct identity_user *ret);

/* offset and limit are echoed as asked. */
const struct wire_pagination *pagination(struct page asked, struct page_window w, struct arena *a);
struct page page_of(int32_t offset, int32_t limit);

#endif
