#include "master/pools/provider.h"

#include <string.h>

static const struct provider_type *const types[] = {&provider_local, &provider_command, &provider_aws, &provider_gcp};

const struct provider_type *provider_at(size_t index)
{
    return index < sizeof(types) / sizeof(*types) ? types[index] : NULL;
}

const struct provider_type *provider_find(const char *name)
{
    const struct provider_type *type;
    for (size_t i = 0; (type = provider_at(i)) && strcmp(type->name, name) != 0; i++)
        continue;
    return type;
}
