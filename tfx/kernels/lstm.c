#include "lstm.h"
#include "memory.h"
#include "tiles.h"

#include <math.h>
#include <string.h>

#include "functions.inc"

enum { GATES = 4 };

/* Some units of some rows of the batch, in one step: where their gates stand, one kind ``units`` numbers
   behind the other, and the cells behind the step and before it. */
typedef struct {
  f32 *gates, *cell;
  const f32 *before;
  i64 rows, n, units, before_step; /* from one row's cell to the next: 0 if all are the same */
} Block;

typedef struct {
  void (*open_gates)(const Block *at, const f32 (*add)[GATES][MAX_COLUMNS]);
  void (*show_states)(const Block *at, f32 *states);
  void (*close_gates)(const Block *at, const f32 (*dh)[MAX_COLUMNS], f32 *dc, f32 *da);
} Cells;

#define JOIN(name) name##_plain
#define TARGET
#include "cells.inc"
#undef JOIN
#undef TARGET
#if defined(__x86_64__)
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
                       (f64)does->inputs + (f64)does->units + block, (f64)does->units + block,
                       GATES};
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

/* A panel that begins with zeros; behind its last column, too, where it is not full. */
static f32 *begin_panel(const Packing *does, size_t index, i64 columns) {
  f32 *to = does->to + (i64)index * (1 + does->inner) * does->width;
  const i64 rows = columns < does->width ? 1 + does->inner : 1;
  memset(to, 0, (size_t)(rows * does->width) * sizeof(f32));
  return to;
}

/* The columns of a gate's units of ``from[4 units, inner]`` turned: a panel for each block of units and
   each gate. */
static void pack_turned(void *data, size_t index) {
  enum { BLOCK = 16 };
  const Packing *does = data;
  const i64 gate = (i64)index % GATES, unit = (i64)index / GATES * does->width;
  const i64 first = gate * does->units + unit, n = smaller(does->width, does->units - unit);
  f32 *to = begin_panel(does, index, n);
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
  f32 *to = begin_panel(does, index, n);
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
  const f32 *zeros;  /* as many as units */
} Division;

static Division divide(const Lstm *of) {
  const Tiles *tiles = best_tiles();
  return (Division){of,
                    tiles,
                    tiles->columns == MAX_COLUMNS ? &cells_avx512 : &cells_plain,
                    parts_of(of->units, tiles->columns),
                    parts_of(of->batch, ROWS_OF_PART),
                    NULL};
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
                of->batch * part / division->parts, of->batch * (part + 1) / division->parts};
}

static Block block_of(const Division *division, const Part *part, i64 step, f32 *gates,
                      f32 *cells) {
  const Lstm *of = division->of;
  const i64 row = step * of->batch + part->first, units = of->units;
  Block at = {gates + row * GATES * units + part->unit,
              cells + row * units + part->unit,
              NULL,
              part->last - part->first,
              part->n,
              units,
              units};
  if (step)
    at.before = at.cell - of->batch * units;
  else if (of->c)
    at.before = of->c + part->first * units + part->unit;
  else
    at.before = division->zeros, at.before_step = 0;
  return at;
}

/* Have the processor bring a block's rows into its second cache, while it multiplies: they are short, so
   it does not foresee them. */
static void fetch(const Block *at, const f32 *more) {
  enum { LINE = 16 };
  for (i64 row = 0; row < at->rows; row++)
    for (i64 j = 0; j < at->n; j += LINE) {
      for (i64 gate = 0; gate < GATES; gate++)
        PREFETCH(at->gates + (row * GATES + gate) * at->units + j);
      PREFETCH(at->cell + row * at->units + j);
      PREFETCH(at->before + row * at->before_step + j);
      if (more) PREFETCH(more + row * at->units + j);
    }
}

/* All parts of a step, or of ``steps`` steps. */
static int run_parts(const Division *division, i64 steps, void (*part)(void *, size_t),
                     void *data, const Host *host) {
  const Lstm *of = division->of;
  const size_t count = (size_t)(division->blocks * division->parts);
  const f64 products =
      (f64)steps * (f64)of->batch * (f64)of->units * (f64)of->units * (f64)GATES;
  if (count > 1 && products > FEW_PRODUCTS)
    return host->in_parallel(host->context, part, count, data);
  for (size_t index = 0; index < count; index++) part(data, index);
  return 0;
}

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
  const f32 *w_panels, *r_panels;
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
        const i64 at =
            (step + (row + i) / height) * of->batch + part->first + (row + i) % height;
        from[i] = of->x + at * of->inputs, to[i] = gates + at * GATES * of->units;
      }
      packed_tile(tiles, count, from, &nothing, 1, of->inputs, panel, to, (int)part->n, 0);
    }
  }
}

