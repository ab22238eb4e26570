/* Attention of random sizes, masks and arrangements of axes, and its gradient, compared with products and sums
   one by one in float64. Memory of tensors ends with them, for the sanitizers. Prints how many were tried; the
   first wrong one ends it.

   Arguments: the seed, and how many. */

#include "checking.h"
#include "memory.h"

/* Few queries in several blocks and parts. */
#define QUERIES 5
#define QUERIES_FORWARDS 3
#define IN_A_ROW 7

#include "tiles.c"
#undef SET
#undef JOIN
#undef TARGET
#undef LANES

#define Division SoftmaxDivision
#define begin_of begin_of_row
#define compute_part compute_some_rows
#define compute_all compute_all_rows
#include "softmax.c"
#undef Division
#undef begin_of
#undef compute_part
#undef compute_all
#undef BLOCK
#undef PART

static long allocations, fails_at; /* 0: none fails */

static f32 *perhaps(size_t count) {
  return ++allocations == fails_at ? NULL : numbers_in_lines(count);
}

#define numbers_in_lines perhaps
#include "attention.c"
#undef numbers_in_lines

/* --- tensors in any arrangement ----------------------------------------------------------------------- */

typedef struct {
  int rank;
  i64 sizes[MAX_RANK]; /* as attention has them, and those of its own, which may be 1 */
  i64 own[MAX_RANK];
  Spread spread;
  f32 *memory;
  i64 count;
} Arranged;

static i64 of_others(const i64 *sizes, int rank) {
  i64 count = 1;
  for (int i = 0; i < rank; i++) count *= sizes[i];
  return count;
}

/* Steps of axes in a random order, one of them in front of a place of ``places``, which are one tensor. */
static void arrange(Arranged *tensor, i64 places, i64 place, const int *order, int other) {
  i64 step = 1, begin = 0;
  for (int i = tensor->rank; i >= 0; i--) {
    if (i == other) begin = place * step, step *= places;
    if (i == tensor->rank) continue;
    const int axis = order[i];
    tensor->spread.steps[axis] = tensor->own[axis] == 1 ? 0 : step;
    step *= tensor->own[axis];
  }
  tensor->count = step;
  tensor->spread.data = tensor->memory ? tensor->memory + (step ? begin : 0) : NULL;
}

static void shuffle(int *order, int rank) {
  for (int i = 0; i < rank; i++) order[i] = i;
  if (below(2))
    for (int i = rank - 1; i > 0; i--) {
      const int j = (int)below(i + 1), was = order[i];
      order[i] = order[j], order[j] = was;
    }
}

static Arranged some_tensor(int rank, const i64 *outer, i64 rows, i64 columns, int broadcasts) {
  Arranged made = {.rank = rank};
  int order[MAX_RANK];
  for (int i = 0; i < rank - 2; i++) made.sizes[i] = outer[i];
  made.sizes[rank - 2] = rows, made.sizes[rank - 1] = columns;
  memcpy(made.own, made.sizes, sizeof made.own);
  for (int i = 0; i < rank - 2 && broadcasts; i++)
    if (!below(4)) made.own[i] = 1;
  shuffle(order, rank);
  const int other = below(2) ? (int)below(rank + 1) : -1;
  const i64 places = other < 0 ? 1 : 1 + below(3);
  const i64 place = below(places);
  arrange(&made, places, place, order, other);
  made.memory = space(made.count * (i64)sizeof(f32));
  for (i64 i = 0; i < made.count; i++) made.memory[i] = number();
  arrange(&made, places, place, order, other);
  return made;
}

/* Results that are one tensor, or each one of its own. */
static void some_results(Arranged *to, int count, int is_joined) {
  int order[MAX_RANK];
  const int other = (int)below(to->rank + 1);
  shuffle(order, to->rank);
  for (int i = 0; i < count; i++) {
    const i64 places = is_joined ? count : 1, place = is_joined ? count - 1 - i : 0;
    if (!is_joined) shuffle(order, to->rank);
    arrange(&to[i], places, place, order, other);
    to[i].memory = is_joined && i ? to[0].memory : space(to[i].count * (i64)sizeof(f32));
    for (i64 k = 0; k < to[i].count; k++) to[i].memory[k] = 1e30f;
    arrange(&to[i], places, place, order, other);
  }
}

