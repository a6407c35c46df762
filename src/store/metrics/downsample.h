/* Within the store: chooses a few points that draw the same line as many. */
#ifndef DET_STORE_METRICS_DOWNSAMPLE_H
#define DET_STORE_METRICS_DOWNSAMPLE_H

#include <stddef.h>

/* Chooses at most `max` of n points, in order. ret_kept, which has room for max, receives their places, and their
 * number is returned. The algorithm is Largest-Triangle-Three-Buckets (Steinarsson, "Downsampling Time Series for
 * Visual Representation", 2013, §4.2). It keeps both ends, and of each bucket between them the point that spans the
 * largest triangle with the point kept before and the mean of the bucket after. Two things go beyond the paper: the
 * least and the greatest value are always among the points (from max = 5), and NaN and the infinities are chosen
 * only where a bucket has nothing else. x must not decrease. */
size_t downsample(const double *x, const double *y, size_t n, size_t max, size_t *ret_kept);

#endif
