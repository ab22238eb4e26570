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
#define FEW_ROWS 4
#define UNITS_BY_ROWS 256
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

int has_all_rows(const Lstm *does) {
  int right = 1;
  for (i64 i = 0; i < does->time * does->batch; i++)
    right &= (does->rows[i] >= -does->table) & (does->rows[i] < does->table);
  return right;
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
  int is_by_rows;    /* whether a part goes through all steps by itself */
  /* How many steps there is room for, whose places later ones take again. */
  i64 kept_gates, kept_cells;
  const f32 *zeros; /* as many as units */
} Division;

static Division divide(const Lstm *of) {
  const Tiles *tiles = best_tiles();
  Division made = {.of = of,
                   .tiles = tiles,
                   .cells = tiles->columns == MAX_COLUMNS ? &cells_avx512 : &cells_plain,
                   .blocks = parts_of(of->units, tiles->columns),
                   .parts = parts_of(of->batch, ROWS_OF_PART),
                   .kept_gates = of->time,
                   .kept_cells = of->time};
  /* No row waits for another one. Each thread reads all weights then, which should lie close to it. */
  made.is_by_rows = of->threads > 1 && of->batch >= of->threads * FEW_ROWS &&
                    of->units <= UNITS_BY_ROWS;
  if (made.is_by_rows) made.parts = parts_of(made.parts, of->threads) * of->threads;
  return made;
}

int64_t lstm_panel_width(void) { return best_tiles()->columns; }

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
  const i64 units = of->units, first = part->first * units + part->unit,
            numbers = of->batch * units;
  f32 *gates_here = gates + step % division->kept_gates * GATES * numbers;
  Block at = {gates_here + part->first * GATES * units + part->unit,
              cells + step % division->kept_cells * numbers + first,
              NULL,
              part->last - part->first,
              part->n,
              units,
              units};
  if (step)
    at.before = cells + (step - 1) % division->kept_cells * numbers + first;
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

/* What is done with a part in a step, and the steps, from the first one to the one before the end. */
typedef struct {
  const Division *division;
  void (*run)(const void *data, const Part *part, i64 step);
  const void *data;
  i64 first, end, by;
} Steps;

static void run_part(void *data, size_t index) {
  const Steps *steps = data;
  const Part part = part_of(steps->division, index);
  for (i64 step = steps->first; step != steps->end; step += steps->by)
    steps->run(steps->data, &part, step);
}

/* All units of some rows. */
static void run_rows(void *data, size_t index) {
  const Steps *steps = data;
  const Division *division = steps->division;
  for (i64 step = steps->first; step != steps->end; step += steps->by)
    for (i64 block = 0; block < division->blocks; block++) {
      const Part part = part_of(division, (size_t)(block * division->parts) + index);
      steps->run(steps->data, &part, step);
    }
}

static int run_count(const Steps *steps, size_t count, void (*run)(void *, size_t),
                     const Host *host) {
  const Lstm *of = steps->division->of;
  Steps data = *steps;
  const f64 products = (f64)(steps->end - steps->first) * (f64)steps->by * (f64)of->batch *
                       (f64)of->units * (f64)of->units * (f64)GATES;
  if (count > 1 && products > FEW_PRODUCTS)
    return host->in_parallel(host->context, run, count, &data);
  for (size_t index = 0; index < count; index++) run(&data, index);
  return 0;
}

/* Steps of which none waits for another part's. */
static int run_parts(const Steps *steps, const Host *host) {
  const Division *division = steps->division;
  return run_count(steps, (size_t)(division->blocks * division->parts), run_part, host);
}

/* Steps of which each waits for the one before. */
static int run_in_turn(const Steps *steps, const Host *host) {
  if (steps->division->is_by_rows)
    return run_count(steps, (size_t)steps->division->parts, run_rows, host);
  int failed = 0;
  Steps one = *steps;
  for (i64 step = steps->first; step != steps->end && !failed; step += steps->by) {
    one.first = step, one.end = step + steps->by;
    failed = run_parts(&one, host);
  }
  return failed;
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
  f32 *gates, *cells; /* results, or memory of its own */
  const f32 *w_panels, *r_panels;
  const f32 *states; /* behind each step: results or known ones */
  i64 chunk;         /* steps whose inputs are multiplied at once */
} Forward;

