/* Sums of columns over random sizes, compared with sums in float64. Memory of tensors ends with them, for
   the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

/* Few rows in several blocks, and few numbers in several parts. */
#define BLOCK 8
#define LEAST_ROWS 2
#define PART 100

#include "sums.c"

#include <math.h>
#include <stdio.h>

static int one_by_one(void *context, void (*part)(void *data, size_t index), size_t count,
                      void *data) {
  (void)context;
  for (size_t i = count; i-- > 0;) part(data, i);
  return 0;
}

static f32 *numbers(i64 count) {
  f32 *made = malloc((size_t)count * sizeof *made);
  if (!made && count) exit(2);
  for (i64 i = 0; i < count; i++) made[i] = (f32)rand() / (f32)RAND_MAX - 0.5f;
  return made;
}

static int is_right(const Columns *of, i64 rows, i64 columns, f64 divisor, const f32 *found) {
  for (i64 i = 0; i < columns; i++) {
    f64 expected = 0;
    for (i64 row = 0; row < rows; row++) {
      f64 x = (f64)of->x[row * columns + i], y = of->y ? (f64)of->y[row * columns + i] : 1;
      expected += of->a ? (x - (f64)of->a[i]) * (y - (f64)of->b[i]) : x * y;
    }
    expected /= divisor;
    if (!(fabs((f64)found[i] - expected) <= 1e-5 * (1 + fabs(expected)))) {
      fprintf(stderr, "%g instead of %g at %lld of %lld, %lld rows\n", (f64)found[i], expected,
              (long long)i, (long long)columns, (long long)rows);
      return 0;
    }
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  srand((unsigned)strtoul(argv[1], NULL, 10));
  const long count = strtol(argv[2], NULL, 10);
  const Host host = {NULL, one_by_one, NULL};
  for (long i = 0; i < count; i++) {
    const i64 rows = rand() % (rand() % 2 ? 12 : 90), columns = rand() % (rand() % 2 ? 6 : 150);
    const int form = rand() % 3;
    const f64 divisor = rand() % 2 ? 1 : 7;
    f32 *x = numbers(rows * columns), *y = numbers(rows * columns), *a = numbers(columns),
        *b = numbers(columns), *sums = numbers(columns);
    Columns of = {.x = x};
    if (form) of.y = rand() % 4 ? y : x;
    if (form == 2) of.a = a, of.b = b;
    if (sum_columns(&of, rows, columns, divisor, sums, &host)) return 2;
    if (!is_right(&of, rows, columns, divisor, sums)) return 1;
    free(x), free(y), free(a), free(b), free(sums);
  }
  printf("%ld\n", count);
  return 0;
}
