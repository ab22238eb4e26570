/* Products of matrices of integers, which wrap around. Nothing here knows of ONNX Runtime. */

#ifndef TFX_INTEGER_PRODUCTS_H
#define TFX_INTEGER_PRODUCTS_H

#include "numbers.h"
#include "program.h"

/* ``to[count, rows, columns]``: the matrices ``left[count, rows, inner]``, of 8 bytes a number if they are wide and of
   4 else, times ``right[count, inner, columns]``. */
typedef struct {
  int is_wide;
  i64 count, rows, inner, columns;
  const void *left, *right;
  void *to;
} IntegerProduct;

/* Returns 0, or what a function of the host returned. */
int multiply_integers(const IntegerProduct *does, const Host *host);

#endif
