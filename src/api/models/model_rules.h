/* Rules for the names of models and of aliases. Pure functions. */
#ifndef DET_API_MODELS_MODEL_RULES_H
#define DET_API_MODELS_MODEL_RULES_H

#include "common/base/error.h"

enum { MODEL_NAME_MAX = 255, MODEL_ALIAS_MAX = 64 }; /* characters */

/* The name of a model is part of paths and names the model beside its id. So it is not blank, has no '/', does not
 * consist of digits alone, and nothing in it is invisible: no control or formatting characters, no blanks at its ends,
 * no two blanks in a row, and no combining accents, for which there are composed letters. */
int model_check_name(const char *name, struct error *err);

/* An alias stands where a number of a version may stand: it begins with a letter, and has lower-case letters, digits,
 * '.', '_' and '-'. */
int model_check_alias(const char *alias, struct error *err);

#endif
