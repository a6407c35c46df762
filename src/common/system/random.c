#include "common/system/random.h"

#include <assert.h>
#include <sys/random.h>

int random_bytes(void *ret, size_t n, struct error *err)
{
    assert(n <= RANDOM_MAX);
    return getrandom(ret, n, 0) == (ssize_t)n ? 0 : error_set(err, ERR_INTERNAL, "the system gives no random bytes");
}

int random_uuid(char ret[UUID_TEXT_MAX], struct error *err)
{
    unsigned char random[UUID_BYTES];
    if (random_bytes(random, sizeof(random), err) < 0)
        return -1;
    uuid_encode(random, ret);
    return 0;
}
