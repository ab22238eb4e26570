/* Sums over all axes but the last one. Nothing here knows of ONNX Runtime. */

#ifndef TFX_COLUMNS_H
#define TFX_COLUMNS_H

#include "program.h"

/* What is added up: ``x[rows, columns]``, or the products of its elements with those of ``y``, or these
   of ``x - a`` and ``y - b``, where a and b have a number for each column. NULL is what there is not. */
typedef struct {
  const float *x, *y, *a, *b;
} Columns;

/* ``sums[columns]``, divided by a number. They do not depend on how many threads there are. Returns 0, or
   what a function of the host returned, or -1 if there is no memory left. */
int sum_columns(const Columns *of, int64_t rows, int64_t columns, double divisor, float *sums,
                const Host *host);

#endif
