/* Products of matrices of random sizes, either way round, compared with sums in float64. Memory of tensors ends with
   them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

/* Few numbers in several pieces, blocks and parts. */
#define BLOCK_ROWS 24
#define LONGEST 40
#define LONGEST_OF_STRIPS 20
#define MOST_PACKED 2048
#define SMALL_RESULT 1000
#define LEAST_SUMMED 8
#define LEAST_SHARED 100
#define IN_A_ROW 16

#include "matmul.c"

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

static i64 some(i64 few, i64 many) { return rand() % (rand() % 3 ? few : many); }

static int is_right(const Matmul *does, const f32 *left, const f32 *right, const f32 *bias,
                    const f32 *found) {
  for (i64 row = 0; row < does->rows; row++)
    for (i64 column = 0; column < does->columns; column++) {
      f64 expected = bias ? (f64)bias[column] : 0, size = fabs(expected);
      for (i64 k = 0; k < does->inner; k++) {
        const f64 product =
            (f64)left[does->left_is_turned ? k * does->rows + row : row * does->inner + k] *
            (f64)right[does->right_is_turned ? column * does->inner + k : k * does->columns + column];
        expected += product, size += fabs(product);
      }
      const f64 y = (f64)found[row * does->columns + column];
      if (does->is_positive && expected < 0) expected = 0;
      if (fabs(y - expected) <= 1e-6 * (1e-3 + size)) continue;
      fprintf(stderr, "%g instead of %g at (%lld, %lld) of (%lld, %lld, %lld), turned: %d, %d\n", y,
              expected, (long long)row, (long long)column, (long long)does->rows,
              (long long)does->inner, (long long)does->columns, does->left_is_turned,
              does->right_is_turned);
      return 0;
    }
  return 1;
}

static f32 *packed(const Matmul *does, const f32 *right) {
  const i64 width = product_panel_width(), panels = parts_of(does->columns, width);
  f32 *made = numbers(panels * does->inner * width);
  for (i64 i = 0; i < panels * does->inner * width; i++) {
    const i64 column = i / width / does->inner * width + i % width, k = i / width % does->inner;
    const i64 at = does->right_is_turned ? column * does->inner + k : k * does->columns + column;
    made[i] = column < does->columns ? right[at] : 0;
  }
  return made;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  srand((unsigned)strtoul(argv[1], NULL, 10));
  const long count = strtol(argv[2], NULL, 10);
  const Host host = {NULL, one_by_one, NULL};
  for (long i = 0; i < count; i++) {
    const Matmul does = {some(14, 120), some(10, 150), some(40, 150),
                   rand() % 2, rand() % 2, 0, rand() % 4 == 0};
    f32 *left = numbers(does.rows * does.inner), *right = numbers(does.inner * does.columns);
    f32 *bias = rand() % 2 ? numbers(does.columns) : NULL, *to = numbers(does.rows * does.columns);
    if (multiply_matrices(&does, left, right, bias, to, &host)) return 2;
    int right_one = is_right(&does, left, right, bias, to);
    f32 *panels = packed(&does, right);
    const Matmul of_panels = {does.rows, does.inner, does.columns, does.left_is_turned, 0, 1, does.is_positive};
    if (multiply_matrices(&of_panels, left, panels, bias, to, &host)) return 2;
    right_one = right_one && is_right(&does, left, right, bias, to);
    free(left), free(right), free(bias), free(to), free(panels);
    if (!right_one) return 1;
  }
  printf("%ld\n", count);
  return 0;
}
