/* Functions of the library over all numbers that there are, compared with wider ones of the C library's.
   Arguments: the seed, and how many numbers of float64 are tried; of float32 a part of all 2^32 that is as
   dense as asked for by the third one, every how many, and all around edges. Prints the function, and the most units in the last
   place by which it is wrong; anything but the right infinity, NaN and sign of a zero ends it. */

#include "program.c"

#include <float.h>

typedef long double wide;
typedef struct {
  const char *name;
  f64 worst, at, other;
} Worst;

static u64 state;

static u64 random_bits(void) { /* xorshift, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static f64 f64_of(u64 bits) {
  f64 x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* By how many units in the last place of a type a result is wrong. */
static void compare(Worst *worst, f64 found, wide expected, f64 rounded, f64 unit, f64 x, f64 y) {
  int right = 1;
  if (rounded != rounded || found != found)
    right = rounded != rounded && found != found;
  else if (isinf(rounded) || isinf(found) || rounded == 0)
    /* Where what is exact is half a unit from an edge, either is right. */
    right = (found == rounded && signbit(found) == signbit(rounded)) ||
            (fabs(found - (f64)expected) <= unit && !isinf((f64)expected) && signbit(found) == signbit(rounded)) ||
            (fabs(found) >= DBL_MAX && fabs(rounded) >= DBL_MAX && signbit(found) == signbit(rounded));
  if (!right) {
    fprintf(stderr, "%s of %.17g and %.17g: %.17g instead of %.17g\n", worst->name, x, y, found, rounded);
    exit(1);
  }
  if (!isfinite(rounded) || !isfinite(found)) return;
  const f64 error = fabs((f64)(((wide)found - expected) / (wide)unit));
  if (error > worst->worst) worst->worst = error, worst->at = x, worst->other = y;
}

static f64 unit_of_f32(f32 x) {
  const f32 size = fabsf(x);
  return isfinite(size) ? (f64)(nextafterf(size, INFINITY) == INFINITY ? size - nextafterf(size, 0)
                                                                 : nextafterf(size, INFINITY) - size)
                        : 0x1p104;
}

static f64 unit_of_f64(f64 x) {
  const f64 size = fabs(x);
  if (!isfinite(size)) return 0x1p971;
  const f64 next = nextafter(size, INFINITY);
  return isinf(next) ? size - nextafter(size, 0) : next - size;
}

static void compare_f32(Worst *worst, f32 found, f64 expected, f32 x, f32 y) {
  const f32 rounded = (f32)expected;
  compare(worst, (f64)found, (wide)expected, (f64)rounded, unit_of_f32(rounded), (f64)x, (f64)y);
}

static void compare_f64(Worst *worst, f64 found, wide expected, f64 x, f64 y) {
  const f64 rounded = (f64)expected;
  compare(worst, found, expected, rounded, unit_of_f64(rounded), x, y);
}

static wide wide_sigmoid(wide x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static f64 sigmoid(f64 x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }

#define FUNCTIONS_OF_ONE(DO)                                                                   \
  DO(0, Exp, exponential, exp, expl)                                                           \
  DO(1, Log, logarithm, log, logl)                                                             \
  DO(2, Tanh, tangent, tanh, tanhl)                                                            \
  DO(3, Sigmoid, logistic, sigmoid, wide_sigmoid)                                              \
  DO(4, Erf, error, erf, erfl)

#define NAMED(I, NAME, OWN, NARROW, WIDEST) {#NAME " f32", 0, 0, 0},
#define NAMED_WIDE(I, NAME, OWN, NARROW, WIDEST) {#NAME " f64", 0, 0, 0},

/* A number of any size, or one of those around which powers go over edges. */
static f64 some_number(void) {
  static const f64 special[] = {0.0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, 1e300, 1.0000000000000002,
                                0.9999999999999999, 0x1p-1074, DBL_MIN, DBL_MAX, 1024, -1074};
  switch (random_bits() % 8) {
  case 0:
    return special[random_bits() % (sizeof special / sizeof special[0])];
  case 1: /* not far from 1 */
    return 1 + ((f64)(i64)random_bits() * 0x1p-63) * f64_of((u64)(1023 - random_bits() % 53) << 52);
  case 2:
    return (f64)(i64)random_bits() * 0x1p-53; /* up to 1024 */
  case 3:
    return random_bits() % 2 ? INFINITY : random_bits() % 2 ? -INFINITY : NAN;
  case 4: /* a whole number, of either sign */
    return (f64)((i64)(random_bits() % 64) - 32);
  case 5: /* below the normal ones */
    return f64_of(random_bits() & 0x800fffffffffffffu);
  default:
    return f64_of(random_bits());
  }
}

/* Without those NaN that signal: to the power of 0 they are NaN in some libraries, and 1 in others. */
static f32 quiet_f32(f32 x) { return x != x ? NAN : x; }
static f64 quiet_f64(f64 x) { return x != x ? NAN : x; }

static void check_powers(Worst *narrow, Worst *widest, long count) {
  for (long i = 0; i < count; i++) {
    const f64 x = quiet_f64(some_number()), y = quiet_f64(some_number());
    compare_f64(widest, power_f64(x, y), powl((wide)x, (wide)y), x, y);
    u32 bits = (u32)random_bits(), other = (u32)random_bits();
    const f32 a = quiet_f32(random_bits() % 2 ? (f32)x : from_bits(bits));
    const f32 b = quiet_f32(random_bits() % 2 ? (f32)y : from_bits(other));
    compare_f32(narrow, power_f32(a, b), pow((f64)a, (f64)b), a, b);
  }
}

/* Numbers of both signs around which results become 0, the least one, the least normal one, 1 or infinite, or
   functions take another way there; and the least numbers themselves. */
static f32 near_an_edge(u32 at) {
  static const f32 edges[] = {103.97208f, 104.0f, 103.27893f, 87.33655f, 88.72284f, 89.0f, 17.328680f,
                              16.635532f, 9.010913f, 0x1p-126f, 0x1p-148f, 1.0f};
  enum { AROUND = 1 << 12 };
  const u32 edge = at / (4 * AROUND);
  if (edge >= sizeof edges / sizeof edges[0]) return NAN;
  const i64 near = (i64)bits_of(edges[edge]) + at / 2 % (2 * AROUND) - AROUND;
  return from_bits((u32)(near < 0 ? 0 : near) | at % 2 << 31);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  state = strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252u;
  const long count = strtol(argv[2], NULL, 10);
  const u64 step = strtoull(argv[3], NULL, 10);
  static Worst narrow[] = {FUNCTIONS_OF_ONE(NAMED){"Pow f32", 0, 0, 0}};
  static Worst widest[] = {FUNCTIONS_OF_ONE(NAMED_WIDE){"Pow f64", 0, 0, 0}};
  for (u64 bits = 0; bits <= UINT32_MAX; bits += step) {
    const f32 x = from_bits((u32)bits);
#define TRY(I, NAME, OWN, NARROW, WIDEST)                                                      \
  compare_f32(&narrow[I], OWN##_f32(x), NARROW((f64)x), x, 0);
    FUNCTIONS_OF_ONE(TRY)
  }
  for (u32 at = 0; !isnan(near_an_edge(at)); at++) {
    const f32 x = near_an_edge(at);
    FUNCTIONS_OF_ONE(TRY)
  }
  for (long i = 0; i < count; i++) {
    const f64 x = some_number();
#define TRY_WIDE(I, NAME, OWN, NARROW, WIDEST)                                                 \
  compare_f64(&widest[I], OWN##_f64(x), WIDEST((wide)x), x, 0);
    FUNCTIONS_OF_ONE(TRY_WIDE)
  }
  check_powers(&narrow[5], &widest[5], count);
  for (int i = 0; i < 6; i++)
    for (int is_wide = 0; is_wide < 2; is_wide++) {
      const Worst *worst = is_wide ? &widest[i] : &narrow[i];
      printf("%s %.3f %.17g %.17g\n", worst->name, worst->worst, worst->at, worst->other);
    }
  return 0;
}
