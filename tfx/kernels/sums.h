/* Sums over all axes but the last one, over the last one, and of rows by an index. Nothing here knows of ONNX Runtime. */

#ifndef TFX_SUMS_H
#define TFX_SUMS_H

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

/* ``sums[rows]`` likewise: of each row of x, or of its products with y. */
int sum_rows(const float *x, const float *y, int64_t rows, int64_t columns, double divisor, float *sums,
             const Host *host);

/* Rows ``x[count, width]``, and where each is added: an index of int32, or of int64 if it is wide, in which that
   of the next row stands a step further, 0 if all have the same. One below 0 counts from the end. */
typedef struct {
  const float *x;
  const void *index;
  int is_wide;
  int64_t step, count, width;
} AddedRows;

/* Add them one after the other to the first columns of ``to[rows, columns]``, of which there are at least as
   many. Returns 0, or what a function of the host returned, or -1 if there is no such row, before anything is
   added. */
int add_rows(const AddedRows *does, int64_t rows, int64_t columns, float *to, const Host *host);

#endif