static i64 head_begin(const Spread *of, const i64 *outer, int axes, i64 head) {
  i64 begin = 0;
  for (int axis = axes - 1; axis >= 0; axis--) {
    begin += head % outer[axis] * of->steps[axis];
    head /= outer[axis];
  }
  return begin;
}

/* An element of one head. */
static f32 *at(const Arranged *of, i64 head, i64 row, i64 column) {
  const Spread *spread = &of->spread;
  return (f32 *)spread->data + head_begin(spread, of->sizes, of->rank - 2, head) +
         row * spread->steps[of->rank - 2] + column * spread->steps[of->rank - 1];
}

/* --- one by one ----------------------------------------------------------------------------------------- */

typedef struct {
  Attention does;
  Arranged q, k, v, dy, to[4]; /* results: attention, and three gradients */
  i64 heads, queries, keys;
  f32 *kept;
  f64 *y, *dq, *dk, *dv, *weights;
} Case;

static f64 mask_at(const Case *of, i64 head, i64 i, i64 j) {
  const Softmax *softmax = &of->does.softmax;
  const int rank = softmax->rank;
  const i64 place = head_begin(&softmax->mask, softmax->sizes, rank - 2, head) +
                    i * softmax->mask.steps[rank - 2] + j * softmax->mask.steps[rank - 1];
  if (softmax->masks == ADDED) return (f64)((const f32 *)softmax->mask.data)[place];
  return ((const unsigned char *)softmax->mask.data)[place];
}

static int counts(const Case *of, i64 head, i64 i, i64 j) {
  const int masks = of->does.softmax.masks;
  return masks == NO_MASK || masks == ADDED || (mask_at(of, head, i, j) != 0) == (masks == COUNTS_TRUE);
}

/* Weights of a query, its largest score and the sum. */
static void weights_of(const Case *of, i64 head, i64 i, f64 *weights, f64 *most, f64 *total) {
  const Softmax *softmax = &of->does.softmax;
  *most = -INFINITY, *total = 0;
  for (i64 j = 0; j < of->keys; j++) {
    f64 score = 0;
    for (i64 c = 0; c < of->does.size; c++)
      score += (f64)*at(&of->q, head, i, c) * (f64)*at(&of->k, head, j, c);
    score *= (f64)softmax->factor;
    /* A number that is far below takes the score's last places. */
    if (softmax->masks == ADDED) score = (f64)(f32)(score + mask_at(of, head, i, j));
    weights[j] = counts(of, head, i, j) ? score : (f64)softmax->fill;
    if (weights[j] > *most) *most = weights[j];
  }
  for (i64 j = 0; j < of->keys; j++) *total += weights[j] = exp(weights[j] - *most);
  for (i64 j = 0; j < of->keys; j++) weights[j] /= *total;
}

static void back(const Case *of, i64 head, i64 i, const f64 *weights) {
  const i64 size = of->does.size, width = of->does.width;
  f64 mean = 0;
  for (int turn = 0; turn < 2; turn++)
    for (i64 j = 0; j < of->keys; j++) {
      f64 slope = 0;
      for (i64 c = 0; c < width; c++)
        slope += (f64)*at(&of->dy, head, i, c) * (f64)*at(&of->v, head, j, c);
      if (!turn) {
        mean += slope * weights[j];
        continue;
      }
      slope = counts(of, head, i, j) ? (slope - mean) * weights[j] : 0;
      slope *= (f64)of->does.softmax.factor;
      for (i64 c = 0; c < size; c++) {
        of->dq[(head * of->queries + i) * size + c] += slope * (f64)*at(&of->k, head, j, c);
        of->dk[(head * of->keys + j) * size + c] += slope * (f64)*at(&of->q, head, i, c);
      }
      for (i64 c = 0; c < width; c++)
        of->dv[(head * of->keys + j) * width + c] += weights[j] * (f64)*at(&of->dy, head, i, c);
    }
}

static int is_close(f64 found, f64 expected) {
  if (isnan(expected) || isinf(expected)) return isnan(found) || found == expected;
  return fabs(found - expected) <= 2e-4 * (1 + fabs(expected));
}

