/* Apptainer, or Singularity, from which it comes and which takes the same command line. It has no service: each
 * container is a process tree below one command, which ends with it. This file knows the command line; who runs the
 * commands is agent/task/runtime_apptainer.c. Tests run these commands with a stand-in (tests/support/apptainer.py). */
#ifndef DET_AGENT_ENGINE_APPTAINER_H
#define DET_AGENT_ENGINE_APPTAINER_H

#include "agent/engine/container.h"
#include "common/base/arena.h"
#include "common/base/error.h"

/* A variable of the environment of a container's command and of its first process. Its value is the path of the task's
 * directory. By this variable an agent finds the processes that an agent before it, which was killed, has left. */
#define APPTAINER_MARK "DETERMINED_CONTAINER"

/* Where an image is. */
struct apptainer_image {
    const char *path;      /* the file or directory that is run; for a reference, its place among the agent's images */
    const char *reference; /* what it is pulled from, "docker://debian:12"; NULL: it is a file of the machine */
};

/* Reads environment.image: the absolute path of an image file (.sif) or of an unpacked image, a reference with a scheme
 * (docker, oras, library), or a name without one, which is Docker's. `images` is the directory of pulled images. */
int apptainer_image_read(const char *name, const char *images, struct arena *a, struct apptainer_image *ret,
                         struct error *err);

/* The path of the program on PATH; NULL if there is none. */
const char *apptainer_find(const char *name, const char *path, struct arena *a);

/* Checks that the command line can say what the order asks for. ERR_INVALID: it cannot. */
int apptainer_check(const struct container_order *o, struct error *err);
/* The words of the command that runs o->argv in a container of o->image, a path; in_user_namespace: without its program
 * that is setuid. `mark` is the value of APPTAINER_MARK. */
char **apptainer_exec_words(const char *program, const struct container_order *o, bool in_user_namespace,
                            const char *mark, struct arena *a);
char **apptainer_pull_words(const char *program, const char *file, const char *reference, struct arena *a);

/* Credentials of a registry, {"username": …, "password": …}, as variables for a pull: "NAME=value", none or two. */
size_t apptainer_credentials(const char *name, const char *registry_auth, struct arena *a, const char *ret[2]);

#endif
