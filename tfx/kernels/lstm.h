/* A layer of memory cells, the operator ``LSTM`` of ONNX with its usual activations, and its gradient.
   Nothing here knows of ONNX Runtime. All numbers are float32; gates stand in ONNX's order: input,
   output, forget, cell. */

#ifndef TFX_LSTM_H
#define TFX_LSTM_H

#include "program.h"

/* NULL is what there is not: biases and the first state and cell are 0 then. Weights that never change
   may come in panels of ``lstm_panel_width`` columns, [parts of units, 4, 1 + inner, width]: in front of
   each panel of ``w`` is the bias, of ``r`` zeros, and behind the last column there are zeros. Where all
   inputs are rows of one table, what comes from each of them may be known: ``w`` is that then. */
typedef struct {
  int64_t time, batch, inputs, units;
  int64_t threads; /* about how many there are; results are the same whatever it says */
  int is_packed;
  const float *x;      /* [time, batch, inputs] */
  const int64_t *rows; /* [time, batch], in place of them: which row of the table, from its end if negative */
  int64_t table;       /* how many rows it has */
  const float *w, *r;  /* [4 units, inputs] and [4 units, units], or panels; or [table, 4 units], the bias in it */
  const float *bias;   /* [8 units]: of the inputs, then of the state */
  const float *h, *c;  /* [batch, units], from before the first step */
  const float *states; /* [time, batch, units]: behind each step, if they are known already */
} Lstm;

/* What it computes: the state behind each step, the last state and cell, and for the gradient the
   activated gates [time, batch, 4 units] and the cell behind each step, both NULL where nobody wants
   them. If the states are known, gates and cells alone, of all steps at once. */
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

/* Whether each row is one of the table. */
int has_all_rows(const Lstm *does);

/* Columns of a panel. */
int64_t lstm_panel_width(void);

/* Each returns 0, or what a function of the host returned, or -1 if there is no memory left. Results do
   not depend on how many threads there are. */
int lstm(const Lstm *does, const LstmResults *to, const Host *host);
int lstm_gradient(const Lstm *does, const LstmKept *kept, const LstmSlopes *to,
                  const Host *host);

#endif
