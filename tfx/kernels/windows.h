/* Convolutions, their gradients and pools over images with the channels last. Nothing here knows of ONNX
   Runtime. All numbers are float32; tensors stand in memory one row behind the other. */

#ifndef TFX_WINDOWS_H
#define TFX_WINDOWS_H

#include "program.h"

/* Where a window of ``taps`` stands over an image: at each of ``rows`` by ``columns`` places, of which
   the first is ``before`` the image's first number. */
typedef struct {
  int64_t taps[2], strides[2], dilations[2], before[2];
} Window;

typedef struct {
  int64_t batch, sizes[2], channels; /* of the images */
  int64_t counts[2], filters;        /* of the places */
  Window window;
} Convolution;

/* Whether no count of numbers or bytes that the functions below make of these sizes overflows, whatever
   of it is empty; ask before anything else. What a machine can hold is possible, if it has not far more
   zeros around it than numbers. ``of_input`` says that it is for ``input_gradient``. */
int is_possible(const Convolution *does, int is_depthwise, int of_input);

/* Each returns 0, or what a function of the host returned, or -1 if there is no memory left.

   ``convolve`` writes ``y[n, rows, columns, filters]`` from ``x[n, height, width, channels]`` and
   ``w[kernel height, kernel width, channels, filters]``, and ``bias[filters]`` unless that is NULL, with 0
   in place of what is below if it is to be ``positive``; the others one of these from the gradient with
   respect to ``y``. */
int convolve(const Convolution *does, const float *x, const float *w, const float *bias,
             int positive, float *y, const Host *host);
int input_gradient(const Convolution *does, const float *dy, const float *w, float *dx,
                   const Host *host);
int filter_gradient(const Convolution *does, const float *x, const float *dy, float *dw,
                    const Host *host);

/* A filter that never changes, at the points of winograd.c already: at each in panels of so many columns as a
   tile has, with the zeros in front that sums begin with. ``added`` is an image like the result, or NULL. */
typedef struct {
  const float *panels, *bias, *added;
  int positive;
} FilterAtPoints;

int can_be_at_points(const Convolution *does);
int convolve_at_points(const Convolution *does, const float *x, const FilterAtPoints *filter,
                       float *y, const Host *host);

/* The same where each channel has a filter of its own, ``w[kernel height, kernel width, channels, 1]``. */
int depthwise(const Convolution *does, const float *x, const float *w, float *y,
              const Host *host);
int depthwise_input_gradient(const Convolution *does, const float *dy, const float *w,
                             float *dx, const Host *host);
int depthwise_filter_gradient(const Convolution *does, const float *x, const float *dy,
                              float *dw, const Host *host);

/* The largest number in each window, of each channel; NaN where one is NaN. The gradient goes to the
   first of equal ones. ``filters`` is not used. */
int pool(const Convolution *does, const float *x, float *y, const Host *host);
int pool_gradient(const Convolution *does, const float *x, const float *y, const float *dy,
                  float *dx, const Host *host);

#endif