/* A largest score is looked for among those in sight; none that counts is out of it. */
static int is_wrong_row(const Case *of, i64 head, i64 i, int is_gradient) {
  const i64 width = of->does.width, row = head * of->queries + i;
  f64 most, total;
  weights_of(of, head, i, of->weights, &most, &total);
  for (i64 c = 0; c < width; c++) {
    f64 *y = &of->y[row * width + c];
    for (i64 j = 0; j < of->keys; j++) *y += of->weights[j] * (f64)*at(&of->v, head, j, c);
  }
  if (is_gradient) back(of, head, i, of->weights);
  const f64 kept[] = {(f64)of->kept[row * KEPT], (f64)of->kept[row * KEPT + 1]};
  if (of->keys ? is_close(kept[0], most) && is_close(kept[1], 1 / total) : !kept[0] && !kept[1]) return 0;
  fprintf(stderr, "kept of %lld keys: %g, %g instead of %g, %g\n", (long long)of->keys, kept[0], kept[1], most,
          1 / total);
  return 1;
}

static int results_differ(const char *what, const Case *of, const Arranged *found, const f64 *expected) {
  const i64 rows = found->sizes[found->rank - 2], columns = found->sizes[found->rank - 1];
  for (i64 head = 0; head < of->heads; head++)
    for (i64 i = 0; i < rows; i++)
      for (i64 j = 0; j < columns; j++) {
        const f64 wanted = expected[(head * rows + i) * columns + j];
        if (is_close((f64)*at(found, head, i, j), wanted)) continue;
        fprintf(stderr, "%s: %g instead of %g at %lld, %lld, %lld of %lld, %lld, %lld; mask %d\n", what,
                (f64)*at(found, head, i, j), wanted, (long long)head, (long long)i, (long long)j,
                (long long)of->heads, (long long)rows, (long long)columns, of->does.softmax.masks);
        return 1;
      }
  return 0;
}

/* --- cases ------------------------------------------------------------------------------------------------ */

/* A mask of random sizes of 1: causal, of the first keys, of any, of all or of none. */
static void *some_mask(Softmax *softmax) {
  static const f32 fills[] = {-1e9f, -INFINITY, -1e30f, -3, 0.5f, 90};
  const int rank = softmax->rank, from = (int)below(3) ? 0 : (int)below(rank), kind = (int)below(5);
  i64 sizes[MAX_RANK], step = 1;
  softmax->masks = (int)below(4);
  softmax->fill = fills[below(6)];
  if (!softmax->masks) return NULL;
  for (int i = rank - 1; i >= 0; i--) {
    sizes[i] = i < from || !below(4) ? 1 : softmax->sizes[i];
    softmax->mask.steps[i] = sizes[i] == 1 ? 0 : step;
    step *= sizes[i];
  }
  const i64 keys = sizes[rank - 1], bytes = softmax->masks == ADDED ? (i64)sizeof(f32) : 1;
  const i64 few = keys ? below(keys + 1) : 0;
  char *mask = space(step * bytes);
  for (i64 i = 0; i < step; i++) {
    const i64 key = i % keys, query = i / keys % sizes[rank - 2];
    const int is = kind == 0 ? key <= query : kind == 1 ? key < few : kind == 2 ? rand() % 2 : kind == 3;
    if (softmax->masks == ADDED)
      ((f32 *)(void *)mask)[i] = is ? number() : softmax->fill;
    else
      mask[i] = (char)(is == (softmax->masks == COUNTS_TRUE));
  }
  softmax->mask.data = mask;
  return mask;
}

/* Whatever stops it, that is said, and nothing is left. */
static int is_wrong_failure(const Case *of, int is_gradient) {
  const Arranged *to = of->to;
  const int works = of->heads != 0;
  for (int turn = 0; turn < 2; turn++) {
    const Host *by = turn ? &plain : &failing;
    if (turn) allocations = 0, fails_at = 1;
    const int found =
        is_gradient ? attention_gradient(&of->does, of->kept, &of->dy.spread, &to[1].spread,
                                         &to[2].spread, &to[3].spread, by)
                    : attention(&of->does, &to[0].spread, of->kept, by);
    fails_at = 0;
    if (found != (!works ? 0 : turn ? -1 : FAILURE)) return 1;
  }
  return 0;
}

