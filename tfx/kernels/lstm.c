#include "lstm.h"
#include "tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t u32;
typedef int32_t i32;

#if defined(__GNUC__) || defined(__clang__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif
#include "functions.inc"

enum { GATES = 4 };

typedef struct {
  void (*open_gates)(f32 *gates, i64 units, const f32 (*add)[MAX_COLUMNS], const f32 *before,
                     f32 *cell, i64 n);
  void (*show_state)(const f32 *output, const f32 *cell, f32 *state, i64 n);
  void (*close_gates)(const f32 *gates, i64 units, const f32 *before, const f32 *cell,
                      const f32 *dh, f32 *dc, f32 *da, i64 n);
} Cells;

#define JOIN(name) name##_plain
#define TARGET
#include "cells.inc"
#undef JOIN
#undef TARGET
#if defined(__x86_64__) || defined(_M_X64)
#define JOIN(name) name##_avx512
#if defined(__clang__)
#define TARGET __attribute__((target("avx512f"), min_vector_width(512)))
#else
#define TARGET __attribute__((target("avx512f,prefer-vector-width=512")))
#endif
#include "cells.inc"
#else
#define cells_avx512 cells_plain
#endif

/* Rows of a batch that a part takes at a time, and what is so little that threads take longer to begin. */
#ifndef ROWS_OF_PART /* tests have less */
#define ROWS_OF_PART 96
#define FEW_PRODUCTS (1 << 18)
#endif

/* --- what both ways share ---------------------------------------------------------------------- */

int is_possible_lstm(const Lstm *does) {
  const f64 block = 64; /* more than the columns of a panel, and than the bytes of a number */
  const f64 limit = 0x1p47; /* no machine has as many bytes */
  const f64 sizes[] = {(f64)does->time, (f64)does->batch,
                       (f64)does->inputs + (f64)does->units + block,
                       (f64)does->units + block, GATES};
  const int among_rows[] = {1, 1, 1, 0, 1}, among_weights[] = {0, 0, 1, 1, 1};
  f64 rows = sizeof(f32), weights = sizeof(f32);
  for (int i = 0; i < 5; i++) {
    const f64 size = sizes[i] < 1 ? 1 : sizes[i];
    if (among_rows[i]) rows *= size;
    if (among_weights[i]) weights *= size;
  }
  return rows < limit && weights < limit;
}

/* Weights in panels of so many columns as stay in registers: in front of the rows is what sums begin
   with, behind the last column are zeros. */
typedef struct {
  const f32 *from, *bias;
  f32 *to;
  i64 inner, units, width;
} Packing;

/* The columns of a gate's units of ``from[4 units, inner]`` turned: a panel for each block of units and
   each gate. */
static void pack_turned(void *data, size_t index) {
  enum { BLOCK = 16 };
  const Packing *does = data;
  const i64 gate = (i64)index % GATES, unit = (i64)index / GATES * does->width;
  const i64 first = gate * does->units + unit, n = smaller(does->width, does->units - unit);
  f32 *to = does->to + (i64)index * (1 + does->inner) * does->width;
  memset(to, 0, (size_t)((n < does->width ? 1 + does->inner : 1) * does->width) * sizeof(f32));
  if (does->bias) {
    const f32 *bias = does->bias + first;
    for (i64 j = 0; j < n; j++) to[j] = bias[j] + bias[GATES * does->units + j];
  }
  to += does->width;
  for (i64 k = 0; k < does->inner; k += BLOCK) {
    const i64 end = smaller(k + BLOCK, does->inner);
    for (i64 j = 0; j < n; j++) {
      const f32 *from = does->from + (first + j) * does->inner;
      for (i64 i = k; i < end; i++) to[i * does->width + j] = from[i];
    }
  }
}

