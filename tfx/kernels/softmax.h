/* Softmax along the last axis behind a mask, and its gradient: one row after the other, each of which
   stays in the first cache. Nothing here knows of ONNX Runtime. */

#ifndef TFX_SOFTMAX_H
#define TFX_SOFTMAX_H

#include "numbers.h"
#include "program.h"

/* What a mask does to scores: nothing; where it is true they count, and are ``fill`` elsewhere; where it is
   false they count; it is added to them. */
enum { NO_MASK, COUNTS_TRUE, COUNTS_FALSE, ADDED };
/* What the gradient's result is multiplied or divided by, if anything. */
enum { NOT_SCALED, MULTIPLIED, DIVIDED };

/* A tensor, and how many of its elements lie between two along each axis of the result: 0 along those where
   it has size 1. */
typedef struct {
  const void *data;
  i64 steps[MAX_RANK];
} Spread;

typedef struct {
  int rank;
  i64 sizes[MAX_RANK]; /* of the result */
  int masks;           /* one of the above */
  Spread scores;       /* float32 */
  Spread mask;         /* bool; float32 if it is added */
  f32 fill;
} Softmax;

typedef struct {
  int rank;
  i64 sizes[MAX_RANK];
  int masks; /* gradients are 0 where scores do not count */
  const f32 *y, *dy;
  Spread mask;
  int scales;
  f32 scale;
} SoftmaxSlope;

/* Both return 0, or what a function of the host returned. ``to`` may be the scores, or ``dy``. */
int softmax(const Softmax *does, f32 *to, const Host *host);
int softmax_gradient(const SoftmaxSlope *does, f32 *to, const Host *host);

#endif
