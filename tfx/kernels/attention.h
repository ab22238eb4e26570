/* Attention: a softmax of the products of queries with keys, times values. Scores are made for some
   queries at a time, and never as a whole: neither is what the gradient needs of them. Nothing here knows of
   ONNX Runtime. */

#ifndef TFX_ATTENTION_H
#define TFX_ATTENTION_H

#include "softmax.h"

/* ``outer`` axes, along which attention is independent, and two more of each tensor: queries, keys and values
   are ``[outer, queries, size]``, ``[outer, keys, size]`` and ``[outer, keys, width]``, the mask
   ``[outer, queries, keys]``. ``softmax`` says how many axes there are, the sizes of the mask, and what it
   does; its scores are not looked at. */
typedef struct {
  Softmax softmax;
  i64 size, width;
  Spread q, k, v;
} Attention;

/* What a row of scores needs to become a softmax again: its largest score, and 1 over the sum. */
enum { KEPT = 2 };

/* Write ``to[outer, queries, width]`` and ``kept[outer, queries, KEPT]``. Returns 0, or what a function of the
   host returned, or -1 if there is no memory left. */
int attention(const Attention *does, const Spread *to, f32 *kept, const Host *host);

/* The gradients with respect to queries, keys and values, from that with respect to the results and what was
   kept; no axis of these is broadcast. Returns likewise. */
int attention_gradient(const Attention *does, const f32 *kept, const Spread *slopes, const Spread *dq,
                       const Spread *dk, const Spread *dv, const Host *host);

/* Whether memory could hold what is made on the way. */
int is_possible_attention(const Attention *does);

#endif
