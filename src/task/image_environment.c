#include "task/image_environment.h"

#include <stdbool.h>
#include <string.h>

#include "common/task/taskspec.h"

static size_t count(char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

/* The value of the variable that `entry` begins with the name of; NULL if the list has none. */
static const char *value_of(char *const *list, const char *entry)
{
    size_t n = strcspn(entry, "=");
    for (; *list; list++)
        if (strncmp(*list, entry, n) == 0 && (*list)[n] == '=')
            return *list + n + 1;
    return NULL;
}

/* Apptainer sets the others for whoever runs a command. */
static bool is_of_the_image(const char *entry)
{
    static const char *const others[] = {"APPTAINER_",
                                         "SINGULARITY_",
                                         "HOME=",
                                         "PWD=",
                                         "OLDPWD=",
                                         "SHLVL=",
                                         "_=",
                                         "PS1=",
                                         "USER=",
                                         "USER_PATH=",
                                         "LOGNAME=",
                                         "PROMPT_COMMAND=",
                                         "DETERMINED_CONTAINER="};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strncmp(entry, others[i], strlen(others[i])) == 0)
            return false;
    return strchr(entry, '=') != NULL;
}

/* Puts the image's value into the order's. A list of directories has no empty part afterwards, which would mean the
 * working directory. Returns NULL if nothing is left. */
static char *resolve(char *const *image, char *entry, struct arena *a)
{
    char *at = strstr(entry, TASKSPEC_OF_IMAGE);
    if (!at)
        return entry;
    const char *value = value_of(image, entry), *rest = at + strlen(TASKSPEC_OF_IMAGE);
    if (!value || !*value)
        value = strncmp(entry, "PATH=", 5) == 0 ? TASKSPEC_DEFAULT_PATH : "";
    int before = (int)(at - entry);
    if (!*value && before > 0 && at[-1] == ':')
        before--;
    char *ret = arena_printf(a, "%.*s%s%s", before, entry, value, rest);
    return ret[strcspn(ret, "=") + 1] ? ret : NULL;
}

char **image_environment(char *const *image, char *const *order, struct arena *a)
{
    char **ret = arena_array(a, char *, count(image) + count(order) + 1);
    size_t n = 0;
    for (char *const *entry = order; *entry; entry++) {
        char *resolved = resolve(image, *entry, a);
        if (resolved)
            ret[n++] = resolved;
    }
    for (char *const *entry = image; *entry; entry++)
        if (is_of_the_image(*entry) && !value_of(order, *entry))
            ret[n++] = *entry;
    return ret;
}
