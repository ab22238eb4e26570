/* The distinct numbers of a vector, in the order of their first places. Nothing here knows of ONNX Runtime. */

#ifndef TFX_DISTINCT_H
#define TFX_DISTINCT_H

#include "numbers.h"

/* The distinct ones found so far: where the first of each stands, and how many there are of each. */
typedef struct {
  i64 *first, *times;
  i64 count, room;
} Distinct;

/* Find those of ``x[n]`` of a type of ONNX's, and of which distinct one each is: ``number[n]``. 0.0 and
   -0.0 are one, each NaN is distinct. Returns 0, or -1 if there is no memory left; either way ``found``, which
   has been empty, is given to ``free_distinct``. */
int find_distinct(const void *x, int type, i64 n, Distinct *found, i64 *number);

void free_distinct(Distinct *found);

#endif