/* Blocks of units of ``from[inner, units]`` as they are. */
static void pack(void *data, size_t index) {
  const Packing *does = data;
  const i64 unit = (i64)index * does->width, n = smaller(does->width, does->units - unit);
  f32 *to = does->to + (i64)index * (1 + does->inner) * does->width;
  memset(to, 0, (size_t)((n < does->width ? 1 + does->inner : 1) * does->width) * sizeof(f32));
  for (i64 k = 0; k < does->inner; k++)
    memcpy(to + (1 + k) * does->width, does->from + k * does->units + unit,
           (size_t)n * sizeof(f32));
}

/* How a step is divided: into blocks of units, and these into rows of the batch. */
typedef struct {
  const Lstm *of;
  const Tiles *tiles;
  const Cells *cells;
  i64 blocks, parts; /* of units; of the batch */
} Division;

static Division divide(const Lstm *of) {
  const Tiles *tiles = best_tiles();
  return (Division){of, tiles, tiles->columns == MAX_COLUMNS ? &cells_avx512 : &cells_plain,
                    parts_of(of->units, tiles->columns), parts_of(of->batch, ROWS_OF_PART)};
}

/* The units and rows of a part. */
typedef struct {
  i64 block, unit, n, first, last;
} Part;

static Part part_of(const Division *division, size_t index) {
  const Lstm *of = division->of;
  const i64 block = (i64)index / division->parts, part = (i64)index % division->parts;
  const i64 unit = block * division->tiles->columns;
  return (Part){block, unit, smaller(division->tiles->columns, of->units - unit),
                of->batch * part / division->parts,
                of->batch * (part + 1) / division->parts};
}

/* All parts of a step, or of ``steps`` steps. */
static int run_parts(const Division *division, i64 steps, void (*part)(void *, size_t),
                     void *data, const Host *host) {
  const Lstm *of = division->of;
  const size_t count = (size_t)(division->blocks * division->parts);
  const f64 products = (f64)steps * (f64)of->batch * (f64)of->units * (f64)of->units * GATES;
  if (count > 1 && products > FEW_PRODUCTS)
    return host->in_parallel(host->context, part, count, data);
  for (size_t index = 0; index < count; index++) part(data, index);
  return 0;
}

static f32 *memory(i64 numbers) { return malloc((size_t)larger(numbers, 1) * sizeof(f32)); }

/* A row of the batch before the first step, of a tensor or of zeros. */
static const f32 *row_of(const f32 *tensor, const f32 *zeros, i64 row, i64 length) {
  return tensor ? tensor + row * length : zeros;
}

static void copy_or_clear(f32 *to, const f32 *from, i64 count) {
  if (from)
    memcpy(to, from, (size_t)count * sizeof *to);
  else
    memset(to, 0, (size_t)count * sizeof *to);
}

/* --- forwards ---------------------------------------------------------------------------------- */

typedef struct {
  Division division;
  const LstmResults *to;
  const f32 *w_panels, *r_panels, *zeros;
  const f32 *states; /* behind each step: results or known ones */
  i64 step, chunk;   /* steps whose inputs are multiplied at once */
} Forward;

/* What comes from the inputs of some steps, to where their gates will be. */
static void project(const Forward *does, const Part *part, i64 step, i64 steps) {
  const Lstm *of = does->division.of;
  const Tiles *tiles = does->division.tiles;
  const i64 height = part->last - part->first, rows = steps * height, nothing = 0;
  const i64 numbers = (1 + of->inputs) * tiles->columns;
  for (i64 gate = 0; gate < GATES; gate++) {
    const f32 *panel = does->w_panels + (part->block * GATES + gate) * numbers;
    f32 *gates = does->to->gates + gate * of->units + part->unit;
    for (i64 row = 0, count; row < rows; row += count) {
      const f32 *from[MAX_ROWS];
      f32 *to[MAX_ROWS];
      count = rows_at_once(tiles, rows - row);
      for (i64 i = 0; i < count; i++) {
        const i64 at = (step + (row + i) / height) * of->batch + part->first + (row + i) % height;
        from[i] = of->x + at * of->inputs, to[i] = gates + at * GATES * of->units;
      }
      tiles->tile[count](from, &nothing, 1, of->inputs, panel, to, (int)part->n, 0);
    }
  }
}

