/* Random programs of the fused kernels, valid, nearly valid and nonsense, for a build with sanitizers.

   Every tensor has exactly its own memory, so that a touch outside of it ends the process. Each program
   runs with the loops for wide vectors and with the others, where there are two sets, and step by step,
   without chains; and as the body of a loop, whose results are compared with those of its iterations one
   by one. A result that differs ends the process, too. Arguments:
   the seed and how many programs. Prints how many were accepted, how many of these ran,
   how many ran as the body of a loop, and how many were compared with their steps one by one. */

static int allows_wide_loops = 1;
#if defined(__x86_64__) || defined(_M_X64)
#define HAS_WIDE_LOOPS                                                                         \
  (allows_wide_loops && __builtin_cpu_supports("avx512dq") &&                                  \
   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
#endif

static int may_chain = 1;
#define MAY_CHAIN may_chain

#include "program.c"

static u64 state;

static u64 random_bits(void) { /* xorshift, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static i64 below(i64 n) { return (i64)(random_bits() % (u64)n); }

static int some_type(void) {
  static const int types[] = {TYPE_f32, TYPE_f32, TYPE_f32, TYPE_f64, TYPE_i32,
                              TYPE_i64, TYPE_b8,  TYPE_u32, TYPE_u64, TYPE_u8};
  return types[below(10)];
}

/* Of the registers of a loop: the type of what was written to each last; and whether the program reads
   anything else from one, which chains do not write there. */
static int written_types[MAX_UNITS + 2], is_dirty;

/* Of the sources of a loop that may be spread out to registers: whether these were written by another; and
   whether the program then reads one. What it reads is there in short loops, where such sources have memory of
   their own, and elsewhere is what was written last. */
static int overwritten[8], reads_overwritten;

/* Whether two ranges of registers, for numbers of some types, have one in common. */
static int overlap(i64 unit, int type, i64 other, int other_type) {
  return unit < other + 1 + (size_of(other_type) == 8) &&
         other < unit + 1 + (size_of(type) == 8);
}

/* What is written to registers, perhaps by a source (else its number is -1), is no longer what sources have there. */
static void overwrite_sources(const i64 *sources, i64 count, const i64 *types, i64 unit,
                              int type, i64 writer) {
  for (i64 i = 0; i < count; i++) {
    const i64 *source = sources + 3 * i;
    if (i != writer && source[1] && overlap(unit, type, source[2], (int)types[source[0]]))
      overwritten[i] = 1;
  }
}

/* Of the program that was made last; and whether it is one, with the axes of its tensors. */
static Repetition loop;
static int is_body;
enum { MOST_WORDS = 4096 };
static i64 words[MOST_WORDS];

/* An operand of a type: something that is there, or, seldom, anything. */
static i64 operand(int type, const i64 *sources, i64 source_count, const i64 *types,
                   i64 constants, i64 units, const i64 *results, i64 written, i64 input_count) {
  if (below(400) == 0) {
    is_dirty = 1;
    return below(4 << 16);
  }
  for (int tries = 0; tries < 8; tries++) {
    i64 kind = below(4);
    if (kind == REGISTER && units >= 2) {
      i64 unit = below(units - 1);
      if (written_types[unit] == type) return unit;
    }
    if (kind == CONSTANT && constants) return (CONSTANT << 16) + below(constants);
    if (kind == SOURCE && source_count) {
      i64 source = below(source_count);
      if (types[sources[3 * source]] == type) return (SOURCE << 16) + source;
    }
    if (kind == RESULT && written) {
      i64 result = below(written);
      if (types[input_count + results[result]] == type) return (RESULT << 16) + result;
    }
  }
  is_dirty = 1;
  return 0;
}

/* What a loop may read: an input, or what one of the ``before`` loops before made. */
static i64 some_tensor(i64 inputs, i64 before, const i64 *order) {
  i64 tensor = below(inputs + before);
  return tensor < inputs ? tensor : inputs + order[tensor - inputs];
}

/* One of a type, or, seldom, of another. */
static i64 tensor_of(i64 type, const i64 *types, i64 inputs, i64 before, const i64 *order) {
  i64 tensor = some_tensor(inputs, before, order);
  for (int tries = 0; tries < 9 && types[tensor] != type; tries++)
    tensor = some_tensor(inputs, before, order);
  return tensor;
}

/* A part of a matrix of some sizes: each axis perhaps once, forwards or backwards, or spread out. */
static size_t make_view(i64 *at, const i64 *sizes) {
  i64 strides[4], lengths[4], rank = 0, offset = 0;
  i64 first = below(2), axes = below(3);
  for (i64 i = 0; i < axes; i++) {
    i64 axis = (first + i) & 1, whole = axis ? 1 : sizes[1], start = below(sizes[axis] + 1);
    i64 step = 1 + below(3), room = sizes[axis] - start;
    if (below(2)) { /* from the last one back */
      step = -step, room = start, start -= 1;
    }
    lengths[rank] = (room + (step < 0 ? -step : step) - 1) / (step < 0 ? -step : step);
    strides[rank++] = step * whole;
    if (start >= 0 && start < sizes[axis]) offset += start * whole;
  }
  if (below(3) == 0) lengths[rank] = below(4), strides[rank++] = 0;
  if (below(10) == 0) offset += below(4);
  size_t n = 0;
  at[n++] = 2, at[n++] = sizes[0], at[n++] = sizes[1], at[n++] = offset, at[n++] = rank;
  for (i64 i = 0; i < rank; i++) at[n++] = lengths[i];
  for (i64 i = 0; i < rank; i++) at[n++] = strides[i];
  return n;
}

static size_t make_program(i64 *types, const i64 *matrix) {
  size_t at = 0;
  i64 inputs = 1 + below(4), outputs = 1 + below(3), temporaries = below(2) ? 0 : below(4);
  i64 constants = below(3), loops = outputs + temporaries, order[8];
  i64 header[] = {PROGRAM_FORMAT, inputs, outputs, temporaries, constants, loops};
  for (int i = 0; i < 6; i++) words[at++] = header[i];
  for (i64 i = 0; i < inputs + loops; i++) types[i] = some_type();
  for (i64 i = 0; i < loops; i++) order[i] = i < temporaries ? outputs + i : i - temporaries;
  loop.tests = (int)below(2), loop.carried = loop.collected = 0;
  is_body = (int)below(2);
  if (is_body) { /* as the body of a loop has them */
    types[0] = TYPE_i64;
    if (loop.tests) types[inputs] = TYPE_b8;
    for (i64 i = 0; 1 + i < inputs && i + loop.tests < outputs && below(4); i++) {
      types[inputs + loop.tests + i] = types[1 + i];
      loop.carried++;
    }
    loop.collected = (size_t)(outputs - loop.tests) - loop.carried;
  }
  for (i64 i = 0; i < inputs + outputs; i++) words[at++] = types[i];
  for (i64 i = outputs; i < loops; i++) {
    words[at++] = types[inputs + i];
    words[at++] = below(8) ? i - outputs : below(3);
  }
  for (i64 i = 0; i < constants; i++) words[at++] = (i64)random_bits();
  for (i64 box = 0; box < loops; box++) {
    i64 makes = order[box], type = types[inputs + makes];
    i64 tensor = tensor_of(type, types, inputs, box, order);
    int known = types[tensor] == type || below(20) == 0;
    if (known && below(6) == 0) {
      i64 index = tensor_of(below(2) ? TYPE_i64 : TYPE_i32, types, inputs, box, order);
      words[at++] = 3, words[at++] = tensor, words[at++] = index, words[at++] = makes;
      continue;
    }
    if (known && below(5) == 0) {
      i64 places = below(2);
      words[at++] = 4 + places, words[at++] = tensor;
      at += make_view(words + at, matrix);
      if (places) words[at++] = below(2) ? 0 : (i64)random_bits();
      words[at++] = makes;
      continue;
    }
    if (known && below(6) == 0) {
      i64 count = 1 + below(3);
      words[at++] = 6, words[at++] = below(3), words[at++] = count, words[at++] = tensor;
      for (i64 i = 1; i < count; i++)
        words[at++] = below(2) ? tensor : tensor_of(type, types, inputs, box, order);
      words[at++] = makes;
      continue;
    }
    if (known && below(4) == 0) {
      i64 reduction[] = {1, below(4), tensor, below(1 << below(5)), below(2), makes};
      for (int i = 0; i < 6; i++) words[at++] = reduction[i];
      continue;
    }
    if (known && below(type == TYPE_f32 || type == TYPE_f64 ? 4 : 50) == 0) {
      i64 right = tensor_of(type, types, inputs, box, order);
      i64 routine[] = {7, below(16), tensor, right, makes};
      for (int i = 0; i < 5; i++) words[at++] = routine[i];
      continue;
    }
    if (type == TYPE_i64 && below(6) == 0) { /* the order of a decomposition */
      i64 matrix = tensor_of(below(2) ? TYPE_f32 : TYPE_f64, types, inputs, box, order);
      i64 routine[] = {7, LU_ORDER, matrix, matrix, makes};
      for (int i = 0; i < 5; i++) words[at++] = routine[i];
      continue;
    }
    if (known && below((type == TYPE_f32 || type == TYPE_f64) ? 2 : 50) == 0) {
      i64 right = tensor_of(type, types, inputs, box, order);
      i64 product[] = {2, tensor, right, below(4), makes};
      for (int i = 0; i < 5; i++) words[at++] = product[i];
      continue;
    }
    words[at++] = 0;
    /* Many loops on float32 alone, which become chains. */
    const int is_chain = type == TYPE_f32 && below(3) > 0;
    i64 units = 4 + below(6), source_count = 1 + below(4);
    i64 steps = 1 + below(is_chain ? 30 : 8);
    memset(written_types, 0, sizeof written_types);
    words[at++] = is_body && below(8) ? 2 : below(5);
    words[at++] = is_chain ? units += source_count : units;
    words[at++] = source_count;
    words[at++] = 1;
    words[at++] = steps;
    i64 *sources = words + at;
    for (i64 i = 0; i < source_count; i++) {
      words[at++] = some_tensor(inputs, box, order);
      words[at++] = below(3) != 0;
      words[at++] = is_chain ? units + i - source_count : below(units - 1);
    }
    memset(overwritten, 0, sizeof overwritten);
    for (i64 i = 0; i < source_count; i++)
      if (sources[3 * i + 1])
        overwrite_sources(sources, source_count, types, sources[3 * i + 2],
                          (int)types[sources[3 * i]], i);
    i64 *results = words + at;
    words[at++] = makes;
    i64 made = 0;
    for (i64 i = 0; i < steps; i++) {
      int last = i == steps - 1, wanted = (int)type;
      i64 instruction = below(INSTRUCTION_COUNT);
      for (int tries = 0; last && tries < 500 && table[instruction].result != wanted; tries++)
        instruction = below(INSTRUCTION_COUNT);
      while (is_chain && native((int)instruction).first == NO_LABEL)
        instruction = below(4) ? INSTRUCTION_Add_f32_f32 + below(4) : below(INSTRUCTION_COUNT);
      words[at++] = instruction;
      const i64 to = below(units - 1 - (is_chain ? source_count : 0));
      words[at++] = last ? RESULT << 16 : to;
      for (int j = 0; j < 3; j++)
        words[at++] = operand(table[instruction].operands[j], sources, source_count, types,
                              constants, units, results, made, inputs);
      for (size_t j = at - 3; j < at; j++)
        if (words[j] >> 16 == SOURCE && (words[j] & 0xffff) < source_count)
          reads_overwritten |= overwritten[words[j] & 0xffff];
      if (last) continue;
      overwrite_sources(sources, source_count, types, to, table[instruction].result, -1);
      written_types[to] = table[instruction].result;
      const int is_wide = size_of(table[instruction].result) == 8;
      if (is_wide) written_types[to + 1] = 0;
      if (to && written_types[to - 1] && size_of(written_types[to - 1]) == 8)
        written_types[to - 1] = 0;
    }
  }
  if (below(4) == 0) { /* damage */
    is_dirty = 1;
    for (i64 i = below(4); i >= 0; i--)
      words[below((i64)at)] = below(3) ? below(1 << 20) - 100 : (i64)random_bits();
    if (below(8) == 0) at = (size_t)below((i64)at + 1);
  }
  return at;
}

static struct {
  char *data;
  size_t size;
  int type;
} made[4 * MAX_TENSORS];
static size_t made_count;

static void *memory(i64 count, int type) {
  size_t size = (size_t)count * size_of(type);
  char *data = malloc(size ? size : 1);
  for (size_t i = 0; i < size; i++) data[i] = (char)random_bits();
  if (type == TYPE_b8)
    for (size_t i = 0; i < size; i++) data[i] &= 1;
  if (count == 1 && below(2) && (type == TYPE_i64 || type == TYPE_i32)) { /* may be an index */
    memset(data, 0, size);
    data[0] = (char)below(4);
  }
  made[made_count].data = data;
  made[made_count].size = size;
  made[made_count].type = type;
  return made[made_count++].data;
}

/* Whether numbers of a type differ in more than the bits of NaN. */
static int differ_in(const char *a, const char *b, size_t bytes, int type) {
  const size_t size = size_of(type);
  for (size_t at = 0; at < bytes; at += size) {
    const char *left = a + at, *right = b + at;
    if (!memcmp(left, right, size)) continue;
    if (type == TYPE_f32) {
      f32 x, y;
      memcpy(&x, left, size), memcpy(&y, right, size);
      if (x != x && y != y) continue;
      fprintf(stderr, "%.9g and %.9g\n", (f64)x, (f64)y);
    } else if (type == TYPE_f64) {
      f64 x, y;
      memcpy(&x, left, size), memcpy(&y, right, size);
      if (x != x && y != y) continue;
      fprintf(stderr, "%.17g and %.17g\n", x, y);
    }
    return 1;
  }
  return 0;
}

/* Likewise of two tensors that were made. */
static int differ(size_t a, size_t b) {
  if (made[a].size != made[b].size || made[a].type != made[b].type) return 1;
  return differ_in(made[a].data, made[b].data, made[a].size, made[a].type);
}

static const Program *running;
static size_t first_output;

static int new_output(void *context, size_t output, Tensor *tensor) {
  (void)context;
  i64 count = elements(tensor->sizes, tensor->rank);
  if (count > 1 << 20) return 7;
  tensor->data = memory(count, running->types[running->input_count + first_output + output]);
  return 0;
}

static int output_of_iteration(void *context, size_t output, Tensor *tensor) {
  Tensor *outputs = context;
  if (new_output(NULL, output, tensor)) return 7;
  outputs[output] = *tensor;
  return 0;
}

/* Whether a loop, run iteration by iteration, leaves other carried values, or other rows, than
   ``program_repeat`` made from ``from`` on. */
static int repeats_otherwise(const Program *program, const Tensor *given, i64 first, i64 last,
                             size_t from) {
  Tensor inputs[MAX_GIVEN], outputs[MAX_GIVEN];
  char problem[200];
  Host host = {output_of_iteration, one_by_one, outputs};
  const size_t tests = (size_t)loop.tests, collected = tests + loop.carried;
  first_output = 0;
  memcpy(inputs, given, program->input_count * sizeof *given);
  for (i64 at = first; at < last; at++) {
    inputs[0] = (Tensor){&at, 0, {0}};
    if (program_run(program, inputs, &host, problem, sizeof problem)) return 1;
    for (size_t i = 0; i < loop.carried; i++) inputs[1 + i] = outputs[tests + i];
    for (size_t i = 0; i < loop.collected; i++) {
      const int type = program->types[program->input_count + collected + i];
      const size_t row =
          (size_t)elements(outputs[collected + i].sizes, outputs[collected + i].rank);
      const size_t bytes = row * size_of(type);
      if (differ_in(made[from + loop.carried + i].data + (size_t)(at - first) * bytes,
                    outputs[collected + i].data, bytes, type))
        return 1;
    }
  }
  for (size_t i = 0; i < loop.carried; i++)
    if (differ_in(made[from + i].data, inputs[1 + i].data, made[from + i].size,
                  made[from + i].type))
      return 1;
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  state = strtoull(argv[1], NULL, 10) * 2654435761u + 88172645463325252u;
  long accepted = 0, ran = 0, repeated = 0, compared = 0, count = strtol(argv[2], NULL, 10);
  if (!kernels_work()) return 3;
  for (long round = 0; round < count; round++) {
    i64 types[32];
    char problem[200] = "";
    static const i64 sizes[] = {1, 1, 2, 3, 5, 19, 40, 513, 0};
    i64 common[4];
    for (int i = 0; i < 4; i++) common[i] = sizes[below(i < 2 ? 7 : 9)];
    if (below(2)) common[3] = common[2]; /* so that matrices can be multiplied */
    is_dirty = reads_overwritten = 0;
    size_t length = make_program(types, common + 2);
    if (below(20) == 0)
      for (size_t i = 0; i < length; i++) words[i] = below(2) ? below(64) : (i64)random_bits();
    Program *program = program_read(words, length, problem, sizeof problem);
    if (!program) continue;
    accepted++;
    running = program;
    Tensor inputs[MAX_GIVEN];
    for (size_t i = 0; i < program->input_count; i++) {
      const int fits = is_body && below(8);
      inputs[i].rank = below(2) || (fits && below(2)) ? 2 : (int)below(fits ? 3 : 5);
      for (int axis = 0; axis < inputs[i].rank; axis++) {
        i64 size = common[axis + 4 - inputs[i].rank];
        inputs[i].sizes[axis] = below(fits ? 20 : 6) == 0 ? 1 : below(60) == 0 ? 4 : size;
      }
      for (int axis = 0; elements(inputs[i].sizes, inputs[i].rank) > 1 << 20; axis++)
        inputs[i].sizes[axis] = 1; /* larger ones would take minutes to fill */
      inputs[i].data = memory(elements(inputs[i].sizes, inputs[i].rank), program->types[i]);
    }
    Host host = {new_output, one_by_one, NULL};
    first_output = 0;
    size_t before = made_count;
    int failed = program_run(program, inputs, &host, problem, sizeof problem) != 0;
    size_t after = made_count;
    allows_wide_loops = 0;
    int fails = program_run(program, inputs, &host, problem, sizeof problem) != 0;
    allows_wide_loops = 1;
    if (!is_dirty) {
      may_chain = 0;
      Program *unchained = program_read(words, length, problem, sizeof problem);
      may_chain = 1;
      size_t from = made_count;
      if (!unchained ||
          (program_run(unchained, inputs, &host, problem, sizeof problem) != 0) != failed) {
        fprintf(stderr, "round %ld fails in another way step by step: %s\n", round, problem);
        return 1;
      }
      for (size_t i = before; i < after && !failed; i++)
        if (differ(i, i - before + from)) {
          fprintf(stderr, "round %ld differs step by step\n", round);
          return 1;
        }
      program_free(unchained);
      compared += !failed;
    }
    if (failed != fails) {
      fprintf(stderr, "round %ld fails with one set of loops: %s\n", round, problem);
      return 1;
    }
    if (!failed) {
      ran++;
      /* What a program reads without having written it is what other strips left there. */
      for (size_t i = before; i < after && !is_dirty; i++)
        if (differ(i, i - before + after)) {
          fprintf(stderr, "round %ld differs between sets of loops\n", round);
          return 1;
        }
    }
    if (!program_refuses(program, loop)) {
      const i64 first = below(3);
      i64 at = first;
      unsigned char goes_on = 1;
      first_output = (size_t)loop.tests;
      const size_t from = made_count;
      if (!program_repeat(program, loop, inputs, first + below(6), &at, &goes_on, &host,
                          problem, sizeof problem)) {
        repeated++;
        if (!is_dirty && !reads_overwritten &&
            repeats_otherwise(program, inputs, first, at, from)) {
          fprintf(stderr, "round %ld differs as the body of a loop\n", round);
          return 1;
        }
      }
    }
    program_free(program);
    while (made_count) free(made[--made_count].data);
  }
  printf("%ld %ld %ld %ld\n", accepted, ran, repeated, compared);
  return 0;
}