static void step_forward(const Forward *does, const Part *part, i64 step) {
  const Lstm *of = does->division.of;
  const Tiles *tiles = does->division.tiles;
  const Cells *cells = does->division.cells;
  const i64 units = of->units, numbers = (1 + units) * tiles->columns, nothing = 0;
  const Block at = block_of(&does->division, part, step, does->to->gates, does->to->cells);
  fetch(&at, NULL);
  if (step % does->chunk == 0) project(does, part, step, smaller(does->chunk, of->time - step));
  f32 add[ROWS_OF_PART][GATES][MAX_COLUMNS];
  for (i64 gate = 0; gate < GATES; gate++) {
    const f32 *panel = does->r_panels + (part->block * GATES + gate) * numbers;
    for (i64 row = part->first, count; row < part->last; row += count) {
      const f32 *from[MAX_ROWS];
      f32 *to[MAX_ROWS];
      count = rows_at_once(tiles, part->last - row);
      for (i64 i = 0; i < count; i++) {
        from[i] = step ? does->states + ((step - 1) * of->batch + row + i) * units
                       : row_of(of->h, does->division.zeros, row + i, units);
        to[i] = add[row + i - part->first][gate];
      }
      packed_tile(tiles, count, from, &nothing, 1, units, panel, to, (int)part->n, 0);
    }
  }
  cells->open_gates(&at, (const f32(*)[GATES][MAX_COLUMNS])add);
  if (!of->states)
    cells->show_states(&at,
                       does->to->y + (step * of->batch + part->first) * units + part->unit);
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
  const i64 width = does->division.tiles->columns,
            last = (of->time - 1) * of->batch * of->units;
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
  does.chunk = parts_of(MAX_ROWS, smaller(of->batch, MAX_ROWS));
  const i64 w_numbers = panels * width * (1 + of->inputs);
  f32 *w_panels =
      numbers_in_lines((size_t)(w_numbers + panels * width * (1 + of->units) + of->units));
  if (!w_panels) return -1;
  f32 *r_panels = w_panels + w_numbers, *zeros = r_panels + panels * width * (1 + of->units);
  memset(zeros, 0, (size_t)of->units * sizeof *zeros);
  does.w_panels = w_panels, does.r_panels = r_panels, does.division.zeros = zeros;
  const int failed = run_forward(&does, w_panels, r_panels, host);
  free_lines(w_panels);
  return failed;
}

/* --- backwards --------------------------------------------------------------------------------- */

typedef struct {
  Division division;
  const LstmKept *kept;
  const LstmSlopes *to;
  const f32 *panels;
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
      copy_or_clear(to[i],
                    does->kept->dh ? does->kept->dh + (row + i) * units + part->unit : NULL,
                    part->n);
    return;
  }
  for (i64 i = 0; i < count; i++) from[i] = does->to->da + (next * of->batch + row + i) * inner;
  packed_tile(does->division.tiles, count, from, &nothing, 1, inner,
              does->panels + part->block * (1 + inner) * does->division.tiles->columns, to,
              (int)part->n, 0);
}

static void part_backward(void *data, size_t index) {
  const Backward *does = data;
  const Lstm *of = does->division.of;
  const LstmKept *kept = does->kept;
  const Part part = part_of(&does->division, index);
  const i64 units = of->units, first = part.first * units + part.unit;
  const i64 from = does->step * of->batch * units + first;
  f32 dh[ROWS_OF_PART][MAX_COLUMNS];
  /* The gates are only read, and the cells. */
  const Block at =
      block_of(&does->division, &part, does->step, (f32 *)kept->gates, (f32 *)kept->cells);
  if (does->step >= 0) fetch(&at, kept->dy ? kept->dy + from : NULL);
  for (i64 row = part.first, count; row < part.last; row += count) {
    f32 *to[MAX_ROWS];
    count = rows_at_once(does->division.tiles, part.last - row);
    for (i64 i = 0; i < count; i++)
      to[i] = does->step < 0 ? does->to->dh + (row + i) * units + part.unit
                             : dh[row + i - part.first];
    pull_back(does, &part, row, count, to);
  }
  if (does->step < 0) return;
  for (i64 row = part.first; row < part.last && kept->dy; row++) {
    const f32 *dy = kept->dy + from + (row - part.first) * units;
    f32 *to = dh[row - part.first];
    for (i64 j = 0; j < part.n; j++) to[j] += dy[j];
  }
  does->division.cells->close_gates(
      &at, (const f32(*)[MAX_COLUMNS])dh, does->to->dc + first,
      does->to->da + (does->step * of->batch + part.first) * GATES * units + part.unit);
}

int lstm_gradient(const Lstm *of, const LstmKept *kept, const LstmSlopes *to,
                  const Host *host) {
  Backward does = {.division = divide(of), .kept = kept, .to = to};
  const i64 units = of->units, width = does.division.tiles->columns;
  const i64 panels = does.division.blocks;
  if (of->batch == 0 || units == 0) return 0;
  f32 *begin = numbers_in_lines((size_t)(panels * width * (1 + GATES * units) + units));
  if (!begin) return -1;
  f32 *zeros = begin + panels * width * (1 + GATES * units);
  memset(zeros, 0, (size_t)units * sizeof *zeros);
  does.panels = begin, does.division.zeros = zeros;
  Packing r = {of->r, NULL, begin, GATES * units, units, width};
  copy_or_clear(to->dc, kept->dc, of->batch * units);
  int failed = host->in_parallel(host->context, pack, (size_t)panels, &r);
  for (does.step = of->time - 1; does.step >= -1 && !failed; does.step--)
    failed = run_parts(&does.division, 1, part_backward, &does, host);
  free_lines(begin);
  return failed;
}
