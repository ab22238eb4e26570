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
  f32 factor;          /* of the scores, before the mask */
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

/* Where a row of each operand begins, and its step along the last axis. */
typedef struct {
  const f32 *x;
  const char *mask;
  i64 x_step, mask_step;
} Row;

/* What rows are taken in: the last group is filled up with what counts for nothing. */
enum { GROUP = 32 };

/* Stages of a row. */
typedef struct {
  /* Scores ``begin`` to ``end`` as the mask leaves them, filled up; ``to`` may be where they are. Returns how
     many groups these are. */
  i64 (*load)(const Softmax *does, const Row *row, i64 begin, i64 end, f32 *to);
  /* The largest of these and of one more. */
  f32 (*largest)(const f32 *x, i64 groups, f32 most);
  /* ``e**(x - most)`` in place of x, and their sum. */
  f64 (*exponentials)(f32 *x, i64 groups, f32 most);
  /* ``to[n]``: x times a number. */
  void (*multiply)(const f32 *x, f32 by, f32 *to, i64 n);
  /* A row of the gradient from one of y and dy; ``to`` may be either. */
  void (*slopes)(const SoftmaxSlope *does, const f32 *y, const f32 *dy, const unsigned char *mask,
                 i64 n, f32 *to);
} Rows;

/* Those for the processor at hand. */
const Rows *best_rows(void);

/* Both return 0, or what a function of the host returned. ``to`` may be the scores, or ``dy``. */
int softmax(const Softmax *does, f32 *to, const Host *host);
int softmax_gradient(const SoftmaxSlope *does, f32 *to, const Host *host);

#endif
