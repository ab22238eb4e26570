/* Products of matrices of random sizes, either way round, compared with sums in float64. Memory of tensors ends with
   them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"
#include "memory.h"

#define IN_A_ROW 16
#include "tiles.c"
#undef LANES

/* Few numbers in several pieces, blocks and parts. */
#define BLOCK_ROWS 24
#define LONGEST 48
#define LONGEST_OF_STRIPS 32
#define MOST_PACKED 2048
#define SMALL_RESULT 1000
#define LEAST_SUMMED 8
#define LEAST_SHARED 100

static long allocations, fails_at; /* 0: none fails */

static f32 *perhaps(size_t count) {
  return ++allocations == fails_at ? NULL : numbers_in_lines(count);
}

#define numbers_in_lines perhaps
#include "matmul.c"
#undef numbers_in_lines

static i64 some(i64 few, i64 many) { return rand() % (rand() % 3 ? few : many); }

static int is_right(const Matmul *does, const f32 *left, const f32 *right, const f32 *bias,
                    const f32 *found) {
  for (i64 row = 0; row < does->rows; row++)
    for (i64 column = 0; column < does->columns; column++) {
      f64 expected = bias ? (f64)bias[column] : 0, size = fabs(expected);
      for (i64 k = 0; k < does->inner; k++) {
        const f64 product =
            (f64)left[does->left_is_turned ? k * does->rows + row : row * does->inner + k] *
            (f64)right[does->right_is_turned ? column * does->inner + k
                                             : k * does->columns + column];
        expected += product, size += fabs(product);
      }
      const f64 y = (f64)found[row * does->columns + column];
      if (does->is_positive && expected < 0) expected = 0;
      if (fabs(y - expected) <= 1e-6 * (1e-3 + size)) continue;
      fprintf(stderr,
              "%g instead of %g at (%lld, %lld) of (%lld, %lld, %lld), turned: %d, %d\n", y,
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
    const i64 at =
        does->right_is_turned ? column * does->inner + k : k * does->columns + column;
    made[i] = column < does->columns ? right[at] : 0;
  }
  return made;
}

static int is_wrong_failure(const Matmul *does, const f32 *left, const f32 *right,
                            const f32 *bias, f32 *to) {
  allocations = 0, fails_at = 1 + below(4);
  const int found = multiply_matrices(does, left, right, bias, to, &plain);
  const int failed = allocations >= fails_at;
  fails_at = 0;
  if (found != (failed ? -1 : 0)) return 1;
  const int others = multiply_matrices(does, left, right, bias, to, &failing);
  return others != 0 && others != FAILURE;
}

/* The same bits, for however many threads it is cut, and of the first rows alone if they lie one behind the
   other; where the right matrix is turned, if they are more than a few. */
static int is_wrong_otherwise(const Matmul *does, const f32 *left, const f32 *right,
                              const f32 *bias, const f32 *found) {
  const i64 count = does->rows * does->columns, few = does->right_is_turned ? 5 : 1;
  f32 *to = numbers(count);
  Matmul other = *does;
  other.threads = 1 + below(40);
  int wrong = multiply_matrices(&other, left, right, bias, to, &plain) ||
              (count && memcmp(to, found, (size_t)count * sizeof *to));
  if (does->rows > few && !does->left_is_turned) {
    other.rows = below(3) ? few + below(does->rows - few) : few;
    wrong = wrong || multiply_matrices(&other, left, right, bias, to, &plain) ||
            memcmp(to, found, (size_t)(other.rows * does->columns) * sizeof *to);
  }
  free(to);
  if (wrong) fprintf(stderr, "other bits if it is cut otherwise\n");
  return wrong;
}

static int is_wrong_case(void) {
  const Matmul does = {some(14, 120), some(10, 150),          some(40, 150),
                       below(2) != 0, below(2) != 0,          0,
                       below(4) == 0, below(3) ? 1 : below(9)};
  f32 *left = numbers(does.rows * does.inner), *right = numbers(does.inner * does.columns);
  f32 *bias = below(2) ? numbers(does.columns) : NULL, *to = numbers(does.rows * does.columns);
  f32 *panels = packed(&does, right);
  Matmul of_panels = does;
  of_panels.right_is_turned = 0, of_panels.right_is_packed = 1;
  int wrong = below(8) == 0 && (is_wrong_failure(&does, left, right, bias, to) ||
                                is_wrong_failure(&of_panels, left, panels, bias, to));
  wrong = wrong || multiply_matrices(&does, left, right, bias, to, &plain) ||
          !is_right(&does, left, right, bias, to) ||
          is_wrong_otherwise(&does, left, right, bias, to);
  wrong = wrong || multiply_matrices(&of_panels, left, panels, bias, to, &plain) ||
          !is_right(&does, left, right, bias, to) ||
          is_wrong_otherwise(&of_panels, left, panels, bias, to);
  free(left), free(right), free(bias), free(to), free(panels);
  return wrong;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
