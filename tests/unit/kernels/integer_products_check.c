/* Products of random matrices of integers, compared with sums one by one. Memory of tensors ends with them, for the
   sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

#include "integer_products.c"

static u64 some_bits(void) { return (u64)rand() << 42 ^ (u64)rand() << 21 ^ (u64)rand(); }

static u64 at(const void *x, int is_wide, i64 i) {
  return is_wide ? ((const u64 *)x)[i] : ((const u32 *)x)[i];
}

static void *matrices(int is_wide, i64 count) {
  void *made = space(count * (is_wide ? 8 : 4));
  for (i64 i = 0; i < count; i++)
    if (is_wide)
      ((u64 *)made)[i] = some_bits();
    else
      ((u32 *)made)[i] = (u32)some_bits();
  return made;
}

static int is_wrong_case(void) {
  IntegerProduct does = {.is_wide = rand() % 2, .count = rand() % 4, .rows = rand() % (rand() % 3 ? 9 : 80)};
  does.inner = rand() % 20, does.columns = rand() % (rand() % 2 ? 9 : 70);
  void *left = matrices(does.is_wide, does.count * does.rows * does.inner);
  void *right = matrices(does.is_wide, does.count * does.inner * does.columns);
  void *to = matrices(does.is_wide, does.count * does.rows * does.columns);
  does.left = left, does.right = right, does.to = to;
  int wrong = multiply_integers(&does, &plain) != 0;
  for (i64 i = 0; i < does.count * does.rows * does.columns && !wrong; i++) {
    const i64 row = i / does.columns, one = row / does.rows;
    u64 sum = 0;
    for (i64 k = 0; k < does.inner; k++)
      sum += at(left, does.is_wide, row * does.inner + k) *
             at(right, does.is_wide, (one * does.inner + k) * does.columns + i % does.columns);
    wrong = at(to, does.is_wide, i) != (does.is_wide ? sum : (u32)sum);
  }
  if (wrong) fprintf(stderr, "a product of %lld by %lld\n", (long long)does.rows, (long long)does.columns);
  free(left), free(right), free(to);
  return wrong;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
