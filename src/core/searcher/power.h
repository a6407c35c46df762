/* base ^ y for a positive base, made of steps whose results are the same on every machine and in every C library.
 *
 * pow() of the C library is closer to the truth by a bit or two, but differs between libraries, and the samples of log
 * hyperparameters in contract/cases/searcher-cases.json are made this way, and are to be met to the last bit.
 * The project is built with -ffp-contract=off for the same reason: no compiler may fuse what is written as two steps.
 */
#ifndef DET_CORE_SEARCHER_POWER_H
#define DET_CORE_SEARCHER_POWER_H

double power(double base, double y);
double natural_log(double x); /* x must be positive */

#endif
