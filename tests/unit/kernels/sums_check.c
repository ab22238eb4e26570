/* Sums of columns and of rows, and rows added by an index, over random sizes, compared with sums in float64. Memory of tensors ends with them, for
   the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

/* Few rows in several blocks, and few numbers in several parts. */
#define BLOCK 8
#define LEAST_ROWS 2
#define PART 100

#include "sums.c"

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

static int is_close(const char *what, f64 found, f64 expected) {
  if (isnan(expected) ? isnan(found) : fabs(found - expected) <= 1e-5 * (1 + fabs(expected))) return 1;
  fprintf(stderr, "%s: %g instead of %g\n", what, found, expected);
  return 0;
}

static int are_columns_right(void) {
  const i64 rows = rand() % (rand() % 2 ? 12 : 90), columns = rand() % (rand() % 2 ? 6 : 150);
  const int form = rand() % 3;
  const f64 divisor = rand() % 2 ? 1 : 7;
  f32 *x = numbers(rows * columns), *y = numbers(rows * columns), *a = numbers(columns),
      *b = numbers(columns), *sums = numbers(columns);
  Columns of = {.x = x};
  if (form) of.y = rand() % 4 ? y : x;
  if (form == 2) of.a = a, of.b = b;
  if (sum_columns(&of, rows, columns, divisor, sums, &plain)) exit(2);
  const int right = is_right(&of, rows, columns, divisor, sums);
  free(x), free(y), free(a), free(b), free(sums);
  return right;
}

static int are_rows_right(void) {
  const i64 rows = rand() % 9, columns = rand() % 3 ? rand() % 80 : rand() % 2000;
  const f64 divisor = rand() % 2 ? 1 : (f64)columns;
  f32 *x = numbers(rows * columns), *y = numbers(rows * columns), *sums = numbers(rows);
  const f32 *by = rand() % 2 ? NULL : rand() % 2 ? x : y;
  int right = 1;
  if (sum_rows(x, by, rows, columns, divisor, sums, &plain)) exit(2);
  for (i64 row = 0; row < rows && right; row++) {
    f64 expected = 0;
    for (i64 i = row * columns; i < (row + 1) * columns; i++)
      expected += (f64)x[i] * (by ? (f64)by[i] : 1);
    right = is_close("sum of a row", (f64)sums[row], expected / divisor);
  }
  free(x), free(y), free(sums);
  return right;
}

static f64 combined(Way way, f64 old, f64 new) {
  if (way == BY_SUM) return old + new;
  if (way == BY_PRODUCT) return old * new;
  return way == BY_LARGEST ? (old > new ? old : new) : old < new ? old : new;
}

static f64 number_at(const void *x, int type, i64 i) {
  if (type == TYPE_f32) return (f64)((const f32 *)x)[i];
  if (type == TYPE_f64) return ((const f64 *)x)[i];
  return type == TYPE_i32 ? (f64)((const i32 *)x)[i] : (f64)((const i64 *)x)[i];
}

/* Small numbers, of which sums are exact in each type. */
static void *numbers_of(int type, i64 count) {
  const i64 size = type == TYPE_f64 || type == TYPE_i64 ? 8 : 4;
  char *made = space(count * size);
  for (i64 i = 0; i < count; i++) {
    const i64 number = rand() % 9 - 4;
    const f32 narrow = rand() % 50 ? (f32)number / 2 : (f32)NAN;
    const f64 wide = (f64)narrow;
    const i32 whole = (i32)number;
    memcpy(made + i * size, type == TYPE_f32 ? (void *)&narrow : type == TYPE_f64 ? (void *)&wide
                            : type == TYPE_i32 ? (void *)&whole : (void *)&number, (size_t)size);
  }
  return made;
}

/* Where an index names no row, nothing is added. */
static int are_added_rows_right(void) {
  static const int types[] = {TYPE_f32, TYPE_f64, TYPE_i32, TYPE_i64};
  const i64 rows = rand() % 7, columns = rand() % (rand() % 2 ? 9 : 150);
  AddedRows does = {.is_wide = rand() % 2, .count = rand() % 20, .blocks = rand() % 4};
  does.type = types[rand() % 4];
  does.way = does.type == TYPE_f32 || does.type == TYPE_f64 ? (Way)(rand() % WAYS) : BY_SUM;
  does.width = rand() % 2 ? columns : rand() % (columns + 1);
  does.number_step = rand() % 3 == 0;
  const i64 length = does.number_step ? does.width : 1, of_one = rand() % 4 ? does.count : 1;
  does.step = of_one == 1 && does.count != 1 ? 0 : length;
  does.block_step = rand() % 2 ? of_one * length : 0;
  does.x_step = rand() % 4 ? does.width : 0;
  does.x_block_step = rand() % 2 ? (does.x_step ? does.count : 1) * does.width : 0;
  const i64 indices = (does.block_step ? does.blocks : 1) * of_one * length;
  const i64 size = does.blocks * rows * columns;
  void *x = numbers_of(does.type, (does.x_block_step ? does.blocks : 1) *
                                      (does.x_step ? does.count : 1) * does.width);
  void *to = numbers_of(does.type, size);
  i64 *wide = space(indices * (i64)sizeof *wide);
  i32 *narrow = space(indices * (i64)sizeof *narrow);
  f64 *expected = zeros(size);
  for (i64 i = 0; i < size; i++) expected[i] = number_at(to, does.type, i);
  int names_all = 1;
  for (i64 i = 0; i < indices; i++) {
    wide[i] = rows ? rand() % (2 * rows) - rows : rand() % 2;
    if (!(rand() % 600)) wide[i] = rand() % 2 ? rows : rand() % 2 ? -rows - 1 : INT32_MIN;
    narrow[i] = (i32)wide[i];
    if (does.is_wide && !(rand() % 2000)) wide[i] = rand() % 2 ? INT64_MIN : INT64_MAX;
    if (does.count && does.width && does.blocks && (wide[i] < -rows || wide[i] >= rows)) names_all = 0;
  }
  does.x = x, does.index = does.is_wide ? (void *)wide : narrow;
  for (i64 block = 0; block < does.blocks && names_all; block++)
    for (i64 i = 0; i < does.count; i++)
      for (i64 k = 0; k < does.width; k++) {
        const i64 at = wide[block * does.block_step + i * does.step + k * does.number_step];
        f64 *place = expected + (block * rows + (at < 0 ? at + rows : at)) * columns + k;
        *place = combined(does.way, *place, number_at(x, does.type, block * does.x_block_step +
                                                                        i * does.x_step + k));
      }
  int right = add_rows(&does, rows, columns, to, &plain) == (names_all ? 0 : -1);
  if (!right) fprintf(stderr, "rows that there are: %d, but what it said was another thing\n", names_all);
  for (i64 i = 0; i < size && right; i++)
    right = is_close("added rows", number_at(to, does.type, i), expected[i]);
  free(x), free(to), free(wide), free(narrow), free(expected);
  return right;
}

static int is_wrong_case(void) {
  return !are_columns_right() || !are_rows_right() || !are_added_rows_right();
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
