#include "core/resources/scale.h"

#include <limits.h>

/* ---- how many more ----------------------------------------------------------------------------------------------- */

bool scale_counts(int slots, int slots_per_instance)
{
    return slots_per_instance > 0 && slots > 0 && (slots <= slots_per_instance || slots % slots_per_instance == 0);
}

int64_t scale_job_slots(int64_t slots, int max_slots)
{
    return max_slots >= 0 && slots > max_slots ? max_slots : slots;
}

/* Returns how many agents are needed for so much; 0 if an agent takes no such tasks. */
static int64_t agents_for(int64_t needed, int per_agent)
{
    return per_agent > 0 ? (needed + per_agent - 1) / per_agent : 0;
}

int scale_desired(const struct scale_demand *d, int slots_per_instance, int aux_per_instance)
{
    int64_t for_aux = agents_for(d->aux, aux_per_instance), for_slots = agents_for(d->slots, slots_per_instance);
    int64_t desired = for_aux > for_slots ? for_aux : for_slots;
    return desired > INT_MAX ? INT_MAX : (int)desired;
}

/* ---- which fewer ------------------------------------------------------------------------------------------------- */

bool scale_would_terminate(const int n_in[SCALE_CLASS_NR], int min_instances, int max_instances)
{
    int left = 0, useless = n_in[SCALE_STOPPED] + n_in[SCALE_LONG_DISCONNECTED];
    for (int i = 0; i < SCALE_CLASS_NR; i++)
        left += n_in[i];
    left -= useless;
    return useless > 0 || left > max_instances || (n_in[SCALE_LONG_IDLE] > 0 && left > min_instances);
}

/* Ends all machines of a class, in their order, as long as more than `keep` machines are left. */
static int end_class(struct scale_instance *instance, size_t n, enum scale_class class, int left, int keep)
{
    int ended = 0;
    for (size_t i = 0; i < n && left - ended > keep; i++) {
        if (instance[i].class != class || instance[i].terminate)
            continue;
        instance[i].terminate = true;
        ended++;
    }
    return ended;
}

static struct scale_instance *newest_instance(struct scale_instance *instance, size_t n)
{
    struct scale_instance *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (!instance[i].terminate && (!found || instance[i].launch_us > found->launch_us))
            found = &instance[i];
    return found;
}

int scale_terminate(struct scale_instance *instance, size_t n, int min_instances, int max_instances)
{
    static const enum scale_class surplus[] = {SCALE_PENDING, SCALE_IDLE, SCALE_DISCONNECTED};
    int left = (int)n;
    for (size_t i = 0; i < n; i++)
        instance[i].terminate = false;
    left -= end_class(instance, n, SCALE_STOPPED, left, 0);
    left -= end_class(instance, n, SCALE_LONG_DISCONNECTED, left, 0);
    left -= end_class(instance, n, SCALE_LONG_IDLE, left, min_instances);
    for (size_t i = 0; i < sizeof(surplus) / sizeof(*surplus); i++)
        left -= end_class(instance, n, surplus[i], left, max_instances);
    for (; left > max_instances; left--)
        newest_instance(instance, n)->terminate = true;
    return (int)n - left;
}

int scale_launch(const struct scale_opts *o, int existing, int recently_launched, int desired)
{
    int least = o->min_instances - existing, most = o->max_instances - existing, launch = desired - recently_launched;
    launch = launch < least ? least : launch > most ? most : launch;
    return launch > 0 ? launch : 0;
}
