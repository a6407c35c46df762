#include "inside.h"

#include "core/resources/agents.h"
#include "core/resources/elastic.h"
#include "core/resources/rm.h"

bool inside_leaves(const struct core *c, const char *agent_id)
{
    const struct agent *agent = agent_find(c, agent_id);
    return agent && agent->leaving;
}

bool inside_adds_up(const struct core *c, const char *pool)
{
    return elastic_adds_up(c, pool_find(c, pool));
}
