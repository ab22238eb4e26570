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

/* Columns that a thread takes, at least, and into how many parts they are cut; rows and numbers of the blocks
   that a thread takes at once. */
enum { FEWEST_COLUMNS = 32, MOST_SHARES = 16, ADDED_PART = 1 << 14 };

typedef struct {
  const AddedRows *does;
  i64 rows, columns, shares, at_once;
  void *to;
} AddingRows;

static i64 row_at(const AddedRows *does, i64 at, i64 rows) {
  const i64 row = does->is_wide ? ((const i64 *)does->index)[at] : ((const i32 *)does->index)[at];
  return row < 0 ? row + rows : row;
}

/* Some columns of the rows of one block. Integers are added as what wraps around. */
#define ADD_BLOCK(NAME, T, CHANGED)                                                            \
  static void NAME##_##T(const AddingRows *all, i64 block, i64 first, i64 n) {                 \
    const AddedRows does = *all->does;                                                         \
    const i64 rows = all->rows, columns = all->columns;                                        \
    const T *restrict x = (const T *)does.x + block * does.x_block_step + first;               \
    T *restrict to = (T *)all->to + block * rows * columns + first;                            \
    const i64 one_by_one = does.number_step ? n : 0;                                           \
    i64 at = block * does.block_step + first * does.number_step;                               \
    for (i64 i = 0; n == 1 && i < does.count; i++) {                                           \
      T *place = to + row_at(&does, at + i * does.step, rows) * columns;                       \
      const T old = *place, new = x[i * does.x_step];                                          \
      *place = CHANGED;                                                                        \
    }                                                                                          \
    if (n == 1) return;                                                                        \
    for (i64 i = 0; i < does.count; i++, at += does.step, x += does.x_step) {                  \
      for (i64 k = 0; k < one_by_one; k++) {                                                   \
        T *place = to + row_at(&does, at + k, rows) * columns + k;                             \
        const T old = *place, new = x[k];                                                      \
        *place = CHANGED;                                                                      \
      }                                                                                        \
      if (one_by_one) continue;                                                                \
      T *restrict row = to + row_at(&does, at, rows) * columns;                                \
      INDEPENDENT for (i64 k = 0; k < n; k++) {                                                \
        const T old = row[k], new = x[k];                                                      \
        row[k] = CHANGED;                                                                      \
      }                                                                                        \
    }                                                                                          \
  }
ADD_BLOCK(add, u32, old + new)
ADD_BLOCK(add, u64, old + new)
#define ADD_NUMBERS(T)                                                                         \
  ADD_BLOCK(add, T, old + new)                                                                 \
  ADD_BLOCK(multiply, T, old * new)                                                            \
  ADD_BLOCK(largest, T, old > new ? old : new)                                                 \
  ADD_BLOCK(least, T, old < new ? old : new)
ADD_NUMBERS(f32)
ADD_NUMBERS(f64)

typedef void (*AddBlock)(const AddingRows *all, i64 block, i64 first, i64 n);
static const AddBlock of_f32[WAYS] = {add_f32, multiply_f32, largest_f32, least_f32};
static const AddBlock of_f64[WAYS] = {add_f64, multiply_f64, largest_f64, least_f64};

static void add_some_blocks(void *data, size_t index) {
  const AddingRows *all = data;
  const AddedRows *does = all->does;
  const i64 share = (i64)index % all->shares, first = does->width * share / all->shares;
  const i64 n = does->width * (share + 1) / all->shares - first;
  const i64 begin = (i64)index / all->shares * all->at_once;
  const i64 end = smaller(does->blocks, begin + all->at_once);
  AddBlock add = does->type == TYPE_i64 ? add_u64 : add_u32;
  if (does->type == TYPE_f32) add = of_f32[does->way];
  if (does->type == TYPE_f64) add = of_f64[does->way];
  for (i64 block = begin; block < end; block++) add(all, block, first, n);
}

/* Whether all of some indices name rows. */
static int are_rows(const AddedRows *does, i64 count, i64 rows) {
  i64 least = 0, most = -1;
  for (i64 i = 0; i < count; i++) {
    const i64 at = does->is_wide ? ((const i64 *)does->index)[i] : ((const i32 *)does->index)[i];
    least = smaller(least, at), most = larger(most, at);
  }
  return least >= -rows && most < rows;
}

int add_rows(const AddedRows *does, i64 rows, i64 columns, void *to, const Host *host) {
  AddingRows all = {does, rows, columns, 1, 1, to};
  if (!does->width || !does->count || !does->blocks) return 0;
  i64 indices = does->block_step ? does->blocks : 1;
  if (does->step) indices *= does->count;
  if (does->number_step) indices *= does->width;
  if (!are_rows(does, indices, rows)) return -1;
  all.shares = smaller(MOST_SHARES, larger(1, does->width / FEWEST_COLUMNS));
  all.at_once = larger(1, ADDED_PART / larger(1, does->count * smaller(does->width, ADDED_PART)));
  const i64 parts = (does->blocks + all.at_once - 1) / all.at_once * all.shares;
  return host->in_parallel(host->context, add_some_blocks, (size_t)parts, &all);
}