/* What comes from the inputs of a step, out of the table, to where its gates will be. */
static void look_up(const Forward *does, const Part *part, i64 step) {
  const Lstm *of = does->division.of;
  const i64 units = of->units;
  for (i64 row = part->first; row < part->last; row++) {
    const i64 found = of->rows[step * of->batch + row];
    const f32 *from = of->w + (found < 0 ? found + of->table : found) * GATES * units;
    f32 *to = does->gates +
              (step % does->division.kept_gates * of->batch + row) * GATES * units;
    for (i64 at = part->unit; at < GATES * units; at += units)
      memcpy(to + at, from + at, (size_t)part->n * sizeof *to);
  }
}

/* The same of the inputs of some steps. */
static void project(const Forward *does, const Part *part, i64 step, i64 steps) {
  const Lstm *of = does->division.of;
  const Tiles *tiles = does->division.tiles;
  const i64 height = part->last - part->first, rows = steps * height, nothing = 0;
  const i64 numbers = (1 + of->inputs) * tiles->columns;
  for (i64 gate = 0; gate < GATES; gate++) {
    const f32 *panel = does->w_panels + (part->block * GATES + gate) * numbers;
    f32 *gates = does->gates + gate * of->units + part->unit;
    for (i64 row = 0, count; row < rows; row += count) {
      const f32 *from[MAX_ROWS];
      f32 *to[MAX_ROWS];
      count = rows_at_once(tiles, rows - row);
      for (i64 i = 0; i < count; i++) {
        const i64 now = step + (row + i) / height, line = part->first + (row + i) % height;
        const i64 kept = now % does->division.kept_gates * of->batch + line;
        from[i] = of->x + (now * of->batch + line) * of->inputs;
        to[i] = gates + kept * GATES * of->units;
      }
      packed_tile(tiles, count, from, &nothing, 1, of->inputs, panel, to, (int)part->n, 0);
    }
  }
}

