/* A layer of memory cells, the operator ``LSTM`` of ONNX with its usual activations, and its gradient.
   Nothing here knows of ONNX Runtime. All numbers are float32; gates stand in ONNX's order: input,
   output, forget, cell. */

#ifndef TFX_LSTM_H
#define TFX_LSTM_H

#include "program.h"

/* NULL is what there is not: biases and the first state and cell are 0 then. */
typedef struct {
  int64_t time, batch, inputs, units;
  const float *x;      /* [time, batch, inputs] */
  const float *w, *r;  /* [4 units, inputs] and [4 units, units] */
  const float *bias;   /* [8 units]: of the inputs, then of the state */
  const float *h, *c;  /* [batch, units], from before the first step */
  const float *states; /* [time, batch, units]: behind each step, if they are known already */
} Lstm;

/* What it computes: the state behind each step, the last state and cell, and for the gradient the
   activated gates [time, batch, 4 units] and the cell behind each step. If the states are known, gates
   and cells alone, of all steps at once. */
typedef struct {
  float *y, *last_h, *last_c, *gates, *cells;
} LstmResults;

/* What its gradient is computed from besides ``r`` and ``c``: what was kept, and the gradients with
   respect to the states, the last state and the last cell, NULL where there is none. */
typedef struct {
  const float *gates, *cells, *dy, *dh, *dc;
} LstmKept;

/* With respect to what goes into the gates, [time, batch, 4 units], which may stand where the gates
   stand, and to the first state and cell. */
typedef struct {
  float *da, *dh, *dc;
} LstmSlopes;

/* Whether no count of numbers or bytes that the functions below make of these sizes overflows, whatever
   of it is empty; ask before anything else. */
int is_possible_lstm(const Lstm *does);

/* Each returns 0, or what a function of the host returned, or -1 if there is no memory left. Results do
   not depend on how many threads there are. */
int lstm(const Lstm *does, const LstmResults *to, const Host *host);
int lstm_gradient(const Lstm *does, const LstmKept *kept, const LstmSlopes *to,
                  const Host *host);

#endif
