#include "columns.h"
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