static void step_forward(const void *data, const Part *part, i64 step) {
  const Forward *does = data;
  const Lstm *of = does->division.of;
  const Tiles *tiles = does->division.tiles;
  const Cells *cells = does->division.cells;
  const i64 units = of->units, numbers = (1 + units) * tiles->columns, nothing = 0;
  const Block at = block_of(&does->division, part, step, does->gates, does->cells);
  fetch(&at, NULL);
  if (of->rows)
    look_up(does, part, step);
  else if (step % does->chunk == 0)
    project(does, part, step, smaller(does->chunk, of->time - step));
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

/* All steps; without room for all cells, the last one is where it was written. */
static int run_steps(Forward *does, const Host *host) {
  const Lstm *of = does->division.of;
  const i64 numbers = of->batch * of->units, last = of->time - 1;
  const Steps steps = {&does->division, step_forward, does, 0, of->time, 1};
  if (of->states) return run_parts(&steps, host);
  const int failed = run_in_turn(&steps, host);
  if (failed) return failed;
  copy_or_clear(does->to->last_h, of->time ? does->to->y + last * numbers : of->h, numbers);
  copy_or_clear(does->to->last_c,
                of->time ? does->cells + last % does->division.kept_cells * numbers : of->c,
                numbers);
  return 0;
}

/* Weights as they are, in panels. */
static int pack_weights(Forward *does, f32 *w_panels, f32 *r_panels, const Host *host) {
  const Lstm *of = does->division.of;
  const i64 width = does->division.tiles->columns;
  const size_t panels = (size_t)(does->division.blocks * GATES);
  Packing w = {of->w, of->bias, w_panels, of->inputs, of->units, width};
  Packing r = {of->r, NULL, r_panels, of->units, of->units, width};
  does->w_panels = w_panels, does->r_panels = r_panels;
  const int failed = host->in_parallel(host->context, pack_turned, panels, &w);
  return failed ? failed : host->in_parallel(host->context, pack_turned, panels, &r);
}

int lstm(const Lstm *of, const LstmResults *to, const Host *host) {
  Forward does = {.division = divide(of), .to = to, .gates = to->gates, .cells = to->cells};
  Division *division = &does.division;
  does.states = of->states ? of->states : to->y;
  const i64 panel = division->blocks * GATES * division->tiles->columns;
  if (of->batch == 0 || of->units == 0) return 0;
  does.chunk = parts_of(MAX_ROWS, smaller(of->batch, MAX_ROWS));
  if (!to->gates) division->kept_gates = does.chunk, division->kept_cells = 2;
  const i64 state = of->batch * of->units;
  const i64 w_numbers = of->is_packed ? 0 : panel * (1 + of->inputs);
  const i64 r_numbers = of->is_packed ? 0 : panel * (1 + of->units);
  const i64 gates = to->gates ? 0 : does.chunk * GATES * state, cells = to->gates ? 0 : 2 * state;
  f32 *memory = numbers_in_lines((size_t)(w_numbers + r_numbers + gates + cells + of->units));
  if (!memory) return -1;
  f32 *r_panels = memory + w_numbers, *more = r_panels + r_numbers, *zeros = more + gates + cells;
  if (!to->gates) does.gates = more, does.cells = more + gates;
  memset(zeros, 0, (size_t)of->units * sizeof *zeros);
  does.w_panels = of->w, does.r_panels = of->r, division->zeros = zeros;
  int failed = of->is_packed ? 0 : pack_weights(&does, memory, r_panels, host);
  if (!failed) failed = run_steps(&does, host);
  free_lines(memory);
  return failed;
}

/* --- backwards --------------------------------------------------------------------------------- */

typedef struct {
  Division division;
  const LstmKept *kept;
  const LstmSlopes *to;
  const f32 *panels;
} Backward;

/* The gradients of some rows of the states behind a step, or before the first one. */
static void pull_back(const Backward *does, const Part *part, i64 next, i64 row, i64 count,
                      f32 *const *to) {
  const Lstm *of = does->division.of;
  const i64 units = of->units, inner = GATES * units, nothing = 0;
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

/* Step -1 is before the first one. */
static void step_backward(const void *data, const Part *part, i64 step) {
  const Backward *does = data;
  const Lstm *of = does->division.of;
  const LstmKept *kept = does->kept;
  const i64 units = of->units, first = part->first * units + part->unit;
  const i64 from = step * of->batch * units + first;
  f32 dh[ROWS_OF_PART][MAX_COLUMNS];
  Block at = {0};
  if (step >= 0) {
    /* The gates are only read, and the cells. */
    at = block_of(&does->division, part, step, (f32 *)kept->gates, (f32 *)kept->cells);
    fetch(&at, kept->dy ? kept->dy + from : NULL);
  }
  for (i64 row = part->first, count; row < part->last; row += count) {
    f32 *to[MAX_ROWS];
    count = rows_at_once(does->division.tiles, part->last - row);
    for (i64 i = 0; i < count; i++)
      to[i] = step < 0 ? does->to->dh + (row + i) * units + part->unit
                             : dh[row + i - part->first];
    pull_back(does, part, step + 1, row, count, to);
  }
  if (step < 0) return;
  for (i64 row = part->first; row < part->last && kept->dy; row++) {
    const f32 *dy = kept->dy + from + (row - part->first) * units;
    f32 *to = dh[row - part->first];
    for (i64 j = 0; j < part->n; j++) to[j] += dy[j];
  }
  does->division.cells->close_gates(
      &at, (const f32(*)[MAX_COLUMNS])dh, does->to->dc + first,
      does->to->da + (step * of->batch + part->first) * GATES * units + part->unit);
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
  const Steps steps = {&does.division, step_backward, &does, of->time - 1, -2, -1};
  if (!failed) failed = run_in_turn(&steps, host);
  free_lines(begin);
  return failed;
}
