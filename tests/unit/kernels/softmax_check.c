/* Softmax behind masks, and its gradient, over random sizes, compared with float64. Memory of tensors ends
   with them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

static int allows_avx512 = 1;
#define HAS_AVX512 (allows_avx512 && __builtin_cpu_supports("avx512f"))

/* Rows in several blocks, and few numbers in several parts. */
#define BLOCK 64
#define PART 100

#include "softmax.c"

#include <stdio.h>
#include <stdlib.h>

static int fails; /* the runtime, instead of running parts */

static int one_by_one(void *context, void (*part)(void *data, size_t index), size_t count,
                      void *data) {
  (void)context;
  if (fails) return 7;
  for (size_t i = count; i-- > 0;) part(data, i);
  return 0;
}

/* A tensor that is broadcast to a box. */
typedef struct {
  int rank;
  i64 sizes[MAX_RANK];
  i64 count;
  void *data;
} Operand;

static f32 even(void) { return 2 * (f32)rand() / (f32)RAND_MAX - 1; }

/* Scores as they are, as masks leave them, and seldom some that make all of a row NaN. */
static f32 some_score(int is_wild) {
  if (!is_wild) return 5 * even();
  static const f32 special[] = {-1e9f, -INFINITY, -3.4e38f, 3.4e38f,
                                0.0f,  -103.9f,   INFINITY, NAN};
  const int at = rand() % 200;
  return at < 8 ? special[at < 6 || rand() % 40 == 0 ? at : 0] : 60 * even();
}

static void fill(Operand *to, int is_bool, int is_wild) {
  to->count = 1;
  for (int axis = 0; axis < to->rank; axis++) to->count *= to->sizes[axis];
  const size_t bytes = (size_t)to->count * (is_bool ? 1 : sizeof(f32));
  to->data = malloc(bytes);
  if (!to->data && bytes) exit(2);
  const int often = 1 + rand() % 4;
  for (i64 i = 0; i < to->count; i++)
    if (is_bool) /* anything but 0 is true */
      ((unsigned char *)to->data)[i] = (unsigned char)(rand() % often ? 0 : 1 + rand() % 255);
    else
      ((f32 *)to->data)[i] = some_score(is_wild);
}

/* One with some axes of size 1, and fewer of them. */
static Operand narrowed(int rank, const i64 *sizes, int is_narrow) {
  Operand made = {.rank = rank};
  if (is_narrow) made.rank = rand() % (rank + 1);
  for (int axis = 0; axis < made.rank; axis++) {
    const i64 size = sizes[rank - made.rank + axis];
    made.sizes[axis] = is_narrow && rand() % 3 == 0 ? 1 : size;
  }
  return made;
}

static Spread spread(const Operand *of, int rank) {
  Spread made = {.data = of->data};
  i64 step = 1;
  for (int axis = of->rank - 1; axis >= 0; axis--) {
    made.steps[rank - of->rank + axis] = of->sizes[axis] == 1 ? 0 : step;
    step *= of->sizes[axis];
  }
  return made;
}

/* Which of its elements stands at a place of the box. */
static i64 place_in(const Operand *of, int rank, const i64 *sizes, i64 place) {
  i64 found = 0, step = 1;
  for (int axis = 1; axis <= of->rank; axis++) {
    const i64 size = of->sizes[of->rank - axis], at = place % sizes[rank - axis];
    found += size == 1 ? 0 : at * step;
    place /= sizes[rank - axis], step *= size;
  }
  return found;
}

static int some_sizes(i64 *sizes) {
  const int rank = 1 + rand() % (rand() % 8 ? 4 : MAX_RANK);
  for (int axis = 0; axis < rank - 1; axis++) sizes[axis] = rand() % 40 ? 1 + rand() % 3 : 0;
  sizes[rank - 1] = rand() % 40 ? 1 + rand() % (rand() % 3 ? 40 : 300) : 0;
  return rank;
}

static int differs(const char *what, f64 found, f64 expected, f64 error, i64 at, i64 n) {
  if (isnan(expected) ? isnan(found) : fabs(found - expected) <= error) return 0;
  fprintf(stderr, "%s: %g instead of %g at %lld, rows of %lld\n", what, found, expected,
          (long long)at, (long long)n);
  return 1;
}

static f32 masked_score(const Softmax *of, const Operand *x, const Operand *mask, i64 place) {
  const f32 score = ((const f32 *)x->data)[place_in(x, of->rank, of->sizes, place)];
  if (of->masks == NO_MASK) return score;
  const i64 at = place_in(mask, of->rank, of->sizes, place);
  if (of->masks == ADDED) return score + ((const f32 *)mask->data)[at];
  const int is = ((const unsigned char *)mask->data)[at] != 0;
  return is == (of->masks == COUNTS_TRUE) ? score : of->fill;
}

