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

/* How what is there and a row become one. */
typedef enum { BY_SUM, BY_PRODUCT, BY_LARGEST, BY_LEAST, WAYS } Way;

/* Blocks of rows ``x[blocks, count, width]`` of numbers of ONNX's type, and to which row each is added: an index of
   int32, or of int64 if it is wide, for each row of each block. From one row, one index, or one block to the
   next it is so many elements, 0 where there is one for all. An index below 0 counts from the end. If
   ``number_step`` is 1 and not 0, each number of a row has an index. What is done in place of adding says ``way``: all
   for floating numbers: where one is a NaN, the larger or smaller one is the row's. */
typedef struct {
  const void *x, *index;
  int type, is_wide;
  Way way;
  int64_t x_step, x_block_step, step, block_step, number_step, blocks, count, width;
} AddedRows;

/* Add them one after the other to the first columns of ``to[blocks, rows, columns]``, of which there are at
   least as many; integers wrap around. Returns 0, or what a function of the host returned, or -1 if there is
   no such row, before anything is added. */
int add_rows(const AddedRows *does, int64_t rows, int64_t columns, void *to, const Host *host);

#endif