static void step_forward(const Forward *does, const Part *part, i64 step) {
  const Lstm *of = does->division.of;
  const Tiles *tiles = does->division.tiles;
  const Cells *cells = does->division.cells;
  const i64 units = of->units, numbers = (1 + units) * tiles->columns, nothing = 0;
  if (step % does->chunk == 0)
    project(does, part, step, smaller(does->chunk, of->time - step));
  for (i64 row = part->first, count; row < part->last; row += count) {
    const f32 *from[MAX_ROWS];
    f32 add[MAX_ROWS][GATES][MAX_COLUMNS], *to[MAX_ROWS];
    count = rows_at_once(tiles, part->last - row);
    const i64 at = step * of->batch + row, before = at - of->batch;
    for (i64 i = 0; i < count; i++)
      from[i] = step ? does->states + (before + i) * units
                     : row_of(of->h, does->zeros, row + i, units);
    for (i64 gate = 0; gate < GATES; gate++) {
      const f32 *panel = does->r_panels + (part->block * GATES + gate) * numbers;
      for (i64 i = 0; i < count; i++) to[i] = add[i][gate];
      tiles->tile[count](from, &nothing, 1, units, panel, to, (int)part->n, 0);
    }
    for (i64 i = 0; i < count; i++) {
      f32 *gates = does->to->gates + (at + i) * GATES * units + part->unit;
      f32 *cell = does->to->cells + (at + i) * units + part->unit;
      const f32 *earlier = step ? does->to->cells + (before + i) * units
                                : row_of(of->c, does->zeros, row + i, units);
      cells->open_gates(gates, units, (const f32(*)[MAX_COLUMNS])add[i], earlier + part->unit,
                        cell, part->n);
      if (!of->states)
        cells->show_state(gates + units, cell, does->to->y + (at + i) * units + part->unit,
                          part->n);
    }
  }
}

static void part_forward(void *data, size_t index) {
  const Forward *does = data;
  const Part part = part_of(&does->division, index);
  step_forward(does, &part, does->step);
}

/* All steps of a part: none waits for another part's. */
static void part_of_known(void *data, size_t index) {
  const Forward *does = data;
  const Part part = part_of(&does->division, index);
  for (i64 step = 0; step < does->division.of->time; step++) step_forward(does, &part, step);
}

static int run_forward(Forward *does, f32 *w_panels, f32 *r_panels, const Host *host) {
  const Lstm *of = does->division.of;
  const i64 width = does->division.tiles->columns, last = (of->time - 1) * of->batch * of->units;
  const size_t panels = (size_t)(does->division.blocks * GATES);
  Packing w = {of->w, of->bias, w_panels, of->inputs, of->units, width};
  Packing r = {of->r, NULL, r_panels, of->units, of->units, width};
  int failed = host->in_parallel(host->context, pack_turned, panels, &w);
  if (!failed) failed = host->in_parallel(host->context, pack_turned, panels, &r);
  if (of->states)
    return failed ? failed : run_parts(&does->division, of->time, part_of_known, does, host);
  for (does->step = 0; does->step < of->time && !failed; does->step++)
    failed = run_parts(&does->division, 1, part_forward, does, host);
  if (failed) return failed;
  copy_or_clear(does->to->last_h, of->time ? does->to->y + last : of->h, of->batch * of->units);
  copy_or_clear(does->to->last_c, of->time ? does->to->cells + last : of->c,
                of->batch * of->units);
  return 0;
}

int lstm(const Lstm *of, const LstmResults *to, const Host *host) {
  Forward does = {.division = divide(of), .to = to};
  does.states = of->states ? of->states : to->y;
  const i64 width = does.division.tiles->columns, panels = does.division.blocks * GATES;
  if (of->batch == 0 || of->units == 0) return 0;
  does.chunk = parts_of(ROWS_OF_PART, smaller(of->batch, ROWS_OF_PART));
  const i64 w_numbers = panels * width * (1 + of->inputs);
  f32 *made = memory(w_numbers + panels * width * (1 + of->units) + of->units);
  if (!made) return -1;
  f32 *r_panels = made + w_numbers, *zeros = r_panels + panels * width * (1 + of->units);
  memset(zeros, 0, (size_t)of->units * sizeof *zeros);
  does.w_panels = made, does.r_panels = r_panels, does.zeros = zeros;
  const int failed = run_forward(&does, made, r_panels, host);
  free(made);
  return failed;
}