static int softmax_is_wrong(const Host *host) {
  static const f32 fills[] = {-1e9f, -INFINITY, 0.5f, -3.4e38f};
  Softmax does = {.masks = rand() % 4, .factor = 1, .fill = fills[rand() % 4]};
  does.rank = some_sizes(does.sizes);
  const i64 n = does.sizes[does.rank - 1], count = elements(does.sizes, does.rank);
  Operand x = narrowed(does.rank, does.sizes, does.masks && rand() % 3 == 0);
  Operand mask = narrowed(does.rank, does.sizes, rand() % 3);
  if (x.rank < does.rank) mask = narrowed(does.rank, does.sizes, 0);
  for (int axis = 0; axis < does.rank && x.rank == does.rank; axis++)
    if (x.sizes[axis] != does.sizes[axis]) mask = narrowed(does.rank, does.sizes, 0);
  fill(&x, 0, rand() % 2), fill(&mask, does.masks != ADDED, 1);
  does.scores = spread(&x, does.rank), does.mask = spread(&mask, does.rank);
  f32 *wanted = malloc((size_t)count * sizeof *wanted), *found = NULL;
  for (i64 i = 0; i < count; i++) wanted[i] = masked_score(&does, &x, &mask, i);
  if (x.rank == does.rank && x.count == count && rand() % 2)
    found = x.data; /* over the scores */
  else
    found = malloc((size_t)count * sizeof *found);
  int wrong = softmax(&does, found, host) != 0;
  for (i64 row = 0; n && row < count / n && !wrong; row++) {
    const f32 *of = wanted + row * n;
    f32 most = -INFINITY;
    f64 total = 0;
    for (i64 i = 0; i < n; i++) most = of[i] > most ? of[i] : most;
    for (i64 i = 0; i < n; i++) total += exp((f64)(of[i] - most));
    for (i64 i = 0; i < n && !wrong; i++) {
      const f64 expected = exp((f64)(of[i] - most)) / total;
      wrong = differs("softmax", (f64)found[row * n + i], expected, 1e-6 * expected + 1e-44,
                      row * n + i, n);
    }
  }
  if (found != x.data) free(found);
  free(wanted), free(x.data), free(mask.data);
  return wrong;
}

static int gradient_is_wrong(const Host *host) {
  SoftmaxSlope does = {.masks = rand() % 3, .scales = rand() % 3, .scale = 1 + 4 * even()};
  does.rank = some_sizes(does.sizes);
  const i64 n = does.sizes[does.rank - 1], count = elements(does.sizes, does.rank);
  Operand y = narrowed(does.rank, does.sizes, 0), dy = y, same = y;
  Operand mask = narrowed(does.rank, does.sizes, rand() % 3);
  fill(&y, 0, 0), fill(&dy, 0, 0), fill(&same, 0, 0), fill(&mask, 1, 0);
  memcpy(same.data, dy.data, (size_t)count * sizeof(f32));
  does.y = y.data, does.dy = dy.data;
  if (does.masks) does.mask = spread(&mask, does.rank);
  f32 *found = rand() % 2 ? dy.data : malloc((size_t)count * sizeof *found);
  int wrong = softmax_gradient(&does, found, host) != 0;
  for (i64 row = 0; n && row < count / n && !wrong; row++) {
    const f32 *a = does.y + row * n, *b = (const f32 *)same.data + row * n;
    f64 mean = 0;
    for (i64 i = 0; i < n; i++) mean += (f64)a[i] * (f64)b[i];
    for (i64 i = 0; i < n && !wrong; i++) {
      f64 expected = ((f64)b[i] - mean) * (f64)a[i];
      const i64 at = place_in(&mask, does.rank, does.sizes, row * n + i);
      const int is = ((const unsigned char *)mask.data)[at] != 0;
      if (does.masks && is != (does.masks == COUNTS_TRUE)) expected = 0;
      if (does.scales == MULTIPLIED) expected *= (f64)does.scale;
      if (does.scales == DIVIDED) expected /= (f64)does.scale;
      const f64 by = does.scales == MULTIPLIED ? fabs((f64)does.scale)
                     : does.scales             ? 1 / fabs((f64)does.scale)
                                               : 1;
      wrong =
          differs("gradient", (f64)found[row * n + i], expected,
                  expected == 0 && does.masks ? 0 : 2e-5 * by * (f64)(n + 25), row * n + i, n);
    }
  }
  if (found != dy.data) free(found);
  free(y.data), free(dy.data), free(same.data), free(mask.data);
  return wrong;
}

/* What the runtime says of its failure is passed on. */
static int failure_is_lost(const Host *host) {
  f32 x[8] = {0};
  const Softmax forwards = {.rank = 1, .sizes = {8}, .scores = {x, {1}}};
  const SoftmaxSlope backwards = {.rank = 1, .sizes = {8}, .y = x, .dy = x};
  fails = 1;
  const int lost =
      softmax(&forwards, x, host) != 7 || softmax_gradient(&backwards, x, host) != 7;
  fails = 0;
  return lost;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  srand((unsigned)strtoul(argv[1], NULL, 10));
  const long count = strtol(argv[2], NULL, 10);
  const Host host = {NULL, one_by_one, NULL};
  if (failure_is_lost(&host)) return 1;
  for (long i = 0; i < count; i++) {
    allows_avx512 = rand() % 2;
    if (softmax_is_wrong(&host) || gradient_is_wrong(&host)) return 1;
  }
  printf("%ld\n", count);
  return 0;
}
