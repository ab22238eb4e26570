#include "program.h"

#include "numbers.h"
#include "processor.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instructions.h"

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef uint16_t u16;
typedef uint8_t u8;
typedef uint8_t b8;

/* --- instructions ------------------------------------------------------------------------------ */

enum { STRIP = 64, LEAST_STRIP = 16, SLOT_BYTES = STRIP * 8, MAX_USES = 64 };
_Static_assert(!(STRIP & (STRIP - 1)) && !(LEAST_STRIP & (LEAST_STRIP - 1)),
               "rests of strips are found by bits");
enum { SPLAT_NUMBERS = 128 }; /* float32 that one number fills in a slot */
typedef void (*LoopFunction)(char *to, const char *first, const char *second, const char *third,
                             size_t n, unsigned splats);

/* Operations of a chain, see chains.inc: a label, and an operand of the chain; if that is a product, its
   factors, the second one as the operand. */
typedef struct {
  u8 label, operand, first;
} Cell;

/* An instruction on places, or a chain on those that it uses. */
typedef struct {
  int instruction; /* -1: a chain */
  u16 to, from[3];
  size_t use_count;
  const u16 *uses;
  const Cell *cells;
} Segment;

typedef void (*ChainFunction)(const Segment *segment, char *const *now, const u8 *splats,
                              size_t n);

/* A chain on 16 numbers, whose operands are where ``at`` says. */
typedef void (*ShortChainFunction)(const Cell *cells, char *const *at, const u8 *splats);

typedef struct {
  const LoopFunction *loops;
  ChainFunction run_chain;
  ShortChainFunction run_short_chain;
} MachineLoops;

#include "functions.inc"

/* Set where an integer is divided by 0: by its thread, which clears it before and looks at it after. */
static _Thread_local int divided_by_zero;

#define EACH_1(DO, E) DO(0, E)
#define EACH_2(DO, E) EACH_1(DO, E) DO(1, E)
#define EACH_4(DO, E) EACH_2(DO, E) DO(2, E) DO(3, E)
#define EACH_8(DO, E) EACH_4(DO, E) DO(4, E) DO(5, E) DO(6, E) DO(7, E)
#define EACH_16(DO, E)                                                                         \
  EACH_8(DO, E)                                                                                \
  DO(8, E) DO(9, E) DO(10, E) DO(11, E) DO(12, E) DO(13, E) DO(14, E) DO(15, E)

/* Chains run on 16 numbers, and on as many as the registers of the processor hold with room to work. */
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define SET(name) name##_plain
#define TARGET
#include "loops.inc"
#if defined(__AVX2__)
#define LANES 8
#define NARROW 2
#define WIDE 8
#define EACH_OF_NARROW EACH_2
#define EACH_OF_WIDE EACH_8
#define SPLAT(x) ((vector_plain)_mm256_set1_ps(x))
#define SQUARE_ROOT(x) ((vector_plain)_mm256_sqrt_ps((__m256)(x)))
#else
#define LANES 4
#define NARROW 4
#define WIDE 16
#define EACH_OF_NARROW EACH_4
#define EACH_OF_WIDE EACH_16
#define SPLAT(x) of_one(x)
#define SQUARE_ROOT(x) roots_of(x)
typedef f32 Quartet __attribute__((vector_size(4 * sizeof(f32)), aligned(4), may_alias));
INLINED Quartet of_one(f32 x) { return (Quartet){x, x, x, x}; }
INLINED Quartet roots_of(Quartet x) {
  return (Quartet){__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
                   __builtin_sqrtf(x[3])};
}
#endif
#include "chains.inc"
#undef SET
#undef TARGET

#if defined(__x86_64__)
#define SET(name) name##_avx512
#if defined(__clang__)
#define TARGET                                                                                 \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"), min_vector_width(512)))
#else
#define TARGET                                                                                 \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#endif
#define HAS_PLAIN_LOOPS
#include "loops.inc"
#define LANES 16
#define NARROW 1
#define MIDDLE 4
#define WIDE 8
#define EACH_OF_NARROW EACH_1
#define EACH_OF_MIDDLE EACH_4
#define EACH_OF_WIDE EACH_8
#define SPLAT(x) ((vector_avx512)_mm512_set1_ps(x))
#define SQUARE_ROOT(x) ((vector_avx512)_mm512_sqrt_ps((__m512)(x)))
#include "chains.inc"
#ifndef HAS_WIDE_LOOPS /* tests say no */
#define HAS_WIDE_LOOPS has_vectors(VECTORS_AVX512)
#endif
#else
#undef HAS_WIDE_LOOPS
#endif

static const MachineLoops *best_loops(void) {
#if defined(HAS_WIDE_LOOPS)
  static const MachineLoops wide = {loops_avx512, run_chain_avx512, chain_narrow_avx512};
  if (HAS_WIDE_LOOPS) return &wide;
#endif
  static const MachineLoops plain = {loops_plain, run_chain_plain, chain_narrow_plain};
  return &plain;
}

typedef struct {
  char name[15];
  u8 result, operands[3];
  u8 one_by_one; /* whether its loop goes over no more elements than there are */
  u8 divides;    /* whether it may find that an integer is divided by 0 */
} Instruction;