/* --- backwards --------------------------------------------------------------------------------- */

typedef struct {
  Division division;
  const LstmKept *kept;
  const LstmSlopes *to;
  const f32 *panels, *zeros;
  i64 step; /* -1: before the first one */
} Backward;

/* The gradients of some rows of the states behind a step, or before the first one. */
static void pull_back(const Backward *does, const Part *part, i64 row, i64 count,
                      f32 *const *to) {
  const Lstm *of = does->division.of;
  const i64 units = of->units, inner = GATES * units, next = does->step + 1, nothing = 0;
  const f32 *from[MAX_ROWS];
  if (next == of->time) {
    for (i64 i = 0; i < count; i++)
      copy_or_clear(to[i], does->kept->dh ? does->kept->dh + (row + i) * units + part->unit : NULL,
                    part->n);
    return;
  }
  for (i64 i = 0; i < count; i++) from[i] = does->to->da + (next * of->batch + row + i) * inner;
  does->division.tiles->tile[count](
      from, &nothing, 1, inner,
      does->panels + part->block * (1 + inner) * does->division.tiles->columns, to, (int)part->n,
      0);
}

static void part_backward(void *data, size_t index) {
  const Backward *does = data;
  const Lstm *of = does->division.of;
  const LstmKept *kept = does->kept;
  const Part part = part_of(&does->division, index);
  const i64 units = of->units;
  for (i64 row = part.first, count; row < part.last; row += count) {
    f32 dh[MAX_ROWS][MAX_COLUMNS], *to[MAX_ROWS];
    count = rows_at_once(does->division.tiles, part.last - row);
    for (i64 i = 0; i < count; i++)
      to[i] = does->step < 0 ? does->to->dh + (row + i) * units + part.unit : dh[i];
    pull_back(does, &part, row, count, to);
    for (i64 i = 0; i < count && does->step >= 0; i++) {
      const i64 at = does->step * of->batch + row + i, place = at * units + part.unit;
      const f32 *before = does->step ? kept->cells + (at - of->batch) * units
                                     : row_of(of->c, does->zeros, row + i, units);
      if (kept->dy)
        for (i64 j = 0; j < part.n; j++) dh[i][j] += kept->dy[place + j];
      does->division.cells->close_gates(
          kept->gates + at * GATES * units + part.unit, units, before + part.unit,
          kept->cells + place, dh[i], does->to->dc + (row + i) * units + part.unit,
          does->to->da + at * GATES * units + part.unit, part.n);
    }
  }
}

int lstm_gradient(const Lstm *of, const LstmKept *kept, const LstmSlopes *to,
                  const Host *host) {
  Backward does = {.division = divide(of), .kept = kept, .to = to};
  const i64 units = of->units, width = does.division.tiles->columns;
  const i64 panels = does.division.blocks;
  if (of->batch == 0 || units == 0) return 0;
  f32 *made = memory(panels * width * (1 + GATES * units) + units);
  if (!made) return -1;
  f32 *zeros = made + panels * width * (1 + GATES * units);
  memset(zeros, 0, (size_t)units * sizeof *zeros);
  does.panels = made, does.zeros = zeros;
  Packing r = {of->r, NULL, made, GATES * units, units, width};
  copy_or_clear(to->dc, kept->dc, of->batch * units);
  int failed = host->in_parallel(host->context, pack, (size_t)panels, &r);
  for (does.step = of->time - 1; does.step >= -1 && !failed; does.step--)
    failed = run_parts(&does.division, 1, part_backward, &does, host);
  free(made);
  return failed;
}
