/* The variables of a task in a container, where only somebody within it sees those of its image: the image's, and over
 * them the order's. */
#ifndef DET_TASK_IMAGE_ENVIRONMENT_H
#define DET_TASK_IMAGE_ENVIRONMENT_H

#include "common/base/arena.h"

/* `image` is the environment that the first process of the container was started with. What the container's command
 * itself has put there is left out, and so is HOME. TASKSPEC_OF_IMAGE in a value of the order becomes the image's value
 * of that variable. */
char **image_environment(char *const *image, char *const *order, struct arena *a);

#endif
