/* A runtime with the functions that the custom operators call: of any version, with tensors of any sizes, and
   failing where it is told to. It counts what it lends, which has to come back. Stands behind "operator.c". */

#ifndef TFX_FAKE_RUNTIME_H
#define TFX_FAKE_RUNTIME_H

#include "numbers.h"

typedef struct {
  int type;
  size_t rank;
  int64_t sizes[MAX_RANK + 2];
  void *data;
} Value;

typedef struct {
  Value *inputs[8], outputs[8];
  size_t input_count, output_count;
} Context;

typedef struct {
  const char *name;
  int64_t numbers[64];
  size_t count;
} Attribute;

enum { ATTRIBUTES = 9 };

typedef struct {
  Attribute attributes[ATTRIBUTES];
} Info;

static uint64_t state;
static uint32_t newest;            /* version of the interface that there is */
static long calls, fails_at;       /* the call of the runtime that fails; 0: none does */
static long statuses, shapes_lent; /* that are not freed */
static size_t operators_added;
static int output_types[8];
static int lacks_outputs; /* nobody asked for any */

static int64_t below(int64_t n) { /* xorshift, Marsaglia 2003 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (int64_t)(state % (uint64_t)n);
}

static RuntimeStatus *new_status(int code, const char *message) {
  (void)code;
  char *made = malloc(strlen(message) + 1);
  strcpy(made, message);
  statuses++;
  return (RuntimeStatus *)(void *)made;
}

static const char *message_of(RuntimeStatus *status) { return (const char *)status; }

static void free_status(RuntimeStatus *status) {
  if (status) statuses--;
  free(status);
}

static RuntimeStatus *perhaps(void) {
  return ++calls == fails_at ? new_status(FAIL, "the runtime fails") : NULL;
}

#define FAILS_IN_ITS_TURN                                                                      \
  RuntimeStatus *failure = perhaps();                                                          \
  if (failure) return failure;

static RuntimeStatus *create_domain(const char *given, OperatorDomain **out) {
  FAILS_IN_ITS_TURN
  *out = (OperatorDomain *)(void *)(uintptr_t)given;
  return NULL;
}

static RuntimeStatus *add_operator(OperatorDomain *domain, const void *op) {
  (void)domain, (void)op;
  FAILS_IN_ITS_TURN
  operators_added++;
  return NULL;
}

static RuntimeStatus *add_domain(SessionOptions *options, OperatorDomain *domain) {
  (void)domain;
  FAILS_IN_ITS_TURN
  ++*(int *)(void *)options;
  return NULL;
}

static RuntimeStatus *data_of(RuntimeValue *value, void **out) {
  FAILS_IN_ITS_TURN
  *out = ((Value *)(void *)value)->data;
  return NULL;
}

static RuntimeStatus *shape_of(const RuntimeValue *value, TypeAndShape **out) {
  FAILS_IN_ITS_TURN
  Value *copy = malloc(sizeof *copy);
  memcpy(copy, value, sizeof *copy);
  shapes_lent++;
  *out = (TypeAndShape *)(void *)copy;
  return NULL;
}

static void release_shape(TypeAndShape *shape) {
  shapes_lent--;
  free(shape);
}

static RuntimeStatus *type_of(const TypeAndShape *shape, int *out) {
  FAILS_IN_ITS_TURN
  *out = ((const Value *)(const void *)shape)->type;
  return NULL;
}

static RuntimeStatus *rank_of(const TypeAndShape *shape, size_t *out) {
  FAILS_IN_ITS_TURN
  *out = ((const Value *)(const void *)shape)->rank;
  return NULL;
}

static RuntimeStatus *sizes_of(const TypeAndShape *shape, int64_t *sizes, size_t count) {
  FAILS_IN_ITS_TURN
  memcpy(sizes, ((const Value *)(const void *)shape)->sizes, count * sizeof *sizes);
  return NULL;
}

static RuntimeStatus *lend_shape(const RuntimeValue *value, int *type, const int64_t **sizes,
                                 size_t *rank) {
  const Value *of = (const Value *)(const void *)value;
  FAILS_IN_ITS_TURN
  *type = of->type, *sizes = of->sizes, *rank = of->rank;
  return NULL;
}

static RuntimeStatus *attribute(const KernelInfo *info, const char *wanted, int64_t *out,
                                size_t *count) {
  const Info *of = (const Info *)(const void *)info;
  FAILS_IN_ITS_TURN
  for (int i = 0; i < ATTRIBUTES; i++) {
    const Attribute *found = &of->attributes[i];
    if (!found->name || strcmp(found->name, wanted) != 0) continue;
    if (out) memcpy(out, found->numbers, found->count * sizeof *out);
    *count = found->count;
    return NULL;
  }
  return new_status(FAIL, "there is no such attribute");
}

static RuntimeStatus *number_attribute(const KernelInfo *info, const char *wanted,
                                       int64_t *out) {
  size_t count;
  return attribute(info, wanted, out, &count);
}

static RuntimeStatus *input_count(const KernelContext *context, size_t *out) {
  FAILS_IN_ITS_TURN
  *out = ((const Context *)(const void *)context)->input_count;
  return NULL;
}

static RuntimeStatus *output_count(const KernelContext *context, size_t *out) {
  FAILS_IN_ITS_TURN
  *out = ((const Context *)(const void *)context)->output_count;
  return NULL;
}

static RuntimeStatus *input_at(const KernelContext *context, size_t index,
                               const RuntimeValue **out) {
  FAILS_IN_ITS_TURN
  *out = (const RuntimeValue *)(const void *)((const Context *)(const void *)context)
             ->inputs[index];
  return NULL;
}

static size_t bytes_each(int type) {
  return type == 1 || type == 6 ? 4 : type == 9 ? 1 : 8;
}

/* Memory for exactly so many elements; NULL where there would be too many. */
static void *space(const Value *value) {
  enum { MOST = 1 << 22 };
  int64_t count = 1;
  for (size_t axis = 0; axis < value->rank; axis++) {
    if (value->sizes[axis] < 0) abort(); /* nothing has such sizes */
    if (value->sizes[axis] == 0) count = 0;
  }
  for (size_t axis = 0; axis < value->rank && count; axis++) {
    if (value->sizes[axis] > MOST / count) return NULL;
    count *= value->sizes[axis];
  }
  const size_t bytes = (size_t)count * bytes_each(value->type);
  unsigned char *made = malloc(bytes ? bytes : 1);
  for (size_t i = 0; i < bytes; i++) /* of a truth value, 0 or 1 */
    made[i] = (unsigned char)(value->type == 9 ? below(2) : below(3));
  return made;
}

static RuntimeStatus *output_at(KernelContext *context, size_t index, const int64_t *sizes,
                                size_t rank, RuntimeValue **out) {
  Context *of = (Context *)(void *)context;
  FAILS_IN_ITS_TURN
  Value *value = &of->outputs[index];
  if (index >= of->output_count || rank > MAX_RANK) abort();
  if (lacks_outputs) return NULL;
  value->rank = rank;
  value->type = output_types[index];
  memcpy(value->sizes, sizes, rank * sizeof *sizes);
  if (!value->data) value->data = space(value);
  if (!value->data) return new_status(FAIL, "a tensor is too large for the runtime");
  *out = (RuntimeValue *)(void *)value;
  return NULL;
}

static RuntimeStatus *parallel(const KernelContext *context, void (*part)(void *, size_t),
                               size_t count, size_t batches, void *data) {
  (void)context, (void)batches;
  FAILS_IN_ITS_TURN
  for (size_t i = count; i-- > 0;) part(data, i);
  return NULL;
}

enum { TABLE = 1 + GET_TYPE_AND_SHAPE_REFERENCE };
static AnyFunction tables[2][TABLE];

#define PLACED(PLACE, FUNCTION) table[PLACE] = (AnyFunction)FUNCTION;
static void fill_table(AnyFunction *table) {
  PLACED(CREATE_STATUS, new_status)
  PLACED(CREATE_CUSTOM_OP_DOMAIN, create_domain)
  PLACED(CUSTOM_OP_DOMAIN_ADD, add_operator)
  PLACED(ADD_CUSTOM_OP_DOMAIN, add_domain)
  PLACED(GET_TENSOR_MUTABLE_DATA, data_of)
  PLACED(GET_TENSOR_ELEMENT_TYPE, type_of)
  PLACED(GET_DIMENSIONS_COUNT, rank_of)
  PLACED(GET_DIMENSIONS, sizes_of)
  PLACED(GET_TENSOR_TYPE_AND_SHAPE, shape_of)
  PLACED(INFO_GET_ATTRIBUTE_INT64, number_attribute)
  PLACED(CONTEXT_GET_INPUT_COUNT, input_count)
  PLACED(CONTEXT_GET_OUTPUT_COUNT, output_count)
  PLACED(CONTEXT_GET_INPUT, input_at)
  PLACED(CONTEXT_GET_OUTPUT, output_at)
  PLACED(RELEASE_TYPE_AND_SHAPE, release_shape)
  PLACED(INFO_GET_ATTRIBUTE_ARRAY_INT64, attribute)
  PLACED(CONTEXT_PARALLEL_FOR, parallel)
  PLACED(GET_TYPE_AND_SHAPE_REFERENCE, lend_shape)
}

static const RuntimeApi *first_table(uint32_t version) {
  return version && version <= newest ? tables[0] : NULL;
}

static const RuntimeApi *second_table(uint32_t version) {
  return version && version <= newest ? tables[1] : NULL;
}

#endif
