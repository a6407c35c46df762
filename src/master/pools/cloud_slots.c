#include "master/pools/cloud_slots.h"

#include "common/json/json.h"

#include <ctype.h>
#include <string.h>

static const char *text_of(struct json_object *o, const char *name, const char *otherwise)
{
    struct json_object *v = json_member(o, name);
    return v ? json_object_get_string(v) : otherwise;
}

/* A machine without GPU counts as one slot if the administrator wants it to. */
static int slots_of(int gpus, struct json_object *config)
{
    return gpus == 0 && json_object_get_boolean(json_member(config, "cpu_slots_allowed")) ? 1 : gpus;
}

/* GPUs by instance type. A type that ends with a dot stands for all sizes of its family that have no row. */
static const struct {
    const char *type;
    int gpus;
} aws_types[] = {
    {"g4dn.12xlarge", 4}, {"g4dn.metal", 8},  {"g4dn.", 1},       {"g5.12xlarge", 4},   {"g5.24xlarge", 4},
    {"g5.48xlarge", 8},   {"g5.", 1},         {"p2.xlarge", 1},   {"p2.8xlarge", 8},    {"p2.16xlarge", 16},
    {"p3.2xlarge", 1},    {"p3.8xlarge", 4},  {"p3.16xlarge", 8}, {"p3dn.24xlarge", 8}, {"p4d.24xlarge", 8},
    {"p4de.24xlarge", 8}, {"p5.48xlarge", 8},
};

/* Families without accelerators are named by a letter and a number, such as m5 or c6gd; those of other letters have
 * GPUs or other accelerators. */
static bool is_aws_cpu_family(const char *type)
{
    return type[0] != '\0' && strchr("acdhimrtxz", type[0]) && isdigit((unsigned char)type[1]) && strchr(type, '.');
}

int aws_slots(struct json_object *config)
{
    const char *type = text_of(config, "instance_type", "g4dn.metal");
    struct json_object *given = json_member(config, "instance_slots");
    if (given)
        return json_object_get_int(given);
    for (size_t i = 0; i < sizeof(aws_types) / sizeof(*aws_types); i++) {
        size_t n = strlen(aws_types[i].type);
        bool family = aws_types[i].type[n - 1] == '.';
        if (family ? strncmp(type, aws_types[i].type, n) == 0 : strcmp(type, aws_types[i].type) == 0)
            return aws_types[i].gpus;
    }
    return is_aws_cpu_family(type) ? slots_of(0, config) : -1;
}

int gcp_slots(struct json_object *config)
{
    struct json_object *gpus = json_member(json_member(config, "instance_type"), "gpu_num");
    return slots_of(gpus ? json_object_get_int(gpus) : 4, config);
}
