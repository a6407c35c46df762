#include "api/pipeline/unchanged.h"

#include "common/base/clock.h"

int need_unchanged(bool has_expected, int64_t expected_us, int64_t modified_us, const char *what, struct error *err)
{
    char time[CLOCK_TEXT_MAX];
    if (!has_expected || expected_us == modified_us)
        return 0;
    clock_format(modified_us, time);
    return error_set(err, ERR_ABORTED,
                     "%s was changed at %s, since you read it: nothing was changed now. Read it again, and repeat your "
                     "change if it is still wanted",
                     what, time);
}

int64_t modified_after(int64_t before_us, int64_t now_us)
{
    return now_us > before_us ? now_us : before_us + 1;
}
