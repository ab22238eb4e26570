/* Softmax behind masks, and its gradient, over random sizes, compared with float64. Memory of tensors ends
   with them, for the sanitizers. Prints how many were tried; the first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"

/* Rows in several blocks, and few numbers in several parts. */
#define BLOCK 64
#define PART 100

#include "softmax.c"

/* A tensor that is broadcast to a box. */
typedef struct {
  int rank;
  i64 sizes[MAX_RANK];
  i64 count;
  void *data;
} Operand;

/* Scores as they are, as masks leave them, and seldom some that make all of a row NaN. */
static f32 some_score(int is_wild) {
  if (!is_wild) return 5 * number();
  static const f32 special[] = {-1e9f, -INFINITY, -3.4e38f, 3.4e38f,
                                0.0f,  -103.9f,   INFINITY, NAN};
  const int at = rand() % 200;
  return at < 8 ? special[at < 6 || rand() % 40 == 0 ? at : 0] : 60 * number();
}

static void fill(Operand *to, int is_bool, int is_wild) {
  to->count = 1;
  for (int axis = 0; axis < to->rank; axis++) to->count *= to->sizes[axis];
  const i64 bytes = to->count * (is_bool ? 1 : (i64)sizeof(f32));
  to->data = space(bytes);
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

static int softmax_is_wrong(void) {
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
  f32 *wanted = space(count * (i64)sizeof *wanted), *found = NULL;
  for (i64 i = 0; i < count; i++) wanted[i] = masked_score(&does, &x, &mask, i);
  if (x.rank == does.rank && x.count == count && rand() % 2)
    found = x.data; /* over the scores */
  else
    found = space(count * (i64)sizeof *found);
  int wrong = softmax(&does, found, &plain) != 0;
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

static int gradient_is_wrong(void) {
  SoftmaxSlope does = {.masks = rand() % 3, .scales = rand() % 3, .scale = 1 + 4 * number()};
  does.rank = some_sizes(does.sizes);
  const i64 n = does.sizes[does.rank - 1], count = elements(does.sizes, does.rank);
  Operand y = narrowed(does.rank, does.sizes, 0), dy = y, same = y;
  Operand mask = narrowed(does.rank, does.sizes, rand() % 3);
  fill(&y, 0, 0), fill(&dy, 0, 0), fill(&same, 0, 0), fill(&mask, 1, 0);
  memcpy(same.data, dy.data, (size_t)count * sizeof(f32));
  does.y = y.data, does.dy = dy.data;
  if (does.masks) does.mask = spread(&mask, does.rank);
  f32 *found = rand() % 2 ? dy.data : space(count * (i64)sizeof *found);
  int wrong = softmax_gradient(&does, found, &plain) != 0;
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
static int failure_is_lost(void) {
  f32 x[8] = {0};
  const Softmax forwards = {.rank = 1, .sizes = {8}, .scores = {x, {1}}};
  const SoftmaxSlope backwards = {.rank = 1, .sizes = {8}, .y = x, .dy = x};
  return softmax(&forwards, x, &failing) != FAILURE ||
         softmax_gradient(&backwards, x, &failing) != FAILURE;
}

static int is_wrong_case(void) { return softmax_is_wrong() || gradient_is_wrong(); }

int main(int argc, char **argv) {
  return failure_is_lost() ? 1 : try_cases(argc, argv, is_wrong_case);
}