#define ONE(NAME, R, A, EXPRESSION) {#NAME, TYPE_##R, {TYPE_##A, NO_TYPE, NO_TYPE}, 0, 0},
#define EACH(NAME, R, A, EXPRESSION) {#NAME, TYPE_##R, {TYPE_##A, NO_TYPE, NO_TYPE}, 1, 0},
#define OWN(NAME, R, A) ONE(NAME, R, A, )
#define TWO(NAME, R, A, B, EXPRESSION) {#NAME, TYPE_##R, {TYPE_##A, TYPE_##B, NO_TYPE}, 0, 0},
#define EACH_OF_TWO(NAME, R, A, B, EXPRESSION)                                                 \
  {#NAME, TYPE_##R, {TYPE_##A, TYPE_##B, NO_TYPE}, 1, 0},
#define QUOTIENT(NAME, R, A, B, EXPRESSION)                                                    \
  {#NAME, TYPE_##R, {TYPE_##A, TYPE_##B, NO_TYPE}, 1, 1},
#define ANY TWO
#define THREE(NAME, R, A, B, C, EXPRESSION)                                                    \
  {#NAME, TYPE_##R, {TYPE_##A, TYPE_##B, TYPE_##C}, 0, 0},
static const Instruction table[] = {INSTRUCTIONS};
#undef ONE
#undef EACH
#undef OWN
#undef ANY
#undef TWO
#undef EACH_OF_TWO
#undef QUOTIENT
#undef THREE

/* The number of each, called after the types of its result and of its first operand, or of the second. */
#define ONE(NAME, R, A, EXPRESSION) INSTRUCTION_##NAME##_##R##_##A,
#define EACH ONE
#define OWN(NAME, R, A) INSTRUCTION_##NAME##_##R##_##A,
#define TWO(NAME, R, A, B, EXPRESSION) INSTRUCTION_##NAME##_##R##_##A,
#define EACH_OF_TWO TWO
#define QUOTIENT TWO
#define ANY TWO
#define THREE(NAME, R, A, B, C, EXPRESSION) INSTRUCTION_##NAME##_##R##_##B,
enum { INSTRUCTIONS INSTRUCTION_COUNT };
#undef ONE
#undef EACH
#undef OWN
#undef ANY
#undef TWO
#undef EACH_OF_TWO
#undef QUOTIENT
#undef THREE

/* For the compiler of programs: the name and types of an instruction; 0 behind the last one. */
EXPORTED int format_of_programs(void) { return PROGRAM_FORMAT; }

EXPORTED int instruction_at(size_t index, const char **name, int types[4]) {
  if (index >= INSTRUCTION_COUNT) return 0;
  *name = table[index].name;
  types[0] = table[index].result;
  for (int i = 0; i < 3; i++) types[i + 1] = table[index].operands[i];
  return 1;
}

static size_t size_of(int type) {
  switch (type) {
  case TYPE_f32:
  case TYPE_i32:
  case TYPE_u32:
    return 4;
  case TYPE_f64:
  case TYPE_i64:
  case TYPE_u64:
    return 8;
  case TYPE_u8:
  case TYPE_b8:
    return 1;
  default:
    return 0;
  }
}

/* --- programs ---------------------------------------------------------------------------------- */

typedef struct {
  int kind, number;
} Operand;

typedef struct {
  int instruction;
  Operand to, from[3];
} Step;

typedef struct {
  int tensor, spreads, unit, type;
} Source;

enum { SUM, MEAN, MAXIMUM, MINIMUM };

typedef struct {
  int operation, tensor, axes, keeps, output;
} Reduction;

/* Of matrices: bit 0 of ``transposes`` is for the left one, bit 1 for the right one. */
typedef struct {
  int left, right, transposes, output;
} Product;

/* Cholesky's factor; solutions with a triangle, or with any matrix; and decompositions, of which one result
   is asked for: with exchanged rows, of a symmetric matrix, by singular values, by reflections. */
enum { CHOLESKY, LOWER_SOLVE, UPPER_SOLVE, SOLVE, LU_FACTORS, LU_ORDER, LU_SIGN, EIGEN_VALUES };
enum { EIGEN_VECTORS = EIGEN_VALUES + 1, SINGULAR_SCALED, SINGULAR_VALUES, SINGULAR_VECTORS };
enum { REDUCED_Q = SINGULAR_VECTORS + 1, REDUCED_R, FULL_Q, FULL_R };

/* On matrices; ``right`` is the matrix again where there are no right-hand sides. */
typedef struct {
  int operation, matrix, right, output;
} Routine;

enum { ELEMENTS, REDUCES, MULTIPLIES, TAKES, VIEWS, PLACES, JOINS, ELIMINATES, KINDS };

/* A row of a tensor, by an index; a part of a whole one, which may be turned around; the other way, a
   tensor in its place in a whole one that is filled with a number; or several, joined along an axis.
   Strides are in elements, of the whole one. */
typedef struct {
  int kind, output, axis, count;
  int tensors[MAX_JOINED]; /* the second one of a row is its index */
  int rank, whole_rank;
  i64 offset, fill, sizes[MAX_RANK], strides[MAX_RANK], whole_sizes[MAX_RANK];
} Copies;

/* A constant as numbers of a size. */
typedef struct {
  int number;
  size_t size;
} Splat;

typedef struct {
  int kind; /* what follows is of the first one, but for what the others are called after */
  Reduction reduction;
  Product product;
  Routine routine;
  Copies *copies; /* NULL for other kinds */
  int rank, units;
  int divides; /* whether a step divides integers */
  size_t source_count, result_count, step_count;
  Source *sources;
  int *results;
  char *made; /* while it is read: whether a step has written the result */
  Step *steps;
  /* Made of the steps: */
  size_t segment_count, constant_count;
  size_t strip; /* the elements of all segments are a multiple of it, a power of 2 */
  Segment *segments;
  Cell *cells;
  u16 *uses;
  Splat *constants;
  char *splats; /* a block of each */
} Box;

struct Program {
  size_t input_count, output_count, constant_count, loop_count;
  size_t made_count; /* outputs and the temporaries behind them */
  size_t place_count;
  int *types;  /* of the inputs, the outputs, the temporaries */
  int *places; /* of the temporaries, by their number among what is made */
  i64 *constants;
  Box *boxes;
};

/* What runs once for a program, not often: small code. */
#if defined(__GNUC__) || defined(__clang__)
#define SELDOM __attribute__((cold))
#else
#define SELDOM
#endif

typedef struct {
  const i64 *words;
  size_t count, at;
  const char *wrong;
} Reader;

SELDOM static i64 next(Reader *reader, i64 least, i64 most, const char *what) {
  if (reader->wrong) return least;
  if (reader->at >= reader->count) {
    reader->wrong = "it ends too early";
    return least;
  }
  i64 word = reader->words[reader->at++];
  if (word < least || word > most) {
    reader->wrong = what;
    return least;
  }
  return word;
}

SELDOM static void require(Reader *reader, int holds, const char *what) {
  if (!reader->wrong && !holds) reader->wrong = what;
}

static int units_of(int type) { return size_of(type) == 8 ? 2 : 1; }

SELDOM static int holds_register(const Box *box, int unit, int type) {
  return unit >= 0 && unit + units_of(type) <= box->units;
}

/* The type of what an operand of a step reads; NO_TYPE for a register, whose bytes are anybody's. */
SELDOM static int type_read(Reader *reader, const Program *program, const Box *box, Operand from,
                     int wanted) {
  switch (from.kind) {
  case REGISTER:
    require(reader, holds_register(box, from.number, wanted), "a register is not there");
    return NO_TYPE;
  case SOURCE:
    if ((size_t)from.number < box->source_count) return box->sources[from.number].type;
    break;
  case CONSTANT:
    require(reader, (size_t)from.number < program->constant_count, "a constant is not there");
    return NO_TYPE;
  case RESULT:
    if ((size_t)from.number < box->result_count && box->made[from.number])
      return program->types[program->input_count + (size_t)box->results[from.number]];
    break;
  default:
    break;
  }
  require(reader, 0, "an operand is not there");
  return NO_TYPE;
}

SELDOM static Operand next_operand(Reader *reader) {
  i64 word = next(reader, 0, ((i64)4 << 16) - 1, "an operand is of no kind");
  return (Operand){(int)(word >> 16), (int)(word & 0xffff)};
}

/* Registers may be the same; they may not overlap otherwise, where elements differ in size. */
SELDOM static int overlaps(Operand to, int type, Operand from, int other) {
  if (to.kind != REGISTER || from.kind != REGISTER) return 0;
  if (to.number == from.number) return size_of(type) != size_of(other);
  return to.number < from.number + units_of(other) && from.number < to.number + units_of(type);
}

SELDOM static int from_another(Operand to, Operand from) {
  return to.kind != from.kind || to.number != from.number;
}

SELDOM static void read_step(Reader *reader, const Program *program, Box *box, Step *step) {
  step->instruction =
      (int)next(reader, 0, INSTRUCTION_COUNT - 1, "an instruction is not known");
  step->to = next_operand(reader);
  for (int i = 0; i < 3; i++) step->from[i] = next_operand(reader);
  if (reader->wrong) return;
  const Instruction *does = &table[step->instruction];
  box->divides |= does->divides;
  if (step->to.kind == REGISTER) {
    require(reader, holds_register(box, step->to.number, does->result),
            "a register is not there");
  } else {
    require(reader, step->to.kind == RESULT && (size_t)step->to.number < box->result_count,
            "what a step writes is no result");
    if (reader->wrong) return;
    size_t tensor = program->input_count + (size_t)box->results[step->to.number];
    require(reader, program->types[tensor] == does->result, "a result is of another type");
  }
  for (int i = 0; i < 3 && does->operands[i] != NO_TYPE; i++) {
    int type = type_read(reader, program, box, step->from[i], does->operands[i]);
    require(reader, type == NO_TYPE || type == does->operands[i],
            "an operand is of another type");
    require(reader, step->to.kind != RESULT || from_another(step->to, step->from[i]),
            "a result is made of itself");
    require(reader, !overlaps(step->to, does->result, step->from[i], does->operands[i]),
            "registers overlap");
  }
  if (step->to.kind == RESULT && !reader->wrong) box->made[step->to.number] = 1;
}

SELDOM static void *array(Reader *reader, size_t count, size_t size) {
  void *made = calloc(count ? count : 1, size);
  require(reader, made != NULL, "there is no memory for it");
  return made;
}

/* One number again and again. */
#define FILL(T)                                                                                \
  {                                                                                            \
    T one;                                                                                     \
    memcpy(&one, number, sizeof one);                                                          \
    for (size_t i = 0; i < SLOT_BYTES / sizeof one; i++)                                       \
      memcpy(to + i * sizeof one, &one, sizeof one);                                           \
  }

static void fill_strip(char *to, const char *number, size_t size) {
  if (size == 4)
    FILL(u32)
  else if (size == 8)
    FILL(u64)
  else
    memset(to, *number, STRIP);
}

#include "segments.inc"

/* What loops have made so far: which of it was written, and which holds each place now. */
typedef struct {
  char written[MAX_MADE];
  int holder[MAX_MADE];
} Made;

/* Whether a tensor is there to be read. */
SELDOM static int is_there(const Program *program, const Made *made, int tensor) {
  if ((size_t)tensor < program->input_count) return 1;
  size_t output = (size_t)tensor - program->input_count;
  if (!made->written[output]) return 0;
  return output < program->output_count || made->holder[program->places[output]] == (int)output;
}

SELDOM static void read_tensor(Reader *reader, const Program *program, int *tensor, const Made *made) {
  i64 tensors = (i64)(program->input_count + program->made_count);
  *tensor = (int)next(reader, 0, tensors - 1, "a source is not there");
  require(reader, is_there(program, made, *tensor), "a source is not there yet, or no longer");
}

/* What a loop reads may not be lost by what it writes: ask for that with ``is_there`` behind it. */
SELDOM static void read_result(Reader *reader, const Program *program, int *output, Made *made) {
  *output = (int)next(reader, 0, (i64)program->made_count - 1, "a result is not there");
  if (reader->wrong) return;
  require(reader, !made->written[*output], "a result is written twice");
  made->written[*output] = 1;
  if ((size_t)*output >= program->output_count)
    made->holder[program->places[*output]] = *output;
}

SELDOM static void require_there(Reader *reader, const Program *program, const Made *made,
                          int tensor) {
  require(reader, reader->wrong || is_there(program, made, tensor),
          "a loop writes where it reads");
}

SELDOM static void read_reduction(Reader *reader, const Program *program, Reduction *reads,
                           Made *made) {
  reads->operation = (int)next(reader, SUM, MINIMUM, "a reduction is not known");
  read_tensor(reader, program, &reads->tensor, made);
  reads->axes = (int)next(reader, 0, (1 << MAX_RANK) - 1, "an axis is not there");
  reads->keeps = (int)next(reader, 0, 1, "axes are kept or not");
  read_result(reader, program, &reads->output, made);
  require_there(reader, program, made, reads->tensor);
  int type = program->types[reads->tensor];
  require(reader, type == program->types[program->input_count + (size_t)reads->output],
          "a reduction changes the type");
  int is_float = type == TYPE_f32 || type == TYPE_f64;
  int is_integer = type == TYPE_i32 || type == TYPE_i64;
  int is_extreme = reads->operation == MAXIMUM || reads->operation == MINIMUM;
  require(reader,
          is_float || (is_integer && reads->operation != MEAN) ||
              (type == TYPE_u8 && is_extreme),
          "a reduction is not known for its type");
}

SELDOM static void read_product(Reader *reader, const Program *program, Product *reads, Made *made) {
  read_tensor(reader, program, &reads->left, made);
  read_tensor(reader, program, &reads->right, made);
  reads->transposes = (int)next(reader, 0, 3, "a product is not known");
  read_result(reader, program, &reads->output, made);
  require_there(reader, program, made, reads->left);
  require_there(reader, program, made, reads->right);
  int type = program->types[reads->left];
  require(reader, type == TYPE_f32 || type == TYPE_f64, "a product is not known for its type");
  require(reader,
          type == program->types[reads->right] &&
              type == program->types[program->input_count + (size_t)reads->output],
          "a product changes the type");
}

SELDOM static void read_routine(Reader *reader, const Program *program, Routine *reads, Made *made) {
  reads->operation = (int)next(reader, CHOLESKY, FULL_R, "a routine is not known");
  read_tensor(reader, program, &reads->matrix, made);
  read_tensor(reader, program, &reads->right, made);
  read_result(reader, program, &reads->output, made);
  require_there(reader, program, made, reads->matrix);
  require_there(reader, program, made, reads->right);
  int type = program->types[reads->matrix];
  int result = program->types[program->input_count + (size_t)reads->output];
  require(reader, type == TYPE_f32 || type == TYPE_f64, "a routine is not known for its type");
  require(reader,
          type == program->types[reads->right] &&
              result == (reads->operation == LU_ORDER ? TYPE_i64 : type),
          "a routine changes the type");
}

/* Sizes and strides with which no sum of products overflows. */
enum { LONGEST_AXIS = 1 << 29 };

SELDOM static void read_sizes(Reader *reader, int *rank, i64 *sizes) {
  *rank = (int)next(reader, 0, MAX_RANK, "a copy has too many axes");
  for (int axis = 0; axis < *rank; axis++)
    sizes[axis] = next(reader, 0, LONGEST_AXIS, "a copy is too large");
}

SELDOM static void read_part(Reader *reader, Copies *reads) {
  const i64 most = (i64)1 << 40;
  i64 there = 1, first, last, empty = 0;
  read_sizes(reader, &reads->whole_rank, reads->whole_sizes);
  for (int axis = 0; axis < reads->whole_rank; axis++) {
    const i64 length = reads->whole_sizes[axis];
    require(reader, length == 0 || there <= most / length, "a copy is too large");
    if (reader->wrong) return;
    there *= length;
  }
  first = last = reads->offset = next(reader, 0, most, "a part begins elsewhere");
  read_sizes(reader, &reads->rank, reads->sizes);
  for (int axis = 0; axis < reads->rank; axis++) {
    i64 stride = next(reader, -LONGEST_AXIS, LONGEST_AXIS, "a stride is too long");
    i64 reach = stride * (reads->sizes[axis] - 1);
    reads->strides[axis] = stride;
    empty |= reads->sizes[axis] == 0;
    if (reach < 0)
      first += reach;
    else
      last += reach;
  }
  require(reader, empty || (first >= 0 && last < there), "a part is not in its tensor");
}

SELDOM static void read_copies(Reader *reader, const Program *program, int kind, Copies *reads,
                        Made *made) {
  reads->kind = kind;
  reads->count = kind == TAKES ? 2 : 1;
  if (kind == JOINS) {
    reads->axis = (int)next(reader, 0, MAX_RANK - 1, "an axis is not there");
    reads->count = (int)next(reader, 1, MAX_JOINED, "too much is joined");
  }
  for (int i = 0; i < reads->count; i++) read_tensor(reader, program, &reads->tensors[i], made);
  if (kind == VIEWS || kind == PLACES) read_part(reader, reads);
  if (kind == PLACES) reads->fill = next(reader, INT64_MIN, INT64_MAX, "");
  read_result(reader, program, &reads->output, made);
  int type = program->types[program->input_count + (size_t)reads->output];
  for (int i = 0; i < reads->count; i++) {
    int from = program->types[reads->tensors[i]];
    require_there(reader, program, made, reads->tensors[i]);
    if (kind == TAKES && i == 1)
      require(reader, from == TYPE_i64 || from == TYPE_i32, "an index is of another type");
    else
      require(reader, from == type, "a copy changes the type");
  }
}

SELDOM static void read_box(Reader *reader, const Program *program, Box *box, Made *made) {
  box->kind = (int)next(reader, 0, KINDS - 1, "a loop is of no kind");
  if (box->kind == REDUCES) {
    read_reduction(reader, program, &box->reduction, made);
    return;
  }
  if (box->kind == MULTIPLIES) {
    read_product(reader, program, &box->product, made);
    return;
  }
  if (box->kind == ELIMINATES) {
    read_routine(reader, program, &box->routine, made);
    return;
  }
  if (box->kind != ELEMENTS) {
    box->copies = array(reader, 1, sizeof *box->copies);
    if (!reader->wrong) read_copies(reader, program, box->kind, box->copies, made);
    return;
  }
  box->rank = (int)next(reader, 0, MAX_RANK, "a loop has too many axes");
  box->units = (int)next(reader, 1, MAX_UNITS, "a loop has too many registers");
  box->source_count = (size_t)next(reader, 0, MAX_STREAMS, "a loop has too many sources");
  box->result_count = (size_t)next(reader, 1, MAX_STREAMS, "a loop has too many results");
  box->step_count = (size_t)next(reader, 1, MAX_STEPS, "a loop has too many steps");
  if (reader->wrong) return;
  box->sources = array(reader, box->source_count, sizeof(Source));
  box->results = array(reader, box->result_count, sizeof(int));
  box->made = array(reader, box->result_count, 1);
  box->steps = array(reader, box->step_count, sizeof(Step));
  for (size_t i = 0; i < box->source_count && !reader->wrong; i++) {
    Source *source = &box->sources[i];
    read_tensor(reader, program, &source->tensor, made);
    source->spreads = (int)next(reader, 0, 1, "a source has no such form");
    source->unit = (int)next(reader, 0, MAX_UNITS, "a register is not there");
    source->type = program->types[source->tensor];
    require(reader, !source->spreads || holds_register(box, source->unit, source->type),
            "a register is not there");
  }
  for (size_t i = 0; i < box->result_count && !reader->wrong; i++)
    read_result(reader, program, &box->results[i], made);
  for (size_t i = 0; i < box->source_count && !reader->wrong; i++)
    require_there(reader, program, made, box->sources[i].tensor);
  for (size_t i = 0; i < box->result_count && !reader->wrong; i++)
    require_there(reader, program, made, (int)program->input_count + box->results[i]);
  for (size_t i = 0; i < box->step_count && !reader->wrong; i++)
    read_step(reader, program, box, &box->steps[i]);
  for (size_t i = 0; i < box->result_count && !reader->wrong; i++)
    require(reader, box->made[i], "a result is never written");
  if (!reader->wrong) compile_box(reader, program, box);
}

SELDOM static void read_type(Reader *reader, int *type) {
  *type = (int)next(reader, 1, TYPE_u64, "a type is not known");
  require(reader, size_of(*type) != 0, "a type is not known");
}

SELDOM static void read_types(Reader *reader, Program *program) {
  size_t leave = program->input_count + program->output_count;
  for (size_t i = 0; i < leave; i++) read_type(reader, &program->types[i]);
  for (size_t i = program->output_count; i < program->made_count; i++) {
    read_type(reader, &program->types[program->input_count + i]);
    program->places[i] = (int)next(reader, 0, MAX_MADE - 1, "a place is not there");
    size_t places = (size_t)program->places[i] + 1;
    if (places > program->place_count) program->place_count = places;
  }
}

SELDOM Program *program_read(const int64_t *words, size_t count, char *problem, size_t size) {
  Reader reader = {words, count, 0, NULL};
  Program *program = calloc(1, sizeof *program);
  Made *made = calloc(1, sizeof *made);
  if (!program || !made) {
    snprintf(problem, size, "there is no memory for it");
    free(program);
    free(made);
    return NULL;
  }
  next(&reader, PROGRAM_FORMAT, PROGRAM_FORMAT, "it has another format");
  program->input_count = (size_t)next(&reader, 1, MAX_GIVEN, "it has too many inputs");
  program->output_count = (size_t)next(&reader, 1, MAX_GIVEN, "it has too many outputs");
  i64 temporaries = next(&reader, 0, MAX_MADE - MAX_GIVEN, "it has too many temporaries");
  program->made_count = program->output_count + (size_t)temporaries;
  program->constant_count =
      (size_t)next(&reader, 0, MAX_CONSTANTS, "it has too many constants");
  size_t loop_count = (size_t)next(&reader, 1, MAX_LOOPS, "it has too many loops");
  program->types = array(&reader, program->input_count + program->made_count, sizeof(int));
  program->places = array(&reader, program->made_count, sizeof(int));
  if (!reader.wrong) read_types(&reader, program);
  program->constants = array(&reader, program->constant_count, sizeof(i64));
  for (size_t i = 0; i < program->constant_count && !reader.wrong; i++)
    program->constants[i] = next(&reader, INT64_MIN, INT64_MAX, "");
  program->boxes = array(&reader, loop_count, sizeof(Box));
  for (size_t i = 0; i < loop_count && !reader.wrong; i++) {
    program->loop_count = i + 1;
    read_box(&reader, program, &program->boxes[i], made);
  }
  require(&reader, reader.at == count, "it goes on behind its end");
  for (size_t i = 0; i < program->output_count; i++)
    require(&reader, made->written[i], "an output is never written");
  free(made);
  if (reader.wrong) {
    snprintf(problem, size, "%s (word %zu of %zu)", reader.wrong, reader.at, count);
    program_free(program);
    return NULL;
  }
  return program;
}

void program_free(Program *program) {
  if (!program) return;
  for (size_t i = 0; program->boxes && i < program->loop_count; i++) {
    free(program->boxes[i].sources);
    free(program->boxes[i].results);
    free(program->boxes[i].made);
    free(program->boxes[i].steps);
    free(program->boxes[i].segments);
    free(program->boxes[i].cells);
    free(program->boxes[i].uses);
    free(program->boxes[i].constants);
    free(program->boxes[i].splats);
    free(program->boxes[i].copies);
  }
  free(program->boxes);
  free(program->constants);
  free(program->types);
  free(program->places);
  free(program);
}

size_t program_inputs(const Program *program) { return program->input_count; }
size_t program_outputs(const Program *program) { return program->output_count; }
int program_input_type(const Program *program, size_t input) { return program->types[input]; }

/* --- running ----------------------------------------------------------------------------------- */

/* How the elements of a source stand in the box: axes that it goes through alike are one axis. */
typedef struct {
  int axes;
  i64 sizes[MAX_RANK], strides[MAX_RANK]; /* strides in elements, 0 along an axis of size 1 */
} Spread;

/* A source of a loop, or a result. */
typedef struct {
  char *data;
  size_t size, stride; /* bytes of an element, and from one to the next: 0 for one number */
  const Spread *spread;
} Stream;

typedef struct {
  const Program *program;
  const Box *box;
  const Stream *streams; /* of the sources, then of the results */
  char *slots;           /* a block for each of them */
  i64 total, part;
  atomic_int failed; /* an integer was divided by 0 */
} Work;

/* ``count`` elements that begin as the first ``known`` do, which stand there, and so on from there. */
static void repeat(char *to, size_t known, size_t count) {
  while (known < count) {
    size_t more = known < count - known ? known : count - known;
    memcpy(to + known, to, more);
    known += more;
  }
}

#define SPREAD_NUMBERS(T)                                                                      \
  {                                                                                            \
    const T *row = (const T *)from + offset;                                                   \
    T *result = (T *)to;                                                                       \
    for (i64 i = 0; i < run; i++) result[i] = row[i * step];                                   \
  }

static void spread_out(char *to, const char *from, size_t size, const Spread *spread, i64 at,
                       i64 count) {
  i64 index[MAX_RANK] = {0}, offset = 0, rest = at;
  int last = spread->axes - 1;
  for (int axis = last; axis > 0; axis--) {
    i64 above = rest / spread->sizes[axis];
    index[axis] = rest - above * spread->sizes[axis];
    rest = above;
  }
  index[0] = rest;
  for (int axis = 0; axis <= last; axis++) offset += index[axis] * spread->strides[axis];
  i64 width = spread->sizes[last], step = spread->strides[last];
  /* A row that comes again and again: the first ones, then copies of them. */
  if (last == 1 && spread->strides[0] == 0 && count > 2 * width) {
    i64 run = width - index[1];
    memcpy(to, from + (size_t)offset * size, (size_t)run * size);
    memcpy(to + (size_t)run * size, from, (size_t)index[1] * size);
    repeat(to, (size_t)width * size, (size_t)count * size);
    return;
  }
  while (count > 0) {
    i64 run = width - index[last];
    if (run > count) run = count;
    if (size == 4)
      SPREAD_NUMBERS(u32)
    else if (size == 8)
      SPREAD_NUMBERS(u64)
    else
      SPREAD_NUMBERS(b8)
    to += (size_t)run * size;
    count -= run;
    offset -= index[last] * step;
    index[last] = 0;
    for (int axis = last - 1; axis >= 0; axis--) {
      offset += spread->strides[axis];
      if (++index[axis] < spread->sizes[axis]) break;
      offset -= spread->sizes[axis] * spread->strides[axis];
      index[axis] = 0;
    }
  }
}

enum { MAX_PLACES = MAX_UNITS + 2 * MAX_STREAMS + MAX_CONSTANTS * 3 };

/* Where the operands of a box are: see segments.inc. */
typedef struct {
  char **now;
  u8 *splats; /* whether each is one number again and again */
} Places;

static char *slot_of(const Work *work, size_t stream) {
  return work->slots + stream * SLOT_BYTES;
}

/* Addresses for the elements of a box from one on. */
static void find_places(const Work *work, i64 begin, char *registers, const Places *places) {
  const Box *box = work->box;
  char **now = places->now;
  u8 *splats = places->splats;
  const size_t units = (size_t)box->units, streams = box->source_count + box->result_count;
  for (size_t i = 0; i < units; i++) now[i] = registers + i * UNIT_BYTES;
  memset(splats, 0, units + streams);
  now += units, splats += units;
  for (size_t i = 0; i < streams; i++) {
    const Stream *stream = &work->streams[i];
    now[i] = stream->data + (size_t)begin * stream->stride;
    if (stream->spread) {
      now[i] = registers + (size_t)box->sources[i].unit * UNIT_BYTES;
    } else if (!stream->stride) {
      now[i] = slot_of(work, i);
      splats[i] = 1;
    }
  }
  now += streams, splats += streams;
  memset(splats, 1, box->constant_count);
  for (size_t i = 0; i < box->constant_count; i++) now[i] = box->splats + i * SLOT_BYTES;
}

/* A segment that is no chain. */
INLINED void run_instruction(const Segment *segment, const MachineLoops *machine,
                             const Places *places, size_t n) {
  char *const *now = places->now;
  const u8 *splats = places->splats;
  const u16 *from = segment->from;
  const unsigned ones =
      splats[from[0]] | (unsigned)splats[from[1]] << 1 | (unsigned)splats[from[2]] << 2;
  machine->loops[segment->instruction](now[segment->to], now[from[0]], now[from[1]],
                                       now[from[2]], n, ones);
}

static void run_segments(const Box *box, const MachineLoops *machine, const Places *places,
                         size_t n) {
  for (size_t i = 0; i < box->segment_count; i++) {
    const Segment *segment = &box->segments[i];
    if (segment->instruction < 0)
      machine->run_chain(segment, places->now, places->splats, n);
    else
      run_instruction(segment, machine, places, n);
  }
}

/* What fills no block at the end of a box: in blocks of their own, to which sources are copied. */
static void run_rest(const Work *work, const MachineLoops *machine, const Places *places,
                     size_t done, size_t n) {
  const Box *box = work->box;
  char **now = places->now + box->units;
  for (size_t i = 0; i < box->source_count; i++) {
    const Stream *stream = &work->streams[i];
    if (stream->spread) {
      now[i] += done * stream->size;
    } else if (stream->stride) {
      char *slot = slot_of(work, i);
      fill_strip(slot, now[i] + done * stream->size, stream->size);
      memcpy(slot, now[i] + done * stream->size, n * stream->size);
      now[i] = slot;
    }
  }
  for (size_t i = box->source_count; i < box->source_count + box->result_count; i++)
    now[i] = slot_of(work, i);
  run_segments(box, machine, places, n);
  for (size_t i = box->source_count; i < box->source_count + box->result_count; i++) {
    const Stream *stream = &work->streams[i];
    memcpy(stream->data + ((size_t)work->total - n) * stream->size, now[i], n * stream->size);
  }
}

static void run_part(void *data, size_t index) {
  Work *work = data;
  const Box *box = work->box;
  const MachineLoops *machine = best_loops();
  _Alignas(64) char registers[MAX_UNITS * UNIT_BYTES];
  char *now[MAX_PLACES];
  u8 splats[MAX_PLACES];
  const Places places = {now, splats};
  i64 begin = (i64)index * work->part, end = begin + work->part;
  if (end > work->total) end = work->total;
  if (box->divides) divided_by_zero = 0;
  find_places(work, begin, registers, &places);
  for (i64 at = begin; at < end; at += TILE) {
    size_t n = (size_t)smaller(end - at, TILE), rest = n & (box->strip - 1);
    for (size_t i = 0; i < box->source_count; i++) {
      const Stream *stream = &work->streams[i];
      if (!stream->spread) continue;
      char *to = registers + (size_t)box->sources[i].unit * UNIT_BYTES;
      spread_out(to, stream->data, stream->size, stream->spread, at, (i64)n);
      if (rest) repeat(to, n * stream->size, (n - rest + box->strip) * stream->size);
    }
    if (n > rest) run_segments(box, machine, &places, n - rest);
    if (rest) {
      run_rest(work, machine, &places, n - rest, rest);
      break;
    }
    for (size_t i = 0; i < box->source_count + box->result_count; i++)
      now[(size_t)box->units + i] += TILE * work->streams[i].stride;
  }
  if (box->divides && divided_by_zero) work->failed = 1;
}

static int broadcast(const Box *box, const Tensor *tensors[], i64 sizes[MAX_RANK],
                     char *problem, size_t size) {
  for (int axis = 0; axis < box->rank; axis++) sizes[axis] = 1;
  for (size_t i = 0; i < box->source_count; i++) {
    const Tensor *tensor = tensors[i];
    int shift = box->rank - tensor->rank;
    if (shift < 0) {
      snprintf(problem, size, "a tensor has %d axes where at most %d were expected",
               tensor->rank, box->rank);
      return -1;
    }
    for (int axis = 0; axis < tensor->rank; axis++) {
      i64 has = tensor->sizes[axis], *whole = &sizes[axis + shift];
      if (has == 1 || has == *whole) continue;
      if (*whole != 1) {
        snprintf(problem, size, "sizes %lld and %lld of one axis cannot be broadcast together",
                 (long long)*whole, (long long)has);
        return -1;
      }
      *whole = has;
    }
  }
  return 0;
}

static void describe_spread(Spread *spread, const Tensor *tensor, const i64 *sizes, int rank) {
  int shift = rank - tensor->rank;
  i64 strides[MAX_RANK] = {0}, stride = 1;
  for (int axis = tensor->rank - 1; axis >= 0; axis--) {
    strides[axis + shift] = tensor->sizes[axis] == 1 ? 0 : stride;
    stride *= tensor->sizes[axis];
  }
  spread->axes = 0;
  for (int axis = 0; axis < rank; axis++) {
    if (sizes[axis] == 1) continue;
    int last = spread->axes - 1;
    if (last >= 0 && spread->strides[last] == strides[axis] * sizes[axis]) {
      spread->sizes[last] *= sizes[axis];
      spread->strides[last] = strides[axis];
    } else {
      spread->sizes[spread->axes] = sizes[axis];
      spread->strides[spread->axes++] = strides[axis];
    }
  }
}

/* Below this many elements times steps, another thread costs more than it saves. */
enum { LEAST_WORK = 1 << 16, LEAST_PART = 4 * TILE };

/* A tensor of a run. */
static const Tensor *tensor_at(const Program *program, const Tensor *inputs, const Tensor *made,
                               int tensor) {
  size_t number = (size_t)tensor;
  return number < program->input_count ? &inputs[number] : &made[number - program->input_count];
}

enum { ALIGNMENT = 64 };

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static char *aligned_at(char *memory) {
  return memory + (aligned((size_t)(uintptr_t)memory) - (size_t)(uintptr_t)memory);
}

#include "products.inc"
#include "reductions.inc"
#include "copies.inc"
#include "matrices.inc"

/* A loop with the addresses of its tensors. */
typedef struct {
  Stream *streams;
  char *slots;
  Spread *spreads; /* NULL where there are none */
  Work work;
  Reducing reducing; /* of a box that reduces, which has nothing of the above */
  Multiplying multiplying;
  Copying copying;
  Eliminating eliminating;
} Prepared;

/* Sizes of the box, its results made, and how each source stands in it. The arrays of ``prepared`` are
   the caller's; the spreads are for the caller to free. */
static int prepare_box(const Program *program, const Box *box, const Tensor *inputs,
                       Tensor *outputs, const Host *host, Prepared *prepared, char *problem,
                       size_t size) {
  const Tensor *tensors[MAX_STREAMS];
  Stream *streams = prepared->streams;
  i64 sizes[MAX_RANK] = {0};
  size_t spreads = 0;
  prepared->spreads = NULL;
  prepared->work.box = box;
  if (box->kind == REDUCES)
    return prepare_reduction(program, &box->reduction, inputs, outputs, host,
                             &prepared->reducing, problem, size);
  if (box->kind == MULTIPLIES)
    return prepare_product(program, &box->product, inputs, outputs, host,
                           &prepared->multiplying, problem, size);
  if (box->kind == ELIMINATES)
    return prepare_elimination(program, &box->routine, inputs, outputs, host,
                               &prepared->eliminating, problem, size);
  if (box->kind != ELEMENTS)
    return prepare_copy(program, box->copies, inputs, outputs, host, &prepared->copying,
                        problem, size);
  for (size_t i = 0; i < box->source_count; i++)
    tensors[i] = tensor_at(program, inputs, outputs, box->sources[i].tensor);
  if (broadcast(box, tensors, sizes, problem, size)) return -1;
  if (too_many(sizes, box->rank)) {
    snprintf(problem, size, "a result has too many elements");
    return -1;
  }
  i64 total = elements(sizes, box->rank);
  for (size_t i = 0; i < box->source_count; i++) {
    i64 count = elements(tensors[i]->sizes, tensors[i]->rank);
    const size_t bytes = size_of(box->sources[i].type);
    streams[i] = (Stream){tensors[i]->data, bytes, count == 1 ? 0 : bytes, NULL};
    if (count == total || count == 1) continue;
    if (box->sources[i].spreads) {
      streams[i].stride = 0;
      spreads++;
    } else {
      snprintf(problem, size, "a tensor of %lld elements stands where one of %lld was expected",
               (long long)count, (long long)total);
      return -1;
    }
  }
  for (size_t i = 0; i < box->result_count; i++) {
    Tensor *output = &outputs[box->results[i]];
    output->rank = box->rank;
    memcpy(output->sizes, sizes, sizeof output->sizes);
    int failed = host->make_output(host->context, (size_t)box->results[i], output);
    if (failed) return failed;
    const size_t bytes = size_of(program->types[program->input_count + (size_t)box->results[i]]);
    streams[box->source_count + i] = (Stream){output->data, bytes, bytes, NULL};
  }
  prepared->work = (Work){program, box, streams, prepared->slots, total, total, 0};
  if (total == 0) return 0;
  if (spreads) {
    prepared->spreads = malloc(spreads * sizeof *prepared->spreads);
    if (!prepared->spreads) {
      snprintf(problem, size, "there is no memory left");
      return -1;
    }
    size_t described = 0;
    for (size_t i = 0; i < box->source_count; i++) {
      i64 count = elements(tensors[i]->sizes, tensors[i]->rank);
      if (count == total || count == 1) continue;
      describe_spread(&prepared->spreads[described], tensors[i], sizes, box->rank);
      streams[i].spread = &prepared->spreads[described++];
    }
  }
  if (total > LEAST_PART && total > LEAST_WORK / (i64)(box->step_count + 2)) {
    i64 part = LEAST_WORK / (i64)(box->step_count + 2) / TILE * TILE;
    prepared->work.part = part < LEAST_PART ? LEAST_PART : part;
  }
  return 0;
}

static int run_prepared(Prepared *prepared, const Host *host, char *problem, size_t size) {
  Work *work = &prepared->work;
  if (work->box->kind == REDUCES) return run_reduction(&prepared->reducing);
  if (work->box->kind == MULTIPLIES) {
    run_product(&prepared->multiplying);
    return 0;
  }
  if (work->box->kind == ELIMINATES)
    return run_elimination(&prepared->eliminating, host, problem, size);
  if (work->box->kind != ELEMENTS) return run_copy(&prepared->copying, problem, size);
  if (work->total == 0) return 0;
  for (size_t i = 0; i < work->box->source_count; i++) {
    const Stream *stream = &work->streams[i];
    if (!stream->stride && !stream->spread) fill_strip(slot_of(work, i), stream->data, stream->size);
  }
  if (work->part < work->total) {
    size_t parts = (size_t)((work->total + work->part - 1) / work->part);
    int failed = host->in_parallel(host->context, run_part, parts, work);
    if (failed) return failed;
  } else {
    run_part(work, 0);
  }
  if (!work->failed) return 0;
  snprintf(problem, size, "an integer is divided by 0");
  return -1;
}

/* Memory that is taken piece by piece, and given back as a whole. */
typedef struct Block {
  struct Block *before;
  size_t used, bytes;
} Block;

static void *take(Block **blocks, size_t bytes) {
  enum { LEAST = 1 << 16 };
  const size_t wanted = aligned(bytes);
  Block *block = *blocks;
  if (!block || block->bytes - block->used < wanted) {
    const size_t least = wanted < LEAST ? LEAST : wanted;
    block = malloc(sizeof *block + ALIGNMENT + least);
    if (!block) return NULL;
    *block = (Block){*blocks, 0, least};
    *blocks = block;
  }
  char *first = aligned_at((char *)(block + 1)) + block->used;
  block->used += wanted;
  return first;
}

static void give_back(Block *blocks) {
  while (blocks) {
    Block *before = blocks->before;
    free(blocks);
    blocks = before;
  }
}

/* What a program makes in a run: results of the host's, and memory for temporaries by place. */
typedef struct {
  const Program *program;
  const Host *host;
  Block *blocks;
  void **places;
  size_t *bytes;
} Making;

static size_t bytes_made(const Program *program, size_t output, const Tensor *tensor) {
  size_t size = size_of(program->types[program->input_count + output]);
  return (size_t)elements(tensor->sizes, tensor->rank) * size;
}

static int make_tensor(void *context, size_t output, Tensor *tensor) {
  Making *making = context;
  if (output < making->program->output_count)
    return making->host->make_output(making->host->context, output, tensor);
  int place = making->program->places[output];
  size_t bytes = bytes_made(making->program, output, tensor);
  if (!making->places[place] || bytes > making->bytes[place]) {
    making->places[place] = take(&making->blocks, bytes);
    making->bytes[place] = bytes;
  }
  tensor->data = making->places[place];
  return tensor->data ? 0 : -1;
}

static int pass_on(void *context, void (*part)(void *data, size_t index), size_t count,
                   void *data) {
  const Making *making = context;
  return making->host->in_parallel(making->host->context, part, count, data);
}

_Static_assert(sizeof(Tensor) % sizeof(u64) == 0 && sizeof(Stream) % sizeof(u64) == 0 &&
                   SLOT_BYTES % ALIGNMENT == 0 && sizeof(void *) <= sizeof(u64),
               "arrays of a run stand side by side");

static size_t streams_of(const Box *box) { return box->source_count + box->result_count; }

int program_run(const Program *program, const Tensor *inputs, const Host *host, char *problem,
                size_t size) {
  size_t streams = 0;
  for (size_t i = 0; i < program->loop_count; i++)
    if (streams_of(&program->boxes[i]) > streams) streams = streams_of(&program->boxes[i]);
  /* Everything in one piece of memory, that of the stack if it is enough. */
  enum { FEW = 4096 };
  _Alignas(ALIGNMENT) u64 few[FEW];
  const size_t slot_words = (streams * SLOT_BYTES + ALIGNMENT) / sizeof(u64);
  const size_t made_words = program->made_count * sizeof(Tensor) / sizeof(u64);
  const size_t stream_words = streams * sizeof(Stream) / sizeof(u64);
  const size_t place_count = program->place_count;
  const size_t words = slot_words + made_words + stream_words + 2 * place_count;
  u64 *memory = words <= FEW ? few : malloc(words * sizeof *memory);
  if (!memory) {
    snprintf(problem, size, "there is no memory left");
    return -1;
  }
  Tensor *made = (Tensor *)(void *)(memory + slot_words);
  void **places = (void **)(void *)(memory + words - 2 * place_count);
  size_t *bytes = (size_t *)(void *)(memory + words - place_count);
  for (size_t i = 0; i < place_count; i++) places[i] = NULL;
  Making making = {program, host, NULL, places, bytes};
  const Host inner = {make_tensor, pass_on, &making};
  int failed = 0;
  for (size_t i = 0; i < program->loop_count && !failed; i++) {
    Prepared prepared; /* large, and most of it is not of this kind of a loop */
    prepared.streams = (Stream *)(void *)(memory + slot_words + made_words);
    prepared.slots = aligned_at((char *)memory);
    failed = prepare_box(program, &program->boxes[i], inputs, made, &inner, &prepared, problem,
                         size);
    if (!failed) failed = run_prepared(&prepared, host, problem, size);
    free(prepared.spreads);
  }
  give_back(making.blocks);
  if (memory != few) free(memory);
  return failed;
}

#include "repeats.inc"

/* --- the test before first use ----------------------------------------------------------------- */

static int to_static(void *context, size_t output, Tensor *tensor) {
  (void)output;
  tensor->data = context;
  return 0;
}

static int one_by_one(void *context, void (*part)(void *data, size_t index), size_t count,
                      void *data) {
  (void)context;
  for (size_t i = 0; i < count; i++) part(data, i);
  return 0;
}

/* The number of a float32 instruction. */
SELDOM static i64 find(const char *name, int operands) {
  for (i64 i = 0; i < INSTRUCTION_COUNT; i++)
    if (!strcmp(table[i].name, name) && table[i].result == TYPE_f32 &&
        table[i].operands[0] == TYPE_f32 && (table[i].operands[1] != NO_TYPE) == (operands > 1))
      return i;
  return -1;
}

/* Whether 5x3 by 3x11 matrices are multiplied as they should be. */
SELDOM static int products_work(void) {
  enum { ROWS = 5, INNER = 3, COLUMNS = 11 };
  f32 left[ROWS * INNER], right[INNER * COLUMNS], found[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * INNER; i++) left[i] = (f32)(i % 7 - 3);
  for (int i = 0; i < INNER * COLUMNS; i++) right[i] = (f32)(i % 5 - 2);
  const Multiplying does = {TYPE_f32, left,    right, found, 1,       ROWS,
                            INNER,    COLUMNS, INNER, 1,     COLUMNS, 1};
  run_product(&does);
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    f32 expected = 0; /* sums of whole numbers, which are exact */
    for (int k = 0; k < INNER; k++)
      expected += left[i / COLUMNS * INNER + k] * right[k * COLUMNS + i % COLUMNS];
    if (found[i] != expected) return 0;
  }
  return 1;
}

/* Whether this processor has the machine instructions that the library was compiled for, and
   exp(x) * y + 1 comes out right, with y broadcast. */
SELDOM EXPORTED int kernels_work(void) {
#if defined(__x86_64__) && defined(__AVX2__)
  if (!has_vectors(VECTORS_AVX2)) return 0;
#endif
  if (!products_work()) return 0;
  enum {
    ROWS = 300,
    R = REGISTER << 16,
    S = SOURCE << 16,
    C = CONSTANT << 16,
    T = RESULT << 16
  };
  static float x[ROWS * 3], y[3] = {1, -2, 0.5f}, z[ROWS * 3];
  const f32 one = 1;
  const i64 words[] = {PROGRAM_FORMAT,
                       2,
                       1,
                       0,
                       1,
                       1,
                       TYPE_f32,
                       TYPE_f32,
                       TYPE_f32,
                       bits_of(one),
                       0,
                       2,
                       3,
                       2,
                       1,
                       3,
                       0,
                       0,
                       0,
                       1,
                       1,
                       0,
                       0,
                       find("Exp", 1),
                       R + 1,
                       S,
                       0,
                       0,
                       find("Mul", 2),
                       R + 2,
                       R + 1,
                       S + 1,
                       0,
                       find("Add", 2),
                       T,
                       R + 2,
                       C,
                       0};
  char problem[100];
  for (int i = 0; i < ROWS * 3; i++) x[i] = (f32)(i - 450) / 50;
  Program *program =
      program_read(words, sizeof words / sizeof words[0], problem, sizeof problem);
  if (!program) return 0;
  const Tensor inputs[] = {{x, 2, {ROWS, 3}}, {y, 1, {3}}};
  const Host host = {to_static, one_by_one, z};
  int wrong = program_run(program, inputs, &host, problem, sizeof problem);
  program_free(program);
  for (int i = 0; i < ROWS * 3 && !wrong; i++) {
    f64 expected = exp((f64)x[i]) * (f64)y[i % 3] + 1;
    wrong = fabs(z[i] - expected) > 1e-6 * (1 + fabs(expected));
  }
  return !wrong;
}
