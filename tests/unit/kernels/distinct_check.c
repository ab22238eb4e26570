/* Distinct numbers of random vectors, compared with a search of those before. Memory of tensors ends with them, for
   the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

/* A table that grows soon. */
#define FEWEST_PLACES 2

#include "distinct.c"

static f64 value_of(const void *x, int type, i64 i) {
  if (type == TYPE_f32) return (f64)((const f32 *)x)[i];
  if (type == TYPE_f64) return ((const f64 *)x)[i];
  return type == TYPE_i32 ? (f64)((const i32 *)x)[i] : (f64)((const i64 *)x)[i];
}

static int is_wrong_case(void) {
  static const int types[] = {TYPE_f32, TYPE_f64, TYPE_i32, TYPE_i64};
  const int type = types[rand() % 4], is_wide = type == TYPE_f64 || type == TYPE_i64;
  const i64 n = rand() % (rand() % 3 ? 20 : 300), kinds = 1 + rand() % (rand() % 2 ? 5 : 400);
  char *x = space(n * (is_wide ? 8 : 4));
  i64 *number = space(n * (i64)sizeof *number);
  for (i64 i = 0; i < n; i++) {
    /* Some that differ in high bits alone, zeros of both signs, infinities and NaN. */
    const i64 whole = (rand() % kinds - kinds / 2) * (rand() % 2 ? 1 : (i64)1 << 40);
    const i32 narrow = (i32)(whole % INT32_MAX);
    const f64 special[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY};
    const f64 wide_float = rand() % 9 ? (f64)whole : special[rand() % 6];
    const f32 narrow_float = (f32)wide_float;
    if (type == TYPE_i64) memcpy(x + i * 8, &whole, 8);
    if (type == TYPE_i32) memcpy(x + i * 4, &narrow, 4);
    if (type == TYPE_f64) memcpy(x + i * 8, &wide_float, 8);
    if (type == TYPE_f32) memcpy(x + i * 4, &narrow_float, 4);
  }
  Distinct found = {NULL, NULL, 0, 0};
  if (find_distinct(x, type, n, &found, number)) exit(2);
  i64 count = 0, wrong = 0;
  for (i64 i = 0; i < n && !wrong; i++) {
    i64 before = 0;
    while (before < i && value_of(x, type, before) != value_of(x, type, i)) before++;
    const i64 expected = before < i ? number[before] : count;
    wrong = number[i] != expected || (before == i && found.first[count++] != i);
  }
  for (i64 which = 0; which < count && !wrong; which++) {
    i64 times = 0;
    for (i64 i = 0; i < n; i++) times += number[i] == which;
    wrong = found.times[which] != times;
  }
  wrong |= found.count != count;
  if (wrong) fprintf(stderr, "%lld distinct of %lld of type %d\n", (long long)found.count, (long long)n, type);
  free_distinct(&found);
  free(x), free(number);
  return wrong != 0;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
