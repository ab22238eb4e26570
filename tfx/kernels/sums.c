#include "sums.h"
#include "numbers.h"

#include <stdlib.h>
#include <string.h>

/* Rows that are added in float32, before their sums are in float64: as accurate as sums in pairs. */
#ifndef BLOCK /* tests have less */
#define BLOCK 64
#endif
/* Rows of a part, at least: its sums take hardly more memory than what is added up. */
#ifndef LEAST_ROWS
#define LEAST_ROWS 8
#endif
/* Numbers of a part, which one thread adds; and the most parts, whose sums are kept. */
#ifndef PART
#define PART (1 << 16)
#endif
enum { MOST_PARTS = 64 };

typedef struct {
  const Columns *of;
  i64 rows, columns, parts;
  f64 *sums; /* of each part */
  f32 *blocks;
} Summing;

static void add_four(f32 *restrict to, const f32 *restrict x, i64 n) {
  INDEPENDENT for (i64 i = 0; i < n; i++) to[i] +=
      (x[i] + x[n + i]) + (x[2 * n + i] + x[3 * n + i]);
}

static void add_one(f32 *restrict to, const f32 *restrict x, i64 n) {
  INDEPENDENT for (i64 i = 0; i < n; i++) to[i] += x[i];
}

static void add_product(f32 *restrict to, const f32 *x, const f32 *y, i64 n) {
  INDEPENDENT for (i64 i = 0; i < n; i++) to[i] += x[i] * y[i];
}

static void add_shifted_product(f32 *restrict to, const f32 *x, const f32 *y, const f32 *a,
                                const f32 *b, i64 n) {
  INDEPENDENT for (i64 i = 0; i < n; i++) to[i] += (x[i] - a[i]) * (y[i] - b[i]);
}

static void sum_part(void *data, size_t index) {
  const Summing *does = data;
  const Columns *of = does->of;
  const i64 n = does->columns, part = (i64)index;
  const i64 begin = does->rows * part / does->parts,
            end = does->rows * (part + 1) / does->parts;
  f64 *sums = does->sums + part * n;
  f32 *block = does->blocks + part * n;
  for (i64 i = 0; i < n; i++) sums[i] = 0;
  for (i64 row = begin; row < end;) {
    const i64 last = end - row < BLOCK ? end : row + BLOCK;
    memset(block, 0, (size_t)n * sizeof *block);
    if (of->a) {
      for (; row < last; row++)
        add_shifted_product(block, of->x + row * n, of->y + row * n, of->a, of->b, n);
    } else if (of->y) {
      for (; row < last; row++) add_product(block, of->x + row * n, of->y + row * n, n);
    } else {
      for (; row + 4 <= last; row += 4) add_four(block, of->x + row * n, n);
      for (; row < last; row++) add_one(block, of->x + row * n, n);
    }
    for (i64 i = 0; i < n; i++) sums[i] += (f64)block[i];
  }
}

int sum_columns(const Columns *of, i64 rows, i64 columns, f64 divisor, f32 *sums,
                const Host *host) {
  Summing does = {.of = of, .rows = rows, .columns = columns};
  if (columns == 0) return 0;
  does.parts = rows / larger(LEAST_ROWS, PART / columns + 1) + 1;
  if (does.parts > MOST_PARTS) does.parts = MOST_PARTS;
  const size_t count = (size_t)(does.parts * columns);
  does.sums = malloc(count * (sizeof *does.sums + sizeof *does.blocks));
  if (!does.sums) return -1;
  does.blocks = (f32 *)(does.sums + count);
  int failed = host->in_parallel(host->context, sum_part, (size_t)does.parts, &does);
  for (i64 i = 0; i < columns && !failed; i++) {
    f64 total = 0;
    for (i64 part = 0; part < does.parts; part++) total += does.sums[part * columns + i];
    sums[i] = (f32)(total / divisor);
  }
  free(does.sums);
  return failed;
}

/* --- rows ---------------------------------------------------------------------------------------- */

/* Vectors that are summed up side by side, how many of them are added in float32, and numbers that a thread
   adds. */
enum { VECTORS = 4, STEP = VECTORS * COMMON_LANES, IN_A_ROW = 16 * STEP, ROWS_PART = 1 << 15 };
typedef f32 Vector __attribute__((vector_size(COMMON_LANES * sizeof(f32)), aligned(4), may_alias));

