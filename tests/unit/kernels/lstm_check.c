/* LSTMs of random sizes and their gradients, compared with steps one by one in float64. Memory of tensors
   ends with them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

/* Batches in several parts, which are run as threads run them even if they are small. */
#define ROWS_OF_PART 3
#define FEW_PRODUCTS 20
#define IN_A_ROW 7

#include "tiles.c"

#include "lstm.c"

static f32 *perhaps(i64 count) { return rand() % 2 ? numbers(count) : NULL; }

static f64 at(const f32 *tensor, i64 place) { return tensor ? (f64)tensor[place] : 0; }

static f64 logistic(f64 x) { return 1 / (1 + exp(-x)); }

/* What is expected: states, cells and gates of all steps. */
typedef struct {
  f64 *y, *cells, *gates;
} Expected;

static void forwards(const Lstm *of, const Expected *to) {
  const i64 u = of->units;
  for (i64 t = 0; t < of->time; t++)
    for (i64 b = 0; b < of->batch; b++)
      for (i64 j = 0; j < u; j++) {
        const i64 row = t * of->batch + b;
        f64 a[GATES];
        for (i64 gate = 0; gate < GATES; gate++) {
          const i64 g = gate * u + j;
          a[gate] = at(of->bias, g) + at(of->bias, GATES * u + g);
          for (i64 k = 0; k < of->inputs; k++)
            a[gate] += (f64)of->w[g * of->inputs + k] * (f64)of->x[row * of->inputs + k];
          for (i64 k = 0; k < u; k++)
            a[gate] += (f64)of->r[g * u + k] * (t ? to->y[(row - of->batch) * u + k]
                                                  : at(of->h, b * u + k));
          a[gate] = gate == 3 ? tanh(a[gate]) : logistic(a[gate]);
          to->gates[row * GATES * u + g] = a[gate];
        }
        const f64 before = t ? to->cells[(row - of->batch) * u + j] : at(of->c, b * u + j);
        to->cells[row * u + j] = a[2] * before + a[0] * a[3];
        to->y[row * u + j] = a[1] * tanh(to->cells[row * u + j]);
      }
}

/* da, and dh and dc, which are given as those of the last state and cell. */
static void backwards(const Lstm *of, const Expected *found, const f32 *dy, f64 *da, f64 *dh,
                      f64 *dc) {
  const i64 u = of->units;
  for (i64 t = of->time; t-- > 0;)
    for (i64 b = 0; b < of->batch; b++) {
      const i64 row = t * of->batch + b;
      f64 *slopes = da + row * GATES * u;
      for (i64 j = 0; j < u; j++) {
        const f64 *gates = found->gates + row * GATES * u + j;
        const f64 i = gates[0], o = gates[u], f = gates[2 * u], g = gates[3 * u];
        const f64 before = t ? found->cells[(row - of->batch) * u + j] : at(of->c, b * u + j);
        const f64 shown = tanh(found->cells[row * u + j]);
        const f64 d = dh[b * u + j] + at(dy, row * u + j);
        const f64 cell = dc[b * u + j] + d * o * (1 - shown * shown);
        slopes[j] = cell * g * i * (1 - i), slopes[u + j] = d * shown * o * (1 - o);
        slopes[2 * u + j] = cell * before * f * (1 - f), slopes[3 * u + j] = cell * i * (1 - g * g);
        dc[b * u + j] = cell * f;
      }
      for (i64 j = 0; j < u; j++) {
        dh[b * u + j] = 0;
        for (i64 g = 0; g < GATES * u; g++)
          dh[b * u + j] += slopes[g] * (f64)of->r[g * u + j];
      }
    }
}

static int is_wrong(const Lstm *of) {
  const i64 rows = of->time * of->batch, u = of->units, state = of->batch * u;
  f32 *y = numbers(rows * u), *last_h = numbers(state), *last_c = numbers(state);
  f32 *gates = numbers(rows * GATES * u), *cells = numbers(rows * u);
  f32 *again = numbers(rows * GATES * u), *again_cells = numbers(rows * u);
  f32 *dy = perhaps(rows * u), *dh = perhaps(state), *dc = perhaps(state);
  f32 *dh_first = numbers(state), *dc_first = numbers(state);
  const Expected wanted = {zeros(rows * u), zeros(rows * u), zeros(rows * GATES * u)};
  f64 *da = zeros(rows * GATES * u), *h = zeros(state), *c = zeros(state);
  const LstmResults to = {y, last_h, last_c, gates, cells};
  int wrong = lstm(of, &to, &plain);
  forwards(of, &wanted);
  wrong |= differ("states", y, wanted.y, rows * u) ||
           differ("cells", cells, wanted.cells, rows * u) ||
           differ("gates", gates, wanted.gates, rows * GATES * u);
  for (i64 i = 0; i < state; i++) {
    h[i] = of->time ? wanted.y[(rows - of->batch) * u + i] : at(of->h, i);
    c[i] = of->time ? wanted.cells[(rows - of->batch) * u + i] : at(of->c, i);
  }
  wrong |= differ("last state", last_h, h, state) || differ("last cell", last_c, c, state);
  Lstm known = *of;
  known.states = y;
  const LstmResults kept_again = {.gates = again, .cells = again_cells};
  wrong |= lstm(&known, &kept_again, &plain);
  wrong |= differ("gates of known states", again, wanted.gates, rows * GATES * u) ||
           differ("cells of known states", again_cells, wanted.cells, rows * u);
  for (i64 i = 0; i < state; i++) h[i] = at(dh, i), c[i] = at(dc, i);
  backwards(of, &wanted, dy, da, h, c);
  const LstmKept kept = {gates, cells, dy, dh, dc};
  const LstmSlopes slopes = {rand() % 2 ? gates : again, dh_first, dc_first};
  wrong |= lstm_gradient(of, &kept, &slopes, &plain);
  wrong |= differ("gradient of gates", slopes.da, da, rows * GATES * u) ||
           differ("gradient of the first state", dh_first, h, state) ||
           differ("gradient of the first cell", dc_first, c, state);
  free(y), free(last_h), free(last_c), free(gates), free(cells), free(again), free(again_cells);
  free(dy), free(dh), free(dc), free(dh_first), free(dc_first);
  free(wanted.y), free(wanted.cells), free(wanted.gates), free(da), free(h), free(c);
  return wrong;
}

static int is_wrong_case(void) {
  Lstm of = {.time = rand() % 6, .batch = rand() % (rand() % 3 ? 5 : 16), .inputs = rand() % 9,
             .units = rand() % (rand() % 4 ? 9 : 70)};
  f32 *x = numbers(of.time * of.batch * of.inputs), *w = numbers(GATES * of.units * of.inputs);
  f32 *r = numbers(GATES * of.units * of.units), *bias = perhaps(2 * GATES * of.units);
  f32 *h = perhaps(of.batch * of.units), *c = perhaps(of.batch * of.units);
  of.x = x, of.w = w, of.r = r, of.bias = bias, of.h = h, of.c = c;
  const int wrong = is_wrong(&of);
  free(x), free(w), free(r), free(bias), free(h), free(c);
  return wrong;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
