/* LSTMs of random sizes and their gradients, compared with steps one by one in float64. Memory of tensors
   ends with them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

/* Batches in several parts, which are run as threads run them even if they are small. */
#define ROWS_OF_PART 3
#define FEW_PRODUCTS 20
#define FEW_ROWS 1
#define UNITS_BY_ROWS 40
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

/* Weights in panels: a bias in front or zeros, zeros behind the last column. */
static f32 *in_panels(const Lstm *of, const f32 *from, i64 inner, const f32 *bias) {
  const i64 width = lstm_panel_width(), parts = (of->units + width - 1) / width;
  f32 *panels = numbers(parts * GATES * (1 + inner) * width);
  for (i64 panel = 0; panel < parts * GATES; panel++)
    for (i64 k = 0; k <= inner; k++)
      for (i64 j = 0; j < width; j++) {
        const i64 unit = panel / GATES * width + j, row = panel % GATES * of->units + unit;
        f32 *to = &panels[(panel * (1 + inner) + k) * width + j];
        if (unit >= of->units)
          *to = 0;
        else
          *to = k ? from[row * inner + k - 1] : bias ? bias[row] + bias[GATES * of->units + row] : 0;
      }
  return panels;
}

/* The states of weights in panels, without gates and cells: the same to the bit. */
static int differs_in_panels(const Lstm *of, const LstmResults *wanted) {
  const i64 count = of->time * of->batch * of->units, state = of->batch * of->units;
  f32 *y = numbers(count), *last_h = numbers(state), *last_c = numbers(state);
  f32 *w = in_panels(of, of->w, of->inputs, of->bias), *r = in_panels(of, of->r, of->units, NULL);
  Lstm packed = *of;
  packed.is_packed = 1, packed.w = w, packed.r = r, packed.bias = NULL;
  const LstmResults to = {.y = y, .last_h = last_h, .last_c = last_c};
  int wrong = lstm(&packed, &to, &plain);
  wrong |= memcmp(y, wanted->y, (size_t)count * sizeof *y) != 0 ||
           memcmp(last_h, wanted->last_h, (size_t)state * sizeof *y) != 0 ||
           memcmp(last_c, wanted->last_c, (size_t)state * sizeof *y) != 0;
  if (wrong) printf("weights in panels give other states\n");
  free(y), free(last_h), free(last_c), free(w), free(r);
  return wrong;
}

/* Inputs out of a table: what comes from each of its rows is known. */
static int differs_of_table(const Lstm *of) {
  const i64 rows = of->time * of->batch, u = of->units, state = of->batch * u;
  const i64 table = 1 + below(4);
  f32 *w = numbers(table * GATES * u), *r = in_panels(of, of->r, u, NULL), *y = numbers(rows * u);
  f32 *last_h = numbers(state), *last_c = numbers(state);
  f32 *x = numbers(rows * table), *by = numbers(GATES * u * table);
  i64 *which = space(rows * (i64)sizeof *which);
  const Expected wanted = {zeros(rows * u), zeros(rows * u), zeros(rows * GATES * u)};
  for (i64 i = 0; i < rows; i++) {
    which[i] = below(2 * table) - table;
    for (i64 k = 0; k < table; k++) x[i * table + k] = k == (which[i] + table) % table;
  }
  for (i64 g = 0; g < GATES * u; g++)
    for (i64 k = 0; k < table; k++) by[g * table + k] = w[k * GATES * u + g];
  Lstm as_product = *of, looked_up = *of;
  as_product.inputs = table, as_product.x = x, as_product.w = by, as_product.bias = NULL;
  looked_up.is_packed = 1, looked_up.w = w, looked_up.r = r, looked_up.bias = NULL;
  looked_up.inputs = 0, looked_up.x = NULL, looked_up.rows = which, looked_up.table = table;
  const LstmResults to = {.y = y, .last_h = last_h, .last_c = last_c};
  int wrong = !has_all_rows(&looked_up) || lstm(&looked_up, &to, &plain);
  forwards(&as_product, &wanted);
  wrong |= differ("states of a table", y, wanted.y, rows * u);
  if (rows) {
    which[below(rows)] = below(2) ? table : -table - 1;
    wrong |= has_all_rows(&looked_up);
  }
  free(w), free(r), free(y), free(last_h), free(last_c), free(x), free(by), free(which);
  free(wanted.y), free(wanted.cells), free(wanted.gates);
  return wrong;
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
  wrong |= differs_in_panels(of, &to) || differs_of_table(of);
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
             .units = rand() % (rand() % 4 ? 9 : 70), .threads = rand() % 4};
  f32 *x = numbers(of.time * of.batch * of.inputs), *w = numbers(GATES * of.units * of.inputs);
  f32 *r = numbers(GATES * of.units * of.units), *bias = perhaps(2 * GATES * of.units);
  f32 *h = perhaps(of.batch * of.units), *c = perhaps(of.batch * of.units);
  of.x = x, of.w = w, of.r = r, of.bias = bias, of.h = h, of.c = c;
  const int wrong = is_wrong(&of);
  free(x), free(w), free(r), free(bias), free(h), free(c);
  return wrong;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
