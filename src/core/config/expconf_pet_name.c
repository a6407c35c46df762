/* Makes names for experiments that have none. The names are short and easy to say. */

#include "core/config/expconf.h"

static const char *const manner[] = {
    "ably",    "boldly",  "brightly", "calmly", "cheerily", "clearly", "deftly",   "duly",    "eagerly", "easily",
    "evenly",  "fairly",  "firmly",   "fondly", "freely",   "gently",  "gladly",   "keenly",  "kindly",  "lightly",
    "lively",  "merrily", "mildly",   "neatly", "nimbly",   "openly",  "plainly",  "proudly", "quickly", "quietly",
    "readily", "rightly", "safely",   "slowly", "smartly",  "softly",  "steadily", "surely",  "swiftly", "truly",
    "warmly",  "wholly",  "wisely",   "amply",  "aptly",    "briskly", "finely",   "justly",
};
static const char *const quality[] = {
    "amber",  "azure",  "brave", "bright", "calm",   "clear",  "clever", "cosmic", "crisp",  "curious",
    "daring", "early",  "fair",  "fresh",  "gentle", "golden", "grand",  "green",  "happy",  "honest",
    "humble", "jolly",  "keen",  "light",  "lucky",  "mellow", "merry",  "modest", "noble",  "patient",
    "plucky", "polite", "proud", "quiet",  "rapid",  "ready",  "rosy",   "silver", "smooth", "solid",
    "sound",  "sunny",  "sweet", "tidy",   "trusty", "vivid",  "warm",   "witty",
};
static const char *const creature[] = {
    "badger",  "beaver", "bison",  "camel",   "civet",  "cobra",  "condor", "crane",  "curlew", "dingo",
    "dolphin", "eagle",  "egret",  "falcon",  "ferret", "finch",  "gecko",  "gibbon", "heron",  "ibex",
    "impala",  "jackal", "jaguar", "kestrel", "koala",  "lemur",  "linnet", "lynx",   "marmot", "marten",
    "narwhal", "newt",   "ocelot", "osprey",  "otter",  "panda",  "puffin", "quail",  "raven",  "robin",
    "salmon",  "seal",   "shrew",  "stork",   "tapir",  "toucan", "walrus", "wombat",
};

#define PICK(list, r) list[(r) % (sizeof(list) / sizeof(*list))]

void expconf_pet_name(const uint32_t random[3], char *ret, size_t cap)
{
    snprintf(ret, cap, "%s-%s-%s", PICK(manner, random[0]), PICK(quality, random[1]), PICK(creature, random[2]));
}
