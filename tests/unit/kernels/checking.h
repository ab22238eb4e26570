/* What checks of kernels share: random numbers, parts that run one after another, results beside float64, and
   the loop over random cases. It stands in front of a kernel's source, which asks ``HAS_AVX512``. */

#ifndef TFX_CHECKING_H
#define TFX_CHECKING_H

#include "numbers.h"
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int allows_avx512 = 1;
#define HAS_AVX512 (allows_avx512 && __builtin_cpu_supports("avx512f"))

/* --- what a kernel runs in -------------------------------------------------------------------------------- */

static inline int one_by_one(void *context, void (*part)(void *data, size_t index),
                             size_t count, void *data) {
  (void)context;
  for (size_t i = count; i-- > 0;) part(data, i);
  return 0;
}

enum { FAILURE = 7 };

static inline int fails(void *context, void (*part)(void *data, size_t index), size_t count,
                        void *data) {
  (void)context, (void)part, (void)count, (void)data;
  return FAILURE;
}

static const Host plain = {NULL, one_by_one, NULL}, failing = {NULL, fails, NULL};

/* --- tensors ---------------------------------------------------------------------------------------------- */

static inline i64 below(i64 n) { return rand() % n; }

static inline f32 number(void) { return 2 * (f32)rand() / (f32)RAND_MAX - 1; }

static inline void *space(i64 bytes) {
  void *made = bytes < 0 ? NULL : malloc((size_t)bytes);
  if (!made && bytes) exit(2);
  return made;
}

static inline f32 *numbers(i64 count) {
  f32 *made = space(count * (i64)sizeof *made);
  for (i64 i = 0; i < count; i++) made[i] = number();
  return made;
}

static inline f64 *zeros(i64 count) {
  f64 *made = space(count * (i64)sizeof *made);
  for (i64 i = 0; i < count; i++) made[i] = 0;
  return made;
}

static inline int differ(const char *what, const f32 *found, const f64 *expected, i64 count) {
  for (i64 i = 0; i < count; i++) {
    if ((f64)found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i]))) continue;
    if (!(fabs((f64)found[i] - expected[i]) <= 1e-4 * (1 + fabs(expected[i])))) {
      fprintf(stderr, "%s: %g instead of %g at %lld of %lld\n", what, (f64)found[i],
              expected[i], (long long)i, (long long)count);
      return 1;
    }
  }
  return 0;
}

/* --- the program ------------------------------------------------------------------------------------------ */

/* Try as many random cases as the arguments ask for, which are the seed and how many: ends at the first that is
   wrong, and else prints how many were tried. Half of them are without vectors of 512 bits. */
static inline int try_cases(int argc, char **argv, int (*is_wrong_case)(void)) {
  if (argc != 3) return 2;
  srand((unsigned)strtoul(argv[1], NULL, 10));
  const long count = strtol(argv[2], NULL, 10);
  for (long i = 0; i < count; i++) {
    allows_avx512 = rand() % 2;
    if (is_wrong_case()) return 1;
  }
  printf("%ld\n", count);
  return 0;
}

#endif
