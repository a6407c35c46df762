/* Snapshots and events of searchers, as a damaged store may hold them: refused, or a searcher that works. The first
 * byte picks the search, the snapshot ends at a NUL, events follow. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/searcher/searcher.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HALVING \
    "\"metric\": \"loss\", \"num_rungs\": 3, \"max_trials\": 9, \"divisor\": 2, \"max_concurrent_trials\": 3"
#define CONSERVATIVE "\"max_length\": {\"epochs\": 16}, \"divisor\": 2, \"mode\": \"conservative\""
static const char *const searches[] = {
    "{\"name\": \"random\", \"max_trials\": 4, \"max_concurrent_trials\": 2}",
    "{\"name\": \"grid\", \"max_length\": 3}",
    "{\"name\": \"async_halving\", \"max_time\": 8, \"time_metric\": \"t\", " HALVING "}",
    "{\"name\": \"async_halving\", \"max_length\": {\"batches\": 8}, " HALVING "}",
    "{\"name\": \"adaptive_asha\", \"metric\": \"loss\", \"max_trials\": 8, " CONSERVATIVE "}",
};
#define SPACE \
    "{\"a\": {\"type\": \"int\", \"minval\": 0, \"maxval\": 3, \"count\": 2}, \"b\": {\"type\": \"log\", \"base\": 10, " \
    "\"minval\": -2, \"maxval\": 0, \"count\": 3}}"

/* Does everything that a trial can do, with every trial. */
static void drive_searcher(struct searcher *s)
{
    size_t trials = searcher_trial_n(s);
    for (int type = SEARCHER_STARTED; type < SEARCHER_EVENT_NR; type++) {
        for (size_t i = 0; i < trials && i < 32; i++) {
            struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
            struct searcher_event ev = {.type = (enum searcher_event_type)type,
                                        .trial = i,
                                        .metric = (double)i,
                                        .time = 8,
                                        .length = searcher_operation(s, i).length,
                                        .progress = 0.5};
            searcher_step(s, &ev, &actions, NULL);
            searcher_actions_release(&actions);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct searcher *s;
    if (n < 2 || searcher_new(searches[data[0] % (sizeof(searches) / sizeof(searches[0]))], SPACE, 1, &s, NULL) < 0)
        return 0;
    char *text = malloc(n + 1);
    memcpy(text, data + 1, n - 1);
    text[n - 1] = text[n] = '\0';
    size_t snapshot_n = strlen(text);
    const char *events = snapshot_n + 1 < n ? text + snapshot_n + 1 : NULL;
    if (searcher_restore(s, text, events, NULL) == 0) {
        struct strbuf again = STRBUF_INIT;
        drive_searcher(s);
        searcher_snapshot(s, &again);
        strbuf_release(&again);
    }
    searcher_free(s);
    free(text);
    return 0;
}
