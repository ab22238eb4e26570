/* Convolutions of square filters of 3 to 5 taps by Winograd's algorithm: a tile of results as products at
   36 points, in place of 9 to 25 products for each result. */

#ifndef TFX_WINOGRAD_H
#define TFX_WINOGRAD_H

#include "windows.h"

/* Whether they take less time than sums of products, by what was measured. */
int winograd_pays(const Convolution *does);

/* What they return beside what the functions of windows.h do: a result is not finite. Then those have to
   compute it, for a number that is not finite spreads to all of its tile. */
enum { NOT_FINITE = -2 };

int winograd_convolve(const Convolution *does, const float *x, const float *w,
                      const float *bias, int positive, float *y, const Host *host);
/* Whether a convolution can be computed at points; with a filter that is there already; and the filter
   that panels at points were made of. */
int fits_points(const Convolution *does);
int winograd_at_points(const Convolution *does, const float *x, const FilterAtPoints *filter,
                       float *y, const Host *host);
void winograd_filter(const Convolution *does, const float *panels, float *w);
/* ``turned`` is the convolution of ``dy`` whose results are ``dx``, and whose filter is ``w`` turned around. */
int winograd_input_gradient(const Convolution *turned, const float *dy, const float *w,
                            float *dx, const Host *host);
int winograd_filter_gradient(const Convolution *does, const float *x, const float *dy,
                             float *dw, const Host *host);

#endif
