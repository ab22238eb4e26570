/* Products of two matrices. Nothing here knows of ONNX Runtime. */

#ifndef TFX_MATMUL_H
#define TFX_MATMUL_H

#include "program.h"

/* How many columns of a matrix there are in a panel, if it is packed before it comes here:
   ``[panels, inner, width]``, with zeros behind the last column. */
int64_t product_panel_width(void);

/* ``to[rows, columns] = left[rows, inner] * right[inner, columns] + bias[columns]``, 0 in place
   of what is below if it is to be positive. A matrix that is turned lies the other way round:
   ``left[inner, rows]``, ``right[columns, inner]``. The bias may be NULL. */
typedef struct {
  int64_t rows, inner, columns;
  int left_is_turned, right_is_turned, right_is_packed, is_positive;
  int64_t threads; /* for so many there is to be something to do */
} Matmul;

/* Results do not depend on how many threads there are, nor those of a row on how many others
   there are, if there are more than a few and the left matrix is not turned. Returns 0, or what
   a function of the host returned, or -1 if there is no memory left. */
int multiply_matrices(const Matmul *does, const float *left, const float *right,
                      const float *bias, float *to, const Host *host);

#endif