typedef struct {
  const f32 *x, *y;
  i64 rows, columns, at_once;
  f64 divisor;
  f32 *sums;
} SummingRows;

_Static_assert(VECTORS == 4, "they are put to one in pairs");

/* Some vectors, put to one number in pairs. */
static f64 total_of(const Vector *vectors) {
  const Vector sum = (vectors[0] + vectors[1]) + (vectors[2] + vectors[3]);
  f32 sums[COMMON_LANES];
  memcpy(sums, &sum, sizeof sums);
  UNROLLED for (int half = COMMON_LANES / 2; half; half /= 2)
      UNROLLED for (int k = 0; k < half; k++) sums[k] += sums[k + half];
  return (f64)sums[0];
}

static f64 sum_row(const f32 *x, const f32 *y, i64 n) {
  f64 total = 0;
  i64 i = 0;
  while (i + STEP <= n) {
    const i64 end = smaller(n, i + IN_A_ROW);
    Vector sums[VECTORS] = {{0}};
    if (y)
      for (; i + STEP <= end; i += STEP)
        UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] =
            sums[v] + *(const Vector *)(x + i + v * COMMON_LANES) *
                          *(const Vector *)(y + i + v * COMMON_LANES);
    else
      for (; i + STEP <= end; i += STEP)
        UNROLLED for (int v = 0; v < VECTORS; v++) sums[v] =
            sums[v] + *(const Vector *)(x + i + v * COMMON_LANES);
    total += total_of(sums);
  }
  for (; i < n; i++) total += (f64)(y ? x[i] * y[i] : x[i]);
  return total;
}

static void sum_some_rows(void *data, size_t index) {
  const SummingRows *does = data;
  const i64 first = (i64)index * does->at_once, last = smaller(does->rows, first + does->at_once);
  for (i64 row = first; row < last; row++) {
    const i64 begin = row * does->columns;
    const f64 sum = sum_row(does->x + begin, does->y ? does->y + begin : NULL, does->columns);
    does->sums[row] = (f32)(sum / does->divisor);
  }
}

int sum_rows(const float *x, const float *y, i64 rows, i64 columns, f64 divisor, f32 *sums,
             const Host *host) {
  SummingRows does = {x, y, rows, columns, larger(1, ROWS_PART / larger(columns, 1)), divisor, sums};
  const i64 parts = (rows + does.at_once - 1) / does.at_once;
  return parts ? host->in_parallel(host->context, sum_some_rows, (size_t)parts, &does) : 0;
}

/* --- rows by an index ---------------------------------------------------------------------------- */

/* Columns that a thread takes, at least. */
enum { FEWEST_COLUMNS = 32, MOST_SHARES = 16 };

typedef struct {
  const AddedRows *does;
  i64 rows, columns, shares;
  f32 *to;
} AddingRows;

static i64 row_at(const AddedRows *does, i64 i, i64 rows) {
  const i64 at = i * does->step;
  const i64 row = does->is_wide ? ((const i64 *)does->index)[at] : ((const i32 *)does->index)[at];
  return row < 0 ? row + rows : row;
}

static void add_columns(void *data, size_t share) {
  const AddingRows *to_all = data;
  const AddedRows *does = to_all->does;
  const i64 first = does->width * (i64)share / to_all->shares;
  const i64 n = does->width * ((i64)share + 1) / to_all->shares - first;
  for (i64 i = 0; i < does->count; i++) {
    f32 *to = to_all->to + row_at(does, i, to_all->rows) * to_all->columns + first;
    const f32 *x = does->x + i * does->width + first;
    i64 k = 0;
    for (; k + COMMON_LANES <= n; k += COMMON_LANES)
      *(Vector *)(to + k) = *(const Vector *)(to + k) + *(const Vector *)(x + k);
    for (; k < n; k++) to[k] += x[k];
  }
}

int add_rows(const AddedRows *does, i64 rows, i64 columns, f32 *to, const Host *host) {
  AddingRows all = {does, rows, columns, 1, to};
  for (i64 i = 0; i < does->count; i++) {
    const i64 row = row_at(does, i, rows);
    if (row < 0 || row >= rows) return -1;
  }
  all.shares = smaller(MOST_SHARES, larger(1, does->width / FEWEST_COLUMNS));
  if (!does->width || !does->count) return 0;
  return host->in_parallel(host->context, add_columns, (size_t)all.shares, &all);
}