static int is_wrong(Case *of, int is_gradient) {
  const i64 width = of->does.width, size = of->does.size;
  Arranged *to = of->to;
  int wrong = !below(8) && is_wrong_failure(of, 0);
  wrong |= attention(&of->does, &to[0].spread, of->kept, &plain);
  for (i64 head = 0; head < of->heads; head++)
    for (i64 i = 0; i < of->queries && !wrong; i++) wrong = is_wrong_row(of, head, i, is_gradient);
  wrong = wrong || results_differ("attention", of, &to[0], of->y);
  if (!is_gradient || wrong) return wrong;
  some_results(to + 1, 3, of->queries == of->keys && width == size && below(2));
  wrong = !below(8) && is_wrong_failure(of, 1);
  wrong |= attention_gradient(&of->does, of->kept, &of->dy.spread, &to[1].spread, &to[2].spread,
                              &to[3].spread, &plain);
  wrong = wrong || results_differ("queries", of, &to[1], of->dq) || results_differ("keys", of, &to[2], of->dk) ||
          results_differ("values", of, &to[3], of->dv);
  for (int i = 1; i < 4; i++)
    if (i == 1 || to[i].memory != to[1].memory) free(to[i].memory);
  return wrong;
}

static int is_wrong_case(void) {
  const int rank = 2 + (int)below(4), is_gradient = (int)below(2);
  i64 outer[MAX_RANK] = {0};
  for (int i = 0; i < rank - 2; i++) outer[i] = below(40) ? 1 + below(3) : 0;
  const i64 queries = below(4) ? below(14) : below(70), keys = below(3) ? below(24) : below(90);
  const i64 size = below(4) ? below(9) : below(40);
  const i64 width = below(3) ? size : below(4) ? below(9) : below(40);
  const int alike = !below(3); /* as many keys as queries, so gradients can be one tensor */
  Case of = {.queries = queries, .keys = alike ? queries : keys};
  Softmax *softmax = &of.does.softmax;
  of.q = some_tensor(rank, outer, queries, size, !is_gradient);
  of.k = some_tensor(rank, outer, of.keys, size, !is_gradient);
  of.v = some_tensor(rank, outer, of.keys, width, !is_gradient);
  of.dy = some_tensor(rank, outer, queries, width, 0);
  of.does.size = size, of.does.width = width;
  of.does.q = of.q.spread, of.does.k = of.k.spread, of.does.v = of.v.spread;
  softmax->rank = rank, softmax->factor = below(2) ? 1 : number();
  for (int i = 0; i < rank - 2; i++) softmax->sizes[i] = outer[i];
  softmax->sizes[rank - 2] = queries, softmax->sizes[rank - 1] = of.keys;
  void *mask = some_mask(softmax);
  of.heads = of_others(outer, rank - 2);
  for (int i = 0; i < 4; i++) {
    of.to[i].rank = rank;
    memcpy(of.to[i].sizes, softmax->sizes, sizeof of.to[i].sizes);
    of.to[i].sizes[rank - 2] = i < 2 ? queries : of.keys;
    of.to[i].sizes[rank - 1] = i == 1 || i == 2 ? size : width;
    memcpy(of.to[i].own, of.to[i].sizes, sizeof of.to[i].own);
  }
  some_results(of.to, 1, 0);
  of.kept = space(of.heads * queries * KEPT * (i64)sizeof(f32));
  of.y = zeros(of.heads * queries * width), of.dq = zeros(of.heads * queries * size);
  of.dk = zeros(of.heads * of.keys * size), of.dv = zeros(of.heads * of.keys * width);
  of.weights = zeros(of.keys);
  const int wrong = !is_possible_attention(&of.does) || is_wrong(&of, is_gradient);
  free(of.q.memory), free(of.k.memory), free(of.v.memory), free(of.dy.memory), free(of.to[0].memory);
  free(mask), free(of.kept), free(of.y), free(of.dq), free(of.dk), free(of.dv), free(of.weights);
  return wrong;
}

int main(int argc, char **argv) { return try_cases(argc, argv, is_wrong_case); }
